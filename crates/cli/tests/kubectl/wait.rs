//! `kubectl wait`: what is waited for comes, was there already, or does not come.

use crate::support::{POD, Space, assert_has};

const READY: &str = r#"patch pod web --subresource=status -p '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}'"#;

#[test]
fn a_condition_is_waited_for() {
    let space = Space::new();
    space.apply(POD);
    assert_has(
        &space.refused("wait pod/web --for=condition=Ready --timeout=1s"),
        "error: timed out waiting for the condition on pods/web",
    );
    let waiting = space.start("wait pod/web --for=condition=Ready --timeout=60s");
    space.run(READY);
    waiting.end("pod/web condition met");
    assert_eq!(space.run("wait pods --all --for=condition=Ready --timeout=60s"), "pod/web condition met\n");
    assert_eq!(
        space.run("wait pods -l app=web --for=condition=Ready --timeout=60s"),
        "pod/web condition met\n"
    );
}

#[test]
fn a_field_is_waited_for() {
    let space = Space::new();
    space.run("create configmap counter --from-literal=n=1");
    let waiting = space.start("wait cm/counter --for=jsonpath='{.data.n}'=2 --timeout=60s");
    space.run(r#"patch cm counter -p '{"data": {"n": "2"}}'"#);
    waiting.end("configmap/counter condition met");
    assert_eq!(
        space.run("wait cm/counter --for=jsonpath='{.data.n}' --timeout=60s"),
        "configmap/counter condition met\n"
    );
}

#[test]
fn the_end_of_an_object_is_waited_for() {
    let space = Space::new();
    space.run("create configmap a");
    let waiting = space.start("wait cm/a --for=delete --timeout=60s");
    space.run("delete cm a");
    // If it was gone before somebody began to wait, there is nothing to say.
    waiting.finish();
    assert_eq!(space.run("wait cm/a --for=delete --timeout=60s"), "");
}

#[test]
fn the_beginning_of_an_object_is_waited_for() {
    let space = Space::new();
    let waiting = space.start("wait cm/a --for=create --timeout=60s");
    space.run("create configmap a");
    waiting.end("configmap/a condition met");
}

#[test]
fn what_is_not_there_cannot_become_ready() {
    let space = Space::new();
    assert_eq!(
        space.refused("wait pod/nobody --for=condition=Ready --timeout=60s"),
        "Error from server (NotFound): pods \"nobody\" not found\n"
    );
    assert_has(
        &space.refused("wait pods -l app=nobody --for=condition=Ready --timeout=60s"),
        "no matching resources found",
    );
}
