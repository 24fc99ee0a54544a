//! Upgrades that are good, and upgrades that are not.

use safepoint_manifest::{Cause, Code, Source};
use safepoint_testkit::UNPULLABLE_IMAGE;

use super::node::{Node, app, manifest, run};

#[test]
fn a_static_pod_is_installed_upgraded_rolled_back_and_removed() {
    let node = Node::with("whole");
    let door = node.door();
    let mut kubelet = node.kubelet();
    let outcome = run(door.install(&node.file(), &manifest(node.name, "one", &app("v1")), &mut kubelet));
    assert_eq!(outcome.code, Code::Installed, "{outcome:?}");
    assert_eq!(node.images(), ["app:v1"]);

    let outcome = node.upgrade("two", &app("v2"), &mut kubelet);
    assert_eq!(outcome.code, Code::Upgraded, "{outcome:?}");
    assert_eq!((node.images(), outcome.revision.as_deref()), (vec!["app:v2".to_owned()], Some("two")));
    assert_eq!(node.upgrade("two", &app("v2"), &mut kubelet).code, Code::Unchanged);

    let mut runtime = node.runtime();
    let outcome = node.upgrade("three", &app("v3"), &mut runtime);
    assert_eq!(outcome.code, Code::Upgraded, "{outcome:?}");
    assert_eq!(node.images(), ["app:v3"]);

    let outcome = run(door.rollback(&node.key(), &node.file(), Some("one"), &mut runtime));
    assert_eq!((outcome.code, outcome.revision.as_deref()), (Code::Upgraded, Some("one")), "{outcome:?}");
    assert_eq!(node.images(), ["app:v1"]);
    node.check_folder();

    let outcome = run(door.uninstall(&node.key(), &node.file(), &mut runtime));
    assert_eq!(outcome.code, Code::Uninstalled, "{outcome:?}");
    assert_eq!((node.live(), node.images().len()), (None, 0));
}

/// Upgrades to something that is no good, and expects the old one to run again.
fn goes_back(node: &Node, revision: &str, container: &str, source: &mut dyn Source, causes: &[Cause]) {
    let before = node.live();
    let outcome = node.upgrade(revision, container, source);
    assert_eq!(outcome.code, Code::RolledBack, "{outcome:?}");
    assert!(outcome.cause.is_some_and(|it| causes.contains(&it)), "{outcome:?}");
    assert_eq!(node.live(), before);
    assert_eq!(node.images(), ["app:v1"]);
    node.check_folder();
}

#[test]
fn an_image_that_nobody_has_is_rolled_back_by_itself() {
    let node = Node::with("pull");
    node.install("one", &app("v1"));
    let pulled = format!("image: \"{UNPULLABLE_IMAGE}\", imagePullPolicy: IfNotPresent");
    goes_back(&node, "two", &pulled, &mut node.kubelet(), &[Cause::ImageUnavailable]);
    let never = format!("image: \"{UNPULLABLE_IMAGE}\", imagePullPolicy: Never");
    goes_back(&node, "three", &never, &mut node.kubelet(), &[Cause::ImageUnavailable]);
    goes_back(&node, "four", &never, &mut node.runtime(), &[Cause::ImageUnavailable]);
}

#[test]
fn a_container_that_crashes_after_its_start_is_rolled_back_by_itself() {
    let node = Node::with("crash");
    node.install("one", &app("v1"));
    let crashing = [Cause::CrashLoop, Cause::Restarted];
    let at_once = format!("{}, command: [sh, -c, exit 1]", app("v2"));
    goes_back(&node, "two", &at_once, &mut node.kubelet(), &crashing);
    let later = format!("{}, command: [sh, -c, sleep 1; exit 1]", app("v2"));
    goes_back(&node, "three", &later, &mut node.runtime(), &crashing);
    goes_back(&node, "four", &later, &mut node.kubelet(), &crashing);
    // A newer one is not kept out by one that failed.
    let outcome = node.upgrade("five", &app("v3"), &mut node.runtime());
    assert_eq!(outcome.code, Code::Upgraded, "{outcome:?}");
    assert_eq!(node.images(), ["app:v3"]);
}
