//! The root folder of one run: links to volumes, and copies where a part of a configuration is asked for.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{folder, payload::sources};
use crate::{
    expand::expand,
    launch::make_folder,
    names::inside,
    spec::{Container, Pod},
};

/// One mount of a container, worked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// Below the root.
    at: PathBuf,
    from: From,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum From {
    Whole(PathBuf),
    /// A part of a volume that the container may write to; made if it is missing.
    Part {
        volume: PathBuf,
        part: PathBuf,
    },
    /// A part of a configuration: as it is at the start, and never updated, as with the kubelet.
    Copy(PathBuf),
}

/// What is to be mounted where.
pub(crate) fn mounts(
    pod: &Pod,
    container: &Container,
    pod_folder: &Path,
    env: &BTreeMap<String, String>,
) -> Result<Vec<Mounted>, String> {
    let mut mounts = Vec::new();
    for mount in &container.volume_mounts {
        let at = inside(mount.mount_path.trim_start_matches('/'))
            .ok_or_else(|| format!("mountPath {:?} is no path below the root", mount.mount_path))?;
        let volume = pod.spec.volumes.iter().find(|volume| volume.name == mount.name);
        let volume = volume.ok_or_else(|| format!("there is no volume {:?}", mount.name))?;
        let path = match &volume.host_path {
            Some(host) => PathBuf::from(&host.path),
            None => folder(pod_folder, &volume.name),
        };
        let part = match (mount.sub_path.as_str(), mount.sub_path_expr.as_str()) {
            ("", "") => None,
            ("", expression) => Some(expand(expression, |name| env.get(name).map(String::as_str))),
            (part, _) => Some(part.to_owned()),
        };
        let from = match part {
            None => From::Whole(path),
            Some(part) => {
                let part =
                    inside(&part).ok_or_else(|| format!("subPath {part:?} leads out of the volume"))?;
                if sources(volume).is_some() {
                    From::Copy(path.join(part))
                } else {
                    From::Part { volume: path, part }
                }
            }
        };
        mounts.push(Mounted { at, from });
    }
    Ok(mounts)
}

/// Fills the root. The inner error is the manifest's: it asks for something that is not there.
pub(crate) fn mount(root: &Path, mounts: &[Mounted]) -> io::Result<Result<(), String>> {
    for mount in mounts {
        let at = root.join(&mount.at);
        if let Some(parent) = at.parent() {
            make_folder(parent)?;
        }
        let target = match &mount.from {
            From::Whole(path) => path.clone(),
            From::Part { volume, part } => {
                let path = volume.join(part);
                if !path.exists() {
                    fs::create_dir_all(&path)?;
                }
                path
            }
            From::Copy(path) => {
                if !path.exists() {
                    let part = path.file_name().unwrap_or_default().to_string_lossy();
                    return Ok(Err(format!("subPath {part:?} is not in the volume")));
                }
                remove(&at)?;
                copy(path, &at)?;
                continue;
            }
        };
        remove(&at)?;
        symlink(target, at)?;
    }
    Ok(Ok(()))
}

/// Where the program is entered: within a mount, or else where the machine has such a folder.
pub(crate) fn working_dir(wanted: &str, root: &Path, mounts: &[Mounted]) -> PathBuf {
    let Some(below) = inside(wanted.trim_start_matches('/')) else { return root.to_owned() };
    let is_mounted = mounts.iter().any(|mount| below.starts_with(&mount.at) || mount.at.starts_with(&below));
    if is_mounted { root.join(below) } else { Path::new("/").join(below) }
}

/// What an interrupted start left.
fn remove(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(at),
        Ok(_) => fs::remove_file(at),
        Err(_) => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
