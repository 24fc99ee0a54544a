//! The runtime as its user sees it, and the loop that gives every pod a task.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{FlockOperation, flock};
use tokio::{
    sync::{Notify, Semaphore, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    Found, Options, Report, Wanted, durable,
    names::is_plain,
    pod::{self, POD},
};

/// Starts that are prepared at the same time; each waits for the disk several times.
const STARTS: usize = 4;

/// Runs pods as processes of this machine. It survives its user: what it started runs on.
pub struct Runtime {
    shared: Arc<Shared>,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Two runtimes would start everything twice.
    #[error(
        "cannot use {path}: another runtime holds its lock; stop the other agent, or give this one a folder of its own"
    )]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// Nothing can be started without one.
    #[error("no program is named that becomes a shim")]
    NoShim,
    /// The disk or the rights do not allow it.
    #[error("cannot use {path}")]
    Folder {
        /// What could not be used.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// What the tasks of the pods have in common.
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// Launches under way.
    pub(crate) starts: Semaphore,
    /// Ports of the host, and whose they are.
    pub(crate) ports: Mutex<BTreeMap<(String, u16), String>>,
    /// The containers that run.
    pub(crate) pids: Mutex<BTreeMap<(String, String), i32>>,
    pods: Mutex<BTreeMap<String, watch::Sender<Order>>>,
    /// There may be a pod without a task.
    more: Notify,
    reports: Mutex<Reports>,
    reported: Notify,
    /// Held as long as the runtime lives.
    _lock: fs::File,
}

/// What a pod's task is told; the newest only.
#[derive(Clone, Default)]
pub(crate) struct Order {
    /// `None` for a pod that was found and that nobody spoke of: it is left alone.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) forget: bool,
    /// It was wanted after it was to be forgotten: first the old is removed, then it begins anew.
    again: bool,
}

/// The newest report of each pod that has one, in the order in which they came.
#[derive(Default)]
struct Reports {
    order: VecDeque<String>,
    newest: BTreeMap<String, Report>,
}

// === impl Runtime ===

impl Runtime {
    /// Opens a folder, made if need be, and finds what was wanted in it. Nothing is started, stopped or signalled.
    pub fn open(mut options: Options) -> Result<Self, OpenError> {
        if options.shim.is_empty() {
            return Err(OpenError::NoShim);
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| OpenError::Folder { path, error }
        };
        let folder = options.folder.clone();
        for folder in [&folder, &folder.join("pods"), &folder.join("logs")] {
            // Passable, because containers with a user of their own have to reach their volumes; not readable.
            fs::DirBuilder::new().recursive(true).mode(0o711).create(folder).map_err(failed(folder))?;
        }
        options.folder = folder.canonicalize().map_err(failed(&folder))?;
        let path = options.folder.join("lock");
        let lock = fs::OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(failed(&path))?;
        let mut tries = 0;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                // A user that was killed while it started a process has left a copy of the lock in that process,
                // between fork and exec: a moment, but one that a restart by init can hit.
                Err(rustix::io::Errno::WOULDBLOCK) if tries < 100 => tries += 1,
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(OpenError::Locked { path: options.folder }),
                Err(error) => return Err(OpenError::Folder { path, error: error.into() }),
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let found = find(&options.folder.join("pods"))?;
        let pods = found.iter().map(|pod| (pod.uid.clone(), watch::Sender::new(Order::default()))).collect();
        let shared = Shared {
            options,
            starts: Semaphore::new(STARTS),
            ports: Mutex::default(),
            pids: Mutex::default(),
            pods: Mutex::new(pods),
            more: Notify::new(),
            reports: Mutex::default(),
            reported: Notify::new(),
            _lock: lock,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What the folder says was wanted, for a user that lost its own record. Read from disk each time: they are
    /// big, and asked for once.
    ///
    /// # Errors
    /// If the folder cannot be read: that nothing was found would be another thing.
    pub fn found(&self) -> Result<Vec<Found>, OpenError> {
        find(&self.shared.options.folder.join("pods"))
    }

    /// Says what shall be of a pod: start, change in place, end. The newest word counts; repeating one changes nothing.
    ///
    /// A pod that was found and is never spoken of is reported and otherwise left alone.
    pub fn want(&self, wanted: Wanted) {
        let mut pods = lock(&self.shared.pods);
        match pods.get(&wanted.uid) {
            Some(sender) => sender.send_modify(|order| {
                order.wanted = Some(wanted);
                order.again = order.forget;
            }),
            None => {
                let order = Order { wanted: Some(wanted.clone()), ..Order::default() };
                pods.insert(wanted.uid, watch::Sender::new(order));
                self.shared.more.notify_one();
            }
        }
    }

    /// Its end has been taken note of: nothing of it is kept. A pod of which something still runs is not forgotten.
    pub fn forget(&self, uid: &str) {
        if let Some(sender) = lock(&self.shared.pods).get(uid) {
            sender.send_modify(|order| (order.forget, order.again) = (true, false));
        }
    }

    /// The next report that nobody took yet: of each pod the newest only, each change of its status once.
    ///
    /// After [`open`](Self::open) every pod that was found is reported. Dropping the future loses nothing.
    pub async fn next_report(&self) -> Report {
        loop {
            // One taker is woken for many reports, so it looks before it waits.
            if let Some(report) = lock(&self.shared.reports).take() {
                return report;
            }
            self.shared.reported.notified().await;
        }
    }

    /// The process of each container that runs now, by uid and container.
    pub fn pids(&self) -> BTreeMap<(String, String), i32> {
        lock(&self.shared.pids).clone()
    }

    /// Drives everything until `stop`. Processes live on, and calling it again takes them up again.
    pub async fn run(&self, stop: CancellationToken) {
        let shared = &self.shared;
        let mut tasks: JoinSet<String> = JoinSet::new();
        let mut at_work = BTreeSet::new();
        loop {
            for (uid, sender) in lock(&shared.pods).iter() {
                if at_work.insert(uid.clone()) {
                    let (shared, uid, orders) = (shared.clone(), uid.clone(), sender.subscribe());
                    tasks.spawn(async move {
                        pod::run(shared, &uid, orders).await;
                        uid
                    });
                }
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = shared.more.notified() => {}
                Some(ended) = tasks.join_next() => match ended {
                    Ok(uid) => {
                        at_work.remove(&uid);
                        shared.forgotten(&uid);
                    }
                    // A bug. The user's supervisor contains it and calls again; processes do not notice.
                    Err(error) => if let Ok(panic) = error.try_into_panic() {
                        std::panic::resume_unwind(panic)
                    },
                },
            }
        }
        tasks.shutdown().await;
    }
}

// === impl Shared ===

impl Shared {
    pub(crate) fn pod_folder(&self, uid: &str) -> PathBuf {
        self.options.folder.join("pods").join(uid)
    }

    pub(crate) fn log_link(&self, namespace: &str, name: &str, container: &str) -> PathBuf {
        self.options.folder.join("logs").join(format!("{namespace}_{name}_{container}.log"))
    }

    pub(crate) fn report(&self, report: Report) {
        lock(&self.reports).put(report);
        self.reported.notify_one();
    }

    fn forgotten(&self, uid: &str) {
        let mut pods = lock(&self.pods);
        info!(uid, "forgot pod");
        match pods.get(uid) {
            // The loop gives it a task again.
            Some(sender) if sender.borrow().again => {
                sender.send_modify(|order| (order.forget, order.again) = (false, false));
            }
            _ => drop(pods.remove(uid)),
        }
    }
}

// === impl Reports ===

impl Reports {
    fn put(&mut self, report: Report) {
        let uid = report.uid.clone();
        if self.newest.insert(uid.clone(), report).is_none() {
            self.order.push_back(uid);
        }
    }

    fn take(&mut self) -> Option<Report> {
        self.newest.remove(&self.order.pop_front()?)
    }
}

/// A lock whose holders leave it consistent even if they panic: they only insert and remove.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(pods: &Path) -> Result<Vec<Found>, OpenError> {
    let failed = |error| OpenError::Folder { path: pods.to_owned(), error };
    let mut found = Vec::new();
    for entry in fs::read_dir(pods).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Some(uid) = entry.file_name().to_str().filter(|uid| is_plain(uid)).map(str::to_owned) else {
            continue;
        };
        match durable::read_json::<Found>(&entry.path().join(POD)) {
            Ok(Some(pod)) if pod.uid == uid => found.push(pod),
            // A folder without a record: it was made, and nothing was started in it yet.
            Ok(None) => {}
            Ok(Some(_)) => warn!(uid, "the record of a pod names another one; leaving it alone"),
            Err(error) => warn!(uid, %error, "cannot read the record of a pod; leaving it alone"),
        }
    }
    found.sort_by(|a, b| a.uid.cmp(&b.uid));
    Ok(found)
}
