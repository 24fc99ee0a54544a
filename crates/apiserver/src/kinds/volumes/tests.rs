//! The sources of volumes: what is filled in, and what is refused.

use super::*;

fn defaulted(mut volume: Value) -> Value {
    default(&mut volume);
    volume
}

fn problems(volumes: &Value) -> Vec<String> {
    let mut pod = json!({"metadata": {"name": "p"}, "spec": {"volumes": volumes}});
    items_mut(&mut pod["spec"], "volumes").for_each(default);
    let mut problems = Problems::default();
    check(&pod, &FieldPath::new("spec").child("volumes"), &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

#[test]
fn a_volume_without_a_source_is_an_empty_directory() {
    assert_eq!(defaulted(json!({"name": "a"})), json!({"name": "a", "emptyDir": {}}));
}

#[test]
fn files_have_a_mode_and_tokens_an_end() {
    assert_eq!(defaulted(json!({"secret": {}}))["secret"]["defaultMode"], 420);
    assert_eq!(defaulted(json!({"hostPath": {"path": "/a"}}))["hostPath"]["type"], "");
    assert_eq!(
        defaulted(json!({"projected": {"sources": [
            {"serviceAccountToken": {"path": "t"}},
            {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ]}})),
        json!({"projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
            {"downwardAPI": {"items": [
                {"path": "x", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
            ]}},
        ]}})
    );
}

#[test]
fn a_volume_has_a_name_and_one_source() {
    assert_eq!(
        problems(&json!([
            {"emptyDir": {}}, {"name": "a"}, {"name": "a"}, {"name": "B", "emptyDir": {}},
            {"name": "c", "emptyDir": {}, "hostPath": {"path": "/x"}},
        ])),
        [
            "spec.volumes[0].name: Required value",
            "spec.volumes[2].name: Duplicate value: \"a\"",
            "spec.volumes[3].name: Invalid value: \"B\": a lowercase RFC 1123 label must consist of lower case \
             alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
             or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.volumes[4].hostPath: Forbidden: may not specify more than 1 volume type",
        ]
    );
}

#[test]
fn a_source_says_where_it_is() {
    assert_eq!(
        problems(&json!([
            {"name": "a", "secret": {"defaultMode": 512}}, {"name": "b", "configMap": {"items": [{"path": "../x"}]}},
            {"name": "c", "hostPath": {"path": "/a/../b", "type": "Odd"}}, {"name": "d", "persistentVolumeClaim": {}},
            {"name": "e", "emptyDir": {"sizeLimit": "-1"}}, {"name": "f", "hostPath": {}},
        ])),
        [
            "spec.volumes[0].secret.secretName: Required value",
            "spec.volumes[0].secret.defaultMode: Invalid value: 512: \
             must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[1].configMap.name: Required value",
            "spec.volumes[1].configMap.items[0].key: Required value",
            "spec.volumes[1].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'",
            "spec.volumes[2].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            "spec.volumes[2].hostPath.type: Unsupported value: \"Odd\": supported values: \"\", \"BlockDevice\", \
             \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            "spec.volumes[3].persistentVolumeClaim.claimName: Required value",
            "spec.volumes[4].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
            "spec.volumes[5].hostPath.path: Required value",
        ]
    );
}

#[test]
fn a_file_shows_a_field_that_files_can_show() {
    assert_eq!(
        problems(&json!([{"name": "a", "downwardAPI": {"items": [
            {"path": "a", "fieldRef": {"fieldPath": "metadata.labels['x']"}},
            {"path": "b", "fieldRef": {"fieldPath": "spec.nodeName"}},
            {"path": "c", "resourceFieldRef": {"resource": "limits.cpu"}},
            {"path": "d"},
        ]}}])),
        [
            "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: \
             \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \
             \"metadata.uid\"",
            "spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value",
            "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ]
    );
}

#[test]
fn sources_in_one_directory_do_not_clash() {
    assert_eq!(
        problems(&json!([{"name": "a", "projected": {"sources": [
            {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}, "secret": {"name": "t"}},
            {"serviceAccountToken": {"expirationSeconds": 5}},
        ]}}])),
        [
            "spec.volumes[0].projected: Invalid value: \"c\": conflicting duplicate paths",
            "spec.volumes[0].projected.sources[1]: Forbidden: may not specify more than 1 volume type per source",
            "spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 5: \
             may not specify a duration less than 10 minutes",
            "spec.volumes[0].projected.path: Required value",
        ]
    );
}

#[test]
fn a_claim_that_is_made_for_a_volume_is_not_named_by_another() {
    let ephemeral = json!({"name": "e", "ephemeral": {"volumeClaimTemplate": {}}});
    let claim = json!({"name": "c", "persistentVolumeClaim": {"claimName": "p-e"}});
    assert_eq!(problems(&json!([ephemeral, claim])).len(), 1);
}
