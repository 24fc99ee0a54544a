//! The simulated machines: what each of them is like and runs, and what has happened to all of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

/// What becomes of upgrades on a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Nature {
    /// They succeed.
    #[default]
    Works,
    /// The new pod does not become ready, and the old one is put back.
    Fails,
}

/// What has happened to a fleet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Nodes whose static pod is down by a task at this moment.
    pub down: usize,
    /// The most that ever were at one moment.
    pub most_down: usize,
    /// Tasks that have succeeded.
    pub succeeded: usize,
    /// Tasks that have failed.
    pub failed: usize,
    /// What was written to the API by the nodes.
    pub writes: usize,
}

/// One machine.
pub(super) struct Machine {
    pub(super) name: String,
    /// The uid of its Node.
    pub(super) uid: String,
    pub(super) ready: bool,
    pub(super) frozen: bool,
    /// A task is at work.
    pub(super) busy: bool,
    pub(super) nature: Nature,
    /// The manifests in its folder, by namespace and name of their pods.
    manifests: HashMap<(String, String), Arc<Value>>,
}

/// All of them.
pub(super) struct Machines {
    all: Mutex<Vec<Machine>>,
    numbers: HashMap<String, usize>,
    /// Rung when a machine has changed, one for each.
    changed: Vec<Notify>,
    counts: Mutex<Counts>,
    down: Mutex<HashSet<usize>>,
}

// === impl Machine ===

impl Machine {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            uid: String::new(),
            ready: true,
            frozen: false,
            busy: false,
            nature: Nature::Works,
            manifests: HashMap::new(),
        }
    }

    /// Lets a task begin, unless the machine is away or frozen.
    pub(super) fn begin(&mut self) -> bool {
        self.busy = self.ready && !self.frozen;
        self.busy
    }

    /// Puts a manifest in its folder.
    pub(super) fn run(&mut self, manifest: Arc<Value>) {
        self.manifests.insert(key(&manifest), manifest);
    }

    /// Takes a manifest out of its folder.
    pub(super) fn drop_manifest(&mut self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.manifests.remove(&(namespace.to_owned(), name.to_owned()))
    }

    pub(super) fn manifest(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.manifests.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}

/// The namespace and the name of a manifest's pod.
pub(super) fn key(manifest: &Value) -> (String, String) {
    let text = |field: &str| manifest["metadata"][field].as_str().map(str::to_owned);
    (text("namespace").unwrap_or_else(|| "default".to_owned()), text("name").unwrap_or_default())
}

// === impl Machines ===

impl Machines {
    pub(super) fn new(all: Vec<Machine>) -> Self {
        let numbers =
            all.iter().enumerate().map(|(number, machine)| (machine.name.clone(), number)).collect();
        let changed = all.iter().map(|_| Notify::new()).collect();
        Self { all: Mutex::new(all), numbers, changed, counts: Mutex::default(), down: Mutex::default() }
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Looks at a machine, or changes it.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub(super) fn with<T>(&self, number: usize, look: impl FnOnce(&mut Machine) -> T) -> T {
        let looked = look(&mut lock(&self.all)[number]);
        self.changed[number].notify_waiters();
        looked
    }

    /// Waits until a machine is like this.
    pub(super) async fn until(&self, number: usize, is: impl Fn(&Machine) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed[number].notified());
            changed.as_mut().enable();
            if is(&lock(&self.all)[number]) {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.counts));
    }

    /// A static pod of the machine goes down by a task, or is up again.
    pub(super) fn set_down(&self, number: usize, is_down: bool) {
        let mut down = lock(&self.down);
        if is_down {
            down.insert(number);
        } else {
            down.remove(&number);
        }
        let now = down.len();
        self.count(|counts| {
            counts.down = now;
            counts.most_down = counts.most_down.max(now);
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
