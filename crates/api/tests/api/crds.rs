//! The definitions as a cluster gets them.
//!
//! The snapshots are the manifests of `deploy/crds`. After a wanted change: `INSTA_UPDATE=always cargo test -p
//! safepoint-api`, then `cargo xtask crds`, and read the difference of both as a user who upgrades would.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::cel::{compile_schema, estimate_rule_cost};
use safepoint_api::{crds, names};
use serde_json::Value;

use crate::support::{all_rules, schema, walk};

const KINDS: [&str; 3] = ["NodeGate", "PodTransitionRule", "StaticPod"];

#[test]
fn the_definitions_are_as_reviewed() {
    for crd in crds() {
        let text = serde_saphyr::to_string(&crd).unwrap();
        assert_eq!(serde_saphyr::from_str::<CustomResourceDefinition>(&text).unwrap(), crd);
        insta::assert_snapshot!(crd.metadata.name.unwrap(), text);
    }
}

#[test]
fn the_definitions_come_sorted_and_under_their_group_and_version() {
    let names: Vec<_> = crds().into_iter().map(|crd| crd.metadata.name.unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for crd in crds() {
        let (group, version) = match crd.spec.names.kind.as_str() {
            "PodTransitionRule" => (names::kusionstack::GROUP, names::kusionstack::VERSION),
            _ => (names::safepoint::GROUP, names::safepoint::VERSION),
        };
        assert_eq!((&*crd.spec.group, &*crd.spec.versions[0].name), (group, version));
        assert!(crd.spec.versions[0].subresources.as_ref().unwrap().status.is_some());
    }
}

/// Kubernetes refuses a schema whose shape depends on values, and silently drops what a shape does not name.
#[test]
fn every_schema_is_structural() {
    for kind in KINDS {
        walk(&schema(kind), "", &mut |path, node| {
            for word in ["$ref", "allOf", "anyOf", "oneOf", "not", "definitions", "uniqueItems"] {
                assert!(node.get(word).is_none(), "{kind} {path} has {word}");
            }
            let is_typed = node["type"].is_string() != (node["x-kubernetes-int-or-string"] == true);
            assert!(is_typed, "{kind} {path} has no type");
            assert_ne!(
                node["type"] == "array",
                node["items"].is_null(),
                "{kind} {path} is a list of nothing"
            );
            let is_both = node.get("properties").is_some() && node.get("additionalProperties").is_some();
            assert!(!is_both, "{kind} {path} is an object and a map");
        });
    }
}

#[test]
fn every_list_of_ours_has_a_length_and_says_how_it_is_merged() {
    for kind in KINDS {
        walk(&schema(kind), "", &mut |path, node| {
            // Pod templates and label selectors are Kubernetes' own.
            let is_theirs = path.starts_with("spec.template.spec") || path.contains("matchExpressions");
            if node["type"] != "array" || is_theirs {
                return;
            }
            assert!(node["maxItems"].is_u64(), "{kind} {path} has no length");
            assert!(
                node["x-kubernetes-list-type"].is_string(),
                "{kind} {path} does not say how it is merged"
            );
            for key in node["x-kubernetes-list-map-keys"].as_array().into_iter().flatten() {
                let required = node["items"]["required"].as_array().unwrap();
                assert!(required.contains(key), "{kind} {path} is keyed by {key}, which may be missing");
            }
        });
    }
}

/// The estimate is coarse. What it catches is what matters here: a loop over something without a length.
#[test]
fn every_rule_is_known_to_be_cheap() {
    for kind in KINDS {
        walk(&schema(kind), "", &mut |path, node| {
            let compiled = compile_schema(node);
            for rule in rules(node) {
                let warnings = estimate_rule_cost(rule["rule"].as_str().unwrap(), &compiled);
                assert!(warnings.is_empty(), "{kind} {path}: {warnings:?}");
            }
        });
    }
}

/// A rule would refuse a whole status at once, and a node that cannot report looks like a node that is gone.
#[test]
fn rules_are_for_what_people_write_and_not_for_what_agents_report() {
    for (path, rule) in KINDS.into_iter().flat_map(all_rules) {
        assert!(path.starts_with("spec"), "{path}: {rule}");
    }
}

#[test]
fn every_rule_tells_people_what_to_do_in_one_line() {
    for kind in KINDS {
        walk(&schema(kind), "", &mut |path, node| {
            for rule in rules(node) {
                let message = rule["message"].as_str().unwrap_or_default();
                assert!(!message.is_empty() && !message.contains('\n'), "{kind} {path}: {rule}");
            }
        });
    }
}

fn rules(node: &Value) -> impl Iterator<Item = &Value> {
    node["x-kubernetes-validations"].as_array().into_iter().flatten()
}

/// What KusionStack's own definition says, as far as clients see it.
#[test]
fn transition_rules_are_served_as_kusionstack_serves_them() {
    let crds = crds();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == "PodTransitionRule").unwrap();
    assert_eq!(crd.metadata.name.as_deref(), Some("podtransitionrules.apps.kusionstack.io"));
    assert_eq!((&*crd.spec.scope, &*crd.spec.names.plural), ("Namespaced", "podtransitionrules"));
    assert_eq!(crd.spec.names.singular.as_deref(), Some("podtransitionrule"));
    assert_eq!(crd.spec.names.short_names, Some(vec!["ptr".to_owned()]));
    let mut fields = Vec::new();
    walk(&schema("PodTransitionRule"), "", &mut |path, _| fields.push(path.to_owned()));
    let rule = "spec.rules";
    for field in [
        "spec.selector.matchLabels",
        &format!("{rule}.name"),
        &format!("{rule}.disabled"),
        &format!("{rule}.stage"),
        &format!("{rule}.conditions"),
        &format!("{rule}.filter.labelSelector.matchExpressions"),
        &format!("{rule}.availablePolicy.maxUnavailableValue"),
        &format!("{rule}.availablePolicy.maxUnavailablePolicy.expFunc.coeff"),
        &format!("{rule}.availablePolicy.minAvailableValue"),
        &format!("{rule}.availablePolicy.minAvailablePolicy.expFunc.pow"),
        &format!("{rule}.labelCheck.requires.matchLabels"),
        &format!("{rule}.webhook.clientConfig.url"),
        &format!("{rule}.webhook.clientConfig.caBundle"),
        &format!("{rule}.webhook.clientConfig.poll.url"),
        &format!("{rule}.webhook.clientConfig.poll.rawQueryKey"),
        &format!("{rule}.webhook.clientConfig.poll.caBundle"),
        &format!("{rule}.webhook.clientConfig.poll.intervalSeconds"),
        &format!("{rule}.webhook.clientConfig.poll.timeoutSeconds"),
        &format!("{rule}.webhook.failurePolicy"),
        &format!("{rule}.webhook.parameters.key"),
        &format!("{rule}.webhook.parameters.value"),
        &format!("{rule}.webhook.parameters.valueFrom.type"),
        &format!("{rule}.webhook.parameters.valueFrom.fieldRef.fieldPath"),
        "status.updateTime",
        "status.observedGeneration",
        "status.targets",
        "status.ruleStates.name",
        "status.ruleStates.webhookStatus.taskStates.taskId",
        "status.ruleStates.webhookStatus.taskStates.processing",
        "status.ruleStates.webhookStatus.taskStates.approved",
        "status.ruleStates.webhookStatus.taskStates.beginTime",
        "status.ruleStates.webhookStatus.taskStates.lastTime",
        "status.ruleStates.webhookStatus.taskStates.message",
        "status.ruleStates.webhookStatus.history.taskId",
        "status.details.name",
        "status.details.stage",
        "status.details.passed",
        "status.details.passedRules",
        "status.details.rejectInfo.ruleName",
        "status.details.rejectInfo.reason",
    ] {
        assert!(fields.iter().any(|found| found == field), "{field} is missing");
    }
}
