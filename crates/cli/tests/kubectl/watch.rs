//! `kubectl get -w`: changes as they happen. Each is waited for before the next is made.

use crate::support::{POD, Space};

#[test]
fn a_watch_shows_each_change() {
    let space = Space::new();
    space.apply(POD);
    let mut watch = space.start("get pods -w --output-watch-events");
    watch.until_words("EVENT NAME READY STATUS RESTARTS AGE");
    watch.until_words("ADDED web 0/1 Pending 0");
    space.run(r#"patch pod web --subresource=status -p '{"status": {"phase": "Running"}}'"#);
    watch.until_words("MODIFIED web 0/1 Running 0");
    space.run("run db --image=db:2");
    watch.until_words("ADDED db 0/1 Pending 0");
    space.run("delete pod web --force");
    watch.until_words("DELETED web");
}

#[test]
fn a_watch_follows_a_selector() {
    let space = Space::new();
    space.run("create configmap here");
    space.run("create configmap there");
    space.run("label configmap here at=home");
    let mut watch = space.start("get configmaps -w -l at=home --output-watch-events");
    watch.until_words("ADDED here");
    space.run("label configmap there at=home");
    watch.until_words("ADDED there");
    // What no longer matches is gone for whoever watches.
    space.run("label configmap here at-");
    watch.until_words("DELETED here");
}

#[test]
fn a_watch_of_one_object_shows_what_was_asked_for() {
    let space = Space::new();
    space.run("create configmap counter --from-literal=n=1");
    let mut watch = space.start(r#"get configmap counter -w -o jsonpath='{.data.n}{"\n"}'"#);
    watch.until_words("1");
    for n in ["2", "3"] {
        space.run(&format!(r#"patch configmap counter -p '{{"data": {{"n": "{n}"}}}}'"#));
        watch.until_words(n);
    }
}

#[test]
fn a_watch_of_all_namespaces_has_a_column_for_them() {
    let space = Space::new();
    let mut watch = space.start("get configmaps -A -w -l watched=everywhere");
    space.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: seen, labels: {watched: everywhere}}}");
    watch.until_words(&format!("{} seen 0", space.namespace()));
}
