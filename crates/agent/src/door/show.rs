//! What the gate has admitted, in the runtime's words, and which of it the runtime has not been told yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use safepoint_core::{Applied, Gate, Health, Key, Kind, Stage, Uid, Version};
use safepoint_runtime::{Config, ConfigKey, ConfigKind, Configs, Wanted};
use serde_json::{Value, json};

use crate::journal::{BodyKey, Journal};
use crate::seen::Gates;
use crate::version;

/// The kubelet's, where a pod does not say.
pub(super) const GRACE: Duration = Duration::from_secs(30);

/// What the runtime has been told.
#[derive(Default, Debug)]
pub(super) struct Told {
    pub(super) pods: BTreeMap<Uid, ToldPod>,
    pub(super) configs: BTreeMap<Key, Arc<Config>>,
    /// Configuration that is to be taken from the pods.
    pub(super) ending: BTreeMap<Key, Uid>,
}

/// Of one pod.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ToldPod {
    pub(super) key: Key,
    digest: String,
    ending: bool,
    /// The configuration it was given, by the version of each.
    pub(super) configs: BTreeMap<Key, String>,
    /// Whether it uses something that has not been admitted, or of which nobody knows yet whether it is there.
    pub(super) lacks_configs: bool,
    /// What others say of its readiness.
    pub(super) gates: Gates,
}

/// A look at everything that has been admitted.
pub(super) struct Shown {
    pub(super) told: Told,
    /// What is new of it.
    pub(super) pods: Vec<Wanted>,
    /// How the gate takes what was delivered to be. It may have been given anew since it was last shown.
    pub(super) believed: BTreeMap<Key, Health>,
}

/// Why it cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShowError {
    #[error("cannot read the journal: {0}")]
    Storage(#[from] redb::Error),
    #[error("the journal has no readable body of {0}")]
    Body(String),
}

// === impl Shown ===

impl Shown {
    pub(super) fn new(
        gate: &Gate,
        journal: &Journal,
        before: &Told,
        synced: bool,
        gates: &BTreeMap<Uid, Gates>,
    ) -> Result<Self, ShowError> {
        let mut told = Told::default();
        let mut believed = BTreeMap::new();
        for (key, applied) in
            gate.slots().iter().filter_map(|(key, slot)| Some((key, slot.applied.as_ref()?)))
        {
            let version = &applied.version;
            if let Stage::Delivered(health) = applied.stage {
                believed.insert(key.clone(), health);
            }
            if key.kind.runs() {
                continue;
            }
            if applied.stage == Stage::Ending {
                told.ending.insert(key.clone(), version.uid.clone());
                continue;
            }
            let is = version_of(version);
            let known = before.configs.get(key).filter(|config| config.version == is);
            let config = match known {
                Some(config) => Arc::clone(config),
                None => Arc::new(Config {
                    version: is,
                    data: version::data(key.kind, &body(journal, key, version)?),
                }),
            };
            told.configs.insert(key.clone(), config);
        }
        let mut pods = Vec::new();
        for (key, slot) in gate.slots().iter().filter(|(key, _)| key.kind == Kind::Pod) {
            let Some(applied) = &slot.applied else { continue };
            let uses = applied.version.uses.iter();
            let configs: BTreeMap<Key, Arc<Config>> =
                uses.filter_map(|key| Some((key.clone(), Arc::clone(told.configs.get(key)?)))).collect();
            let pod = ToldPod {
                key: key.clone(),
                digest: applied.version.digest.to_string(),
                ending: applied.stage == Stage::Ending,
                configs: configs.iter().map(|(key, config)| (key.clone(), config.version.clone())).collect(),
                lacks_configs: applied
                    .version
                    .uses
                    .iter()
                    .any(|key| !configs.contains_key(key) && (gate.slots().contains_key(key) || !synced)),
                gates: gates.get(&applied.version.uid).cloned().unwrap_or_default(),
            };
            if before.pods.get(&applied.version.uid) != Some(&pod) {
                let mut wanted = wanted(journal, key, slot.wanted.as_ref(), applied, configs)?;
                say(Arc::make_mut(&mut wanted.manifest), &pod.gates);
                pods.push(wanted);
            }
            told.pods.insert(applied.version.uid.clone(), pod);
        }
        Ok(Self { told, pods, believed })
    }
}

/// Writes into a manifest which of the conditions that others write are true now. Those of the journal are of another time.
fn say(manifest: &mut Value, gates: &Gates) {
    let condition =
        |(kind, is): (&String, &bool)| json!({"type": kind, "status": if *is { "True" } else { "False" }});
    manifest["status"] = json!({"conditions": gates.iter().map(condition).collect::<Vec<_>>()});
}

fn wanted(
    journal: &Journal,
    key: &Key,
    asked: Option<&Version>,
    applied: &Applied,
    configs: BTreeMap<Key, Arc<Config>>,
) -> Result<Wanted, ShowError> {
    let manifest = body(journal, key, &applied.version)?;
    let ending = match applied.stage {
        Stage::Delivered(_) => None,
        Stage::Ending => {
            // How long it may take is said by whoever deleted it; a pod that is gone from the API has said it itself.
            let deletion = asked.filter(|asked| asked.deleting && asked.uid == applied.version.uid);
            let said = match deletion {
                Some(asked) => body(journal, key, asked)?["metadata"]["deletionGracePeriodSeconds"].as_u64(),
                None => None,
            };
            let own = || manifest["spec"]["terminationGracePeriodSeconds"].as_u64();
            Some(said.or_else(own).map_or(GRACE, Duration::from_secs))
        }
    };
    Ok(Wanted {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: applied.version.uid.to_string(),
        version: applied.version.digest.to_string(),
        manifest: Arc::new(manifest),
        configs: Arc::new(Configs(
            configs.into_iter().map(|(key, config)| (config_key(&key), config)).collect(),
        )),
        ending,
    })
}

fn body(journal: &Journal, key: &Key, version: &Version) -> Result<Value, ShowError> {
    let missing = || ShowError::Body(key.to_string());
    let body = journal.body(&BodyKey::new(key, version))?.ok_or_else(missing)?;
    serde_json::from_slice(&body).map_err(|_| missing())
}

pub(super) fn config_key(key: &Key) -> ConfigKey {
    let kind = if key.kind == Kind::Secret { ConfigKind::Secret } else { ConfigKind::ConfigMap };
    ConfigKey { kind, name: key.name.to_string() }
}

/// One text for one version of one object: names are reused.
pub(super) fn version_of(version: &Version) -> String {
    format!("{}/{}", version.uid, version.digest)
}
