//! `unhold-upgrade`, word for word as keadm says it.

use crate::support::{rover, safepoint, said, waiting};

/// The first line of what was complained about; the usage follows.
fn error(said: crate::support::Said) -> String {
    let err = said.failed(1);
    assert!(err.contains("\nUsage:\n"), "{err}");
    err.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_release_says_nothing() {
    for args in [
        &["unhold-upgrade", "pod", "web-2", "-n", "shop"][..],
        &["unhold-upgrade", "pod", "web-1", "--namespace", "shop"],
        &["unhold-upgrade", "node"],
        &["unhold-upgrade", "node", "rover-7"],
    ] {
        let said = waiting().says(args);
        assert_eq!((said.code, &*said.out, &*said.err), (Some(0), "", ""), "{args:?}");
    }
    // A node on which nothing waits is released just as well.
    assert_eq!(rover().says(&["unhold-upgrade", "node"]).done(), "");
}

#[test]
fn mistakes_are_told_in_keadms_words() {
    let agent = rover();
    for (args, message) in [
        (&[][..], "Error: requires at least 1 arg(s), only received 0"),
        (&["pod"], "Error: pod name is required"),
        (&["thing"], "Error: error: unknown resource type: thing"),
        (
            &["pod", "nobody"],
            "Error: failed to unhold pods upgrade, status code: 404, message: pod not found: pods \"nobody\" not found",
        ),
        (
            &["pod", "web-1", "-n", "shop"],
            "Error: failed to unhold pods upgrade, status code: 400, message: pod is not in pending phase",
        ),
        (
            &["node", "other"],
            "Error: failed to unhold nodes upgrade, status code: 404, message: node not found: nodes \"other\" not found",
        ),
    ] {
        assert_eq!(error(agent.says(&[&["unhold-upgrade"], args].concat())), message);
    }
}

#[test]
fn an_agent_that_is_not_there_is_told_in_keadms_words() {
    let mut command = safepoint(&["unhold-upgrade", "node", "--socket", "/nowhere/agent.sock"]);
    let error = error(said(&mut command));
    assert!(error.starts_with("Error: failed to send unhold request to MetaService API, err: "), "{error}");
}

#[test]
fn what_a_holder_holds_is_not_passed_over_in_silence() {
    let agent = waiting();
    agent.says(&["hold", "--node", "--reason", "lift", "--id", "lift"]).done();
    let node = error(agent.says(&["unhold-upgrade", "node"]));
    assert!(node.starts_with("Error: failed to unhold nodes upgrade, status code: 409, message: "), "{node}");
    let pod = error(agent.says(&["unhold-upgrade", "pod", "web-2", "-n", "shop"]));
    assert!(pod.starts_with("Error: failed to unhold pods upgrade, status code: 409, message: "), "{pod}");
}
