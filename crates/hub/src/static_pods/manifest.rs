//! The ConfigMap of a revision: the manifest as the kubelet shall have it, and the template to go back to. Pure.

use k8s_openapi::api::core::v1::ConfigMap;
use safepoint_api::names::openyurt::STATIC_POD_HASH;
use safepoint_api::names::safepoint::static_pod as words;
use safepoint_core::{Revision, Text, Timestamp};
use safepoint_manifest::Digest;
use safepoint_manifest::template::manifest;
use serde_json::json;

use super::names;
use super::wanted::Wanted;

/// What is known of the ConfigMap of a revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MapFacts {
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// When the revision was last wanted anew.
    pub(crate) wanted_at: Timestamp,
}

/// What the manifests of a revision add up to, as SHA-256 in hexadecimal. A task is told, by the pod that nobody but the hub has
/// written: what it brings lies in a ConfigMap, whose name others may have taken before.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sums {
    plain: Text,
    installed: Text,
}

// === impl Sums ===

impl Sums {
    pub(crate) fn of(namespace: &str, wanted: &Wanted) -> Self {
        let sum = |key| {
            let digest = Digest::of(text(namespace, wanted, key).as_bytes());
            Text::from(digest.as_str().trim_start_matches("sha256:"))
        };
        Self { plain: sum(words::KEY_MANIFEST), installed: sum(words::KEY_INSTALLED) }
    }

    /// That of the manifest under this key.
    pub(crate) fn get(&self, key: &str) -> &Text {
        if key == words::KEY_INSTALLED { &self.installed } else { &self.plain }
    }
}

/// The ConfigMap of the wanted revision.
pub(crate) fn config_map(
    namespace: &str,
    (object, uid): (&str, &str),
    wanted: &Wanted,
    now: Timestamp,
) -> ConfigMap {
    let revision = wanted.revision().as_str();
    let template = serde_json::to_string_pretty(&wanted.template).expect("a template can be written");
    let map = json!({
        "metadata": {
            "name": names::config_map(object, revision),
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/managed-by": "safepoint",
                words::OF: names::label(object),
                words::REVISION: revision,
            },
            "annotations": {STATIC_POD_HASH: revision, words::WANTED_AT: stamp(now)},
            "ownerReferences": [super::owner(object, uid)],
        },
        // A revision is what it is. Kubelets do not watch what cannot change.
        "immutable": true,
        "data": {
            words::KEY_MANIFEST: text(namespace, wanted, words::KEY_MANIFEST),
            words::KEY_INSTALLED: text(namespace, wanted, words::KEY_INSTALLED),
            words::KEY_TEMPLATE: template,
        },
    });
    serde_json::from_value(map).expect("a ConfigMap that is written here is one")
}

/// The manifest of the wanted revision under this key.
fn text(namespace: &str, wanted: &Wanted, key: &str) -> String {
    manifest(namespace, &wanted.static_pod, &wanted.template, key == words::KEY_INSTALLED)
}

/// A moment as an annotation has it.
pub(crate) fn stamp(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}

/// Reads what [`stamp`] wrote. What somebody else wrote is long ago.
pub(crate) fn read_stamp(text: Option<&str>) -> Timestamp {
    let read: Option<jiff::Timestamp> = text.and_then(|text| text.parse().ok());
    read.map_or(Timestamp(0), |at| Timestamp(at.as_millisecond()))
}

/// What is to be done about the revisions that are kept.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Keeping {
    /// The wanted one is not there.
    pub(crate) make: bool,
    /// The wanted one was wanted before others that are there: it is the newest again.
    pub(crate) renew: bool,
    /// Those that are kept no longer.
    pub(crate) forget: Vec<Revision>,
}

/// Decides which revisions are kept: the wanted one, those that are in use, and of the rest the newest.
pub(crate) fn keeping<'a>(
    maps: impl Iterator<Item = (&'a Revision, &'a MapFacts)> + Clone,
    wanted: &Revision,
    limit: usize,
    in_use: impl FnOnce() -> std::collections::HashSet<Revision>,
) -> Keeping {
    let own = maps.clone().find(|(revision, _)| *revision == wanted);
    let mut others: Vec<_> = maps.filter(|(revision, _)| *revision != wanted).collect();
    others.sort_by_key(|(revision, map)| (std::cmp::Reverse(map.wanted_at), (*revision).clone()));
    let renew =
        own.is_some_and(|(_, map)| others.first().is_some_and(|(_, other)| other.wanted_at > map.wanted_at));
    let mut forget = Vec::new();
    if others.len() > limit {
        let in_use = in_use();
        let rest = others.into_iter().map(|(revision, _)| revision).skip(limit);
        forget = rest.filter(|revision| !in_use.contains(revision)).cloned().collect();
    }
    Keeping { make: own.is_none(), renew, forget }
}

/// Reads the template back.
#[cfg(test)]
pub(crate) fn template_of(map: &ConfigMap) -> Option<serde_json::Value> {
    serde_json::from_str(map.data.as_ref()?.get(words::KEY_TEMPLATE)?).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use safepoint_manifest::Manifest;

    use super::super::wanted::tests::spec;
    use super::*;

    fn wanted() -> Wanted {
        Wanted::read(&spec(|spec| {
            spec["template"]["metadata"] =
                json!({"labels": {"app": "proxy"}, "annotations": {"note": "yes"}});
            spec["template"]["spec"]["fieldOfNextYear"] = json!({"on": "on"});
        }))
        .unwrap()
    }

    #[test]
    fn each_revision_has_its_manifest_for_both_kinds_of_nodes_and_its_template() {
        let wanted = wanted();
        let map = config_map("kube-system", ("proxy", "u"), &wanted, Timestamp(0));
        let data = map.data.clone().unwrap();
        for (key, installed) in [(words::KEY_MANIFEST, false), (words::KEY_INSTALLED, true)] {
            let manifest = Manifest::parse(data[key].clone()).unwrap();
            assert_eq!(manifest.revision(), Some(wanted.revision().as_str()));
            assert_eq!(manifest.is_installed(), installed);
        }
        let sums = Sums::of("kube-system", &wanted);
        for key in [words::KEY_MANIFEST, words::KEY_INSTALLED] {
            let digest = Digest::of(data[key].as_bytes());
            assert_eq!(format!("sha256:{}", sums.get(key)), digest.as_str(), "exactly what is mounted");
        }
        assert_ne!(sums.plain, sums.installed);
        let template = template_of(&map).unwrap();
        assert_eq!(safepoint_api::static_pod::revision(&template), wanted.revision().as_str());
    }

    fn maps(all: &[(&str, i64)]) -> Vec<(Revision, MapFacts)> {
        let map = |(name, at): &(&str, i64)| {
            let facts = MapFacts { name: (*name).into(), uid: "u".into(), wanted_at: Timestamp(*at) };
            (Revision::from(*name), facts)
        };
        all.iter().map(map).collect()
    }

    fn kept(all: &[(&str, i64)], wanted: &str, limit: usize, used: &[&str]) -> Keeping {
        let maps = maps(all);
        let used: HashSet<Revision> = used.iter().map(|it| Revision::from(*it)).collect();
        keeping(maps.iter().map(|(revision, map)| (revision, map)), &wanted.into(), limit, || used)
    }

    #[test]
    fn the_oldest_revisions_go_unless_a_node_has_them() {
        let all = [("a", 1), ("b", 2), ("c", 3), ("d", 4)];
        let forget = |limit, used: &[&str]| {
            kept(&all, "d", limit, used).forget.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(forget(1, &[]), ["b", "a"]);
        assert_eq!(forget(1, &["a"]), ["b"]);
        assert!(forget(3, &[]).is_empty());
        assert_eq!(forget(0, &["c"]), ["b", "a"]);
    }

    #[test]
    fn a_revision_that_is_wanted_again_is_the_newest_again() {
        let all = [("a", 1), ("b", 2)];
        assert!(kept(&all, "a", 10, &[]).renew);
        assert!(!kept(&all, "b", 10, &[]).renew);
        assert!(kept(&all, "c", 10, &[]).make);
    }

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        assert_eq!(read_stamp(Some(&stamp(Timestamp(1_794_700_800_123)))), Timestamp(1_794_700_800_123));
        assert_eq!(read_stamp(Some("yesterday")), Timestamp(0));
    }
}
