//! What is refused before anything is touched.

use std::fs;

use super::Wish;
use crate::decide::Begin;
use crate::folder::Folder;
use crate::journal::Operation;
use crate::manifest::{Manifest, ManifestError};
use crate::names::{FileName, PodKey};
use crate::outcome::Code;
use crate::place::Content;
use crate::stop::Stop;

pub(super) fn invalid(error: &ManifestError) -> Stop {
    Stop::new(Code::ManifestInvalid, format!("the new manifest cannot be used: {error}"))
}

/// Reads what is to be put in place.
pub(super) fn template(key: &PodKey, text: &str) -> Result<Manifest, Stop> {
    let new = Manifest::parse(text).map_err(|error| invalid(&error))?;
    if new.key() != key {
        let why = format!("the new manifest is that of {}, not of {key}", new.key());
        return Err(Stop::new(Code::OtherPod, why));
    }
    if new.revision().is_none() {
        let name = safepoint_api::names::openyurt::STATIC_POD_HASH;
        let why =
            format!("the new manifest has no annotation {name}: its pod could not be told from the old one");
        return Err(Stop::new(Code::RevisionMissing, why));
    }
    Ok(new)
}

/// Looks at what is in place: it has to be a manifest of the same pod.
pub(super) fn live(
    folder: &Folder,
    key: &PodKey,
    file: &FileName,
    live: Option<&Content>,
    anyway: bool,
) -> Result<(), Stop> {
    let path = folder.on_node().join(file.as_str());
    let Some(live) = live else {
        let hint = elsewhere(folder, key).map(|name| format!("; {name} is its manifest")).unwrap_or_default();
        let why = format!("there is no {} on this node, so {key} is not upgraded{hint}", path.display());
        return Err(Stop::new(Code::ManifestMissing, why));
    };
    match Manifest::parse(live.text.as_str()) {
        Ok(found) if found.key() == key => Ok(()),
        Ok(found) => {
            let why = format!("{} is the manifest of {}, not of {key}", path.display(), found.key());
            Err(Stop::new(Code::OtherPod, why))
        }
        Err(_) if anyway => Ok(()),
        Err(error) => {
            let why = format!("{} is no manifest of a pod: {error}", path.display());
            Err(Stop::new(Code::NotAFile, why))
        }
    }
}

/// Looks at whether a wish can be fulfilled here.
pub(super) fn wish(folder: &Folder, wish: &Wish, found: Option<&Content>, begin: &Begin) -> Result<(), Stop> {
    let path = folder.on_node().join(wish.file.as_str());
    match wish.operation {
        Operation::Upgrade => live(folder, &wish.key, &wish.file, found, wish.anyway)?,
        Operation::Install => {
            if found.is_some() {
                live(folder, &wish.key, &wish.file, found, false)?;
            }
            if found.is_some() && !matches!(begin, Begin::Same) {
                let why = format!("{} is there already: upgrade it instead", path.display());
                return Err(Stop::new(Code::ManifestExists, why));
            }
            if let Some(other) = elsewhere(folder, &wish.key).filter(|name| name != wish.file.as_str()) {
                let why = format!("{} runs here already: {other} is its manifest", wish.key);
                return Err(Stop::new(Code::ManifestExists, why));
            }
        }
        // What is gone may be brought back, and what is not there need not be taken away.
        Operation::Rollback | Operation::Uninstall => {
            if found.is_some() {
                live(folder, &wish.key, &wish.file, found, wish.anyway)?;
            }
        }
    }
    let changed = match (&wish.instead_of, found) {
        (Some(expected), Some(found)) => *expected != found.digest && !matches!(begin, Begin::Same),
        _ => false,
    };
    if changed && !wish.anyway {
        let why = format!(
            "{} was changed by somebody since: look at it, then ask again to go on anyway",
            path.display()
        );
        return Err(Stop::new(Code::ManifestChanged, why));
    }
    Ok(())
}

/// The file in which a pod's manifest is.
fn elsewhere(folder: &Folder, key: &PodKey) -> Option<String> {
    let names =
        fs::read_dir(folder.path()).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names.into_iter().find(|name| {
        let text = fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        Manifest::parse(text).is_ok_and(|found| found.key() == key)
    })
}
