//! The driver: waits for whatever happens next, lets the [`machine`](crate::machine)
//! decide, and does as it says.
//!
//! One loop owns everything, so nothing here is locked and one thing happens at a time. The loop never does
//! work of a module and never touches the disk itself; it can be late only if the runtime is.

use std::{fmt, sync::Arc};

use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::sleep_until,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::{
    builder::Builder,
    clock::{Clock, Moment},
    config::Config,
    ctx::{Ctx, Pulse, Report},
    exit::Exit,
    failure::Failure,
    handle::{Command, Handle, QUEUE, ReconfigureError, RestartError},
    health::{Health, Liveness},
    keeper::{Note, keep},
    machine::{Effect, Event, Machine, Restartable, Rules},
    module::{Registered, Spec},
    panics,
    record::Record,
    scope::{Scope, Teardown},
};

/// Starts modules in the order of their dependencies, keeps them running, and stops them in reverse.
///
/// Made by [`Supervisor::builder`], driven by [`Supervisor::run`].
pub struct Supervisor {
    modules: Vec<Registered>,
    machine: Machine,
    record: Record,
    clock: Clock,
    /// The present or latest run of each module.
    runs: Vec<Option<Live>>,
    /// One task per run; see [`keep`].
    keepers: JoinSet<()>,
    notes_tx: mpsc::UnboundedSender<Note>,
    notes_rx: mpsc::UnboundedReceiver<Note>,
    commands_rx: mpsc::Receiver<Command>,
    /// Rung by modules that have something to report.
    bell: Arc<Notify>,
    health_tx: watch::Sender<Health>,
    handle: Handle,
}

/// One run of a module, seen from above.
struct Live {
    cancel: CancellationToken,
    pulse: Arc<Pulse>,
}

/// What the loop woke up for.
enum Wakeup {
    Note(Note),
    Command(Command),
    Shutdown,
    /// A deadline has passed, a module rang, or there is only housekeeping.
    Look,
}

// === impl Supervisor ===

impl Supervisor {
    /// Begins with a configuration; modules are added to the builder.
    pub fn builder(config: Config) -> Builder {
        Builder::new(config)
    }

    pub(crate) fn new(modules: Vec<Registered>, machine: Machine, record: Record, clock: Clock) -> Self {
        let (health_tx, health_rx) = watch::channel(machine.health());
        let (notes_tx, notes_rx) = mpsc::unbounded_channel();
        let (commands_tx, commands_rx) = mpsc::channel(QUEUE);
        Self {
            runs: modules.iter().map(|_| None).collect(),
            modules,
            machine,
            record,
            clock,
            keepers: JoinSet::new(),
            notes_tx,
            notes_rx,
            commands_rx,
            bell: Arc::new(Notify::new()),
            health_tx,
            handle: Handle::new(health_rx, commands_tx),
        }
    }

    /// For the rest of the process to ask and to watch.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs the modules until `shutdown` is cancelled, [`Handle::stop`] is called, or there is no point in
    /// going on. All tasks of all modules are gone when this returns, except those that block their thread.
    ///
    /// Dropping the future aborts everything at once, in no order.
    pub async fn run(mut self, shutdown: CancellationToken) -> Exit {
        panics::install_hook();
        let mut event = Event::Woke;
        loop {
            let now = self.clock.now();
            self.hear(now);
            for effect in self.machine.step(event, now) {
                self.carry_out(effect);
            }
            self.publish();
            if let Some(exit) = self.machine.finished().cloned() {
                self.record.flush().await;
                info!(?exit, "all modules stopped");
                return exit;
            }
            event = match self.wake_up(&shutdown).await {
                Wakeup::Note(note) => self.understand(note),
                Wakeup::Command(command) => self.obey(command),
                Wakeup::Shutdown => Event::StopAsked,
                Wakeup::Look => Event::Woke,
            };
        }
    }

    /// The only place that waits.
    async fn wake_up(&mut self, shutdown: &CancellationToken) -> Wakeup {
        // A deadline beyond the end of the clock is none.
        let deadline = self.machine.next_deadline().and_then(|at| self.clock.origin().checked_add(at));
        let timer = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Bad news first: neither requests nor a module that reports in a loop may delay it.
            biased;
            Some(note) = self.notes_rx.recv() => Wakeup::Note(note),
            () = shutdown.cancelled(), if !self.machine.is_leaving() => Wakeup::Shutdown,
            Some(command) = self.commands_rx.recv() => Wakeup::Command(command),
            Some(ended) = self.keepers.join_next() => {
                // A keeper has no code of modules in it. If it panics, the bug is ours and
                // nothing below can be trusted.
                if let Err(error) = ended && let Ok(panic) = error.try_into_panic() {
                    std::panic::resume_unwind(panic);
                }
                Wakeup::Look
            }
            () = timer => Wakeup::Look,
            () = self.record.written() => Wakeup::Look,
            // Last, because every turn of the loop looks at all reports anyway.
            () = self.bell.notified() => Wakeup::Look,
        }
    }

    /// Collects what modules have said since the last time.
    fn hear(&mut self, now: Moment) {
        for (id, run) in self.runs.iter().enumerate() {
            let Some(run) = run else { continue };
            let report = run.pulse.news();
            let module = self.modules[id].spec.name;
            match &report {
                Some(Report::Ready) => info!(module, "module ready"),
                Some(Report::Degraded(reason)) => warn!(module, reason, "module degraded"),
                Some(Report::WaitingFor(what)) => info!(module, what, "module waiting"),
                Some(Report::Starting) | None => {}
            }
            self.machine.hear(id, report, run.pulse.last_beat(), now);
        }
    }

    fn understand(&self, note: Note) -> Event {
        match note {
            Note::Ended { id, end } => {
                debug!(module = self.modules[id].spec.name, ?end, "module ended");
                Event::Ended { id, end }
            }
            Note::Gone { id, teardown } => {
                let module = self.modules[id].spec.name;
                match &teardown {
                    Teardown::Clean => debug!(module, "module shutdown"),
                    Teardown::Aborted { tasks } => {
                        warn!(module, ?tasks, "tasks missed the stop deadline; aborted");
                    }
                    Teardown::Stuck { tasks } => {
                        error!(module, ?tasks, "tasks block their thread and cannot be ended");
                    }
                }
                Event::Gone { id, teardown }
            }
        }
    }

    /// Answers a request. Whoever asked may be gone by now, which is no reason not to do it.
    fn obey(&mut self, command: Command) -> Event {
        match command {
            Command::Stop => Event::StopAsked,
            Command::Check { answer } => {
                let liveness = if self.health_tx.borrow().live { Liveness::Live } else { Liveness::Lost };
                let _ = answer.send(liveness);
                Event::Woke
            }
            Command::Restart { name, answer } => {
                let found = self.find(name);
                let event = found.as_ref().map_or(Event::Woke, |id| Event::RestartAsked { id: *id });
                let _ = answer.send(found.map(drop));
                event
            }
            Command::Reconfigure { config, answer } => {
                let specs: Vec<Spec> = self.modules.iter().map(|module| module.spec.clone()).collect();
                let (event, outcome) = match Rules::of(&config, &specs) {
                    Ok(rules) => (Event::Reconfigured(rules), Ok(())),
                    Err(error) => (Event::Woke, Err(ReconfigureError::from(error))),
                };
                let _ = answer.send(outcome);
                event
            }
        }
    }

    fn find(&self, name: String) -> Result<usize, RestartError> {
        let Some(id) = self.modules.iter().position(|module| module.spec.name == name) else {
            let known = self.modules.iter().map(|module| module.spec.name.into()).collect();
            return Err(RestartError::Unknown { name, known });
        };
        match self.machine.can_restart(id) {
            Restartable::Yes => Ok(id),
            Restartable::Stuck => Err(RestartError::Stuck { name }),
            Restartable::Exiting => Err(RestartError::Stopping),
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start { id } => self.start(id),
            Effect::Cancel { id } => {
                debug!(module = self.modules[id].spec.name, "stopping module");
                if let Some(run) = &self.runs[id] {
                    run.cancel.cancel();
                }
            }
            Effect::Wait { id, what, cause } => {
                info!(module = self.modules[id].spec.name, what, cause, "module waiting");
            }
            Effect::Record { id, failure } => self.remember(id, &failure),
            Effect::Escalate { module, cause } => {
                error!(module, cause, "leaving the process: a module cannot be kept running in it");
            }
        }
    }

    fn start(&mut self, id: usize) {
        let module = &self.modules[id];
        // Twice a second for a module that looks for something, hence not louder.
        debug!(module = module.spec.name, "starting module");
        let scope = Scope::new(module.spec.name);
        let pulse = Arc::new(Pulse::new(self.clock.origin(), Arc::clone(&self.bell)));
        let main = module.start(Ctx::new(module.spec.name, scope.clone(), Arc::clone(&pulse)));
        self.runs[id] = Some(Live { cancel: scope.cancel().clone(), pulse });
        let stop_deadline = self.machine.policy(id).stop_deadline;
        self.keepers.spawn(keep(id, scope, main, stop_deadline, self.notes_tx.clone()));
    }

    fn remember(&mut self, id: usize, failure: &Failure) {
        let module = self.modules[id].spec.name;
        let Failure { kind, cause, task, location, attempt, next_wait, .. } = failure;
        warn!(module, ?kind, cause, task, location, attempt, ?next_wait, "module failed");
        self.record.set(module, self.machine.failures(id));
    }

    fn publish(&self) {
        let health = self.machine.health();
        self.health_tx.send_if_modified(|published| {
            let changed = *published != health;
            *published = health;
            changed
        });
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("health", &*self.health_tx.borrow()).finish_non_exhaustive()
    }
}
