//! The base for kustomize: the same objects as the plain manifests, all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::files::kustomize;
use super::super::{Shop, read, write};

/// What goes into a cluster.
const FOLDERS: [&str; 3] = ["crds", "hub", "agent"];

type Objects = BTreeMap<String, Value>;

/// The base equals the manifests, and an overlay beside it can choose another image.
pub(super) fn base_and_overlay(shop: &Shop) -> Result<()> {
    let mut plain = Objects::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(shop.deploy(folder)).with_context(|| format!("cannot list {folder}"))? {
            plain.extend(objects(&read(&entry?.path())?)?);
        }
    }
    let base = objects(&kustomize(shop, &shop.deploy(""))?)?;
    ensure!(
        base.keys().eq(plain.keys()),
        "deploy/kustomization.yaml has {:?}, and the folders beside it have {:?}",
        base.keys(),
        plain.keys()
    );
    for (name, object) in &plain {
        ensure!(base[name] == *object, "{name} is not as in its manifest");
    }

    let overlay = shop.workshop("overlay")?;
    let text = format!(
        "resources: [{}]\nimages: [{{name: safepoint, newName: registry.example/safepoint, newTag: v9}}]\n\
         replicas: [{{name: safepoint-hub, count: 3}}]\n",
        way(&overlay, &shop.deploy("")).display()
    );
    write(&overlay.join("kustomization.yaml"), text)?;
    let changed = objects(&kustomize(shop, &overlay)?)?;
    let hub = &changed.get("Deployment/safepoint-hub").context("an overlay without the hub")?["spec"];
    ensure!(
        hub["replicas"] == 3.0
            && hub["template"]["spec"]["containers"][0]["image"] == "registry.example/safepoint:v9",
        "the overlay did not change the hub: {hub}"
    );
    Ok(())
}

/// The objects of a text, by kind and name.
fn objects(yaml: &str) -> Result<Objects> {
    let all: Vec<Value> = serde_saphyr::from_multiple(yaml)?;
    let named = all.into_iter().map(|object| {
        let word = |value: &Value| value.as_str().map(str::to_owned).context("an object without a name");
        Ok((format!("{}/{}", word(&object["kind"])?, word(&object["metadata"]["name"])?), plain(object)))
    });
    named.collect()
}

/// The same with every number written in one way: kustomize makes 0 of 0.0.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

/// The way from one folder to another, both named from the root: kustomize follows no other.
fn way(from: &Path, to: &Path) -> PathBuf {
    let up = from.components().skip(1).map(|_| "..");
    up.collect::<PathBuf>().join(to.strip_prefix("/").unwrap_or(to))
}
