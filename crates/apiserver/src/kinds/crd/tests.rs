//! What a definition is refused for, in the words and at the places of Kubernetes.

use super::*;

fn crd() -> Value {
    json!({
        "metadata": {"name": "gates.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "gates", "kind": "Gate"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array"}}},
                }}},
            }],
        },
    })
}

fn with(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut crd = crd();
    change(&mut crd);
    Crds.default(&mut crd);
    let mut problems = Problems::default();
    Crds.check(&crd, &mut problems);
    Crds.check_new(&crd, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn changed(change: impl Fn(&mut Value), old: &Value) -> Vec<String> {
    let mut new = old.clone();
    change(&mut new);
    let mut problems = Problems::default();
    Crds.check_change(&new, old, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

#[test]
fn names_follow_from_the_kind() {
    let mut crd = crd();
    crd["spec"]["names"]["shortNames"] = json!([]);
    crd["spec"]["preserveUnknownFields"] = false.into();
    Crds.default(&mut crd);
    assert_eq!(
        crd["spec"]["names"],
        json!({"plural": "gates", "singular": "gate", "kind": "Gate", "listKind": "GateList"})
    );
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert!(crd["spec"].get("preserveUnknownFields").is_none());
    assert!(with(|_| {}).is_empty());
}

#[test]
fn a_definition_is_named_after_what_it_defines() {
    assert_eq!(
        with(|crd| crd["metadata"]["name"] = "other".into()),
        ["metadata.name: Invalid value: \"other\": must be spec.names.plural+\".\"+spec.group"]
    );
    assert_eq!(
        with(|crd| crd["spec"]["names"] = json!({}))[..4],
        [
            "spec.names.plural: Required value",
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ]
    );
    assert_eq!(
        with(|crd| crd["spec"]["names"]["listKind"] = "Gate".into()),
        ["spec.names.listKind: Invalid value: \"Gate\": kind and listKind may not be the same"]
    );
    let found = with(|crd| crd["spec"]["names"]["kind"] = "1Gate".into());
    assert!(
        found[1].contains("may have mixed case, but should otherwise match: a DNS-1035 label"),
        "{found:?}"
    );
}

#[test]
fn a_group_is_a_domain_and_a_scope_is_known() {
    assert_eq!(
        with(|crd| crd["spec"]["scope"] = "World".into()),
        ["spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", \"Namespaced\""]
    );
    assert_eq!(
        with(|crd| crd["spec"]["group"] = "short".into())[0],
        "spec.group: Invalid value: \"short\": should be a domain with at least one dot"
    );
    let found = with(|crd| {
        crd["spec"]["group"] = "x.k8s.io".into();
        crd["metadata"]["name"] = "gates.x.k8s.io".into();
    });
    assert!(
        found[0].starts_with("metadata.annotations[api-approved.kubernetes.io]: Required value"),
        "{found:?}"
    );
}

#[test]
fn one_version_is_kept_and_each_has_a_schema() {
    assert_eq!(
        with(|crd| crd["spec"]["versions"][0]["storage"] = false.into()),
        [
            "spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false}]: \
             must have exactly one version marked as storage version",
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ]
    );
    assert_eq!(
        with(|crd| {
            crd["spec"]["versions"][0]["schema"] = Value::Null;
        }),
        ["spec.versions[0].schema.openAPIV3Schema: Required value"]
    );
    let twice = with(|crd| {
        let mut version = crd["spec"]["versions"][0].clone();
        version["storage"] = false.into();
        crd["spec"]["versions"].as_array_mut().unwrap().push(version);
    });
    assert!(twice[0].ends_with("must contain unique version names"), "{twice:?}");
    let found = with(|crd| crd["spec"]["versions"][0]["name"] = "V1".into());
    assert!(
        found[0].starts_with("spec.versions[0].name: Invalid value: \"V1\": a DNS-1035 label"),
        "{found:?}"
    );
}

#[test]
fn versions_are_converted_by_name_only() {
    assert_eq!(
        with(|crd| crd["spec"]["conversion"] = json!({"strategy": "Webhook"})),
        ["spec.conversion.strategy: Invalid value: \"Webhook\": \
          the embedded API converts only by name: use None, with versions that have the same fields"]
    );
    assert_eq!(
        with(|crd| crd["spec"]["conversion"] = json!({"strategy": "Other"})),
        ["spec.conversion.strategy: Unsupported value: \"Other\": supported values: \"None\", \"Webhook\""]
    );
    assert_eq!(
        with(|crd| {
            crd["spec"]["conversion"] =
                json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}});
        }),
        ["spec.conversion.conversionReviewVersions: Forbidden: \
          should not be set when strategy is not set to Webhook"]
    );
}

#[test]
fn what_all_versions_share_is_at_the_definition() {
    let scale = json!({"scale": {"specReplicasPath": "x", "statusReplicasPath": ".spec.x", "labelSelectorPath": ".x"}});
    assert_eq!(
        with(|crd| crd["spec"]["versions"][0]["subresources"] = scale.clone()),
        [
            "spec.subresources.scale.specReplicasPath: Invalid value: \"x\": must be a simple json path starting with .",
            "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.x\": \
             should be a json path under .status",
            "spec.subresources.scale.labelSelectorPath: Invalid value: \".x\": \
             should be a json path under either .spec or .status",
        ]
    );
    let apart = with(|crd| {
        let mut version = crd["spec"]["versions"][0].clone();
        version["name"] = "v2".into();
        version["storage"] = false.into();
        version["subresources"] = json!({"scale": {"specReplicasPath": ".spec.a"}});
        crd["spec"]["versions"].as_array_mut().unwrap().push(version);
    });
    assert_eq!(apart, ["spec.versions[1].subresources.scale.statusReplicasPath: Required value"]);
}

#[test]
fn columns_have_a_name_a_type_and_a_path() {
    let columns = json!([{"name": "", "type": "x", "format": "q"}, {"name": "a", "jsonPath": "b"}]);
    assert_eq!(
        with(|crd| crd["spec"]["versions"][0]["additionalPrinterColumns"] = columns.clone()),
        [
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Invalid value: \"x\": \
             must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].format: Invalid value: \"q\": \
             must be one of byte,date,date-time,double,float,int32,int64,password",
            "spec.additionalPrinterColumns[0].JSONPath: Required value",
            "spec.additionalPrinterColumns[1].type: Required value: must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[1].JSONPath: Invalid value: \"b\": \
             must be a simple json path starting with .",
        ]
    );
}

#[test]
fn a_selectable_field_is_a_plain_value_of_the_schema() {
    let fields = json!([
        {"jsonPath": ".spec.a"}, {"jsonPath": ".spec.a"}, {"jsonPath": ".spec.x"}, {"jsonPath": "spec.a"},
        {"jsonPath": ".spec.b"}, {"jsonPath": ""}, {"jsonPath": ".spec.b[0]"},
    ]);
    let found = with(|crd| crd["spec"]["versions"][0]["selectableFields"] = fields.clone());
    assert_eq!(found[0], "spec.selectableFields[1].jsonPath: Duplicate value: \".spec.a\"");
    assert!(found[1].ends_with("is an invalid path: does not refer to a valid field"), "{found:?}");
    assert!(found[2].ends_with("is an invalid path: expected [ or . but got: spec"), "{found:?}");
    assert!(found[3].contains("must point to a field of type string, boolean or integer"), "{found:?}");
    assert_eq!(found[4], "spec.selectableFields[5].jsonPath: Required value");
    assert!(found[5].ends_with("array notation is not allowed"), "{found:?}");
}

#[test]
fn what_is_served_keeps_its_name_and_its_scope() {
    let mut old = crd();
    assert!(changed(|crd| crd["spec"]["scope"] = "Cluster".into(), &old).is_empty());
    old["status"] = json!({
        "conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"],
    });
    assert_eq!(
        changed(
            |crd| {
                crd["spec"]["scope"] = "Cluster".into();
                crd["spec"]["names"]["kind"] = "Other".into();
                crd["spec"]["names"]["plural"] = "others".into();
                crd["spec"]["versions"][0]["name"] = "v2".into();
            },
            &old
        ),
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.names.kind: Invalid value: \"Other\": field is immutable",
            "spec.names.plural: Invalid value: \"others\": field is immutable",
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage \
             version, and must remain in spec.versions until a storage migration ensures no data remains persisted in \
             v1 and removes v1 from status.storedVersions",
        ]
    );
}

#[test]
fn a_row_says_when_a_definition_was_made() {
    let crd = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
    assert_eq!(Crds.cells(&crd, Timestamp::UNIX_EPOCH), ["2026-01-01T00:00:00Z"]);
    assert_eq!(Crds.columns()[0].kind, "date");
}
