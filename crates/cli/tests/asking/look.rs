//! What is shown: status, changes, holds, why, log, modules, events.

use rustix::process::Signal;

use crate::node::{Agent, TestNode};
use crate::support::{Said, ageless, rover, safepoint, said, waiting};

#[test]
fn the_status_is_one_page() {
    let agent = waiting();
    agent.says(&["hold", "-n", "robot", "--reason", "calibration", "--id", "arm", "--as", "arm"]).done();
    insta::assert_snapshot!("status", ageless(&agent.says(&["status"]).done()));
    insta::assert_snapshot!("status_wide", ageless(&agent.says(&["status", "-o", "wide"]).done()));
}

#[test]
fn scripts_get_the_agents_answer_as_it_is() {
    let agent = waiting();
    let status = agent.says(&["status", "-o", "json"]).json();
    assert_eq!((&status["node"], &status["heldCount"]), (&"rover-7".into(), &1.into()));
    let yaml = agent.says(&["status", "-o", "yaml"]).done();
    assert!(yaml.contains("node: rover-7\n") && yaml.contains("heldCount: 1\n"), "{yaml}");
    assert_eq!(agent.says(&["status", "-o", "name"]).done(), "node/rover-7\n");
    assert_eq!(agent.says(&["changes", "-o", "name"]).done(), "pod/shop/web-2\n");
    assert_eq!(agent.says(&["modules", "-o", "name"]).done(), "gate\nmetaserver\nuplink\n");
}

#[test]
fn no_colours_go_into_a_pipe() {
    let agent = waiting();
    assert!(!agent.says(&["status"]).done().contains('\u{1b}'));
    let mut forced = agent.command(&["status"]);
    assert!(said(forced.env("CLICOLOR_FORCE", "1")).done().contains('\u{1b}'));
}

#[test]
fn changes_are_a_table_and_nothing_is_said_in_words_where_nothing_waits() {
    insta::assert_snapshot!("changes", ageless(&waiting().says(&["changes"]).done()));
    let Said { code, out, err } = rover().says(&["changes"]);
    assert_eq!((code, &*out, &*err), (Some(0), "", "Nothing waits.\n"));
    assert_eq!(rover().says(&["changes", "-q"]).err, "");
    assert_eq!(rover().says(&["changes", "-o", "json"]).json()["items"], serde_json::json!([]));
}

#[test]
fn why_says_who_and_what_would_end_it() {
    let agent = waiting();
    agent.says(&["hold", "--node", "--reason", "crane lift", "--id", "lift"]).done();
    let why = agent.says(&["why", "shop/web-2"]).done();
    assert!(
        why.contains("shop/web-2") && why.contains("crane lift") && why.contains("All of these"),
        "{why}"
    );
    assert_eq!(agent.says(&["why", "-n", "shop", "web-2"]).done().lines().count(), why.lines().count());
    assert_eq!(agent.says(&["why", "shop/web-2", "-o", "name"]).done(), "Held\n");
    let missing = agent.says(&["why", "web-2"]).failed(4);
    assert!(missing.starts_with("error: pod default/web-2 is not known on this node"), "{missing}");
    agent.says(&["why", "shop/web-2", "-n", "robot"]).failed(2);
}

#[test]
fn the_log_is_shown_from_its_end_and_checked_from_its_beginning() {
    let agent = Agent::serving(TestNode::new());
    for number in 1..=5 {
        agent.node.logs(Some("root (uid 0)"), &format!("thing {number}"));
    }
    insta::assert_snapshot!("log", agent.says(&["log", "--tail", "2"]).done());
    assert_eq!(agent.says(&["log", "--all"]).done().lines().count(), 5);
    let verified = agent.says(&["log", "--verify", "--tail", "1"]);
    assert!(verified.err.contains("each of the 5 lines"), "{verified:?}");
    assert_eq!(verified.done().lines().count(), 1);
    agent.node.loses_line(3);
    let broken = agent.says(&["log", "--verify"]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.err.contains("not intact"), "{broken:?}");
}

#[test]
fn a_log_that_is_followed_goes_on() {
    let agent = Agent::serving(TestNode::new());
    agent.node.logs(None, "the first");
    let mut log = agent.starts_command(&["log", "-f", "-o", "json"]);
    assert!(log.line().contains("the first"));
    agent.node.logs(None, "the second");
    assert!(log.line().contains("the second"));
    log.signal(Signal::KILL);
    log.ends();
}

#[test]
fn events_are_told_as_they_happen() {
    let agent = rover();
    let mut events = agent.starts_command(&["events", "-o", "json"]);
    while agent.node.listeners() == 0 {
        std::thread::yield_now();
    }
    agent.node.tells("pod shop/web-2");
    let notice: serde_json::Value = serde_json::from_str(&events.line()).unwrap();
    assert_eq!((&notice["kind"], &notice["subject"]), (&"Held".into(), &"pod shop/web-2".into()));
    events.signal(Signal::KILL);
    events.ends();
}

#[test]
fn modules_are_listed_and_restarted() {
    let agent = rover();
    insta::assert_snapshot!("modules", agent.says(&["modules"]).done());
    assert_eq!(agent.says(&["modules", "restart", "gate"]).err, "restarting gate\n");
    assert!(
        agent.says(&["modules", "restart", "nobody"]).failed(4).contains("`safepoint modules` lists them")
    );
}

#[test]
fn an_agent_that_is_not_there_or_in_trouble_is_exit_code_5_and_says_what_to_do() {
    let missing = said(&mut safepoint(&["status", "--socket", "/nowhere/agent.sock"])).failed(5);
    assert!(missing.starts_with("error: cannot reach the agent at /nowhere/agent.sock: "), "{missing}");
    assert!(missing.contains("\nhint: start it with `safepoint up`"), "{missing}");
    let agent = rover();
    agent.node.breaks(true);
    let broken = agent.says(&["status"]).failed(5);
    assert!(broken.contains("hint: ask again in 1 seconds"), "{broken}");
}

#[test]
fn the_socket_of_safepoint_up_is_found_in_the_folder_it_was_started_in() {
    let agent = rover();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".safepoint")).unwrap();
    std::os::unix::fs::symlink(agent.socket(), folder.path().join(".safepoint/agent.sock")).unwrap();
    assert_eq!(said(safepoint(&["status", "-o", "name"]).current_dir(&folder)).done(), "node/rover-7\n");
}
