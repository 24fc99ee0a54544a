//! The example that restarts pods: how many at a time, and what becomes of what fails.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::Event;
use serde_json::json;

use crate::restart::{RESTART, Restart, Seen};

fn pod(name: &str) -> Pod {
    let pod = json!({"metadata": {"name": name, "namespace": "default", "uid": name,
        "annotations": {RESTART: "please"},
        "labels": {"kusionstack.io/control": "true",
            "operating.podopslifecycle.kusionstack.io/restart-pods": "5",
            "operation-type.podopslifecycle.kusionstack.io/restart-pods": "restart",
            "operate.podopslifecycle.kusionstack.io/restart-pods": "6"}}});
    serde_json::from_value(pod).unwrap()
}

/// Pods that were out of service and not yet listed did not count, and one too many was taken out.
#[test]
fn half_a_list_is_not_decided_on() {
    let mut seen = Seen::default();
    let names = |seen: &Seen| seen.all().map(|pods| pods.keys().cloned().collect::<Vec<_>>());
    seen.take(Event::Init);
    seen.take(Event::InitApply(pod("a")));
    assert_eq!(names(&seen), None);
    seen.take(Event::InitApply(pod("b")));
    seen.take(Event::InitDone);
    assert_eq!(names(&seen).unwrap(), ["a", "b"]);
    // The watch was lost, and everything is listed anew.
    seen.take(Event::Init);
    seen.take(Event::InitApply(pod("c")));
    assert_eq!(names(&seen).unwrap(), ["a", "b"]);
    seen.take(Event::InitDone);
    assert_eq!(names(&seen).unwrap(), ["c"]);
    seen.take(Event::Apply(pod("d")));
    seen.take(Event::Delete(pod("c")));
    assert_eq!(names(&seen).unwrap(), ["d"]);
}

/// The pod does not change by that, so nothing else brings the controller back to it.
#[tokio::test]
async fn a_deletion_that_fails_is_tried_again() {
    // Nobody listens there.
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let restart = Restart::new(client, "default", "app=web", 1, Duration::ZERO).unwrap();
    let pods = BTreeMap::from([("a".to_owned(), pod("a"))]);
    assert!(restart.look(&pods).await.is_some());
    assert_eq!(restart.look(&BTreeMap::new()).await, None);
}
