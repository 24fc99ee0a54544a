//! Killed at each of its steps beside a real kubelet: what lies there is whole and runs, and the resumed one ends well.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use safepoint_manifest::{Code, Host, Outcome};

use super::node::{Node, app, door, manifest, run};

const NAME: &str = "beside::kills::the_program_that_is_killed";

/// The program: upgrades the pod of a node, and is killed at the point that its environment names.
#[test]
fn the_program_that_is_killed() {
    let Ok(root) = std::env::var("SAFEPOINT_TEST_ROOT") else { return };
    let data = PathBuf::from(std::env::var("SAFEPOINT_TEST_DATA").unwrap());
    let text = std::env::var("SAFEPOINT_TEST_MANIFEST").unwrap();
    let name = std::env::var("SAFEPOINT_TEST_POD").unwrap();
    let host = Host::below(root);
    let door = door(&host, &data);
    let kubelet = safepoint_manifest::kubelet::running(&host).unwrap();
    let mut source =
        safepoint_manifest::RuntimeSource(safepoint_manifest::Cri::find(&host, kubelet.as_ref()).unwrap());
    let key = safepoint_manifest::PodKey::new("default", name.as_str()).unwrap();
    let file = safepoint_manifest::FileName::new(name.as_str()).unwrap();
    let ask = safepoint_manifest::Upgrade { key, file, text, instead_of: None, anyway: false };
    let outcome = run(door.upgrade(&ask, &mut source));
    assert!(outcome.is_done(), "{outcome:?}");
}

/// Static pods that are killed beside each other: all of it is waiting.
const PODS: [&str; 5] = ["killed-a", "killed-b", "killed-c", "killed-d", "killed-e"];

#[test]
fn an_upgrade_that_is_killed_at_any_step_leaves_a_whole_manifest_and_is_resumed_beside_a_real_kubelet() {
    let points = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..).zip(PODS).map(|(first, pod)| scope.spawn(move || kill_at_each(pod, first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).max()
    });
    assert!(points > Some(10), "only {points:?} points: are faults compiled in?");
}

/// Kills at each of one pod's share of the points, and says which was the last.
fn kill_at_each(name: &'static str, first: usize) -> usize {
    let node = Node::with(name);
    node.install("0", &app("v1"));
    let mut last = 0;
    for die_at in (first..).step_by(PODS.len()) {
        let before = node.live().unwrap();
        let tag = if before.contains("app:v1") { "v2" } else { "v1" };
        let wanted = manifest(name, &die_at.to_string(), &app(tag));
        let mut program = Command::new(std::env::current_exe().unwrap());
        program
            .args(["--exact", NAME, "--nocapture"])
            .env("SAFEPOINT_TEST_ROOT", node.host.root())
            .env("SAFEPOINT_TEST_DATA", node.data())
            .env("SAFEPOINT_TEST_MANIFEST", &wanted)
            .env("SAFEPOINT_TEST_POD", name)
            .env("SAFEPOINT_DIE_AT", die_at.to_string());
        let output = program.output().unwrap();
        let is_killed = output.status.signal() == Some(9);
        assert!(is_killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let live = node.live().unwrap();
        assert!(live == before || live == wanted, "not whole after {die_at}: {live}");
        let resumed = run(node.door().resume(&node.key(), &mut node.runtime()));
        // Before the first record there is nothing to resume, and after the last one neither: what is in place runs.
        let code = resumed.as_ref().map(|it: &Outcome| it.code);
        assert!(matches!(code, None | Some(Code::Upgraded)), "{resumed:?}");
        let live = node.live().unwrap();
        assert!(live == wanted || (live == before && code.is_none()), "after {die_at}: {live}");
        let image = ["v1", "v2"].into_iter().find(|tag| live.contains(&format!("app:{tag}"))).unwrap();
        node.world
            .wait("the pod of what is in place runs", || {
                (node.images() == [format!("app:{image}")]).then_some(())
            })
            .unwrap();
        node.check_folder();
        if !is_killed {
            break;
        }
        last = die_at;
    }
    last
}
