//! Volumes without mounts: folders of the pod, and links to them in the root of each container.
//!
//! A process sees the whole machine, so nothing can be put at `/etc/nav` for it alone. Instead each run has a
//! folder `root/` in which every mount path is a link to its volume.

mod atomic;
mod mount;
mod payload;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::{ConfigKey, Configs, env::Who, launch::make_folder, spec::HostPath};

pub(crate) use mount::{Mounted, mount, mounts, working_dir};

/// Where the volumes of a pod are; no container can have this name.
const VOLUMES: &str = ".volumes";

pub(crate) fn folder(pod: &Path, volume: &str) -> PathBuf {
    pod.join(VOLUMES).join(volume)
}

/// What came of setting up the volumes of a pod.
#[derive(Debug, Default)]
pub(crate) struct SetUp {
    /// The versions that the files show now.
    pub(crate) shown: Vec<(ConfigKey, String)>,
    /// Why a container cannot be started now.
    pub(crate) missing: Option<String>,
    /// Why files that are there could not be brought up to date. They stay as they are.
    pub(crate) outdated: Option<String>,
}

/// Makes what is missing and brings the files up to date. Run again, it changes only what differs.
///
/// A ConfigMap that vanishes takes no file from a container that runs, unless the pod calls it optional: what it was is there
/// until it returns, and is no version of anything any more.
pub(crate) fn set_up(
    who: Who<'_>,
    configs: &Configs,
    pod: &Path,
    shown: &[(ConfigKey, String)],
    stamp: &str,
) -> io::Result<SetUp> {
    let mut result = SetUp::default();
    let mut fresh: BTreeSet<(ConfigKey, String)> = BTreeSet::new();
    let mut behind: BTreeSet<ConfigKey> = BTreeSet::new();
    let mut missing = Vec::new();
    let mut outdated = Vec::new();
    for volume in &who.pod.spec.volumes {
        let path = folder(pod, &volume.name);
        if let Some(host) = &volume.host_path {
            if let Err(problem) = host_path(host) {
                missing.push(problem);
            }
            continue;
        }
        if !path.exists() {
            make_folder(&path)?;
        }
        let Some(sources) = payload::sources(volume) else {
            // An emptyDir: everyone may write, as in a container.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
            continue;
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        match payload::payload(who, configs, &sources) {
            Ok(payload) => {
                atomic::write(&path, &payload, stamp)?;
                fresh.extend(sources.keys().filter_map(|key| {
                    let version = configs.0.get(&key)?.version.clone();
                    Some((key, version))
                }));
            }
            Err(problem) => {
                behind.extend(sources.keys());
                let problem = format!("volume {:?}: {problem}", volume.name);
                if atomic::is_written(&path) { outdated.push(problem) } else { missing.push(problem) }
            }
        }
    }
    fresh.retain(|(key, _)| !behind.contains(key));
    let stays = |key: &ConfigKey| behind.contains(key) && configs.0.contains_key(key);
    fresh.extend(shown.iter().filter(|(key, _)| stays(key)).cloned());
    result.shown = fresh.into_iter().collect();
    result.missing = (!missing.is_empty()).then(|| missing.join("; "));
    result.outdated = (!outdated.is_empty()).then(|| outdated.join("; "));
    Ok(result)
}

/// Looks at, and if the manifest says so makes, a path of the machine. It is the one place outside of our
/// folder that is ever written to, and only where the pod's author names it.
fn host_path(host: &HostPath) -> Result<(), String> {
    let path = Path::new(&host.path);
    let kind = host.kind.as_deref().unwrap_or("");
    match kind {
        "DirectoryOrCreate" if !path.exists() => {
            return fs::create_dir_all(path).map_err(|error| format!("hostPath {path:?}: {error}"));
        }
        "FileOrCreate" if !path.exists() => {
            return fs::write(path, b"").map_err(|error| format!("hostPath {path:?}: {error}"));
        }
        _ => {}
    }
    let found = fs::metadata(path).map(|found| found.file_type());
    let is_right = match (kind, &found) {
        ("", _) => true,
        ("Directory" | "DirectoryOrCreate", Ok(found)) => found.is_dir(),
        ("File" | "FileOrCreate", Ok(found)) => found.is_file(),
        ("Socket", Ok(found)) => found.is_socket(),
        ("CharDevice", Ok(found)) => found.is_char_device(),
        ("BlockDevice", Ok(found)) => found.is_block_device(),
        _ => false,
    };
    if is_right {
        Ok(())
    } else {
        Err(format!("hostPath type check failed: {} is not a {kind}", path.display()))
    }
}
