//! The user of the runtime dies, the shim dies, the machine is restarted: nothing runs twice, nothing is lost.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rustix::process::Signal;
use safepoint_runtime::{Health, Runtime};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::machine::{
    Machine, Pod, condition, container, files, kill, options, pod, start_of, sweep, wait_while,
};

const USER: &str = "SAFEPOINT_TEST_USER";
const LONG: Duration = Duration::from_secs(30);

/// Not a test of its own: the process that the tests below kill. It wants what a file says, until it is killed.
#[tokio::test]
async fn the_user_that_is_killed() {
    let Some(folder) = std::env::var_os(USER) else { return };
    let folder = Path::new(&folder);
    let runtime = Arc::new(Runtime::open(options(&folder.join("runtime"))).unwrap());
    let wishes: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("wishes")).unwrap()).unwrap();
    for wish in wishes {
        runtime.want(wish_of(folder, &wish).wanted());
    }
    runtime.run(CancellationToken::new()).await;
}

/// Pod `n` writes one line for each of its starts, and ends with 7 when told.
fn wish_of(folder: &Path, wish: &Value) -> Pod {
    let uid = wish["uid"].as_str().unwrap();
    let starts = folder.join("starts").join(uid);
    let script = format!("trap 'exit 7' TERM; echo $$$$ >> {}; while :; do sleep 1; done", starts.display());
    let pod = pod(uid, &script);
    if wish["ending"] == true { pod.ending(LONG) } else { pod }
}

fn user(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::the_user_that_is_killed"])
        .env(USER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn starts(folder: &Path, uid: &str) -> Vec<i32> {
    let text = fs::read_to_string(folder.join("starts").join(uid)).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_user_killed_at_any_point_neither_doubles_nor_loses_a_container() {
    kill_in_rounds(32, false).await;
}

#[tokio::test]
async fn a_user_and_its_shims_killed_together_at_any_point_double_no_container() {
    kill_in_rounds(24, true).await;
}

/// The shims of this folder. Not those that are about to become a container: such a one could do so while it
/// is looked at, and the test would kill the container itself. A shim leads a session, and they do not.
fn shims(runtime: &Path) -> Vec<i32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_shim = |pid: &i32| {
        let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut arguments = text.split('\0');
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let session =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(3)?.parse().ok());
        session == Some(*pid)
            && arguments.next().is_some_and(|program| program.contains("safepoint-shim"))
            && arguments.next().is_some_and(|folder| Path::new(folder).starts_with(runtime))
    };
    pids.filter(is_shim).collect()
}

async fn kill_in_rounds(rounds: usize, shims_too: bool) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::create_dir(folder.join("starts")).unwrap();
    let runtime = folder.join("runtime");
    let _sweep = Sweep(runtime.clone());
    // Each round dies when one more of these appears: before, between and after every step of a start and an end.
    let points =
        ["pod.json", "run.json", "lock", "started.json", "up", "stop.json", "exit.json", "state.json"];
    let wishes = |round: usize| -> Vec<Value> {
        (0..=round).map(|n| json!({"uid": format!("p{n}"), "ending": round - n >= 5})).collect()
    };
    for round in 0..rounds {
        fs::write(folder.join("wishes"), serde_json::to_vec(&wishes(round)).unwrap()).unwrap();
        let point = points[round % points.len()];
        let before = files(&runtime, point).len();
        let mut user = user(folder);
        // Some points may not come again in this round; then the newest pod's start is the point.
        let newest = format!("p{round}");
        while files(&runtime, point).len() <= before && starts(folder, &newest).is_empty() {
            assert!(user.try_wait().unwrap().is_none(), "the user ended by itself in round {round}");
            tokio::task::yield_now().await;
        }
        user.kill().unwrap();
        if shims_too {
            shims(&runtime).into_iter().for_each(|pid| kill(pid, Signal::KILL));
        }
        user.wait().unwrap();
    }

    let mut machine = Machine::at(&runtime);
    for wish in wishes(rounds - 1) {
        machine.want(&wish_of(folder, &wish));
    }
    for wish in wishes(rounds - 1) {
        let uid = wish["uid"].as_str().unwrap();
        if wish["ending"] == true {
            let report = machine.until_ended(uid).await;
            let code = &container(&report, "main")["state"]["terminated"]["exitCode"];
            match starts(folder, uid)[..] {
                [] => {}
                // With its shim goes the knowledge of how it ended, and of nothing else.
                [_] if shims_too => assert!(*code == 7 || *code == 137, "{uid}: {}", report.status),
                [_] => assert_eq!(*code, 7, "{uid}: {}", report.status),
                ref more => panic!("{uid} was started {} times", more.len()),
            }
        } else {
            machine.until_ready(uid).await;
            wait_while(|| starts(folder, uid).is_empty()).await;
            assert_eq!(starts(folder, uid), [machine.pid(uid, "main")], "{uid}");
        }
    }
}

/// Whatever comes of the test, no process is left.
struct Sweep(std::path::PathBuf);

impl Drop for Sweep {
    fn drop(&mut self) {
        sweep(&self.0);
    }
}

#[tokio::test]
async fn a_restart_of_the_user_touches_no_container_and_no_readiness() {
    let mut machine = Machine::new();
    let nav = pod("nav", "sleep 1000")
        .main("readinessProbe", json!({"exec": {"command": ["true"]}, "periodSeconds": 1}));
    machine.want(&nav);
    let before = machine.until_ready("nav").await;
    let pid = machine.pid("nav", "main");
    let start = start_of(pid);
    let mut machine = machine.reopen().await;
    assert_eq!(machine.runtime.found().unwrap()[0].uid, "nav");
    assert_eq!(*machine.runtime.found().unwrap()[0].manifest, nav.manifest);
    machine.want(&nav);
    let after = machine.until_ready("nav").await;
    assert_eq!(before.status, after.status);
    assert_eq!((machine.pid("nav", "main"), start_of(pid)), (pid, start));
    assert!(machine.history.iter().all(|report| report.health == Health::Ready));
}

#[tokio::test]
async fn a_pod_that_nobody_speaks_of_is_reported_and_left_alone() {
    let mut machine = Machine::new();
    machine.want(&pod("nav", "sleep 1000"));
    machine.until_ready("nav").await;
    let pid = machine.pid("nav", "main");
    let mut machine = machine.reopen().await;
    machine.until_ready("nav").await;
    assert_eq!(machine.pid("nav", "main"), pid);
    // It ends by itself, and is not started again before someone wants it.
    kill(pid, Signal::KILL);
    let report =
        machine.until("nav", |report| container(report, "main")["state"]["terminated"].is_object()).await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 137);
    machine.want(&pod("nav", "sleep 1000"));
    let report = machine.until_ready("nav").await;
    assert_eq!(container(&report, "main")["restartCount"], 1);
}

#[tokio::test]
async fn an_exit_while_nobody_looks_is_found_with_its_code_and_its_log() {
    let mut machine = Machine::new();
    let go = machine.path().join("go");
    let script = format!("while ! test -e {}; do sleep 0.01; done; echo done; exit 9", go.display());
    let job = pod("job", &script).with("restartPolicy", json!("Never"));
    machine.want(&job);
    machine.until_ready("job").await;
    let exit = machine.run("job", "main", 0).join("exit.json");
    let closed = machine.close().await;
    fs::write(go, "").unwrap();
    wait_while(|| !exit.exists()).await;
    let mut machine = closed.open();
    let report = machine.until("job", |_| true).await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 9);
    assert_eq!(machine.log("job", "main", 0), "done\n");
    machine.want(&job);
    assert_eq!(machine.until_finished("job").await.status["phase"], "Failed");
}

#[tokio::test]
async fn a_stop_that_was_begun_is_finished_by_the_shim() {
    let mut machine = Machine::new();
    let go = machine.path().join("go");
    let script = format!(
        "trap 'while ! test -e {}; do sleep 0.01; done; exit 6' TERM; echo set; while :; do sleep 0.01; done",
        go.display()
    );
    let slow = pod("slow", &script);
    machine.want(&slow);
    machine.until_ready("slow").await;
    wait_while(|| machine.log("slow", "main", 0).is_empty()).await;
    machine.want(&slow.clone().ending(LONG));
    let run = machine.run("slow", "main", 0);
    wait_while(|| !run.join("stop.json").exists()).await;
    machine.until("slow", |report| report.version == "2").await;
    let closed = machine.close().await;
    fs::write(go, "").unwrap();
    wait_while(|| !run.join("exit.json").exists()).await;
    let mut machine = closed.open();
    machine.want(&slow.ending(LONG));
    let report = machine.until_ended("slow").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 6);
}

#[tokio::test]
async fn a_container_survives_its_shim_and_is_never_started_twice() {
    let mut machine = Machine::new();
    let go = machine.path().join("go");
    let script =
        format!("echo one; while ! test -e {}; do sleep 0.01; done; echo two; sleep 1000", go.display());
    let nav = pod("nav", &script);
    machine.want(&nav);
    machine.until_ready("nav").await;
    let pid = machine.pid("nav", "main");
    let started = machine.run("nav", "main", 0).join("started.json");
    let shim = |started: &Path| {
        let started: Value = serde_json::from_slice(&fs::read(started).unwrap()).unwrap();
        started["shim"]["pid"].as_i64().unwrap() as i32
    };
    let old = shim(&started);
    kill(old, Signal::KILL);
    wait_while(|| shim(&started) == old).await;
    // What it prints goes on being kept.
    fs::write(go, "").unwrap();
    wait_while(|| machine.log("nav", "main", 0) != "one\ntwo\n").await;
    assert_eq!(machine.pid("nav", "main"), pid);
    assert!(start_of(pid).is_some());
    // How it ended nobody can know any more.
    kill(pid, Signal::KILL);
    let report = machine.until("nav", |report| container(report, "main")["restartCount"] == 1).await;
    let last = &container(&report, "main")["lastState"]["terminated"];
    assert_eq!((&last["exitCode"], &last["reason"]), (&json!(137), &json!("Error")), "{last}");
    assert!(last["message"].as_str().unwrap().contains("shim"), "{last}");
}

#[tokio::test]
async fn a_container_without_a_shim_is_still_stopped() {
    let mut machine = Machine::new();
    let nav = pod("nav", "sleep 1000 & sleep 1000");
    machine.want(&nav);
    machine.until_ready("nav").await;
    let pid = machine.pid("nav", "main");
    let run = machine.run("nav", "main", 0);
    let closed = machine.close().await;
    let started: Value = serde_json::from_slice(&fs::read(run.join("started.json")).unwrap()).unwrap();
    kill(started["shim"]["pid"].as_i64().unwrap() as i32, Signal::KILL);
    let mut machine = closed.open();
    machine.want(&nav.ending(LONG));
    machine.until_ended("nav").await;
    assert_eq!(start_of(pid), None);
}

#[tokio::test]
async fn after_a_reboot_everything_is_started_again() {
    let mut machine = Machine::new();
    let spec = json!({
        "initContainers": [{"name": "first", "command": ["true"]}],
        "containers": [{"name": "main", "command": ["sleep", "1000"]}],
    });
    let nav = Pod::of("nav", spec);
    machine.want(&nav);
    machine.until_ready("nav").await;
    let pid = machine.pid("nav", "main");
    let closed = machine.close().await;
    sweep(closed.path());
    wait_while(|| start_of(pid).is_some()).await;
    for name in ["started.json", "state.json"] {
        for file in files(closed.path(), name) {
            let mut value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            value["boot"] = json!("an earlier one");
            // Numbers are given out anew after a boot: here to a process that is none of ours.
            if name == "started.json" {
                let me = std::process::id();
                (value["pid"], value["start"]) = (json!(me), json!(start_of(me as i32)));
            }
            fs::write(file, value.to_string()).unwrap();
        }
    }
    // The shim could still write how it ended, which a power cut would not have let it do.
    let _ = fs::remove_file(closed.path().join("pods/nav/main/0/exit.json"));
    let mut machine = closed.open();
    machine.want(&nav);
    let report = machine.until_ready("nav").await;
    assert_eq!(container(&report, "main")["restartCount"], 1);
    assert!(
        container(&report, "main")["lastState"]["terminated"]["message"]
            .as_str()
            .unwrap()
            .contains("restarted")
    );
    assert_eq!(container(&report, "first")["restartCount"], 1, "{}", report.status);
    assert_eq!(condition(&report, "Initialized"), "True");
}

#[tokio::test]
async fn a_hundred_pods_start_and_end() {
    let mut machine = Machine::new();
    let pods: Vec<Pod> = (0..100).map(|n| pod(&format!("p{n}"), "exec sleep 1000")).collect();
    for pod in &pods {
        machine.want(pod);
    }
    for pod in &pods {
        machine.until_ready(&pod.uid).await;
    }
    assert_eq!(machine.runtime.pids().len(), 100);
    for pod in &pods {
        machine.want(&pod.clone().ending(LONG));
    }
    for pod in &pods {
        machine.until_ended(&pod.uid).await;
        machine.runtime.forget(&pod.uid);
    }
    let folder = machine.path().join("pods");
    wait_while(|| fs::read_dir(&folder).unwrap().count() > 0).await;
    assert_eq!(fs::read_dir(machine.path().join("logs")).unwrap().count(), 0);
}
