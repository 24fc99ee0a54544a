//! What a node may write, field by field.

use serde_json::json;

use super::*;
use crate::identity::authorize::{Object, Used};

/// The Node of `here` has this uid.
const UID: &str = "uid-of-here";

struct Stored;

impl Facts for Stored {
    fn pod_node(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn node_uses(&self, _: &str, _: Used, _: &str, _: &str) -> bool {
        false
    }

    fn uid(&self, object: Object, _: &str, name: &str) -> Option<String> {
        ((object, name) == (Object::Node, "here")).then(|| UID.into())
    }
}

/// What `here` is told about a write of `resource.group/subresource`.
fn write(target: &str, old: Option<&Value>, new: Option<&Value>) -> Result<(), String> {
    let (kind, subresource) = target.split_once('/').unwrap_or((target, ""));
    let (resource, group) = kind.split_once('.').unwrap_or((kind, ""));
    let asked = Attributes { group, resource, subresource, ..Attributes::default() };
    let refused = restrict(&User::of_node("here"), &asked, Change { old, new }, &Stored);
    refused.map_err(|refused| refused.to_string())
}

fn node(labels: &Value) -> Value {
    json!({ "metadata": { "name": "here", "labels": labels }, "spec": {} })
}

fn mirror_pod() -> Value {
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": "here", "uid": UID, "controller": true });
    json!({
        "metadata": {
            "namespace": "ns",
            "name": "static-here",
            "annotations": { "kubernetes.io/config.mirror": "hash" },
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": "here",
            "containers": [{ "name": "c", "env": [{ "name": "a", "value": "b" }] }],
            "volumes": [
                { "name": "a", "hostPath": { "path": "/" }, "secret": null },
                { "name": "b", "projected": { "sources": [{ "downwardAPI": {} }] } },
            ],
        },
    })
}

fn creates(change: impl Fn(&mut Value)) -> Result<(), String> {
    let mut pod = mirror_pod();
    change(&mut pod);
    write("pods", None, Some(&pod))
}

#[test]
fn everybody_else_is_not_restricted() {
    let asked = Attributes { resource: "nodes", ..Attributes::default() };
    let taken = json!({ "metadata": { "name": "there" }, "spec": { "taints": [{ "key": "a" }] } });
    let change = Change { old: Some(&node(&json!({}))), new: Some(&taken) };
    assert_eq!(restrict(&User::admin(), &asked, change, &Stored), Ok(()));
    assert_eq!(restrict_token_request(&User::admin(), "sa", &json!({}), None), Ok(()));
}

#[test]
fn a_node_writes_only_objects_of_its_own_name() {
    for target in ["nodes", "nodes/status", "leases.coordination.k8s.io", "nodegates.safepoint.dev/status"] {
        let (own, other) =
            (json!({ "metadata": { "name": "here" } }), json!({ "metadata": { "name": "there" } }));
        let generated = json!({ "metadata": { "generateName": "here" } });
        assert_eq!(write(target, None, Some(&own)), Ok(()), "{target}");
        assert_eq!(write(target, Some(&own), Some(&own)), Ok(()), "{target}");
        assert!(write(target, None, Some(&other)).is_err(), "{target}");
        assert!(write(target, None, Some(&generated)).is_err(), "{target}");
        assert!(write(target, Some(&own), Some(&other)).is_err(), "{target}");
        assert!(write(target, Some(&other), None).is_err(), "{target}");
    }
}

#[test]
fn a_node_registers_with_taints_and_cannot_change_them_later() {
    let tainted = json!({ "metadata": { "name": "here" }, "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } });
    let (bare, empty) =
        (node(&json!({})), json!({ "metadata": { "name": "here" }, "spec": { "taints": [] } }));
    assert_eq!(write("nodes", None, Some(&tainted)), Ok(()));
    assert_eq!(write("nodes", Some(&tainted), Some(&tainted)), Ok(()));
    assert_eq!(write("nodes", Some(&bare), Some(&empty)), Ok(()), "none is none");
    for (old, new) in [(&tainted, &bare), (&bare, &tainted), (&tainted, &empty)] {
        for target in ["nodes", "nodes/status"] {
            let refused = write(target, Some(old), Some(new)).unwrap_err();
            assert_eq!(refused, "node \"here\" may not change its taints");
        }
    }
}

#[test]
fn a_node_cannot_give_itself_a_config_source_or_an_owner() {
    let bare = node(&json!({}));
    let mut sourced = bare.clone();
    sourced["spec"]["configSource"] = json!({ "configMap": { "name": "x" } });
    assert!(write("nodes", None, Some(&sourced)).is_err());
    assert!(write("nodes", Some(&bare), Some(&sourced)).is_err());
    assert_eq!(write("nodes", Some(&sourced), Some(&sourced)), Ok(()));
    assert_eq!(
        write("nodes", Some(&sourced), Some(&bare)),
        Ok(()),
        "an old kubelet drops what it does not know"
    );

    let mut owned = bare.clone();
    owned["metadata"]["ownerReferences"] = json!([{ "name": "x" }]);
    assert!(write("nodes", Some(&bare), Some(&owned)).is_err());
    assert!(write("nodes", Some(&owned), Some(&bare)).is_err());
}

#[test]
fn a_node_may_set_the_labels_of_a_kubelet_and_those_that_are_not_kubernetes() {
    let allowed = [
        "plain",
        "example.com/zone",
        "safepoint.dev/x",
        "notkubernetes.io/x",
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/anything",
        "sub.node.kubernetes.io/anything",
        "kubelet.kubernetes.io/anything",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    ];
    let forbidden = [
        "kubernetes.io/role",
        "node-role.kubernetes.io/control-plane",
        "node-restriction.kubernetes.io/secure",
        "sub.node-restriction.kubernetes.io/secure",
        "topology.kubernetes.io/rack",
        "beta.kubernetes.io/x",
        "k8s.io/x",
        "sub.k8s.io/x",
        "xnode.kubernetes.io/x",
    ];
    for (labels, may) in [(&allowed[..], true), (&forbidden[..], false)] {
        for label in labels {
            let (bare, with) = (node(&json!({})), node(&json!({ *label: "1" })));
            let changed = node(&json!({ *label: "2" }));
            assert_eq!(write("nodes", None, Some(&with)).is_ok(), may, "registered with {label}");
            assert_eq!(write("nodes", Some(&bare), Some(&with)).is_ok(), may, "added {label}");
            assert_eq!(write("nodes", Some(&with), Some(&changed)).is_ok(), may, "changed {label}");
            assert_eq!(write("nodes/status", Some(&with), Some(&bare)).is_ok(), may, "removed {label}");
            assert_eq!(write("nodes", Some(&with), Some(&with)), Ok(()), "kept {label}");
        }
    }
}

#[test]
fn all_forbidden_labels_are_named() {
    let new = node(&json!({ "k8s.io/b": "", "kubernetes.io/a": "", "fine": "" }));
    let refused = write("nodes", None, Some(&new)).unwrap_err();
    assert_eq!(refused, "node \"here\" may not change its labels k8s.io/b, kubernetes.io/a");
}

#[test]
fn a_node_creates_mirror_pods_of_its_own() {
    assert_eq!(creates(|_| {}), Ok(()));
    assert_eq!(
        creates(|pod| pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false)),
        Ok(())
    );
}

#[test]
fn a_node_creates_no_other_pods() {
    assert!(creates(|pod| pod["metadata"]["annotations"] = json!({})).is_err());
    assert!(creates(|pod| pod["spec"]["nodeName"] = json!("there")).is_err());
    assert!(creates(|pod| pod["spec"]["nodeName"] = json!(null)).is_err());
}

#[test]
fn a_mirror_pod_belongs_to_its_node() {
    let owner = |field: &'static str, value: Value| {
        creates(move |pod| pod["metadata"]["ownerReferences"][0][field] = value.clone())
    };
    assert!(owner("apiVersion", json!("v2")).is_err());
    assert!(owner("kind", json!("Pod")).is_err());
    assert!(owner("name", json!("there")).is_err());
    assert!(owner("uid", json!("an-earlier-one")).is_err());
    assert!(owner("uid", json!(null)).is_err());
    assert!(owner("controller", json!(false)).is_err());
    assert!(owner("controller", json!(null)).is_err());
    assert!(owner("blockOwnerDeletion", json!(true)).is_err());
    assert!(creates(|pod| pod["metadata"]["ownerReferences"] = json!([])).is_err());
    assert!(
        creates(|pod| {
            let owner = pod["metadata"]["ownerReferences"][0].clone();
            pod["metadata"]["ownerReferences"] = json!([owner, owner]);
        })
        .is_err()
    );
}

#[test]
fn a_node_that_is_not_registered_owns_nothing() {
    let mut pod = mirror_pod();
    pod["spec"]["nodeName"] = json!("ghost");
    pod["metadata"]["ownerReferences"][0]["name"] = json!("ghost");
    pod["metadata"]["ownerReferences"][0]["uid"] = json!(null);
    let asked = Attributes { resource: "pods", ..Attributes::default() };
    let change = Change { old: None, new: Some(&pod) };
    assert!(restrict(&User::of_node("ghost"), &asked, change, &Stored).is_err());
}

#[test]
fn a_mirror_pod_uses_nothing_of_the_api() {
    let spec = |field: &'static str, value: Value| creates(move |pod| pod["spec"][field] = value.clone());
    assert!(spec("serviceAccountName", json!("sa")).is_err());
    assert!(spec("imagePullSecrets", json!([{ "name": "a" }])).is_err());
    assert!(spec("resourceClaims", json!([{ "name": "a" }])).is_err());
    assert!(spec("containers", json!([{ "envFrom": [{ "secretRef": { "name": "a" } }] }])).is_err());
    for volume in [
        json!({ "secret": {} }),
        json!({ "configMap": { "name": "a" } }),
        json!({ "persistentVolumeClaim": { "claimName": "a" } }),
        json!({ "ephemeral": {} }),
        json!({ "csi": { "driver": "a" } }),
        json!({ "glusterfs": { "endpoints": "a" } }),
        json!({ "cephfs": { "secretRef": { "name": "a" } } }),
        json!({ "invented": {} }),
        json!({ "projected": { "sources": [{ "downwardAPI": {} }, { "serviceAccountToken": {} }] } }),
        json!({ "projected": { "sources": [{ "invented": {} }] } }),
        json!({ "projected": { "sources": [7] } }),
    ] {
        assert!(spec("volumes", json!([volume])).is_err(), "{volume}");
    }
}

#[test]
fn a_node_deletes_evicts_and_reports_only_what_is_bound_to_it() {
    let pod = |node: &str| json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "nodeName": node } });
    let (here, there) = (pod("here"), pod("there"));
    for (target, new) in [("pods", None), ("pods/status", Some(&here)), ("pods/eviction", Some(&here))] {
        assert_eq!(write(target, Some(&here), new), Ok(()), "{target}");
        assert!(write(target, Some(&there), new).is_err(), "{target}");
    }
    assert!(write("pods/status", None, Some(&here)).is_err());
    assert!(write("pods", Some(&here), Some(&here)).is_err(), "the spec is not for nodes");
}

#[test]
fn a_node_does_not_relabel_pods_with_their_status() {
    let old = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "nodeName": "here" } });
    let mut new = old.clone();
    new["status"] = json!({ "phase": "Running" });
    assert_eq!(write("pods/status", Some(&old), Some(&new)), Ok(()));
    new["metadata"]["labels"]["a"] = json!("c");
    assert!(write("pods/status", Some(&old), Some(&new)).is_err());
}

/// A token request of `here` for a pod of its own that runs as `sa`, with changes to the request and to the pod.
fn token(request: impl Fn(&mut Value), pod: impl Fn(&mut Value)) -> Result<(), Refused> {
    let mut asked = json!({ "spec": {
        "audiences": ["vault"],
        "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "1" },
    }});
    let sources = json!([{ "serviceAccountToken": { "path": "t" } }, { "serviceAccountToken": { "audience": "vault" } }]);
    let mut stored = json!({
        "metadata": { "name": "pod", "uid": "1" },
        "spec": {
            "nodeName": "here",
            "serviceAccountName": "sa",
            "volumes": [{ "name": "a", "projected": { "sources": sources } }],
        },
    });
    request(&mut asked);
    pod(&mut stored);
    restrict_token_request(&User::of_node("here"), "sa", &asked, Some(&stored))
}

#[test]
fn a_node_gets_the_tokens_that_its_pods_mount() {
    assert_eq!(token(|_| {}, |_| {}), Ok(()));
    assert_eq!(token(|asked| asked["spec"]["audiences"] = json!([]), |_| {}), Ok(()));
    assert_eq!(token(|asked| asked["spec"]["audiences"] = json!(null), |_| {}), Ok(()));
}

#[test]
fn a_node_gets_no_other_tokens() {
    let reference = |field: &'static str, value: Value| {
        token(move |asked| asked["spec"]["boundObjectRef"][field] = value.clone(), |_| {})
    };
    assert!(reference("kind", json!("Secret")).is_err());
    assert!(reference("apiVersion", json!("v2")).is_err());
    assert!(reference("name", json!("")).is_err());
    assert!(reference("uid", json!("2")).is_err());
    assert!(reference("uid", json!(null)).is_err());
    assert!(token(|asked| asked["spec"]["boundObjectRef"] = json!(null), |_| {}).is_err());
    assert!(token(|asked| asked["spec"]["audiences"] = json!(["other"]), |_| {}).is_err());
    assert!(token(|asked| asked["spec"]["audiences"] = json!(["vault", "vault"]), |_| {}).is_err());
    assert!(token(|_| {}, |pod| pod["spec"]["nodeName"] = json!("there")).is_err());
    assert!(token(|_| {}, |pod| pod["spec"]["serviceAccountName"] = json!("other")).is_err());
    assert!(token(|_| {}, |pod| pod["spec"]["volumes"] = json!([])).is_err());
    assert!(token(|_| {}, |pod| pod["metadata"]["uid"] = json!(null)).is_err());
    let anonymous = token(
        |asked| asked["spec"]["boundObjectRef"]["uid"] = json!(null),
        |pod| pod["metadata"]["uid"] = json!(null),
    );
    assert!(anonymous.is_err(), "no uid is not the same uid");
    let request = json!({ "spec": { "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "1" } } });
    assert!(restrict_token_request(&User::of_node("here"), "sa", &request, None).is_err());
}

#[test]
fn a_token_request_does_not_pass_as_any_other_write() {
    assert!(write("serviceaccounts/token", None, Some(&json!({}))).is_err());
}

#[test]
fn the_pod_that_a_token_is_to_be_bound_to_is_named_by_the_request() {
    let request = |kind: &str| json!({ "spec": { "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": "x" } } });
    assert_eq!(bound_pod(&request("Pod")), Some("x"));
    assert_eq!(bound_pod(&request("Secret")), None);
    assert_eq!(bound_pod(&json!({})), None);
}
