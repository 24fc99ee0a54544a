//! CRDs: whether their names are free, and what becomes of their objects when they go.

use safepoint_machinery::meta;
use safepoint_store::{Object, WriteError};
use serde_json::{Value, json};

use super::{everything, remove_finalizer};
use crate::api::Api;
use crate::custom::CLEANUP;
use crate::kinds::{items, text};
use crate::registry::Registry;
use crate::verbs::{Deletion, change_as_server, delete_as_server, metadata_of};

/// Accepts the names of new CRDs, and begins to serve them.
pub(super) async fn establish(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let Some(definitions) = registry.of_kind("apiextensions.k8s.io", "CustomResourceDefinition") else {
        return Ok(());
    };
    for stored in everything(api, &definitions.collection) {
        forget_earlier_objects(api, registry, &stored).await?;
        let others = api.everything(&definitions.collection);
        let now = api.0.clock.text();
        change_as_server(api, &definitions, &stored.key, |mut crd| {
            let before = crd.clone();
            accept(&mut crd, &others, &now);
            (crd != before).then_some(crd)
        })
        .await?;
    }
    Ok(())
}

/// Removes objects that are older than their CRD. They are of another one of the same name, made while that one ended, and
/// nobody has checked them by this one's rules.
async fn forget_earlier_objects(api: &Api, registry: &Registry, crd: &Object) -> Result<(), WriteError> {
    let collection = &*crd.key.name;
    let resource = registry.collections().into_iter().find(|resource| &*resource.collection == collection);
    let Some(resource) = resource else { return Ok(()) };
    for object in everything(api, collection) {
        if object.created < crd.created {
            delete_as_server(api, &resource, &object.key, &Deletion::of(&object)).await?;
        }
    }
    Ok(())
}

/// Writes on a CRD what becomes of it: its names are taken, or somebody else has them.
fn accept(crd: &mut Value, others: &[Value], now: &str) {
    let rival =
        others.iter().find(|other| meta::name(other) != meta::name(crd) && claims_same_names(other, crd));
    let was = |kind: &str| {
        let known = items(&crd["status"], "conditions").find(|condition| text(condition, "/type") == kind);
        known.map(|condition| {
            (text(condition, "/status").to_owned(), text(condition, "/lastTransitionTime").to_owned())
        })
    };
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        let since =
            was(kind).filter(|(old, _)| old == status).map_or_else(|| now.to_owned(), |(_, since)| since);
        json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since })
    };
    // What is established stays so, even if its names are contested later.
    let is_established = was("Established").is_some_and(|(status, _)| status == "True");
    let initial =
        || condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted");
    let conditions = match rival {
        None => vec![condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"), initial()],
        Some(rival) => {
            let message = format!("a name is already in use by {}", meta::name(rival).unwrap_or_default());
            let established = if is_established {
                initial()
            } else {
                condition("Established", "False", "NotAccepted", "not all names are accepted")
            };
            vec![condition("NamesAccepted", "False", "NamesConflict", &message), established]
        }
    };
    let others: Vec<Value> = items(&crd["status"], "conditions")
        .filter(|condition| !matches!(text(condition, "/type"), "NamesAccepted" | "Established"))
        .cloned()
        .collect();
    crd["status"]["conditions"] = conditions.into_iter().chain(others).collect();
    crd["status"]["acceptedNames"] =
        if rival.is_none() { crd["spec"]["names"].clone() } else { json!({ "plural": "", "kind": "" }) };
    // Nobody takes the definition away before its objects.
    if meta::deletion_timestamp(crd).is_none() && !meta::finalizers(crd).contains(&CLEANUP) {
        let finalizers = metadata_of(crd).entry("finalizers").or_insert_with(|| json!([]));
        if let Some(finalizers) = finalizers.as_array_mut() {
            finalizers.push(CLEANUP.into());
        }
    }
}

fn claims_same_names(other: &Value, crd: &Value) -> bool {
    if other["spec"]["group"] != crd["spec"]["group"] {
        return false;
    }
    let (a, b) = (&other["status"]["acceptedNames"], &crd["spec"]["names"]);
    let words = |names: &Value| -> Vec<String> {
        let singles =
            ["plural", "singular"].into_iter().map(|field| text(names, &format!("/{field}")).to_owned());
        let short =
            items(names, "shortNames").filter_map(|name| Some(name.as_str()?.to_owned())).collect::<Vec<_>>();
        singles.chain(short).filter(|name| !name.is_empty()).collect()
    };
    let theirs = words(a);
    words(b).iter().any(|name| theirs.contains(name))
        || (a["kind"] == b["kind"] && a["kind"].is_string())
        || (a["listKind"] == b["listKind"] && a["listKind"].is_string())
}

/// Goes on with the deletion of CRDs.
pub(super) async fn end(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let Some(definitions) = registry.of_kind("apiextensions.k8s.io", "CustomResourceDefinition") else {
        return Ok(());
    };
    for stored in everything(api, &definitions.collection) {
        let crd: Value = serde_json::from_slice(&stored.json).unwrap_or_default();
        if meta::deletion_timestamp(&crd).is_none() || !meta::finalizers(&crd).contains(&CLEANUP) {
            continue;
        }
        let (group, plural) = (text(&crd, "/spec/group"), text(&crd, "/spec/names/plural"));
        let collection = format!("{plural}.{group}");
        let resource = registry.collections().into_iter().find(|resource| *resource.collection == collection);
        if let Some(resource) = resource {
            for object in everything(api, &collection) {
                delete_as_server(api, &resource, &object.key, &Deletion::of(&object)).await?;
            }
        }
        // Counted anew: something may have been made while the rest was deleted.
        let left = everything(api, &collection).len();
        if left == 0 {
            remove_finalizer(api, &definitions, &stored.key, CLEANUP).await?;
        }
    }
    Ok(())
}
