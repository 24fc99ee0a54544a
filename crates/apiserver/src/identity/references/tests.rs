//! Pods in all shapes, and what they use.

use serde_json::json;

use super::*;

/// All but what every pod uses.
fn found(spec: &Value) -> Vec<(Used, String)> {
    let pod = json!({ "metadata": { "namespace": "ns", "name": "pod" }, "spec": spec });
    let mut found = references(&pod);
    found.retain(|(_, _, name)| name != ROOT_CA);
    assert!(found.iter().all(|(_, namespace, _)| namespace == "ns"));
    found.into_iter().map(|(used, _, name)| (used, name)).collect()
}

fn names(used: Used, names: &[&str]) -> Vec<(Used, String)> {
    names.iter().map(|name| (used, (*name).to_owned())).collect()
}

#[test]
fn every_pod_uses_the_root_ca_of_its_namespace() {
    let pod = json!({ "metadata": { "namespace": "ns", "name": "pod" }, "spec": { "containers": [{}] } });
    assert_eq!(references(&pod), [(Used::ConfigMap, "ns".to_owned(), "kube-root-ca.crt".to_owned())]);
}

#[test]
fn a_pod_uses_the_service_account_it_runs_as_and_its_pull_secrets() {
    let spec = json!({ "serviceAccountName": "sa", "serviceAccount": "old", "imagePullSecrets": [{ "name": "pull" }] });
    let expected = [names(Used::Secret, &["pull"]), names(Used::ServiceAccount, &["sa"])].concat();
    assert_eq!(found(&spec), expected);
    assert_eq!(found(&json!({ "serviceAccount": "old" })), names(Used::ServiceAccount, &["old"]));
}

#[test]
fn volumes_use_what_they_mount() {
    let volumes = json!({ "volumes": [
        { "name": "a", "configMap": { "name": "cm" } },
        { "name": "b", "secret": { "secretName": "secret" } },
        { "name": "c", "persistentVolumeClaim": { "claimName": "claim" } },
        { "name": "scratch", "ephemeral": { "volumeClaimTemplate": {} } },
        { "name": "d", "emptyDir": {} },
        { "name": "e", "hostPath": { "path": "/secret" } },
    ]});
    let expected = [
        names(Used::ConfigMap, &["cm"]),
        names(Used::Secret, &["secret"]),
        names(Used::PersistentVolumeClaim, &["claim", "pod-scratch"]),
    ];
    assert_eq!(found(&volumes), expected.concat());
}

#[test]
fn projected_volumes_use_each_of_their_sources() {
    let volume = json!({ "serviceAccountName": "sa", "volumes": [{ "name": "a", "projected": { "sources": [
        { "configMap": { "name": "cm" } },
        { "secret": { "name": "secret" } },
        { "serviceAccountToken": { "path": "token" } },
        { "downwardAPI": {} },
    ]}}]});
    let expected = [
        names(Used::ConfigMap, &["cm"]),
        names(Used::Secret, &["secret"]),
        names(Used::ServiceAccount, &["sa"]),
    ];
    assert_eq!(found(&volume), expected.concat());
}

#[test]
fn drivers_use_the_secrets_that_they_mount_with() {
    let with = |kind: &str, field: &str| json!({ "volumes": [{ "name": "a", kind: { field: { "name": "secret" } } }] });
    for kind in ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"] {
        assert_eq!(found(&with(kind, "secretRef")), names(Used::Secret, &["secret"]), "{kind}");
    }
    assert_eq!(found(&with("csi", "nodePublishSecretRef")), names(Used::Secret, &["secret"]));
    let azure = json!({ "volumes": [{ "name": "a", "azureFile": { "secretName": "secret" } }] });
    assert_eq!(found(&azure), names(Used::Secret, &["secret"]));
}

#[test]
fn containers_of_every_kind_use_their_environment() {
    for kind in ["containers", "initContainers", "ephemeralContainers"] {
        let spec = json!({ kind: [{}, {
            "env": [
                { "name": "a", "value": "plain" },
                { "name": "b", "valueFrom": { "configMapKeyRef": { "name": "cm-of-key", "key": "k" } } },
                { "name": "c", "valueFrom": { "secretKeyRef": { "name": "secret-of-key", "key": "k" } } },
                { "name": "d", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            ],
            "envFrom": [{ "configMapRef": { "name": "cm" } }, { "secretRef": { "name": "secret" } }],
        }]});
        let expected =
            [names(Used::ConfigMap, &["cm", "cm-of-key"]), names(Used::Secret, &["secret", "secret-of-key"])];
        assert_eq!(found(&spec), expected.concat(), "{kind}");
    }
}

#[test]
fn what_is_used_twice_is_named_once() {
    let volume = json!({ "name": "a", "configMap": { "name": "cm" } });
    assert_eq!(found(&json!({ "volumes": [volume, volume] })), names(Used::ConfigMap, &["cm"]));
}

#[test]
fn a_mirror_pod_uses_nothing() {
    let pod = json!({
        "metadata": { "namespace": "ns", "name": "pod", "annotations": { "kubernetes.io/config.mirror": "" } },
        "spec": { "serviceAccountName": "sa", "volumes": [{ "name": "a", "secret": { "secretName": "secret" } }] },
    });
    assert_eq!(references(&pod), []);
}

#[test]
fn what_has_a_wrong_type_is_no_reference() {
    for spec in [
        json!(null),
        json!(7),
        json!({ "serviceAccountName": 7, "imagePullSecrets": {}, "volumes": "x", "containers": [7, null, []] }),
        json!({ "volumes": [null, { "secret": [] }, { "secret": { "secretName": null } }, { "projected": 1 }] }),
        json!({ "volumes": [{ "projected": { "sources": [7, null] } }, { "ephemeral": {} }] }),
        json!({ "containers": [{ "env": [{ "valueFrom": [] }], "envFrom": [{ "secretRef": { "name": "" } }] }] }),
    ] {
        assert_eq!(found(&spec), [], "{spec}");
    }
    for pod in
        [json!(null), json!([]), json!({ "metadata": 7 }), json!({ "metadata": { "annotations": [] } })]
    {
        references(&pod);
    }
}
