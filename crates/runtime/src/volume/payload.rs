//! The files of a volume that is written from ConfigMaps, Secrets and fields of the pod.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    ConfigKey, Configs,
    env::{Who, field, resource},
    names::{inside, is_key},
    spec::{DownwardItem, Item, Volume},
};

/// What a file has if the manifest does not say.
const MODE: u32 = 0o644;

pub(super) type Payload = BTreeMap<PathBuf, File>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

/// Where the files of one volume come from, in order; later ones win.
pub(super) struct Sources<'a> {
    list: Vec<Source<'a>>,
    mode: u32,
}

enum Source<'a> {
    Config { key: ConfigKey, items: &'a [Item], optional: bool },
    Downward(&'a [DownwardItem]),
}

// === impl Sources ===

impl Sources<'_> {
    /// The ConfigMaps and Secrets among them.
    pub(super) fn keys(&self) -> impl Iterator<Item = ConfigKey> {
        self.list.iter().filter_map(|source| match source {
            Source::Config { key, .. } => Some(key.clone()),
            Source::Downward(_) => None,
        })
    }
}

/// `None` for a volume that is not written from anything.
pub(super) fn sources(volume: &Volume) -> Option<Sources<'_>> {
    if let Some(map) = &volume.config_map {
        let source = Source::Config {
            key: ConfigKey::config_map(&map.name),
            items: &map.items,
            optional: map.optional,
        };
        return Some(Sources { list: vec![source], mode: map.default_mode.unwrap_or(MODE) });
    }
    if let Some(secret) = &volume.secret {
        let key = ConfigKey::secret(&secret.secret_name);
        let source = Source::Config { key, items: &secret.items, optional: secret.optional };
        return Some(Sources { list: vec![source], mode: secret.default_mode.unwrap_or(MODE) });
    }
    if let Some(downward) = &volume.downward_api {
        let list = vec![Source::Downward(&downward.items)];
        return Some(Sources { list, mode: downward.default_mode.unwrap_or(MODE) });
    }
    let projected = volume.projected.as_ref()?;
    let mut list = Vec::new();
    for source in &projected.sources {
        if let Some(map) = &source.config_map {
            let key = ConfigKey::config_map(&map.name);
            list.push(Source::Config { key, items: &map.items, optional: map.optional });
        }
        if let Some(secret) = &source.secret {
            let key = ConfigKey::secret(&secret.name);
            list.push(Source::Config { key, items: &secret.items, optional: secret.optional });
        }
        if let Some(downward) = &source.downward_api {
            list.push(Source::Downward(&downward.items));
        }
    }
    Some(Sources { list, mode: projected.default_mode.unwrap_or(MODE) })
}

/// The files, or what is missing for them.
pub(super) fn payload(who: Who<'_>, configs: &Configs, sources: &Sources<'_>) -> Result<Payload, String> {
    let mut files = Payload::new();
    for source in &sources.list {
        match source {
            Source::Config { key, items, optional } => {
                config(configs, key, items, *optional, sources.mode, &mut files)?;
            }
            Source::Downward(items) => {
                for item in *items {
                    let text = match (&item.field_ref, &item.resource_field_ref) {
                        (Some(of), _) => field(who, &of.field_path)?,
                        (None, Some(of)) => resource(who.pod, None, of)?,
                        (None, None) => String::new(),
                    };
                    let mode = item.mode.unwrap_or(sources.mode);
                    put(&mut files, &item.path, mode, text.as_bytes())?;
                }
            }
        }
    }
    Ok(files)
}

fn config(
    configs: &Configs,
    key: &ConfigKey,
    items: &[Item],
    optional: bool,
    mode: u32,
    files: &mut Payload,
) -> Result<(), String> {
    let Some(config) = configs.0.get(key) else {
        return if optional { Ok(()) } else { Err(format!("{key} not found")) };
    };
    if items.is_empty() {
        for (name, bytes) in &config.data {
            if !is_key(name) {
                return Err(format!("{key} has a key that is no name of a file: {name:?}"));
            }
            put(files, name, mode, bytes)?;
        }
    }
    for item in items {
        match config.data.get(&item.key) {
            Some(bytes) => put(files, &item.path, item.mode.unwrap_or(mode), bytes)?,
            None if optional => {}
            None => return Err(format!("{key} has no key {:?}", item.key)),
        }
    }
    Ok(())
}

fn put(files: &mut Payload, path: &str, mode: u32, bytes: &[u8]) -> Result<(), String> {
    let clean = inside(path).filter(|_| !path.starts_with(".."));
    let clean = clean.ok_or_else(|| format!("the path {path:?} leads out of the volume"))?;
    files.insert(clean, File { mode: mode & 0o777, bytes: bytes.to_vec() });
    Ok(())
}
