//! `safepoint run -- CMD`.

use rustix::process::Signal;
use safepoint_core::Span;

use crate::freeze::half_done;
use crate::support::{rover, safepoint, said};

#[test]
fn a_command_runs_while_the_node_is_held_and_its_exit_code_is_passed_on() {
    let agent = rover();
    let inner = format!("{} holds -o name; exit 7", env!("CARGO_BIN_EXE_safepoint"));
    let said = agent.says(&["run", "--id", "mission", "--", "sh", "-c", &inner]);
    assert_eq!((said.code, &*said.out), (Some(7), "mission\n"), "{said:?}");
    assert!(agent.node.holds().is_empty());
}

#[test]
fn the_command_knows_its_hold_and_people_know_the_command() {
    let agent = rover();
    let inner = format!("echo $SAFEPOINT_HOLD; {} holds -o json", env!("CARGO_BIN_EXE_safepoint"));
    let said = agent.says(&["run", "-n", "robot", "--", "sh", "-c", &inner]).done();
    let (id, holds) = said.split_once('\n').unwrap();
    let holds: serde_json::Value = serde_json::from_str(holds).unwrap();
    assert_eq!(holds["items"][0]["id"], id);
    assert_eq!(holds["items"][0]["scope"]["namespace"], "robot");
    assert_eq!(holds["items"][0]["onExpiry"], "Stay");
    assert!(holds["items"][0]["reason"].as_str().unwrap().starts_with("running sh -c "));
}

#[test]
fn without_a_hold_the_command_is_not_started() {
    let mut nobody = safepoint(&["run", "--socket", "/nowhere/agent.sock", "--", "echo", "started"]);
    assert!(said(&mut nobody).failed(125).contains("The command was not started."));
    let agent = half_done().0;
    let refused = agent.starts_command(&["run", "--settled-within", "5s", "--", "echo", "started"]);
    while agent.node.waiting() == 0 {
        std::thread::yield_now();
    }
    agent.node.after(Span::from_secs(6));
    let said = refused.ends();
    assert_eq!((said.code, &*said.out), (Some(125), ""), "{said:?}");
    assert!(said.err.contains("pod robot/cam-1"), "{said:?}");
}

#[test]
fn a_command_that_cannot_be_run_has_the_codes_of_a_shell() {
    let agent = rover();
    assert!(agent.says(&["run", "--", "no-such-command-here"]).failed(127).contains("no-such-command-here"));
    agent.says(&["run", "--", "/"]).failed(126);
    agent.says(&["run", "--"]).failed(2);
    assert!(agent.node.holds().is_empty());
}

#[test]
fn signals_are_passed_on_and_the_hold_is_dropped_after() {
    let agent = rover();
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = agent.starts_command(&["run", "--", "sh", "-c", script]);
    assert_eq!(running.line(), "ready");
    assert_eq!(agent.node.holds().len(), 1);
    running.signal(Signal::TERM);
    assert_eq!(running.ends().code, Some(9));
    assert!(agent.node.holds().is_empty());
}

#[test]
fn a_command_that_a_signal_ends_has_the_code_of_a_shell() {
    let said = rover().says(&["run", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(said.code, Some(128 + 9), "{said:?}");
}

#[test]
fn a_runner_that_is_killed_leaves_its_hold() {
    let agent = rover();
    let mut running = agent.starts_command(&["run", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(running.line(), "ready");
    running.signal(Signal::KILL);
    running.ends();
    assert_eq!(agent.node.holds().len(), 1);
}

#[test]
fn a_runner_that_still_waits_for_the_node_can_be_interrupted() {
    let agent = half_done().0;
    let running = agent.starts_command(&["run", "--settled-within", "10m", "--", "echo", "started"]);
    while agent.node.waiting() == 0 {
        std::thread::yield_now();
    }
    running.signal(Signal::INT);
    let said = running.ends();
    assert_eq!((said.code, &*said.out), (Some(130), ""), "{said:?}");
    assert!(agent.node.holds().is_empty());
}

#[test]
fn a_command_that_is_no_longer_protected_is_warned_about() {
    let agent = rover();
    let inner = format!(
        "{} unhold mission >/dev/null; echo dropped; while :; do sleep 0.05; done",
        env!("CARGO_BIN_EXE_safepoint")
    );
    let mut running =
        agent.starts_command(&["run", "--id", "mission", "--lease", "1s", "--", "sh", "-c", &inner]);
    assert_eq!(running.line(), "dropped");
    let warning = running.error_line();
    assert!(warning.starts_with("warning: the command is no longer protected: "), "{warning}");
    running.signal(Signal::TERM);
    running.ends();
}
