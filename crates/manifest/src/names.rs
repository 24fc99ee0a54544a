//! Names that become names of files: checked once, here, so that no manifest can name its way out of a folder.

use std::fmt;

use safepoint_api::static_pod::limits::MANIFEST_NAME;
use serde::{Deserialize, Serialize};

/// A static pod, as its manifest names it: without the node that the kubelet appends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PodKey {
    namespace: String,
    name: String,
}

/// The name of a manifest's file in the kubelet's folder, such as `nginx.yaml`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FileName(String);

/// A name that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` cannot be the {what}: {why}")]
pub struct BadName {
    what: &'static str,
    name: String,
    why: &'static str,
}

// === impl PodKey ===

impl PodKey {
    /// The pod of these names.
    ///
    /// # Errors
    /// When Kubernetes would not allow them.
    pub fn new(namespace: &str, name: &str) -> Result<Self, BadName> {
        check("namespace of a pod", namespace)?;
        check("name of a pod", name)?;
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name in the manifest.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of what is kept about the pod. Names have no underscore, so no two pods share one.
    pub(crate) fn folder(&self) -> String {
        format!("{}_{}", self.namespace, self.name)
    }

    pub(crate) fn from_folder(folder: &str) -> Option<Self> {
        let (namespace, name) = folder.split_once('_')?;
        Self::new(namespace, name).ok()
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl FileName ===

impl FileName {
    /// The file of a manifest. `.yaml` is added to a name that has no ending of a manifest, as the API leaves it out.
    ///
    /// # Errors
    /// When it would not be a file that the kubelet reads in its folder.
    pub fn new(name: &str) -> Result<Self, BadName> {
        let bad = |why| Err(BadName { what: "name of a manifest", name: name.to_owned(), why });
        // As long as a StaticPod may name it, whether its ending is said or not.
        let stem = name.strip_suffix(".yaml").unwrap_or(name);
        if stem.is_empty() || stem.len() > MANIFEST_NAME {
            return bad("it has to have between 1 and 200 characters");
        }
        if name.starts_with('.') {
            return bad("the kubelet does not read files whose names begin with a dot");
        }
        if name.contains('/') || name.chars().any(char::is_control) {
            return bad("it is not the name of one file in the kubelet's folder");
        }
        let has_ending = [".yaml", ".yml", ".json", ".manifest"].iter().any(|ending| name.ends_with(ending));
        Ok(Self(if has_ending { name.to_owned() } else { format!("{name}.yaml") }))
    }

    /// The name, with its ending.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As strict as Kubernetes is with subdomains.
fn check(what: &'static str, name: &str) -> Result<(), BadName> {
    let bad = |why| Err(BadName { what, name: name.to_owned(), why });
    if name.is_empty() || name.len() > 253 {
        return bad("it has to have between 1 and 253 characters");
    }
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !name.chars().all(|c| is_fine(c) || c == '-' || c == '.') {
        return bad("only lower case letters, digits, `-` and `.` are allowed");
    }
    if name.split('.').any(|part| !part.starts_with(is_fine) || !part.ends_with(is_fine)) {
        return bad("each part has to begin and end with a letter or a digit");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FileName, MANIFEST_NAME, PodKey};

    #[test]
    fn a_pod_cannot_name_its_way_out_of_a_folder() {
        for name in ["..", "a/b", "", "A", "a_b", "-a", "a.", "a..b"] {
            assert!(PodKey::new("default", name).is_err(), "{name}");
            assert!(PodKey::new(name, "nginx").is_err(), "{name}");
        }
        assert_eq!(PodKey::new("kube-system", "etcd").unwrap().to_string(), "kube-system/etcd");
    }

    #[test]
    fn the_folder_of_a_pod_says_which_pod_it_is() {
        let key = PodKey::new("kube-system", "etcd.main").unwrap();
        assert_eq!(PodKey::from_folder(&key.folder()), Some(key));
        assert_eq!(PodKey::from_folder("lost+found"), None);
    }

    #[test]
    fn a_manifest_gets_its_ending() {
        assert_eq!(FileName::new("nginx").unwrap().as_str(), "nginx.yaml");
        assert_eq!(FileName::new("etcd.manifest").unwrap().as_str(), "etcd.manifest");
        for name in ["", ".hidden", "../etcd", "a/b"] {
            assert!(FileName::new(name).is_err(), "{name}");
        }
    }

    /// Longer names passed the API and failed on every node, and the longest of the others were staged and never found.
    #[test]
    fn a_name_is_as_long_as_a_static_pod_may_say_and_may_be_read_back() {
        let longest = FileName::new(&"a".repeat(MANIFEST_NAME)).unwrap();
        assert_eq!(FileName::new(longest.as_str()), Ok(longest));
        let refused = FileName::new(&"a".repeat(MANIFEST_NAME + 1)).unwrap_err();
        assert!(refused.to_string().ends_with(&format!("between 1 and {MANIFEST_NAME} characters")));
        let problem = |length| crate::template::problems(&spec(&"a".repeat(length)));
        assert!(problem(MANIFEST_NAME).is_empty());
        assert_eq!(problem(MANIFEST_NAME + 1)[0].field, "spec.staticPodManifest");
    }

    fn spec(manifest: &str) -> safepoint_api::static_pod::StaticPodSpec {
        serde_json::from_value(serde_json::json!({"staticPodName": "web", "staticPodManifest": manifest,
            "template": {"spec": {"containers": [{"name": "main", "image": "web:1"}]}}}))
        .unwrap()
    }
}
