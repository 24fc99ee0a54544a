//! Which resources are served now: the built-in ones, and those of the CRDs in the store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use safepoint_machinery::meta;
use serde_json::Value;

use crate::custom;
use crate::kinds;
use crate::resource::Resource;

/// Group, version and plural.
type Address = (Arc<str>, Arc<str>, Arc<str>);

/// The resources of one moment.
#[derive(Default)]
pub(crate) struct Registry {
    resources: BTreeMap<Address, Arc<Resource>>,
    /// What CRDs define and do not serve. Nobody can ask for it, but it has to go with its CRD and its namespaces.
    hidden: Vec<Arc<Resource>>,
}

/// The registry of now. It is replaced as a whole when a CRD changes.
#[derive(Clone, Default)]
pub(crate) struct Current(Arc<RwLock<Arc<Registry>>>);

impl Current {
    pub(crate) fn get(&self) -> Arc<Registry> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the CRDs and replaces the registry. `read` runs under the lock, so the newest state wins whoever comes last.
    pub(crate) fn refresh(&self, read: impl FnOnce() -> Vec<Value>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Registry::new(&read(), &current));
    }
}

impl Registry {
    /// Custom resources whose CRD has not changed are taken over from the old registry: a schema is compiled once.
    fn new(crds: &[Value], old: &Registry) -> Registry {
        let mut resources = BTreeMap::new();
        let custom = crds.iter().flat_map(|crd| {
            custom::resources(crd, |group, version, plural, revision| {
                let known = old.find(group, version, plural)?;
                (known.custom()?.revision() == revision).then_some(known)
            })
        });
        // Built-in kinds come last: no CRD can take the place of one.
        for resource in custom.chain(kinds::table()) {
            let key =
                (Arc::clone(&resource.group), Arc::clone(&resource.version), Arc::clone(&resource.plural));
            resources.insert(key, resource);
        }
        let served: HashSet<&str> =
            resources.values().map(|resource: &Arc<Resource>| &*resource.collection).collect();
        let is_served = |crd: &&Value| meta::name(crd).is_some_and(|name| served.contains(name));
        let hidden = crds.iter().filter(|crd| !is_served(crd)).filter_map(custom::hidden).collect();
        Registry { resources, hidden }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&(group.into(), version.into(), plural.into())).cloned()
    }

    /// A resource that holds objects of a kind, in any version. `None`: that kind is not served here.
    pub(crate) fn of_kind(&self, group: &str, kind: &str) -> Option<Arc<Resource>> {
        self.all()
            .find(|resource| &*resource.group == group && &*resource.kind == kind && resource.stored)
            .cloned()
    }

    /// The other resources that show the same objects.
    pub(crate) fn equivalents<'a>(
        &'a self,
        resource: &'a Resource,
    ) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.all().filter(move |other| {
            other.collection == resource.collection
                && (other.group != resource.group || other.version != resource.version)
        })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// One resource for each collection of the store.
    pub(crate) fn collections(&self) -> Vec<Arc<Resource>> {
        let mut by_collection: BTreeMap<Arc<str>, Arc<Resource>> = BTreeMap::new();
        for resource in self.all().filter(|resource| resource.stored) {
            let entry =
                by_collection.entry(Arc::clone(&resource.collection)).or_insert_with(|| Arc::clone(resource));
            if resource.is_storage_version() {
                *entry = Arc::clone(resource);
            }
        }
        by_collection.into_values().chain(self.hidden.iter().cloned()).collect()
    }

    /// The groups but the core one, each with its versions, the preferred one first.
    pub(crate) fn groups(&self) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
        let mut groups: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for resource in self.all().filter(|resource| !resource.group.is_empty()) {
            let versions = groups.entry(Arc::clone(&resource.group)).or_default();
            if !versions.contains(&resource.version) {
                versions.push(Arc::clone(&resource.version));
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_cached_key(|version| Reverse(priority(version)));
        }
        groups
    }

    pub(crate) fn of_version<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.all().filter(move |resource| &*resource.group == group && &*resource.version == version)
    }
}

/// How Kubernetes ranks versions: `v2` before `v1` before `v1beta2` before `v1alpha1`, and any other name last.
fn priority(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest[..digits].parse().ok()?;
        Some(match &rest[digits..] {
            "" => (3, major, 0),
            tail => {
                let (stage, minor) = tail
                    .strip_prefix("beta")
                    .map(|minor| (2, minor))
                    .or_else(|| tail.strip_prefix("alpha").map(|minor| (1, minor)))?;
                (stage, major, minor.parse().ok()?)
            }
        })
    };
    let (stage, major, minor) = parsed().unwrap_or((0, 0, 0));
    (stage, major, minor, Reverse(version.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::priority;

    #[test]
    fn versions_are_ranked_as_kubernetes_ranks_them() {
        let mut versions = ["v1alpha1", "v10", "foo1", "v1", "v2beta1", "v2", "v1beta2", "bar"];
        versions.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo1"]);
    }
}
