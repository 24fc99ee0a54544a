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
fn what_needs_the_api_server_is_refused_with_its_field() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 13] = [
        (|pod| pod["serviceAccountName"] = json!("default"), "serviceAccountName"),
        (|pod| pod["imagePullSecrets"] = json!([{"name": "a"}]), "imagePullSecrets"),
        (|pod| pod["ephemeralContainers"] = json!([{"name": "a"}]), "ephemeralContainers"),
        (|pod| pod["resourceClaims"] = json!([{"name": "a"}]), "resourceClaims"),
        (|pod| pod["nodeName"] = json!("n1"), "nodeName"),
        (|pod| pod["volumes"] = json!([{"name": "a", "configMap": {"name": "a"}}]), "volumes[0].configMap"),
        (|pod| pod["volumes"] = json!([{"name": "a", "secret": {"secretName": "a"}}]), "volumes[0].secret"),
        (
            |pod| {
                pod["volumes"] = json!([{"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]);
            },
            "volumes[0].projected",
        ),
        (
            |pod| {
                pod["containers"][0]["env"] =
                    json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]);
            },
            "containers[0].env[0].valueFrom.secretKeyRef",
        ),
        (
            |pod| pod["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "a"}}]),
            "containers[0].envFrom[0].configMapRef",
        ),
        (|pod| pod["containers"] = json!([]), "containers"),
        (|pod| pod["containers"][0]["image"] = json!(""), "containers[0].image"),
        (|pod| pod["initContainers"] = json!([{"name": "main", "image": "a"}]), "initContainers[0].name"),
    ];
    for (change, field) in cases {
        let found = fields(|spec| change(&mut spec["template"]["spec"]));
        assert_eq!(found, [format!("spec.template.spec.{field}")]);
    }
}

#[test]
fn a_template_of_a_newer_kubernetes_passes_and_one_of_wrong_types_does_not() {
    let next_year = |pod: &mut Value| {
        pod["template"]["spec"]["fieldOfNextYear"] = json!({"a": 1});
        pod["template"]["spec"]["volumes"] =
            json!([{"name": "a", "projected": {"sources": [{"downwardAPI": {}}]}}]);
    };
    assert!(fields(next_year).is_empty());
    let wrong = fields(|spec| spec["template"]["spec"]["containers"][0]["ports"] = json!("eighty"));
    assert_eq!(wrong, ["spec.template.spec"]);
}

#[test]
fn names_and_shares_are_checked_although_the_schema_does_so_too() {
    assert_eq!(fields(|spec| spec["staticPodName"] = json!("A_b")), ["spec.staticPodName"]);
    for manifest in ["../passwd", ".hidden", "a.yaml", ""] {
        assert_eq!(
            fields(|spec| spec["staticPodManifest"] = json!(manifest)),
            ["spec.staticPodManifest"],
            "{manifest}"
        );
    }
    for share in [json!(0), json!("0%"), json!("101%"), json!("5"), json!(-1)] {
        let found = fields(|spec| spec["upgradeStrategy"] = json!({"maxUnavailable": share}));
        assert_eq!(found, ["spec.upgradeStrategy.maxUnavailable"]);
    }
    let other = fields(|spec| spec["template"]["metadata"] = json!({"name": "other"}));
    assert_eq!(other, ["spec.template.metadata.name"]);
    let reserved = fields(|spec| {
        spec["template"]["metadata"] = json!({"annotations": {"kubernetes.io/config.mirror": "x"}});
    });
    assert_eq!(reserved, ["spec.template.metadata.annotations[kubernetes.io/config.mirror]"]);
}
