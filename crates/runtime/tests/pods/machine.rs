//! A machine with a runtime of its own, and a short way to say what shall run on it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use safepoint_runtime::{Backoff, Config, ConfigKey, Configs, Options, Report, Runtime, Wanted};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Nothing here takes that long; a test that waits for what never comes ends with a message.
const HANG: Duration = Duration::from_secs(60);

pub(crate) struct Machine {
    folder: Arc<tempfile::TempDir>,
    pub(crate) options: Options,
    pub(crate) runtime: Arc<Runtime>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
    pub(crate) last: BTreeMap<String, Report>,
    /// Of one pod, everything that was reported.
    pub(crate) history: Vec<Report>,
}

pub(crate) fn options(folder: &Path) -> Options {
    let mut options = Options::new(folder, vec![env!("CARGO_BIN_EXE_safepoint-shim").into()]);
    options.backoff = Backoff {
        first: Duration::from_millis(50),
        most: Duration::from_millis(200),
        reset: Duration::from_secs(600),
    };
    options
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let mut options = options(folder.path());
        change(&mut options);
        Self::open(folder, options)
    }

    /// On a folder that outlives the machine.
    pub(crate) fn at(folder: &Path) -> Self {
        Self::open(Arc::new(tempfile::tempdir().unwrap()), options(folder))
    }

    fn open(folder: Arc<tempfile::TempDir>, options: Options) -> Self {
        let runtime = Arc::new(Runtime::open(options.clone()).unwrap());
        let stop = CancellationToken::new();
        let task = {
            let (runtime, stop) = (runtime.clone(), stop.clone());
            #[expect(clippy::disallowed_methods, reason = "the test is the supervisor")]
            tokio::spawn(async move { runtime.run(stop).await })
        };
        Self { folder, options, runtime, stop, task: Some(task), last: BTreeMap::new(), history: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the runtime, not the pods.
    pub(crate) async fn close(mut self) -> Closed {
        self.stop.cancel();
        self.task.take().unwrap().await.unwrap();
        Closed { folder: self.folder.clone(), options: self.options.clone() }
    }

    pub(crate) async fn reopen(self) -> Self {
        self.close().await.open()
    }

    pub(crate) fn want(&self, pod: &Pod) {
        self.runtime.want(pod.wanted());
    }

    /// Takes reports until one of this pod is as wished.
    pub(crate) async fn until(&mut self, uid: &str, is_so: impl Fn(&Report) -> bool) -> Report {
        if let Some(last) = self.last.get(uid).filter(|last| is_so(last)) {
            return last.clone();
        }
        loop {
            let Ok(report) = tokio::time::timeout(HANG, self.runtime.next_report()).await else {
                let last = self.last.get(uid).map(|last| serde_json::to_string_pretty(&last.status).unwrap());
                panic!("waited in vain for {uid}; last: {}", last.unwrap_or_default());
            };
            self.last.insert(report.uid.clone(), report.clone());
            self.history.push(report.clone());
            if report.uid == uid && is_so(&report) {
                return report;
            }
        }
    }

    pub(crate) async fn until_ready(&mut self, uid: &str) -> Report {
        self.until(uid, |report| report.health == safepoint_runtime::Health::Ready).await
    }

    pub(crate) async fn until_finished(&mut self, uid: &str) -> Report {
        self.until(uid, |report| report.health == safepoint_runtime::Health::Finished).await
    }

    pub(crate) async fn until_ended(&mut self, uid: &str) -> Report {
        self.until(uid, |report| report.ended).await
    }

    pub(crate) fn pid(&self, uid: &str, container: &str) -> i32 {
        self.runtime.pids()[&(uid.to_owned(), container.to_owned())]
    }

    pub(crate) fn log(&self, uid: &str, container: &str, attempt: u32) -> String {
        let log = fs::read_to_string(self.run(uid, container, attempt).join("log")).unwrap_or_default();
        log.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap().to_owned() + "\n").collect()
    }

    pub(crate) fn run(&self, uid: &str, container: &str, attempt: u32) -> PathBuf {
        self.path().join("pods").join(uid).join(container).join(attempt.to_string())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.cancel();
        // Closed machines are opened again and come here later.
        if self.task.is_some() {
            sweep(self.folder.path());
        }
    }
}

pub(crate) struct Closed {
    folder: Arc<tempfile::TempDir>,
    pub(crate) options: Options,
}

impl Closed {
    pub(crate) fn open(self) -> Machine {
        Machine::open(self.folder, self.options)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Waits for something that nobody reports.
pub(crate) async fn wait_while(is_so: impl Fn() -> bool) {
    let wait = async {
        while is_so() {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(HANG, wait).await.is_ok(), "waited in vain");
}

/// Kills whatever a folder says it started, so that a failed test leaves nothing behind.
pub(crate) fn sweep(folder: &Path) {
    // A shim on its way is waited for, or it would start something after the broom has passed.
    let is_on_its_way = |run: &PathBuf| {
        let has = |name: &str| run.with_file_name(name).exists();
        !has("started.json") && !has("exit.json")
    };
    for _ in 0..200 {
        if !files(folder, "run.json").iter().any(is_on_its_way) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    for started in files(folder, "started.json") {
        let Ok(text) = fs::read(&started) else { continue };
        let Ok(started) = serde_json::from_slice::<Value>(&text) else { continue };
        // A test that plays a reboot names processes that are none of ours.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        if started["boot"] != boot.trim() {
            continue;
        }
        for process in [&started["shim"], &started] {
            let pid = process["pid"].as_i64().unwrap() as i32;
            if start_of(pid) == process["start"].as_u64() {
                kill(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
}

/// The tick a process was started at, which with its number is its identity. `None` if there is none, or a zombie.
pub(crate) fn start_of(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" { None } else { fields.nth(18)?.parse().ok() }
}

pub(crate) fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == name {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// A pod to be wanted.
#[derive(Clone)]
pub(crate) struct Pod {
    pub(crate) uid: String,
    pub(crate) version: u64,
    pub(crate) manifest: Value,
    pub(crate) configs: Configs,
    pub(crate) ending: Option<Duration>,
}

/// A pod of one container that runs a shell script.
pub(crate) fn pod(uid: &str, script: &str) -> Pod {
    let container = json!({"name": "main", "image": "none", "command": ["sh", "-c", script]});
    Pod::of(uid, json!({"containers": [container]}))
}

impl Pod {
    pub(crate) fn of(uid: &str, spec: impl Into<Value>) -> Self {
        let spec = spec.into();
        let manifest = json!({"metadata": {"name": uid, "namespace": "test", "generation": 1}, "spec": spec});
        Self { uid: uid.into(), version: 1, manifest, configs: Configs::default(), ending: None }
    }

    /// Sets something in the spec.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest["spec"][key] = value;
        self
    }

    /// Sets something in the first container.
    pub(crate) fn main(mut self, key: &str, value: Value) -> Self {
        self.manifest["spec"]["containers"][0][key] = value;
        self
    }

    pub(crate) fn config(mut self, key: ConfigKey, version: &str, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        self.configs.0.insert(key, Arc::new(Config { version: version.into(), data }));
        self
    }

    pub(crate) fn newer(mut self) -> Self {
        self.version += 1;
        self
    }

    pub(crate) fn ending(mut self, grace: Duration) -> Self {
        self.ending = Some(grace);
        self.newer()
    }

    pub(crate) fn wanted(&self) -> Wanted {
        Wanted {
            namespace: "test".into(),
            name: self.uid.clone(),
            uid: self.uid.clone(),
            version: self.version.to_string(),
            manifest: Arc::new(self.manifest.clone()),
            configs: Arc::new(self.configs.clone()),
            ending: self.ending,
        }
    }
}

/// The status of one container.
pub(crate) fn container<'a>(report: &'a Report, name: &str) -> &'a Value {
    let lists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let all = lists.iter().flat_map(|list| report.status[list].as_array().into_iter().flatten());
    all.into_iter().find(|status| status["name"] == name).unwrap_or(&Value::Null)
}

pub(crate) fn condition(report: &Report, kind: &str) -> String {
    let all = report.status["conditions"].as_array().unwrap();
    let found = all.iter().find(|condition| condition["type"] == kind);
    found.map_or_else(|| "absent".into(), |condition| condition["status"].as_str().unwrap().to_owned())
}
