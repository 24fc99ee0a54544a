//! What can be a static pod, and how it is written.

use serde_json::{Value, json};

use super::*;
use crate::Manifest;

fn spec(change: impl FnOnce(&mut Value)) -> StaticPodSpec {
    let mut spec = json!({"staticPodName": "proxy", "staticPodManifest": "proxy",
        "template": {"spec": {"containers": [{"name": "main", "image": "proxy:1"}]}}});
    change(&mut spec);
    serde_json::from_value(spec).unwrap()
}

fn fields(change: impl FnOnce(&mut Value)) -> Vec<String> {
    problems(&spec(change)).into_iter().map(|it| it.field).collect()
}

#[test]
fn what_is_written_is_read_and_nothing_of_the_template_is_lost() {
    let spec = spec(|spec| {
        spec["template"]["metadata"] = json!({"labels": {"app": "proxy"}, "annotations": {"note": "yes"}});
        spec["template"]["spec"]["fieldOfNextYear"] = json!({"on": "on"});
    });
    for installed in [false, true] {
        let text = manifest("kube-system", "proxy", &spec.template, installed);
        let read = Manifest::parse(text.clone()).unwrap();
        assert_eq!(read.key().to_string(), "kube-system/proxy");
        assert_eq!((read.revision(), read.is_installed()), (Some(&*spec.template.revision()), installed));
        let pod: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(pod["spec"], json!(spec.template.spec));
        assert_eq!(pod["metadata"]["labels"], json!({"app": "proxy"}));
        assert_eq!(pod["metadata"]["annotations"]["note"], "yes");
    }
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
fn names_are_checked_although_the_schema_does_so_too() {
    assert_eq!(fields(|spec| spec["staticPodName"] = json!("A_b")), ["spec.staticPodName"]);
    for manifest in ["../passwd", ".hidden", "a.yaml", ""] {
        assert_eq!(
            fields(|spec| spec["staticPodManifest"] = json!(manifest)),
            ["spec.staticPodManifest"],
            "{manifest}"
        );
    }
    let other = fields(|spec| spec["template"]["metadata"] = json!({"name": "other"}));
    assert_eq!(other, ["spec.template.metadata.name"]);
    let reserved = fields(|spec| {
        spec["template"]["metadata"] = json!({"annotations": {"kubernetes.io/config.mirror": "x"}});
    });
    assert_eq!(reserved, ["spec.template.metadata.annotations[kubernetes.io/config.mirror]"]);
}

#[test]
fn all_that_is_wrong_is_one_sentence() {
    let found = problems(&spec(|spec| {
        spec["template"]["spec"]["nodeName"] = json!("n1");
        spec["staticPodManifest"] = json!("a.yaml");
    }));
    assert_eq!(
        sentence(&found),
        "spec.template.spec.nodeName: the kubelet fills it in; spec.staticPodManifest: leave out .yaml: it is added"
    );
}
