//! The task tree of one run of a module: nothing a module started outlives it.
//!
//! One `JoinSet` holds the module's main task and all its children, however deep they were spawned from. It
//! is behind a lock because any of them may spawn, while the keeper of the run reaps; the lock is never held
//! across an await. A channel to the keeper would do without the lock, but a task that is only on its way to
//! its owner belongs to nobody, and that is the moment in which tasks leak.

use std::{
    collections::HashMap,
    fmt,
    future::{Future, pending, poll_fn},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    task::{Id, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{
    fault::Fault,
    module::Run,
    panics::{Panic, caught, caught_now},
};

/// An aborted task is gone at its next await, so this is an eternity: a task that is
/// still there blocks its thread.
const ABORT_DEADLINE: Duration = Duration::from_secs(5);

/// The name under which a module's own future is reported.
const MAIN: &str = "main";

/// Spawns tasks that belong to one run of a module and end with it.
#[derive(Clone)]
pub struct Scope {
    shared: Arc<Shared>,
}

struct Shared {
    module: &'static str,
    runtime: Handle,
    cancel: CancellationToken,
    tree: Mutex<Tree>,
}

struct Tree {
    tasks: JoinSet<Outcome>,
    names: HashMap<Id, &'static str>,
    /// False once nobody reaps any more: what would be spawned then is dropped instead.
    open: bool,
}

/// How one task ended.
enum Outcome {
    /// The module's own future returned `Ok`.
    Completed,
    /// A child is done, or was aborted.
    Done,
    Faulty(Fault),
    Panicked(Panic),
}

/// What ended a run from within.
#[derive(Debug)]
pub(crate) enum End {
    /// The module's own future returned `Ok`.
    Completed,
    /// A task returned an error.
    Faulty { task: &'static str, fault: Fault },
    /// A task panicked.
    Panicked { task: &'static str, panic: Panic },
}

/// How the tasks of a run went away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Teardown {
    /// All ended by themselves within the stop deadline.
    Clean,
    /// These did not, and were aborted.
    Aborted { tasks: Vec<&'static str> },
    /// These could not even be aborted, and still run.
    Stuck { tasks: Vec<&'static str> },
}

/// Aborts what is left when the supervisor itself is dropped in the middle of things.
pub(crate) struct AbortOnDrop(Scope);

// === impl Scope ===

impl Scope {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(module: &'static str) -> Self {
        let tree = Tree { tasks: JoinSet::new(), names: HashMap::new(), open: true };
        let (runtime, cancel) = (Handle::current(), CancellationToken::new());
        Self { shared: Arc::new(Shared { module, runtime, cancel, tree: Mutex::new(tree) }) }
    }

    /// Runs a future as a task of this module.
    ///
    /// A task that returns `Ok` is done, and the module goes on. An error or a panic ends the whole module,
    /// and only it. After the cancellation a task has until the stop deadline to finish, and is aborted then.
    /// Once the module is gone nothing can be spawned: the future is dropped without having run.
    pub fn spawn<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = Result<(), Fault>> + Send + 'static,
    {
        self.spawn_task(name, async { Outcome::of(caught(future).await, Outcome::Done) });
    }

    /// Runs a closure on a thread where it may block, as a task of this module.
    ///
    /// Nobody can abort a thread: the closure has to look at [`Ctx::is_cancelled`](crate::Ctx::is_cancelled).
    /// One that does not return leaves its module stuck, which ends the process if the module is critical.
    pub fn spawn_blocking<F>(&self, name: &'static str, f: F)
    where
        F: FnOnce() -> Result<(), Fault> + Send + 'static,
    {
        let mut tree = self.lock();
        if tree.open {
            let task = || Outcome::of(caught_now(f), Outcome::Done);
            let id = tree.tasks.spawn_blocking_on(task, &self.shared.runtime).id();
            tree.names.insert(id, name);
        }
    }

    /// Runs the module's own future, whose end is that of the module.
    pub(crate) fn spawn_main(&self, run: Run) {
        self.spawn_task(MAIN, async { Outcome::of(caught(run).await, Outcome::Completed) });
    }

    fn spawn_task(&self, name: &'static str, task: impl Future<Output = Outcome> + Send + 'static) {
        let mut tree = self.lock();
        if tree.open {
            let id = tree.tasks.spawn_on(task, &self.shared.runtime).id();
            tree.names.insert(id, name);
        }
    }

    /// Cancelled when the module has to stop.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.shared.cancel
    }

    pub(crate) fn abort_on_drop(&self) -> AbortOnDrop {
        AbortOnDrop(self.clone())
    }

    /// Reaps tasks until one of them ends the module.
    pub(crate) async fn ended(&self) -> End {
        loop {
            match poll_fn(|cx| self.lock().poll_reap(cx)).await {
                Some((_, Outcome::Completed)) => return End::Completed,
                Some((_, Outcome::Done)) => {}
                Some((task, Outcome::Faulty(fault))) => return End::Faulty { task, fault },
                Some((task, Outcome::Panicked(panic))) => return End::Panicked { task, panic },
                // The main task ends the module before the tree can be empty.
                None => pending().await,
            }
        }
    }

    /// Cancels everything, waits, and aborts what does not go. The tree is empty
    /// afterwards, unless it is stuck.
    pub(crate) async fn tear_down(&self, stop_deadline: Duration) -> Teardown {
        self.shared.cancel.cancel();
        if timeout(stop_deadline, self.emptied()).await.is_ok() {
            return Teardown::Clean;
        }
        let tasks = self.abort();
        match timeout(ABORT_DEADLINE, self.emptied()).await {
            Ok(()) => Teardown::Aborted { tasks },
            Err(_) => Teardown::Stuck { tasks: self.lock().names() },
        }
    }

    /// Reaps tasks until none is left, and closes the tree in the same moment.
    pub(crate) async fn emptied(&self) {
        let module = self.shared.module;
        let reap = |cx: &mut Context<'_>| {
            let mut tree = self.lock();
            let reaped = tree.poll_reap(cx);
            if let Poll::Ready(None) = reaped {
                tree.open = false;
            }
            reaped
        };
        while let Some((task, outcome)) = poll_fn(reap).await {
            // The module is ending anyway, so this decides nothing; but a panic is a bug wherever it happens.
            match outcome {
                Outcome::Completed | Outcome::Done => {}
                Outcome::Faulty(fault) => debug!(module, task, ?fault, "task failed while stopping"),
                Outcome::Panicked(panic) => {
                    warn!(module, task, panic = panic.message, "task panicked while stopping");
                }
            }
        }
    }

    /// Returns the names of the tasks that were still there.
    fn abort(&self) -> Vec<&'static str> {
        let mut tree = self.lock();
        tree.open = false;
        tree.tasks.abort_all();
        tree.names()
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        // No code of a module runs under the lock, so a poisoned one is still consistent.
        self.shared.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("module", &self.shared.module).finish_non_exhaustive()
    }
}

// === impl Tree ===

impl Tree {
    fn poll_reap(&mut self, cx: &mut Context<'_>) -> Poll<Option<(&'static str, Outcome)>> {
        self.tasks.poll_join_next_with_id(cx).map(|joined| {
            let (id, outcome) = match joined? {
                Ok(done) => done,
                // Caught panics are values; this one was raised while the task's future was dropped.
                Err(error) if error.is_panic() => (error.id(), Outcome::Panicked(error.into_panic().into())),
                Err(aborted) => (aborted.id(), Outcome::Done),
            };
            let name = self.names.remove(&id).expect("every task is named under the lock that spawns it");
            Some((name, outcome))
        })
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.names.values().copied().collect();
        names.sort_unstable();
        names
    }
}

// === impl Outcome ===

impl Outcome {
    fn of(ended: Result<Result<(), Fault>, Panic>, well: Outcome) -> Self {
        match ended {
            Ok(Ok(())) => well,
            Ok(Err(fault)) => Self::Faulty(fault),
            Err(panic) => Self::Panicked(panic),
        }
    }
}

// === impl AbortOnDrop ===

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.shared.cancel.cancel();
        self.0.abort();
    }
}
