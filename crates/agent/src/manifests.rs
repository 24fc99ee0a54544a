//! The manifest door: static pods, whose manifests lie in a folder that the kubelet reads and the cluster cannot reach.
//!
//! ```text
//! node API, upgrade task ─► wish ─► gate ─► due ─► safepoint-manifest: swap, verify, go back
//!             │  kubelet's folder ─► read ──┘ ▲                │
//!             └► ask ─► cluster               └──── outcome ◄──┘
//! ```
//!
//! What lies in the folder is applied, whoever put it there; what somebody wishes is wanted, and the gate decides. Like
//! every door it is level triggered: it compares what was admitted with what lies there and does the difference. While a
//! swap is under way the static pod is starting, and no freeze is acknowledged. Once it is over, the manifest that is in
//! place counts as ready: whether its pod is well was looked at, and a pod that fails later is not a change.

mod ask;
mod board;
mod due;
mod given;
mod read;
pub(crate) mod show;
mod tools;
mod wish;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{AbortHandle, Aborted};
use futures::stream::FuturesUnordered;
use safepoint_api::local::{Failure, reason};
use safepoint_core::{Digest, Effect, Event, Gate, Health, Key, Kind, Stage, Version};
use safepoint_manifest::{Door, Folder, FolderError, Host, Outcome, PodKey, Rules, StagedRecord, kubelet};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::journal::{BodyKey, Journal};
use crate::keeper::{self, Desk};
use crate::link::Link;
use crate::seen::SeenPods;
use crate::static_pods::Witness;
use ask::AskJob;
use board::Wished;
pub(crate) use board::{Board, Known, Wish, refused};
use due::{Due, Row, Told, Work, due};
use read::{Read, Scan, Written, key_of, pod_of, uid_of};
use tools::Tools;
use wish::StagingJob;

/// The name of the module.
pub(crate) const NAME: &str = "manifest-door";
/// How often the folder is looked at for what others have done there, and what failed is tried again.
const LOOK: Duration = Duration::from_secs(5);
/// Under this, namespace and name, what is known of a static pod is kept.
const KEPT: &str = "manifest/";

/// Where the manifests are, and what is expected of their pods.
#[derive(Clone, Debug, Default)]
pub struct ManifestOptions {
    /// The kubelet's folder. Left out: the one that the running kubelet was told; where there is no kubelet, one below the
    /// agent's folder.
    pub folder: Option<PathBuf>,
    /// The container runtime's socket. Left out: the one that the running kubelet uses, else the usual ones.
    pub runtime: Option<PathBuf>,
    /// The kubelet's credentials for registries.
    pub credentials: PathBuf,
    /// When a pod is good.
    pub rules: Rules,
}

/// The door as a module.
pub(crate) struct ManifestDoor {
    pub(crate) node: String,
    pub(crate) options: ManifestOptions,
    pub(crate) data: PathBuf,
    pub(crate) desk: Desk,
    pub(crate) clock: Arc<dyn Clock>,
    /// Where what does not lie ready is asked for.
    pub(crate) cluster: Cluster,
    pub(crate) link: Link,
    /// What the cluster says of their mirrors.
    pub(crate) seen: Arc<SeenPods>,
    pub(crate) witness: Witness,
    /// What sees the static pods, where that is no kubelet.
    pub(crate) after: Option<&'static str>,
    pub(crate) board: Arc<Board>,
    /// Kept across restarts: what is in it was not looked at yet.
    pub(crate) wishes: Arc<Mutex<mpsc::Receiver<Wished>>>,
}

/// The door at work.
struct Working<'a> {
    desk: &'a Desk,
    board: &'a Board,
    clock: &'a dyn Clock,
    cluster: &'a Cluster,
    link: &'a Link,
    seen: &'a SeenPods,
    node: &'a str,
    tools: Tools,
    scan: Scan,
    live: BTreeMap<Key, Read>,
    staged: BTreeMap<Key, StagedRecord>,
    /// What of it the cluster had taken back when it was last looked at.
    taken_back: BTreeSet<Key>,
    rows: BTreeMap<Key, Row>,
    jobs: FuturesUnordered<Job>,
    /// What is under way, until its future has ended: before that nobody else can begin.
    running: BTreeMap<Key, (Work, AbortHandle)>,
    /// Swaps that could not go on, and are tried again.
    stuck: BTreeSet<Key>,
    stagings: FuturesUnordered<StagingJob>,
    asks: FuturesUnordered<AskJob>,
}

/// A swap. Dropped, it is interrupted, and can be gone on with.
type Job = Pin<Box<dyn Future<Output = (Key, Result<Option<Outcome>, Aborted>)> + Send>>;

/// A static pod as the gate has it.
struct Slot {
    applied: Option<(Version, Stage)>,
    wanted: Option<Version>,
    /// The manifest that was admitted.
    written: Option<Written>,
}

// === impl ManifestDoor ===

impl Module for ManifestDoor {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME].into_iter().chain(self.after))
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let mut wishes = self.wishes.lock().await;
        let (mut effects, mut starts, mut seen) =
            (self.desk.effects(), self.desk.starts(), self.seen.changes());
        let Some((door, first)) = self.find(&ctx, &mut wishes).await? else { return Ok(()) };
        let mut working = self.begin(door).await?;
        working.resume_all()?;
        working.look().await?;
        ctx.ready();
        if let Some((wish, reply)) = first {
            working.take(wish, reply).await?;
        }
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                effect = effects.recv() => match effect.as_deref() {
                    Ok(Effect::Admit(change)) if change.key.kind == Kind::StaticPod => working.look().await?,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => working.look().await?,
                    Err(RecvError::Closed) => return Ok(()),
                },
                changed = starts.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    working.look().await?;
                }
                wished = wishes.recv() => {
                    let Some((wish, reply)) = wished else { return Ok(()) };
                    working.take(wish, reply).await?;
                }
                changed = seen.changed() => {
                    changed.map_err(Fault::transient)?;
                    if working.taken_back() != working.taken_back {
                        working.look().await?;
                    }
                }
                Some((key, ended)) = working.jobs.next() => working.ended(key, ended).await?,
                Some(staging) = working.stagings.next() => working.staged_now(staging).await?,
                Some(asked) = working.asks.next() => working.asked(asked).await?,
                _ = tick.tick() => {
                    working.try_again()?;
                    working.look().await?;
                }
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl ManifestDoor {
    /// Waits until it is known where the manifests are. None: nobody wants to know any more.
    async fn find(
        &self,
        ctx: &Ctx,
        wishes: &mut mpsc::Receiver<Wished>,
    ) -> Result<Option<(Door, Option<Wished>)>, Fault> {
        let mut wished: Option<Wished> = None;
        loop {
            let given = self.options.folder.clone();
            let found = tokio::task::spawn_blocking(move || find(given)).await.map_err(Fault::transient)?;
            let none = match found {
                Ok(folder) => {
                    tracing::info!(folder = %folder.path().display(), "the manifest door is open");
                    let door = Door::new(folder, &self.data).with_node(&self.node);
                    return Ok(Some((door.with_rules(self.options.rules), wished)));
                }
                Err(none) => none,
            };
            let problem = match none {
                // It is meant so: the node does without static pods, and so without this module.
                FolderError::NoStaticPods => {
                    self.forget_all().await?;
                    ctx.ready();
                    none.to_string()
                }
                none => {
                    ctx.degraded(none.to_string());
                    none.to_string()
                }
            };
            self.board.publish(Known { problem: Some(problem.clone()), ..Known::default() });
            if let Some((_, reply)) = wished.take() {
                let _ = reply.send(Err(Box::new(Failure::new(501, reason::NO_MANIFESTS, problem))));
            }
            tokio::select! {
                // Whoever wishes for something is a reason to look again.
                next = wishes.recv() => match next {
                    Some(next) => wished = Some(next),
                    None => return Ok(None),
                },
                () = tokio::time::sleep(LOOK) => {}
                () = ctx.cancelled() => return Ok(None),
            }
        }
    }

    /// Where the kubelet reads no manifests, no static pod runs.
    async fn forget_all(&self) -> Result<(), Fault> {
        let of = |gate: &Gate| {
            let slots = gate.slots().iter().filter(|(key, _)| key.kind == Kind::StaticPod);
            slots.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        for key in self.desk.look(move |gate, _| of(gate)).await.map_err(Fault::transient)? {
            let event = Event::Ended { uid: uid_of(&key), key };
            self.desk.bring(event, Vec::new()).await.map_err(Fault::transient)?;
        }
        Ok(())
    }

    async fn begin(&self, door: Door) -> Result<Working<'_>, Fault> {
        let rows = self.desk.look(|_, journal| journal.kept(KEPT)).await.map_err(Fault::transient)?;
        let rows = rows.map_err(Fault::transient)?.into_iter().filter_map(|(name, row)| {
            let (namespace, name) = name.split_once('/')?;
            Some((key_of(&PodKey::new(namespace, name).ok()?), serde_json::from_slice(&row).ok()?))
        });
        let tools = Tools {
            door,
            runtime: self.options.runtime.clone(),
            credentials: self.options.credentials.clone(),
            witness: self.witness.clone(),
        };
        Ok(Working {
            desk: &self.desk,
            board: &self.board,
            clock: &*self.clock,
            cluster: &self.cluster,
            link: &self.link,
            seen: &self.seen,
            node: &self.node,
            tools,
            scan: Scan::default(),
            live: BTreeMap::new(),
            staged: BTreeMap::new(),
            taken_back: BTreeSet::new(),
            rows: rows.collect(),
            jobs: FuturesUnordered::new(),
            running: BTreeMap::new(),
            stuck: BTreeSet::new(),
            stagings: FuturesUnordered::new(),
            asks: FuturesUnordered::new(),
        })
    }
}

/// Where the manifests are. A kubelet that does not run yet may have been told anything, so it is waited for.
fn find(given: Option<PathBuf>) -> Result<Folder, FolderError> {
    let host = Host::here();
    if let Some(given) = given {
        return Folder::find(&host, Some(&given));
    }
    let folder = Folder::find(&host, None)?;
    match kubelet::running(&host)? {
        Some(_) => Ok(folder),
        None => Err(FolderError::Missing { path: folder.on_node().to_owned() }),
    }
}

/// What the gate has of static pods.
fn slots(gate: &Gate, journal: &Journal) -> Result<BTreeMap<Key, Slot>, redb::Error> {
    let slots = gate.slots().iter().filter(|(key, _)| key.kind == Kind::StaticPod);
    slots
        .map(|(key, slot)| {
            let applied = slot.applied.as_ref().map(|applied| (applied.version.clone(), applied.stage));
            let body = applied.as_ref().map(|(version, _)| journal.body(&BodyKey::new(key, version)));
            let written = body.transpose()?.flatten().and_then(|body| serde_json::from_slice(&body).ok());
            Ok((key.clone(), Slot { applied, wanted: slot.wanted.clone(), written }))
        })
        .collect()
}

// === impl Working ===

impl Working<'_> {
    /// Looks at everything, and does what is due.
    async fn look(&mut self) -> Result<(), Fault> {
        self.scan().await?;
        self.taken_back = self.taken_back();
        let slots = self.desk.look(slots).await.map_err(Fault::transient)?.map_err(Fault::transient)?;
        let keys: BTreeSet<Key> = slots.keys().chain(self.live.keys()).cloned().collect();
        for key in keys {
            let slot = slots.get(&key);
            self.look_at(&key, slot).await?;
        }
        self.publish();
        Ok(())
    }

    async fn look_at(&mut self, key: &Key, slot: Option<&Slot>) -> Result<(), Fault> {
        if self.stuck.contains(key) {
            return Ok(());
        }
        let applied = slot.and_then(|slot| slot.applied.as_ref());
        let told = match applied {
            None => Told::Nothing,
            Some((_, Stage::Ending)) => Told::End,
            Some((version, Stage::Delivered(_))) => Told::Manifest(&version.digest),
        };
        let live = self.live.get(key).cloned();
        let row = self.rows.get(key).cloned().unwrap_or_default();
        let work = self.running.get(key).map(|(work, _)| work);
        match due(told, live.as_ref().map(Read::digest), &row, work) {
            // Also where somebody else had begun it: a freeze waits for it.
            Due::Nothing if work.is_some() => self.report(key, applied, Health::Starting).await,
            Due::Nothing => Ok(()),
            Due::Report => {
                self.note_in_place(key, live.as_ref()).await?;
                self.report(key, applied, Health::Ready).await?;
                match (slot, live) {
                    (Some(slot), Some(live)) => self.settle(slot, &live).await,
                    _ => Ok(()),
                }
            }
            Due::Find => {
                let told = applied.map(|(version, _)| version.digest.clone());
                self.find(key, told, "it was put there by somebody else, or was there before").await
            }
            Due::End => self.end(key).await,
            Due::Put => match slot.and_then(|slot| slot.written.clone()) {
                Some(written) => {
                    let digest = applied.map(|(version, _)| version.digest.clone());
                    self.start(
                        key,
                        Work::Put(digest.unwrap_or_else(|| Digest::from(""))),
                        live,
                        Some(written),
                    );
                    Ok(())
                }
                None => {
                    let told = applied.map(|(version, _)| version.digest.clone());
                    self.find(key, told, "what was admitted cannot be read").await
                }
            },
            Due::Remove => {
                self.start(key, Work::Remove, live, None);
                Ok(())
            }
            Due::Stop => {
                if let Some((_, handle)) = self.running.get(key) {
                    handle.abort();
                }
                Ok(())
            }
        }
    }

    /// What is in place says for itself whether it is held; and what lies ready and nobody wants yet, waits, unless the
    /// cluster has taken it back.
    async fn settle(&mut self, slot: &Slot, live: &Read) -> Result<(), Fault> {
        let is_taken_back = self.taken_back.contains(&live.key);
        let staged = self.staged.get(&live.key).map(|staged| staged.digest.as_str());
        let staged = staged.filter(|digest| *digest != live.digest().as_str());
        let waits =
            |wanted: &Version| wanted.hold && !wanted.deleting && Some(wanted.digest.as_str()) == staged;
        if is_taken_back && slot.wanted.as_ref().is_some_and(waits) {
            return self.want(live, live.version.clone()).await;
        }
        let wants_it = |wanted: &Version| wanted.digest == *live.digest() && !wanted.deleting;
        if !slot.wanted.as_ref().is_some_and(wants_it) {
            return Ok(());
        }
        let staged = staged.filter(|digest| !is_taken_back && !self.has_failed(&live.key, digest));
        if staged.is_some()
            && let Some(pod) = pod_of(&live.key)
            && let Ok(Some(staged)) = self.tools.door.staged(&pod)
            && let Ok(read) = Read::new(staged.file, &staged.text)
        {
            let version = Version { hold: true, ..read.version.clone() };
            return self.want(&read, version).await;
        }
        if slot.wanted.as_ref() != Some(&live.version) {
            return self.want(live, live.version.clone()).await;
        }
        Ok(())
    }

    /// Whether the last swap of a static pod was to this manifest, and was not done.
    fn has_failed(&self, key: &Key, digest: &str) -> bool {
        let last = self.rows.get(key).and_then(|row| row.last.as_ref());
        last.is_some_and(|last| last.tried.as_deref() == Some(digest) && last.exit_code != 0)
    }

    /// Reads the folder, and what is staged.
    async fn scan(&mut self) -> Result<(), Fault> {
        let mut scan = std::mem::take(&mut self.scan);
        let door = self.tools.door.clone();
        let scanned = tokio::task::spawn_blocking(move || {
            let live = scan.look(door.folder().path());
            (scan, live, door.all_staged())
        });
        let (scan, live, staged) = scanned.await.map_err(Fault::transient)?;
        self.scan = scan;
        // A folder that cannot be read says nothing: what is not there must not be taken for gone.
        self.live = live.map_err(|error| Fault::dependency("the kubelet's folder of manifests", error))?;
        let staged = staged.map_err(|outcome| Fault::transient(outcome.message))?;
        self.staged = staged.into_iter().map(|it| (key_of(&it.key), it.record)).collect();
        Ok(())
    }

    fn publish(&self) {
        self.board.publish(Known {
            problem: None,
            door: Some(self.tools.door.clone()),
            live: self.live.clone(),
            staged: self.staged.clone(),
            rows: self.rows.clone(),
        });
    }
}
