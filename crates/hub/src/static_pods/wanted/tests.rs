//! What a spec says, and what it may not say.

use serde_json::{Value, json};

use super::*;

pub(crate) fn spec(change: impl FnOnce(&mut Value)) -> StaticPodSpec {
    let mut spec = json!({"staticPodName": "proxy", "staticPodManifest": "proxy",
        "template": {"spec": {"containers": [{"name": "main", "image": "proxy:1"}]}}});
    change(&mut spec);
    serde_json::from_value(spec).unwrap()
}

fn fields(change: impl FnOnce(&mut Value)) -> Vec<String> {
    Wanted::read(&spec(change))
        .map_or_else(|found| found.into_iter().map(|it| it.field).collect(), |_| Vec::new())
}

#[test]
fn a_spec_that_says_little_gets_the_defaults() {
    let wanted = Wanted::read(&spec(|_| {})).unwrap();
    assert_eq!(wanted.order, Order::new(wanted.revision().clone()));
    assert_eq!((wanted.history, wanted.remove, wanted.install), (10, false, None));
}

#[test]
fn everything_that_a_spec_says_is_in_the_order() {
    let wanted = Wanted::read(&spec(|spec| {
        spec["paused"] = json!(true);
        spec["restartedAt"] = json!("1970-01-01T00:00:09Z");
        spec["revisionHistoryLimit"] = json!(2);
        spec["upgradeStrategy"] = json!({"type": "OTA", "maxUnavailable": 3, "stopAfterFailed": "30%", "minReadySeconds": 5,
            "cordoned": "Defer", "retry": {"limit": 0, "backoffSeconds": 7},
            "canary": {"nodeSelector": {"a": "b"}, "waitSeconds": 60},
            "install": {"nodeSelector": {}, "unselected": "Remove"}});
    }))
    .unwrap();
    let order = &wanted.order;
    assert_eq!(
        (order.strategy, order.budget, order.stop),
        (Strategy::Ota, Share::Number(3), Some(Share::Percent(30)))
    );
    assert_eq!((order.paused, order.restarted), (true, Some(Timestamp(9_000))));
    assert_eq!((order.min_ready, order.cordoned), (Span::from_secs(5), Cordoned::Defer));
    assert_eq!((order.retry.limit, order.retry.base), (0, Span::from_secs(7)));
    assert_eq!(order.canary, Some(Canary { wait: Span::from_mins(1) }));
    assert_eq!((wanted.history, wanted.remove, wanted.install), (2, true, Some(BTreeMap::new())));
}

#[test]
fn what_cannot_be_a_static_pod_is_said_beside_shares_that_are_none() {
    for share in [json!(0), json!("0%"), json!("101%"), json!("5"), json!(-1)] {
        let found = fields(|spec| spec["upgradeStrategy"] = json!({"maxUnavailable": share}));
        assert_eq!(found, ["spec.upgradeStrategy.maxUnavailable"]);
    }
    let both = fields(|spec| {
        spec["staticPodName"] = json!("A_b");
        spec["upgradeStrategy"] = json!({"maxUnavailable": 0});
    });
    assert_eq!(both, ["spec.staticPodName", "spec.upgradeStrategy.maxUnavailable"]);
}
