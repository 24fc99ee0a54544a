//! Which requests a hook asks for: operations, groups, versions, resources and scope.

use serde::{Deserialize, Deserializer};

use super::attributes::{Attributes, GroupVersionResource};

/// One rule of a hook. A request has to meet all of its parts, and one value of each.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    #[serde(deserialize_with = "or_none")]
    operations: Vec<String>,
    #[serde(deserialize_with = "or_none")]
    api_groups: Vec<String>,
    #[serde(deserialize_with = "or_none")]
    api_versions: Vec<String>,
    #[serde(deserialize_with = "or_none")]
    resources: Vec<String>,
    scope: Option<String>,
}

/// `null` is an empty list, as in Go.
fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

// === impl Rule ===

impl Rule {
    /// The rule of a hook whose own rules cannot be read: a hook that may have wanted to be asked is asked.
    pub(crate) fn everything() -> Rule {
        let any = || vec!["*".to_owned()];
        let resources = vec!["*/*".to_owned()];
        Rule { operations: any(), api_groups: any(), api_versions: any(), resources, scope: None }
    }

    /// Whether the request is one of those, if its address were `resource`.
    pub(crate) fn matches(&self, attributes: &Attributes, resource: &GroupVersionResource) -> bool {
        self.matches_scope(attributes.namespaced)
            && names(&self.operations, attributes.operation.name())
            && names(&self.api_groups, &resource.group)
            && names(&self.api_versions, &resource.version)
            && self.matches_resource(&resource.resource, attributes.subresource())
    }

    fn matches_scope(&self, namespaced: bool) -> bool {
        match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => namespaced,
            Some("Cluster") => !namespaced,
            Some(_) => false,
        }
    }

    /// `pods` is the resource alone, `pods/*` the resource and all its subresources, since `*` also stands for none.
    fn matches_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|wanted| {
            let (main, sub) = wanted.split_once('/').unwrap_or((wanted, ""));
            (main == "*" || main == resource) && (sub == "*" || sub == subresource)
        })
    }
}

fn names(wanted: &[String], name: &str) -> bool {
    wanted.iter().any(|wanted| wanted == "*" || wanted == name)
}
