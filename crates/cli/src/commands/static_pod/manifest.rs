//! A manifest as the agent wants it: of the pod that was named, and with a revision.

use safepoint_api::PodRef;
use safepoint_api::names::openyurt::STATIC_POD_HASH;
use safepoint_api::static_pod::revision;
use serde_json::{Value, json};

/// The manifest with its revision. One that says it is taken as it is; another one is given that of its contents, and is
/// written as JSON, which is YAML too.
pub(super) fn with_revision(text: &str, pod: &PodRef) -> Result<String, String> {
    let mut manifest: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    if manifest["kind"] != "Pod" {
        return Err("it is not a Pod".to_owned());
    }
    let said = |field: &str| manifest["metadata"][field].as_str().unwrap_or_default();
    let namespace = match said("namespace") {
        "" => "default",
        namespace => namespace,
    };
    if (namespace, said("name")) != (pod.namespace.as_str(), pod.name.as_str()) {
        return Err(format!(
            "it is that of {namespace}/{}, not of {}/{}",
            said("name"),
            pod.namespace,
            pod.name
        ));
    }
    if manifest["metadata"]["annotations"][STATIC_POD_HASH].as_str().is_some_and(|it| !it.is_empty()) {
        return Ok(text.to_owned());
    }
    let template = json!({
        "metadata": {"labels": manifest["metadata"]["labels"], "annotations": manifest["metadata"]["annotations"]},
        "spec": manifest["spec"],
    });
    let revision = revision(&template);
    if !manifest["metadata"]["annotations"].is_object() {
        manifest["metadata"]["annotations"] = json!({});
    }
    manifest["metadata"]["annotations"][STATIC_POD_HASH] = json!(revision);
    Ok(format!("{manifest:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nginx() -> PodRef {
        PodRef { namespace: "default".to_owned(), name: "nginx".to_owned() }
    }

    const TEXT: &str =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: nginx}\nspec: {containers: [{name: a, image: b}]}\n";

    #[test]
    fn a_manifest_without_a_revision_gets_that_of_its_contents() {
        let once = with_revision(TEXT, &nginx()).unwrap();
        let read: Value = serde_json::from_str(&once).unwrap();
        let found = read["metadata"]["annotations"][STATIC_POD_HASH].as_str().unwrap();
        assert_eq!(found, revision(&json!({"spec": {"containers": [{"name": "a", "image": "b"}]}})));
        assert_eq!(with_revision(&once, &nginx()).unwrap(), once);
        assert_ne!(with_revision(&TEXT.replace("image: b", "image: c"), &nginx()).unwrap(), once);
    }

    #[test]
    fn a_manifest_of_another_pod_is_refused() {
        assert!(
            with_revision(&TEXT.replace("nginx", "etcd"), &nginx()).unwrap_err().contains("default/etcd")
        );
        assert!(with_revision("kind: Job", &nginx()).is_err());
    }
}
