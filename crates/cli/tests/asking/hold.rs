//! Holds, taken and dropped by hand.

use safepoint_core::{Ask, Scope};

use crate::support::{rover, waiting};

#[test]
fn everything_that_can_be_held_can_be_named() {
    let agent = rover();
    for (args, covers) in [
        (&["--node"][..], "the node"),
        (&["--namespace", "robot"], "namespace robot"),
        (&["--pod", "cam"], "pod default/cam"),
        (&["--pod", "robot/cam"], "pod robot/cam"),
        (&["--workload", "deploy/web", "-n", "shop"], "deployment shop/web"),
        (&["--workload", "sts/db#2"], "statefulset default/db #2"),
        (&["-l", "app=cam"], "pods with app=cam"),
        (&["-l", "app=cam", "-n", "robot"], "pods with app=cam in namespace robot"),
    ] {
        let said = agent.says(&[&["hold", "--reason", "calibration"], args].concat()).done();
        assert!(said.starts_with(&format!("holding {covers} as hold-")), "{said}");
    }
    assert_eq!(agent.says(&["holds", "-o", "name"]).done().lines().count(), 8);
}

#[test]
fn a_hold_says_who_why_and_how_long() {
    let agent = rover();
    let mut args = vec!["hold", "--node", "--reason", "crane lift", "--id", "lift", "--as", "crane"];
    args.extend(["--for", "1h30m", "-o", "json"]);
    let taken = agent.says(&args).json();
    let hold = &taken["hold"];
    assert_eq!(hold["id"], "lift");
    assert!(hold["holder"].as_str().unwrap().starts_with("crane (uid "));
    assert_eq!((&hold["reason"], &hold["onExpiry"]), (&"crane lift".into(), &"ThawIfSafe".into()));
    assert_eq!(hold["expires"], "2026-11-15T09:30:00Z");
    let stays = [&args[..], &["--on-expiry", "stay"]].concat();
    assert_eq!(agent.says(&stays).json()["hold"]["onExpiry"], "Stay");
}

#[test]
fn a_hold_that_caught_something_half_done_says_so() {
    let agent = crate::freeze::half_done().0;
    let said = agent.says(&["hold", "--node", "--reason", "now"]).done();
    assert!(said.contains("caught half done") && said.contains("pod robot/cam-1"), "{said}");
}

#[test]
fn what_cannot_be_meant_is_exit_code_2() {
    let agent = rover();
    for args in [
        &["hold", "--reason", "x"][..],
        &["hold", "--node"],
        &["hold", "--node", "--pod", "a", "--reason", "x"],
        &["hold", "--node", "-n", "a", "--reason", "x"],
        &["hold", "--node", "--reason", "x", "--for", "soon"],
        &["hold", "--node", "--reason", "x", "--on-expiry", "stay"],
        &["hold", "--workload", "web", "--reason", "x"],
        &["unhold"],
        &["unhold", "x", "--for", "5m"],
    ] {
        agent.says(args).failed(2);
    }
    assert!(agent.node.holds().is_empty());
}

#[test]
fn the_agents_own_checks_are_exit_code_1() {
    let said = rover().says(&["hold", "-l", "size>5", "--reason", " "]).failed(1);
    assert!(said.contains("scope.selector: ") && said.contains("reason: "), "{said}");
}

#[test]
fn a_name_that_is_taken_is_a_refusal_and_a_hold_that_is_gone_is_not_found() {
    let agent = rover();
    agent.says(&["hold", "--node", "--reason", "x", "--id", "lift", "--as", "crane"]).done();
    let taken = agent.says(&["hold", "--node", "--reason", "y", "--id", "lift", "--as", "other"]).failed(3);
    assert!(taken.starts_with("error: hold lift belongs to crane"), "{taken}");
    assert_eq!(agent.says(&["unhold", "lift"]).done(), "dropped lift\n");
    agent.says(&["unhold", "lift"]).failed(4);
}

#[test]
fn a_hold_of_the_clusters_is_only_put_out_of_force() {
    let agent = waiting();
    let (id, reason) = ("lift".into(), "crane".into());
    agent.node.ordered(Ask::Hold { id, reason, scope: Scope::Node, lease: None });
    assert!(agent.says(&["unhold", "lift"]).failed(3).contains("the cluster holds it"));
    let said = agent.says(&["unhold", "lift", "--override", "it blocks an exit", "--for", "10m"]).done();
    assert_eq!(said, "lift is out of force until 2026-11-15T08:10:00Z\n");
    assert!(agent.says(&["holds"]).done().contains("out of force"));
}
