//! Custom resources: what a CRD says, compiled once per version and used for every write.

use std::sync::Arc;

use safepoint_machinery::meta;
use safepoint_schema::{Options as SchemaOptions, Schema};
use serde_json::{Value, json};
use tracing::warn;

use crate::fault::Problems;
use crate::kinds::{Rules, items, text};
use crate::resource::{Nature, Resource, Sub};
use crate::table::{self, Column};

pub(crate) mod columns;

use columns::Path;

/// Keeps a CRD until the last of its objects is gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// One version of a custom resource.
pub(crate) struct Custom {
    /// The revision of the CRD that this was read from.
    revision: String,
    version: String,
    storage_version: String,
    schema: Schema,
    has_status: bool,
    /// Whether the CRD is being deleted, so that nothing new may be made of it.
    is_ending: bool,
    /// The columns after the name, and where their cells are.
    columns: Vec<(Column, Path)>,
    selectable: Vec<String>,
    pub(crate) scale: Option<Scale>,
}

/// Where a custom resource keeps how many of it are wanted and are there.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) wanted: String,
    pub(crate) there: String,
    pub(crate) selector: Option<String>,
}

/// The resources of a CRD: one for each version that is served. `known` finds one that is compiled already.
pub(crate) fn resources(
    crd: &Value,
    known: impl Fn(&str, &str, &str, &str) -> Option<Arc<Resource>>,
) -> Vec<Arc<Resource>> {
    if !is_established(crd) {
        return Vec::new();
    }
    let revision = meta::resource_version(crd).unwrap_or_default();
    let (group, plural) = (text(crd, "/spec/group"), text(crd, "/spec/names/plural"));
    items(&crd["spec"], "versions")
        .filter(|version| version.get("served").and_then(Value::as_bool).unwrap_or(false))
        .filter_map(|version| {
            let name = text(version, "/name");
            known(group, name, plural, revision).or_else(|| compile(crd, version).map(Arc::new))
        })
        .collect()
}

/// The objects of a CRD, whether or not any version of them is served, for those who clean up.
pub(crate) fn hidden(crd: &Value) -> Option<Arc<Resource>> {
    let storage = items(&crd["spec"], "versions").find(|version| version["storage"] == json!(true))?;
    compile(crd, storage).map(Arc::new)
}

/// Whether the objects of a CRD are served.
fn is_established(crd: &Value) -> bool {
    items(&crd["status"], "conditions")
        .any(|condition| text(condition, "/type") == "Established" && text(condition, "/status") == "True")
}

fn compile(crd: &Value, version: &Value) -> Option<Resource> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let (group, plural, kind) = (text(spec, "/group"), text(names, "/plural"), text(names, "/kind"));
    let name = text(version, "/name");
    let schema = match Schema::compile(&version["schema"]["openAPIV3Schema"]) {
        Ok(schema) => schema,
        Err(problems) => {
            // It was compiled when the CRD was written; this happens only to a store that an older version wrote.
            warn!(
                crd = meta::name(crd),
                version = name,
                ?problems,
                "cannot serve a custom resource: its schema is not valid"
            );
            return None;
        }
    };
    let storage =
        items(spec, "versions").find(|version| version["storage"] == json!(true)).map(|it| text(it, "/name"));
    let subresources = &version["subresources"];
    let has_status = subresources.get("status").is_some_and(|status| !status.is_null());
    let scale = subresources.get("scale").filter(|scale| !scale.is_null()).map(|scale| Scale {
        wanted: text(scale, "/specReplicasPath").to_owned(),
        there: text(scale, "/statusReplicasPath").to_owned(),
        selector: Some(text(scale, "/labelSelectorPath").to_owned()).filter(|path| !path.is_empty()),
    });
    let mut subs = Vec::new();
    if scale.is_some() {
        subs.push(Sub::Scale);
    }
    if has_status {
        subs.push(Sub::Status);
    }
    let list = |field: &str| items(names, field).filter_map(Value::as_str).map(Arc::from).collect();
    let or = |value: &str, default: String| -> Arc<str> {
        if value.is_empty() { default.into() } else { value.into() }
    };
    Some(Resource {
        group: group.into(),
        version: name.into(),
        plural: plural.into(),
        singular: or(text(names, "/singular"), kind.to_lowercase()),
        kind: kind.into(),
        list_kind: or(text(names, "/listKind"), format!("{kind}List")),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text(spec, "/scope") != "Cluster",
        collection: format!("{plural}.{group}").into(),
        subs,
        stored: true,
        nature: Nature::Custom(Arc::new(Custom {
            revision: meta::resource_version(crd).unwrap_or_default().to_owned(),
            version: name.to_owned(),
            storage_version: storage.unwrap_or(name).to_owned(),
            schema,
            has_status,
            is_ending: meta::deletion_timestamp(crd).is_some(),
            columns: columns::read(version),
            selectable: items(version, "selectableFields")
                .map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned())
                .collect(),
            scale,
        })),
    })
}

/// Writes down that objects may be stored in the storage version from now on.
pub(crate) fn remember_stored_version(crd: &mut Value) {
    let mut stored: Vec<Value> = items(&crd["status"], "storedVersions").cloned().collect();
    for version in items(&crd["spec"], "versions").filter(|version| version["storage"] == json!(true)) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    crd["status"]["storedVersions"] = stored.into();
}

// === impl Custom ===

impl Custom {
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    pub(crate) fn is_storage_version(&self) -> bool {
        self.version == self.storage_version
    }

    /// Whether the CRD was last changed before this revision.
    pub(crate) fn is_older_than(&self, revision: u64) -> bool {
        self.revision.parse::<u64>().is_ok_and(|changed| changed < revision)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn storage_version(&self) -> &str {
        &self.storage_version
    }

    pub(crate) fn selects(&self, field: &str) -> bool {
        self.selectable.iter().any(|known| known == field)
    }

    /// Removes what the schema does not know, and says what it was.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let only_prune = SchemaOptions { default: false, validate: false, ..SchemaOptions::default() };
        self.schema.admit(object, None, only_prune).unknown_fields
    }

    /// Prunes, defaults and validates.
    pub(crate) fn shape(&self, object: &mut Value, old: Option<&Value>, sub: Option<Sub>) -> Problems {
        let options = SchemaOptions { status_only: sub == Some(Sub::Status), ..SchemaOptions::default() };
        let outcome = self.schema.admit(object, old, options);
        outcome.problems.into_iter().collect()
    }
}

impl Rules for Custom {
    fn unpack(&self, object: &mut Value) {
        // The schema may have changed since: what it does not know any more is not shown, and new defaults are.
        self.schema.admit(object, None, SchemaOptions { validate: false, ..SchemaOptions::default() });
    }

    fn counted(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs_revision(&self) -> bool {
        true
    }

    fn begin(&self, object: &mut Value) {
        if self.has_status {
            crate::kinds::remove(object, "status");
        }
    }

    fn columns(&self) -> Vec<Column> {
        if self.columns.is_empty() {
            return vec![Column::age()];
        }
        self.columns.iter().map(|(column, _)| column.clone()).collect()
    }

    fn cells(&self, object: &Value, now: jiff::Timestamp) -> Vec<Value> {
        if self.columns.is_empty() {
            return vec![table::age(object, now)];
        }
        self.columns.iter().map(|(column, path)| columns::cell(column, path, object, now)).collect()
    }
}

/// Says what is wrong with the schemas of a CRD.
pub(crate) fn check_schemas(crd: &Value, problems: &mut Problems) {
    let schemas: Vec<&Value> =
        items(&crd["spec"], "versions").map(|version| &version["schema"]["openAPIV3Schema"]).collect();
    // A schema that all versions have in common is named, and checked, only once.
    let common = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    for (index, schema) in schemas.iter().enumerate().take(if common { 1 } else { usize::MAX }) {
        if schema.is_null() {
            continue;
        }
        let path = if common {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{index}].schema.openAPIV3Schema")
        };
        if let Err(wrong) = Schema::compile_at(&path, schema) {
            problems.extend(wrong);
        }
    }
}
