//! What a running module can say to its supervisor, and hear from it.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{fault::Fault, scope::Scope};

/// The module's side of one run. Cheap to clone into child tasks.
#[derive(Clone, Debug)]
pub struct Ctx {
    name: &'static str,
    scope: Scope,
    pulse: Arc<Pulse>,
}

/// What a module last said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    Starting,
    WaitingFor(String),
    Ready,
    Degraded(String),
}

/// The supervisor's ear for one run.
///
/// Only the latest report counts, so a module that reports in a loop costs a slot and not a
/// queue, and saying the same again wakes nobody. A heartbeat never does: the supervisor looks at
/// it when the deadline would pass.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// What times are counted from; the same for all modules.
    origin: Instant,
    /// Microseconds from the origin.
    last_beat: AtomicU64,
    said: Mutex<Said>,
    bell: Arc<Notify>,
}

#[derive(Debug)]
struct Said {
    latest: Report,
    heard: bool,
}

// === impl Ctx ===

impl Ctx {
    pub(crate) fn new(name: &'static str, scope: Scope, pulse: Arc<Pulse>) -> Self {
        Self { name, scope, pulse }
    }

    /// The module's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Does its work now: whatever depends on this module may start.
    pub fn ready(&self) {
        self.pulse.report(Report::Ready);
    }

    /// Works, but not fully, for the reason given. Those that depend on it keep going.
    /// [`ready`](Self::ready) ends it.
    pub fn degraded(&self, reason: impl Into<String>) {
        self.pulse.report(Report::Degraded(reason.into()));
    }

    /// Can do nothing before something outside is there, such as the socket of a container runtime. Not a
    /// failure, for however long: neither the start deadline nor the heartbeat counts meanwhile.
    /// [`starting`](Self::starting) or [`ready`](Self::ready) ends it.
    pub fn waiting_for(&self, what: impl Into<String>) {
        self.pulse.report(Report::WaitingFor(what.into()));
    }

    /// What was waited for is there; the start deadline runs again, from its beginning.
    pub fn starting(&self) {
        self.pulse.report(Report::Starting);
    }

    /// Shows that the work goes on. Call it from the loop that does the work, once per turn: a timer on the
    /// side would only show that timers work.
    pub fn heartbeat(&self) {
        self.pulse.beat();
    }

    /// Resolves when the module has to stop. It then has until its stop deadline to finish what it has begun.
    pub async fn cancelled(&self) {
        self.scope.cancel().cancelled().await;
    }

    /// Whether the module has to stop, for code that cannot await.
    pub fn is_cancelled(&self) -> bool {
        self.scope.cancel().is_cancelled()
    }

    /// A token that is cancelled when the module has to stop. Cancelling it does not stop the module.
    pub fn token(&self) -> CancellationToken {
        self.scope.cancel().child_token()
    }

    /// The module's task tree, for code that should be able to spawn and nothing else.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Runs a future as a task of this module; see [`Scope::spawn`].
    pub fn spawn<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = Result<(), Fault>> + Send + 'static,
    {
        self.scope.spawn(name, future);
    }
}

// === impl Pulse ===

impl Pulse {
    pub(crate) fn new(origin: Instant, bell: Arc<Notify>) -> Self {
        let said = Said { latest: Report::Starting, heard: true };
        let pulse = Self { origin, last_beat: AtomicU64::new(0), said: Mutex::new(said), bell };
        pulse.beat();
        pulse
    }

    fn report(&self, report: Report) {
        // Whoever speaks is alive.
        self.beat();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.latest != report {
            *said = Said { latest: report, heard: false };
            self.bell.notify_one();
        }
    }

    fn beat(&self) {
        let since_origin = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_beat.store(since_origin, Ordering::Relaxed);
    }

    /// What the module says now, if that is news.
    pub(crate) fn news(&self) -> Option<Report> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        (!std::mem::replace(&mut said.heard, true)).then(|| said.latest.clone())
    }

    pub(crate) fn last_beat(&self) -> Duration {
        Duration::from_micros(self.last_beat.load(Ordering::Relaxed))
    }
}
