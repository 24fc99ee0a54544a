//! `kubectl get events` and `kubectl events`: the same events in both APIs.

use crate::support::{Space, assert_table, event_about};

/// A warning about a pod in the old API, and a remark about a config map in the new one.
fn two_events() -> Space<'static> {
    let space = Space::new();
    space.file("old.yaml", &event_about("Pod", "web", space.namespace(), "", "Odd", "something is odd"));
    let namespace = space.namespace();
    space.file(
        "new.yaml",
        &format!(
            "
apiVersion: events.k8s.io/v1
kind: Event
metadata: {{name: settings.read}}
regarding: {{apiVersion: v1, kind: ConfigMap, name: settings, namespace: {namespace}}}
type: Normal
reason: Read
action: Reading
note: somebody has read it
eventTime: '2026-01-01T00:02:00.000000Z'
reportingController: example.com/reader
reportingInstance: reader-1
"
        ),
    );
    space.run("create -f old.yaml -f new.yaml");
    space
}

const HEADING: &str = "LAST SEEN TYPE REASON OBJECT MESSAGE";
const READ: &str = "* Normal Read configmap/settings somebody has read it";
const ODD: &str = "* Warning Odd pod/web something is odd";

#[test]
fn events_are_listed_in_both_apis() {
    let space = two_events();
    for kind in ["events", "events.events.k8s.io"] {
        assert_table(&space.run(&format!("get {kind}")), &[HEADING, READ, ODD]);
    }
    assert_table(
        &space.run("get events -o wide"),
        &[
            "LAST SEEN TYPE REASON OBJECT SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME",
            "* Normal Read configmap/settings example.com/reader, reader-1 somebody has read it * 1 settings.read",
            "* Warning Odd pod/web tester, here something is odd * 3 web.odd",
        ],
    );
}

#[test]
fn events_are_selected_by_what_they_are_about_and_sorted_by_time() {
    let space = two_events();
    assert_table(
        &space.run("get events --field-selector involvedObject.name=web,type=Warning"),
        &[HEADING, ODD],
    );
    assert_table(&space.run("get events.events.k8s.io --field-selector reason=Read"), &[HEADING, READ]);
    assert_table(&space.run("get events --sort-by=.metadata.name"), &[HEADING, READ, ODD]);
}

#[test]
fn kubectl_events_counts_and_filters_them() {
    let space = two_events();
    let (read, odd) = (
        "* Normal Read ConfigMap/settings somebody has read it",
        "* (x3 over *) Warning Odd Pod/web something is odd",
    );
    // In the order of time; the warning was a minute earlier.
    assert_table(&space.run("events"), &[HEADING, odd, read]);
    assert_table(&space.run("events --for pod/web"), &[HEADING, odd]);
    assert_table(&space.run("events --types=Normal"), &[HEADING, read]);
}

#[test]
fn kubectl_events_waits_for_more() {
    let space = two_events();
    let mut watch = space.start("events --watch");
    watch.until_words("Warning Odd Pod/web something is odd");
    space.file("late.yaml", &event_about("Pod", "web", space.namespace(), "", "Late", "better late"));
    space.run("create -f late.yaml");
    watch.until_words("Warning Late Pod/web better late");
}
