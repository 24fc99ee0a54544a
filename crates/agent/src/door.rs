//! The process door: what the gate has admitted, as processes of this machine.
//!
//! Level triggered both ways. Whenever the gate has decided something, the door looks at everything it has admitted and
//! tells the runtime what is new; whenever the gate begins anew, everything is reported again. So nothing is lost when
//! either of them is killed, and an effect that nobody heard is carried out all the same.

mod folder;
mod health;
mod show;
mod statics;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use safepoint_core::{Blocker, BlockerReason, Event, Key, Kind, PartName, Subject, Uid};
use safepoint_runtime::{Found, OpenError, Options, Report, Runtime, Wanted};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};

use crate::journal::Body;
use crate::keeper::{self, Desk};
use crate::link::Link;
use crate::reporter::Statuses;
use crate::seen::SeenPods;
use crate::static_pods::StaticPods;
use crate::version;
use folder::{Folder, is_static};
use health::Healths;
use show::{Shown, Told};
use statics::Statics;

/// The name of the module, and of the part that has to be ready before a freeze can be promised.
pub(crate) const NAME: &str = "process-door";

/// How often manifests are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The door as a module.
pub(crate) struct ProcessDoor {
    pub(crate) node: String,
    pub(crate) desk: Desk,
    pub(crate) options: Options,
    pub(crate) statuses: Arc<Statuses>,
    pub(crate) link: Link,
    pub(crate) seen: Arc<SeenPods>,
    /// Where manifests of static pods lie.
    pub(crate) manifests: PathBuf,
    pub(crate) statics: Arc<StaticPods>,
}

/// The door at work.
struct Open<'a> {
    door: &'a ProcessDoor,
    runtime: Arc<Runtime>,
    told: Arc<Told>,
    healths: Healths,
    /// Pods of which nothing is left and that the gate has not taken out of its record yet.
    ended: BTreeMap<Uid, Key>,
    /// Pods that ran before the gate knew of them. What they read is not known until the cluster says it again.
    adopted: BTreeSet<Uid>,
    /// None while it is being read.
    folder: Option<Folder>,
    statics: Statics,
}

// === impl ProcessDoor ===

impl Module for ProcessDoor {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut effects, mut starts, mut seen) =
            (self.desk.effects(), self.desk.starts(), self.seen.changes());
        self.report_part(Some("is starting")).await?;
        let options = self.options.clone();
        let opened = tokio::task::spawn_blocking(move || Runtime::open(options));
        let opened = opened.await.map_err(Fault::transient)?;
        let runtime = Arc::new(opened.map_err(|error| match error {
            OpenError::Locked { .. } => Fault::dependency("the folder of the pods", error),
            error => Fault::transient(error),
        })?);
        let (driven, stop) = (Arc::clone(&runtime), ctx.token());
        ctx.spawn("runtime", async move {
            driven.run(stop).await;
            Ok(())
        });
        let mut open = Open {
            door: self,
            runtime,
            told: Arc::default(),
            healths: Healths::default(),
            ended: BTreeMap::new(),
            adopted: BTreeSet::new(),
            folder: Some(Folder::new(self.manifests.clone(), &self.node)),
            statics: Statics::default(),
        };
        open.statics.adopt(&open.runtime.found().map_err(Fault::transient)?);
        open.adopt().await?;
        open.show().await?;
        open.end_again()?;
        self.report_part(None).await?;
        ctx.ready();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                report = open.runtime.next_report() => open.take(report).await?,
                effect = effects.recv() => match effect {
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        // Whatever else has happened is seen by the same look.
                        while effects.try_recv().is_ok() {}
                        open.show().await?;
                    }
                    Err(RecvError::Closed) => return Ok(()),
                },
                changed = seen.changed() => {
                    changed.map_err(Fault::transient)?;
                    if open.has_other_gates() {
                        open.show().await?;
                    }
                }
                changed = starts.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    self.report_part(None).await?;
                    open.adopt().await?;
                    open.report_again().await?;
                    open.show().await?;
                }
                _ = looks.tick() => open.read_folder().await?,
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl ProcessDoor {
    /// Makes the folder of manifests. Whoever is told that the agent is ready may write there at once, and the agent can be
    /// ready before its door is.
    pub(crate) fn make_folder(&self) {
        if let Err(error) = std::fs::create_dir_all(&self.manifests) {
            tracing::warn!(folder = %self.manifests.display(), %error, "cannot make the folder of manifests");
        }
    }

    /// Whether a freeze could be enforced here.
    async fn report_part(&self, problem: Option<&str>) -> Result<(), Fault> {
        let part = PartName::from(NAME);
        let blocker = |problem: &str| Blocker {
            reason: BlockerReason::NotReady,
            subject: Subject::Part(part.clone()),
            message: problem.into(),
        };
        let event =
            Event::PartReported { part: part.clone(), blockers: problem.map(blocker).into_iter().collect() };
        self.desk.bring(event, Vec::new()).await.map_err(Fault::transient)
    }
}

/// Whether the cluster lists it. Manifests are found by a door of their own and say nothing of what else runs.
fn is_listed(key: &Key) -> bool {
    key.kind != Kind::StaticPod
}

// === impl Open ===

impl Open<'_> {
    /// Tells a gate that does not know what runs, what does. Nothing is started or stopped by that.
    async fn adopt(&mut self) -> Result<(), Fault> {
        let knows = self.look(|gate, _| !gate.is_sealed() && gate.slots().keys().any(is_listed)).await?;
        if knows {
            return Ok(());
        }
        let (mut running, mut bodies) = (Vec::new(), Vec::new());
        // Those that were ending as well: whether they still shall, the cluster says again.
        let found = self.runtime.found().map_err(Fault::transient)?;
        for found in found.into_iter().filter(|found| !is_static(&found.manifest)) {
            match version::of_pod(&self.door.node, &found.manifest) {
                Ok(Some((key, version))) => {
                    let json = serde_json::to_vec(&*found.manifest).map_err(Fault::transient)?;
                    bodies.push(Body::new(&key, &version, json));
                    self.adopted.insert(version.uid.clone());
                    running.push((key, version));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(pod = %found.name, %error, "something runs that cannot be adopted");
                }
            }
        }
        self.bring(Event::Adopted(running), bodies).await
    }

    /// Shows the runtime what has been admitted since.
    async fn show(&mut self) -> Result<(), Fault> {
        let (told, synced) = (Arc::clone(&self.told), self.door.link.is_synced());
        let gates = self.door.seen.gates();
        let shown = self.look(move |gate, journal| Shown::new(gate, journal, &told, synced, &gates)).await?;
        let Shown { mut told, pods, believed } = shown.map_err(Fault::transient)?;
        for pod in pods {
            let uid = Uid::from(pod.uid.as_str());
            let lacks = told.pods.get(&uid).is_some_and(|pod| pod.lacks_configs);
            if self.adopted.contains(&uid) && lacks && pod.ending.is_none() {
                // It has what it reads on disk, and the gate does not know it yet. It is looked at again.
                told.pods.remove(&uid);
                continue;
            }
            self.adopted.remove(&uid);
            self.runtime.want(pod);
        }
        self.told = Arc::new(told);
        self.forget_ended();
        for event in self.healths.corrected(&believed) {
            self.bring(event, Vec::new()).await?;
        }
        self.report_configs().await
    }

    /// Whether others say something else of the readiness of pods than the runtime was told.
    fn has_other_gates(&self) -> bool {
        let gates = self.door.seen.gates();
        gates.iter().any(|(uid, gates)| self.told.pods.get(uid).is_some_and(|pod| pod.gates != *gates))
    }

    /// Ends anew what was ending when the agent died, where the gate has already taken note of the end and nobody else would
    /// speak of it again: its folder is still there.
    fn end_again(&self) -> Result<(), Fault> {
        let found = self.runtime.found().map_err(Fault::transient)?;
        let of_the_gate = found.into_iter().filter(|found| !is_static(&found.manifest));
        for found in of_the_gate.filter(|found| found.ending.is_some()) {
            if !self.told.pods.contains_key(&Uid::from(found.uid.as_str())) {
                let Found { namespace, name, uid, version, manifest, ending } = found;
                self.runtime.want(Wanted {
                    namespace,
                    name,
                    uid,
                    version,
                    manifest,
                    configs: Arc::default(),
                    ending,
                });
            }
        }
        Ok(())
    }

    /// The gate has written down that these are gone: the folder may go.
    fn forget_ended(&mut self) {
        let (told, door, runtime, healths) = (&self.told, self.door, &self.runtime, &mut self.healths);
        self.ended.retain(|uid, _| {
            let still = told.pods.contains_key(uid);
            if !still {
                runtime.forget(uid.as_str());
                door.statuses.remove(uid);
                healths.remove(uid);
            }
            still
        });
    }

    async fn take(&mut self, report: Report) -> Result<(), Fault> {
        let key = Key::pod(&report.namespace, &report.name);
        let uid = Uid::from(report.uid.as_str());
        self.door.statuses.set(uid.clone(), &report.status);
        if self.statics.has(&uid) {
            self.take_static(&uid, &report);
            return Ok(());
        }
        let event = self.healths.take(key.clone(), &report);
        if report.ended {
            self.ended.insert(uid.clone(), key.clone());
            self.bring(Event::Ended { key, uid }, Vec::new()).await?;
            // The look comes after the commit, so what it shows is durable.
            return self.show().await;
        }
        self.bring(event, Vec::new()).await?;
        self.report_configs().await
    }

    /// Reads the manifests, and runs what they ask for.
    async fn read_folder(&mut self) -> Result<(), Fault> {
        let mut folder =
            self.folder.take().unwrap_or_else(|| Folder::new(self.door.manifests.clone(), &self.door.node));
        let read = tokio::task::spawn_blocking(move || {
            let asked = folder.read();
            (folder, asked)
        });
        let (folder, asked) = read.await.map_err(Fault::transient)?;
        self.folder = Some(folder);
        let wanted = self.statics.ask(asked);
        self.want_static(wanted);
        Ok(())
    }

    fn take_static(&mut self, uid: &Uid, report: &Report) {
        let wanted = self.statics.take(report);
        if report.ended {
            self.runtime.forget(uid.as_str());
            self.door.statuses.remove(uid);
        }
        self.want_static(wanted);
    }

    fn want_static(&self, wanted: Vec<Wanted>) {
        wanted.into_iter().for_each(|wanted| self.runtime.want(wanted));
        self.door.statics.set(self.statics.all());
    }

    /// Tells a gate that has begun anew how everything is.
    async fn report_again(&mut self) -> Result<(), Fault> {
        self.told = Arc::default();
        for event in self.healths.again() {
            self.bring(event, Vec::new()).await?;
        }
        for (uid, key) in self.ended.clone() {
            self.bring(Event::Ended { key, uid }, Vec::new()).await?;
        }
        Ok(())
    }

    async fn report_configs(&mut self) -> Result<(), Fault> {
        for event in self.healths.configs(&self.told) {
            self.bring(event, Vec::new()).await?;
        }
        Ok(())
    }

    async fn bring(&self, event: Event, bodies: Vec<Body>) -> Result<(), Fault> {
        self.door.desk.bring(event, bodies).await.map_err(Fault::transient)
    }

    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&safepoint_core::Gate, &crate::journal::Journal) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        self.door.desk.look(look).await.map_err(Fault::transient)
    }
}
