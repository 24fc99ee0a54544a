//! The kubelet door: an unmodified kubelet sees what the gate has admitted, and nothing else of it.
//!
//! ```text
//! kubelet ──TLS──► route ─┬─ pods, ConfigMaps, Secrets ──► front ◄── shown ◄── gate + status of now
//!                         ├─ its own writes about pods ──► cluster, the answer masked
//!                         └─ everything else ────────────► cluster, as it is
//! ```
//!
//! Like every door it is level triggered: whenever the gate has decided something or a status has changed, it looks at all
//! that is admitted and shows the difference. Where it cannot know what to show it shows nothing at all and says so: a list
//! that lacks a pod ends that pod for good.

mod adoption;
mod answer;
mod collection;
mod condition;
mod front;
mod look;
mod mask;
mod mounted;
mod protobuf;
mod route;
mod said;
mod shown;
mod spare;
mod spares;
mod stream;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use safepoint_core::{Blocker, BlockerReason, Event, Gate, Key, PartName, Subject, Uid};
use safepoint_relay::{Client, ListenError, Listener, Source, Upstream};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

pub(crate) use adoption::{Adoption, Takeover, adopted, over};
pub(crate) use condition::is_taken;
pub(crate) use mask::is_over;

use crate::cluster::Cluster;
use crate::journal::Journal;
use crate::keeper::{self, Desk, Sights};
use crate::link::Link;
use crate::seen::SeenPods;
use answer::Counter;
use front::Front;
use look::{Known, Look, LookError};
use mounted::Volumes;
use said::{Said, Word};
use shown::{Facing, Plan, Shown};
use spare::{ABSENT, KEPT, Spare};
use spares::Spares;

/// The name of the module, and of the part that has to be ready before a freeze can be promised.
pub(crate) const NAME: &str = "kubelet-door";
/// How often files are looked at while configuration is on its way.
const LOOK: Duration = Duration::from_millis(500);
/// A kubelet that is restarted watches again within this; one that does not is not behind this door.
const AWAY: Duration = Duration::from_secs(60);

/// Where and for whom the door is.
#[derive(Clone)]
pub struct KubeletOptions {
    /// Where the kubelet finds its API server.
    pub address: SocketAddr,
    /// The door's certificate.
    pub certificate: Source,
    /// Its key.
    pub key: Source,
    /// Who signs the certificates of kubelets.
    pub authority: Source,
    /// The cluster.
    pub upstream: Upstream,
    /// The kubelet's `--root-dir`.
    pub root: PathBuf,
}

/// The door as a module.
pub(crate) struct KubeletDoor {
    pub(crate) node: String,
    pub(crate) options: KubeletOptions,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) seen: Arc<SeenPods>,
    pub(crate) adoption: Arc<Adoption>,
}

/// The door at work.
struct Working<'a> {
    door: &'a KubeletDoor,
    ctx: Ctx,
    front: Arc<Front>,
    said: Arc<Said>,
    spare: Arc<Spare>,
    sights: Sights<Result<Look, LookError>>,
    /// What is shown, as far as a look has to know it.
    known: Arc<Mutex<Known>>,
    shown: Shown,
    volumes: Volumes,
    /// How often files were looked at since something began to be late, and at which look the kubelet is told next.
    looks: u32,
    next_nudge: u32,
    /// A kubelet watches its pods here, or did so a moment ago.
    is_watched: bool,
    /// What was last kept of what is not there.
    absent: BTreeSet<Key>,
    /// What the gate was last told of the door itself.
    reported: Option<Option<String>>,
    /// That the takeover is done is on record.
    is_adoption_kept: bool,
}

// === impl KubeletDoor ===

impl Module for KubeletDoor {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut starts, mut seen) = (self.desk.starts(), self.seen.changes());
        let mut adoption = self.adoption.watch();
        let mut link = self.link.watch();
        let mut working = self.begin(&ctx).await?;
        let (mut said, mut watching) = (working.said.changes(), working.front.watching());
        self.listen(&ctx, &working).await?;
        let look = working.sights.next().await;
        working.show(look).await?;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut away: Option<Instant> = None;
        loop {
            let is_unsettled = working.shown.is_unsettled();
            let is_away = async {
                match away {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                look = working.sights.next() => working.show(look).await?,
                changed = seen.changed() => {
                    changed.map_err(Fault::transient)?;
                    working.look_again().await?;
                }
                changed = said.changed() => {
                    changed.map_err(Fault::transient)?;
                    working.look_again().await?;
                }
                changed = link.changed() => {
                    changed.map_err(Fault::transient)?;
                    working.look_again().await?;
                }
                changed = adoption.changed() => {
                    changed.map_err(Fault::transient)?;
                    working.look_again().await?;
                }
                changed = watching.changed() => {
                    changed.map_err(Fault::transient)?;
                    let is_there = *watching.borrow_and_update() > 0;
                    away = (!is_there).then(|| Instant::now() + AWAY);
                    if is_there {
                        working.is_watched = true;
                        working.report_part().await?;
                    }
                }
                () = is_away => {
                    away = None;
                    working.is_watched = false;
                    working.report_part().await?;
                }
                changed = starts.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    working.begin_anew().await?;
                }
                _ = looks.tick(), if is_unsettled => working.check_files().await?,
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl KubeletDoor {
    /// Reads what was kept, and counts this start before anything is shown.
    async fn begin(&self, ctx: &Ctx) -> Result<Working<'_>, Fault> {
        let rows = self.desk.look(|_, journal| journal.kept(KEPT)).await.map_err(Fault::transient)?;
        let rows = rows.map_err(Fault::transient)?;
        let row = |name: &str| rows.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice());
        let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<u32>().ok();
        let epoch = row("epoch").and_then(number).unwrap_or_default().wrapping_add(1);
        let absent: BTreeSet<Key> =
            row(ABSENT).and_then(|row| serde_json::from_slice(row).ok()).unwrap_or_default();
        absent.iter().for_each(|key| self.seen.config(key, false));
        let said = Said::default();
        said.load(&rows);
        self.adoption.set(if row("adopted").is_some() { Takeover::Done } else { Takeover::Wanted });
        let kept = (format!("{KEPT}epoch"), Some(epoch.to_string().into_bytes()));
        self.desk.keep(vec![kept]).await.map_err(Fault::transient)?;
        let known = Arc::default();
        let sights = self.stand(&known).await?;
        Ok(Working {
            door: self,
            ctx: ctx.clone(),
            front: Arc::new(Front::new(u64::from(epoch) << 32)),
            said: Arc::new(said),
            spare: Arc::new(Spare::from_kept(rows)),
            sights,
            known,
            shown: Shown::default(),
            volumes: Volumes::new(&self.options.root),
            looks: 0,
            next_nudge: 1,
            is_watched: false,
            absent,
            reported: None,
            is_adoption_kept: *self.adoption.watch().borrow() == Takeover::Done,
        })
    }

    /// Stands where it sees at once what the gate decides.
    async fn stand(&self, known: &Arc<Mutex<Known>>) -> Result<Sights<Result<Look, LookError>>, Fault> {
        let (known, adoption) = (Arc::clone(known), Arc::clone(&self.adoption));
        let look = move |gate: &Gate, journal: &Journal| {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            Look::at(gate, journal, &known, &adoption)
        };
        self.desk.stand(look).await.map_err(Fault::transient)
    }

    async fn listen(&self, ctx: &Ctx, working: &Working<'_>) -> Result<(), Fault> {
        let KubeletOptions { address, certificate, key, authority, upstream, .. } = self.options.clone();
        let client = Client {
            authority,
            name: format!("system:node:{}", self.node),
            group: "system:nodes".to_owned(),
        };
        let listener =
            Listener::bind(address, certificate, key, client).await.map_err(|error| match error {
                ListenError::Port { .. } => Fault::dependency("the port of the kubelet door", error),
                error => Fault::transient(error),
            })?;
        tracing::info!(address = %listener.local_addr(), "the kubelet door is open");
        let counter = Arc::new(Counter {
            node: self.node.clone(),
            upstream,
            desk: self.desk.clone(),
            front: Arc::clone(&working.front),
            said: Arc::clone(&working.said),
            spare: Arc::clone(&working.spare),
            seen: Arc::clone(&self.seen),
        });
        let stop = ctx.token();
        ctx.spawn("listener", async move {
            let service = move |request, _peer| {
                let counter = Arc::clone(&counter);
                async move { counter.answer(request).await }
            };
            listener.serve(service, stop).await;
            Ok(())
        });
        let spares = Spares {
            node: self.node.clone(),
            cluster: self.cluster.clone(),
            desk: self.desk.clone(),
            seen: Arc::clone(&self.seen),
            spare: Arc::clone(&working.spare),
        };
        let stop = ctx.token();
        ctx.spawn(
            "spares",
            async move { stop.run_until_cancelled_owned(spares.run()).await.unwrap_or(Ok(())) },
        );
        Ok(())
    }
}

// === impl Working ===

impl Working<'_> {
    /// Shows what has changed since, and tells the gate how it does.
    async fn show(&mut self, look: Result<Look, LookError>) -> Result<(), Fault> {
        let mut look = look.map_err(Fault::transient)?;
        if look.is_sealed {
            self.front.close("the record of this node cannot be read: nobody knows what may be shown");
            return self.report_part().await;
        }
        if look.is_adoption_wanted {
            if !look.has_any {
                self.front.close("the cluster has not said yet what runs here");
                return self.report_part().await;
            }
            // A record that names anything is one of a gate that was in charge.
            self.door.adoption.set(Takeover::Done);
        }
        self.keep_adoption().await?;
        let (seen, is_connected) = (self.door.seen.all(), self.door.link.now().connected);
        self.front.judge(std::mem::take(&mut look.judged));
        let plan = self.shown.take(look, Facing { seen: &seen, said: &self.said, is_connected });
        let is_incomplete = plan.is_incomplete;
        self.carry_out(plan).await?;
        self.front.open();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = self.shown.known();
        if is_incomplete {
            self.look_again().await?;
        }
        self.forget(is_connected).await?;
        self.report_part().await
    }

    /// Kept, then shown, then told.
    async fn carry_out(&mut self, plan: Plan) -> Result<(), Fault> {
        let Plan { words, steps, events, is_incomplete: _ } = plan;
        self.remember(words).await?;
        let is_news = !steps.is_empty();
        self.front.apply(steps);
        if is_news {
            // The kubelet's streams go first: all that is left to do here can wait for them.
            tokio::task::yield_now().await;
        }
        self.tell(events).await
    }

    /// Remembers the door's own part of what is known of pods. The kubelet may have said the rest anew meanwhile.
    async fn remember(&self, words: Vec<(Uid, Word)>) -> Result<(), Fault> {
        if words.is_empty() {
            return Ok(());
        }
        let _turn = self.said.turn().await;
        let merged = words.into_iter().map(|(uid, Word { nudges, replaced, .. })| {
            let word = Word { nudges, replaced, ..self.said.word(&uid) };
            (uid, word)
        });
        let merged: Vec<(Uid, Word)> = merged.collect();
        self.keep(merged.iter().map(|(uid, word)| word.row(uid)).collect()).await?;
        for (uid, word) in merged {
            self.said.set(&uid, word);
        }
        Ok(())
    }

    async fn keep_adoption(&mut self) -> Result<(), Fault> {
        if self.is_adoption_kept {
            return Ok(());
        }
        // What was over before the takeover was written down by whoever took it over.
        let rows = self.door.desk.look(|_, journal| journal.kept(KEPT)).await.map_err(Fault::transient)?;
        self.said.load(&rows.map_err(Fault::transient)?);
        self.keep(vec![(format!("{KEPT}adopted"), Some(Vec::new()))]).await?;
        self.is_adoption_kept = true;
        Ok(())
    }

    /// Forgets what belongs to pods that are gone, and keeps what the cluster says is not there.
    async fn forget(&mut self, is_connected: bool) -> Result<(), Fault> {
        let shown = self.shown.uids();
        let mut rows = self.said.forget(&shown, is_connected);
        rows.extend(self.spare.forget_tokens(|uid| shown.contains(uid)));
        let absent = self.door.seen.absent();
        if absent != self.absent {
            rows.push((format!("{KEPT}{ABSENT}"), serde_json::to_vec(&absent).ok()));
            self.absent = absent;
        }
        self.keep(rows).await
    }

    async fn check_files(&mut self) -> Result<(), Fault> {
        let (unsettled, volumes) = (self.shown.unsettled(), self.volumes.clone());
        let checking = tokio::task::spawn_blocking(move || {
            unsettled.into_iter().map(|config| config.check(&volumes)).collect::<Vec<_>>()
        });
        let checked = checking.await.map_err(Fault::transient)?;
        // At once, then ever less often: what cannot arrive must not keep the kubelet busy.
        let is_late = checked.iter().any(|checked| !checked.late.is_empty());
        let is_time = is_late && self.looks == self.next_nudge;
        (self.looks, self.next_nudge) = match (is_late, is_time) {
            (false, _) => (0, 1),
            (true, true) => (0, (self.next_nudge * 2).clamp(4, 120)),
            (true, false) => (self.looks + 1, self.next_nudge),
        };
        let plan = self.shown.settle(checked, is_time, &self.said);
        let is_news = !plan.events.is_empty();
        self.carry_out(plan).await?;
        // What the gate has heard of is not looked for again.
        if is_news { self.look_again().await } else { Ok(()) }
    }

    /// The gate knows nothing of how anything is.
    async fn begin_anew(&mut self) -> Result<(), Fault> {
        self.reported = None;
        self.sights = self.door.stand(&self.known).await?;
        Ok(())
    }

    /// Something else has changed than what the gate has decided. What is to be shown is seen all the same from the gate.
    async fn look_again(&self) -> Result<(), Fault> {
        self.door.desk.look_again().await.map_err(Fault::transient)
    }

    /// Whether a freeze could be enforced here.
    async fn report_part(&mut self) -> Result<(), Fault> {
        let unwatched = "no kubelet watches its pods here: is its kubeconfig that of this door?";
        let elsewhere = "the kubelet keeps its pods somewhere else: give its --root-dir with --kubelet-root";
        let problem = match self.front.closed() {
            Some(closed) => Some(closed),
            None if !self.is_watched => Some(unwatched.to_owned()),
            None if !self.volumes.are_there() => Some(elsewhere.to_owned()),
            None => None,
        };
        if self.reported.as_ref() == Some(&problem) {
            return Ok(());
        }
        // It serves either way: a kubelet that is not there yet is no reason for anybody to wait.
        match &problem {
            None => self.ctx.ready(),
            Some(problem) => self.ctx.degraded(problem.clone()),
        }
        let part = PartName::from(NAME);
        let blocker = |problem: &String| Blocker {
            reason: BlockerReason::NotReady,
            subject: Subject::Part(part.clone()),
            message: problem.as_str().into(),
        };
        let blockers = problem.as_ref().map(blocker).into_iter().collect();
        self.tell(vec![Event::PartReported { part: part.clone(), blockers }]).await?;
        self.reported = Some(problem);
        Ok(())
    }

    async fn tell(&self, events: Vec<Event>) -> Result<(), Fault> {
        for event in events {
            self.door.desk.bring(event, Vec::new()).await.map_err(Fault::transient)?;
        }
        Ok(())
    }

    async fn keep(&self, rows: Vec<(String, Option<Vec<u8>>)>) -> Result<(), Fault> {
        if rows.is_empty() {
            return Ok(());
        }
        self.door.desk.keep(rows).await.map_err(Fault::transient)
    }
}
