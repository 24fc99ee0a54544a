//! What is missing or misbehaves costs nobody else anything.

use std::net::TcpListener;

use serde_json::json;

use super::world::{World, held, pod_path};

async fn module(world: &World, name: &str) -> serde_json::Value {
    let modules = world.local("GET", "/v1/modules", None).await.1;
    let found = modules["items"].as_array().into_iter().flatten().find(|module| module["name"] == name);
    found.cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_boots_without_its_cluster_is_ready_and_catches_up() {
    let mut world = World::without_agent().await;
    world.go_offline().await;
    world.start_agent();
    let status = world.local("GET", "/v1/status", None).await.1;
    assert_eq!(status["uplink"]["connected"], false);
    assert_eq!(world.freeze("mission").await.0, 201, "a freeze needs no cluster");
    assert_eq!(world.thaw().await.0, 200);
    world.pod("rover", json!({})).await;
    world.go_online().await;
    world.until_ready("rover").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_shows_and_costs_nobody_else_anything() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut world = World::without_agent().await;
    world.extra = vec!["--compat".into(), format!("horizon={address}")];
    world.start_agent();
    world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    let failing = world
        .until("the module is seen to fail", async |world| {
            let module = module(world, "compat-horizon").await;
            (module["state"] == "Backoff").then_some(module)
        })
        .await;
    assert!(failing["message"].as_str().unwrap().contains(&address.to_string()), "{failing}");
    drop(taken);
    world
        .until("it works once the port is free", async |world| {
            (module(world, "compat-horizon").await["state"] == "Ready").then_some(())
        })
        .await;
    for sibling in ["gate", "uplink", "process-door", "node-api"] {
        assert_eq!(module(&world, sibling).await["restarts"], 0, "{sibling}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_panics_or_returns_or_hangs_is_started_again_alone() {
    for (name, how) in
        [("uplink", "panic"), ("events", "return"), ("pod-status", "panic-in-a-task"), ("gate", "hang")]
    {
        let mut world = World::without_agent().await;
        world.variables.insert("SAFEPOINT_MISBEHAVE".into(), format!("{name}={how}"));
        world.start_agent();
        let uid = world.pod("rover", held()).await;
        world
            .until("it was started again, and works", async |world| {
                let module = module(world, name).await;
                (module["restarts"] == 1 && module["state"] == "Ready").then_some(())
            })
            .await;
        let failure = module(&world, name).await["lastFailure"]["message"].clone();
        assert!(failure.is_string(), "{name} {how}: {failure}");
        world.until_ready("rover").await;
        let before = world.run_of(&uid);
        world.push("rover", "rover:v2").await;
        world.until_held("rover").await;
        assert!(before.is_alive());
        for sibling in ["gate", "uplink", "process-door", "node-api", "orders", "events", "pod-status"] {
            if sibling != name {
                assert_eq!(module(&world, sibling).await["restarts"], 0, "{sibling} beside {name} {how}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn systemd_hears_when_the_agent_is_ready_and_that_it_is_alive() {
    let mut world = World::without_agent().await;
    let path = world.folder.path().join("notify.sock");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    world.variables.insert("NOTIFY_SOCKET".into(), path.display().to_string());
    world.variables.insert("WATCHDOG_USEC".into(), "200000".into());
    world.start_agent();
    // That it is alive may be heard before it is ready as well: systemd begins to count when it is.
    for word in ["READY=1", "WATCHDOG=1"] {
        let mut heard = String::new();
        while !heard.lines().any(|line| line == word) {
            let mut bytes = [0; 256];
            let length = socket.recv(&mut bytes).unwrap();
            heard = String::from_utf8_lossy(&bytes[..length]).into_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_say_what_is_held_and_how_the_agent_does() {
    let world = World::new().await;
    world.pod("rover", held()).await;
    world.until_ready("rover").await;
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    let metrics = world.text("/metrics");
    for line in [
        "safepoint_held_changes 1",
        "safepoint_mode{mode=\"open\"} 1",
        "safepoint_changes_admitted_total{change=\"start\"} 1",
        "safepoint_uplink_connected 1",
        "safepoint_module_restarts_total{module=\"gate\"} 0",
        "# TYPE safepoint_journal_commit_seconds histogram",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(world.release("rover").await.0, 200);
    let metrics = world.text("/metrics");
    assert!(metrics.contains("safepoint_releases_total 1\n"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_agent_on_the_same_folder_does_not_get_anywhere() {
    let world = World::new().await;
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_safepoint"))
        .args(["agent", "--node-name", "rover-7", "--kubeconfig"])
        .arg(world.folder.path().join("node.kubeconfig"))
        .arg("--data")
        .arg(world.data())
        .arg("--listen-socket")
        .arg(world.folder.path().join("second.sock"))
        .env("SAFEPOINT_LOG", "error")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&second);
    // It keeps trying, as systemd units do that are ordered badly; it must not be ready meanwhile.
    let uid = world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = second.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("ready"));
    assert!(world.run_of(&uid).is_alive() && world.runs(&uid).len() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_ready_when_those_whom_its_readiness_gates_name_say_so() {
    let mut world = World::new().await;
    let spec = json!({
        "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"]}],
        "readinessGates": [{"conditionType": "example.org/calibrated"}],
    });
    let uid = world.pod_with("rover", json!({}), spec).await;
    let ready = async |world: &World| -> (bool, bool) {
        let pod = world.get(&pod_path("rover")).await.1;
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let status = |kind: &str| {
            let found = conditions.iter().find(|condition| condition["type"] == kind);
            found.and_then(|condition| condition["status"].as_str()).unwrap_or_default() == "True"
        };
        (status("ContainersReady"), status("Ready"))
    };
    world.until("it runs and waits", async |world| (ready(world).await == (true, false)).then_some(())).await;
    let before = world.run_of(&uid);
    let said = json!({"status": {"conditions": [{"type": "example.org/calibrated", "status": "True"}]}});
    world.patch(&format!("{}/status", pod_path("rover")), "strategic", said).await;
    world.until("it is ready", async |world| (ready(world).await == (true, true)).then_some(())).await;
    world.kill_agent();
    world.start_agent();
    world.until_ready("rover").await;
    assert_eq!(world.run_of(&uid), before);
}
