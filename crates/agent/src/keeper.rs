//! The gate task: the one owner of the gate and of its journal.
//!
//! ```text
//! inbox ─► step, step, step ─► one commit (fsync) ─► standing looks, answers, effects
//! ```
//!
//! Whatever has come in meanwhile shares a commit. Nothing leaves before it is durable: neither an effect nor an answer, nor
//! a look at the gate. If a commit fails, the gate in memory is ahead of the disk and is thrown away; the task ends, is
//! started again by the supervisor, and goes on from the journal. Who waited for an answer is told to ask again.

mod desk;
mod sight;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use safepoint_core::{Config, Effect, Event, Gate};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::sync::{Mutex, broadcast, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

pub(crate) use desk::{Asking, Desk, Input, Unavailable};
pub(crate) use sight::Sights;
use turn::Keeper;

use crate::clock::Clock;
use crate::facts::Facts;
use crate::faults;
use crate::journal::{Found, Journal};

/// How much may share a commit. More would only make the first of them wait.
const BATCH: usize = 64;
/// Leases, barriers and releases are looked at this often.
const TICK: Duration = Duration::from_secs(1);
/// The name of the module.
pub(crate) const NAME: &str = "gate";

/// The gate task as a module.
pub(crate) struct KeeperModule {
    pub(crate) folder: PathBuf,
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    /// Kept across restarts: what is in it was not looked at yet.
    pub(crate) inbox: Arc<Mutex<mpsc::Receiver<Input>>>,
    pub(crate) effects: broadcast::Sender<Arc<Effect>>,
    /// Counts the starts of the gate: everyone who shows or reports something does so anew.
    pub(crate) starts: watch::Sender<u64>,
    /// Counts the turns after which something is wanted, held or well that was not: not all of that has an effect.
    pub(crate) changes: watch::Sender<u64>,
    /// Counts the turns that have written into the audit log.
    pub(crate) recorded: watch::Sender<u64>,
    pub(crate) facts: Arc<Facts>,
}

// === impl KeeperModule ===

impl Module for KeeperModule {
    fn spec(&self) -> Spec {
        Spec::new(NAME).critical().heartbeat(Duration::from_secs(30))
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        faults::misbehave(&ctx).await?;
        let mut inbox = self.inbox.lock().await;
        let mut keeper = self.open().await?;
        keeper = self.turn(keeper, vec![Input::Event { event: Event::Ticked, bodies: Vec::new() }]).await?;
        self.starts.send_modify(|starts| *starts += 1);
        ctx.ready();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                n = inbox.recv_many(&mut batch, BATCH) => {
                    if n == 0 {
                        return Ok(());
                    }
                }
                _ = tick.tick() => batch.push(Input::Event { event: Event::Ticked, bodies: Vec::new() }),
                () = ctx.cancelled() => return Ok(()),
            }
            keeper = self.turn(keeper, std::mem::take(&mut batch)).await?;
            ctx.heartbeat();
        }
    }
}

impl KeeperModule {
    async fn open(&self) -> Result<Keeper, Fault> {
        let (folder, config, clock, facts) =
            (self.folder.clone(), self.config.clone(), Arc::clone(&self.clock), Arc::clone(&self.facts));
        let opened = tokio::task::spawn_blocking(move || -> Result<Keeper, Fault> {
            let (journal, found) = Journal::open(&folder).map_err(Fault::transient)?;
            let now = clock.now();
            let mut keeper = match found {
                Found::Nothing => Keeper::new(journal, Gate::new(config, now), clock, facts),
                Found::Records(records) => {
                    Keeper::new(journal, Gate::recover(config, *records, now), clock, facts)
                }
                Found::Unreadable { why, kept } => {
                    tracing::error!(%why, kept = %kept.display(), "the record cannot be read: the node is frozen");
                    let (gate, outcome) = Gate::sealed(config, &why, now);
                    let mut keeper = Keeper::new(journal, gate, clock, facts);
                    keeper.take(outcome);
                    keeper
                }
            };
            keeper.finish().map_err(Fault::transient)?;
            Ok(keeper)
        });
        opened.await.map_err(Fault::transient)?
    }

    /// One batch, on a thread that may block; then everybody is told.
    async fn turn(&self, mut keeper: Keeper, batch: Vec<Input>) -> Result<Keeper, Fault> {
        let worked = tokio::task::spawn_blocking(move || {
            let done = keeper.work(batch);
            (keeper, done)
        });
        let (mut keeper, done) = worked.await.map_err(Fault::transient)?;
        for effect in done.map_err(Fault::transient)? {
            // Nobody may be listening yet; whoever begins to, begins with a look at the gate.
            let _ = self.effects.send(Arc::new(effect));
        }
        if keeper.has_changed() {
            self.changes.send_modify(|changes| *changes += 1);
        }
        if keeper.has_recorded() {
            self.recorded.send_modify(|recorded| *recorded += 1);
        }
        Ok(keeper)
    }
}
