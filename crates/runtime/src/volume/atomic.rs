//! A folder of files that change all at once.
//!
//! The layout is the kubelet's, because programs that watch their configuration know it:
//!
//! ```text
//! nav.yaml -> ..data/nav.yaml
//! ..data   -> ..2026_11_15_12_00_00.123456789
//! ..2026_11_15_12_00_00.123456789/nav.yaml
//! ```
//!
//! An update writes a new dated folder and swaps `..data` with one rename, so a reader that resolves `..data`
//! once sees either all old files or all new ones.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink},
    path::Path,
};

use super::payload::Payload;

const DATA: &str = "..data";

/// Whether the folder has ever been written.
pub(super) fn is_written(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(DATA)).is_ok()
}

/// Makes the folder show the payload; `stamp` names the new version. Nothing is touched if it does already.
pub(super) fn write(folder: &Path, payload: &Payload, stamp: &str) -> io::Result<()> {
    let old = fs::read_link(folder.join(DATA)).ok();
    if !old.as_ref().is_some_and(|old| is_same(&folder.join(old), payload)) {
        let name = format!("..{stamp}");
        let dated = folder.join(&name);
        let _ = fs::remove_dir_all(&dated);
        fs::create_dir(&dated)?;
        fs::set_permissions(&dated, fs::Permissions::from_mode(0o755))?;
        for (path, file) in payload {
            let path = dated.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            written.write_all(&file.bytes)?;
            // Set apart from opening: the mask of this process is not the container's business.
            written.set_permissions(fs::Permissions::from_mode(file.mode))?;
        }
        let draft = folder.join("..data_tmp");
        let _ = fs::remove_file(&draft);
        symlink(&name, &draft)?;
        fs::rename(&draft, folder.join(DATA))?;
    }
    links(folder, payload)?;
    clean(folder)
}

/// Names of the first level are links through `..data`; those that lead nowhere any more go.
fn links(folder: &Path, payload: &Payload) -> io::Result<()> {
    let names: BTreeSet<OsString> =
        payload.keys().filter_map(|path| Some(path.components().next()?.as_os_str().to_owned())).collect();
    for name in &names {
        match symlink(Path::new(DATA).join(name), folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with("..")
            && !names.contains(&name)
            && entry.file_type()?.is_symlink()
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes dated folders that are not shown.
fn clean(folder: &Path) -> io::Result<()> {
    let shown = fs::read_link(folder.join(DATA))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("..")
            && entry.file_type()?.is_dir()
            && name != shown.as_os_str()
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn is_same(dated: &Path, payload: &Payload) -> bool {
    let mut n_files = 0;
    let is_there = |(path, file): (&std::path::PathBuf, &super::payload::File)| {
        let path = dated.join(path);
        let Ok(found) = fs::metadata(&path) else { return false };
        found.mode() & 0o777 == file.mode && fs::read(&path).is_ok_and(|bytes| bytes == file.bytes)
    };
    if !dated.is_dir() || !payload.iter().all(is_there) {
        return false;
    }
    count(dated, &mut n_files).is_ok() && n_files == payload.len()
}

fn count(folder: &Path, n_files: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count(&entry.path(), n_files)?;
        } else {
            *n_files += 1;
        }
    }
    Ok(())
}
