//! Opening the journal: what is there, what is not, and what cannot be understood.
//!
//! A node without a journal is open; one whose journal cannot be read is frozen. So the two must never be mistaken for each
//! other, not even after a crash in the middle of this: a journal appears under its name only when it is whole, the place of one
//! that cannot be read is taken by one that says so, and a disk that does not answer is neither.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use redb::{Builder, Database, ReadableDatabase};
use safepoint_core::Records;

use super::error::ReadError;
use super::{ANSWERS, BodyKey, CACHE, FORMAT, Found, Journal, META, OpenError, ROWS, audit, bodies, rows};
use crate::faults;

const NAME: &str = "journal.redb";
/// A row that says that this journal stands in the place of one that could not be read.
const INSTEAD: &str = "instead";

impl Journal {
    /// Opens the journal in a folder, and reads it.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Found), OpenError> {
        let failed = |source| OpenError::Folder { path: folder.into(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join(NAME);
        let is_new = !path.try_exists().map_err(failed)?;
        if is_new {
            make(folder, false)?;
        }
        match Self::read(&path) {
            Ok((journal, _, _)) if is_new => Ok((journal, Found::Nothing)),
            // The gate that was to begin sealed has not written that down yet.
            Ok((journal, records, true)) if records.node.is_none() => {
                let why = "an earlier record could not be read".to_owned();
                Ok((journal, Found::Unreadable { why, kept: path }))
            }
            Ok((journal, records, _)) => Ok((journal, Found::Records(Box::new(records)))),
            Err(OpenError::Unreadable { why, .. }) => {
                let kept = set_aside(folder, &path)?;
                let (journal, _, _) = Self::read(&path)?;
                Ok((journal, Found::Unreadable { why, kept }))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a journal that is there. Also whether it stands in the place of another.
    fn read(path: &Path) -> Result<(Self, Records, bool), OpenError> {
        let failed = |source| OpenError::Folder { path: path.into(), source };
        let database = Builder::new()
            .set_cache_size(CACHE)
            .open(path)
            .map_err(|error| OpenError::of_database(path, error))?;
        // It has every Secret that pods of this node use.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let read = || -> Result<(Self, Records, Option<u64>, bool), ReadError> {
            let (format, instead) = {
                let read = database.begin_read()?;
                let meta = read.open_table(META)?;
                let number = |name: &str| Ok::<_, redb::Error>(meta.get(name)?.map(|number| number.value()));
                (number("format")?, number(INSTEAD)?.is_some())
            };
            let records = rows::read(&database)?;
            let log = audit::Head::read(&database)?;
            let journal = Self { database, log };
            journal.check_bodies(&records)?;
            Ok((journal, records, format, instead))
        };
        match read() {
            Ok((journal, records, Some(FORMAT), instead)) => Ok((journal, records, instead)),
            Ok((_, _, Some(format), _)) => Err(OpenError::Format { path: path.into(), format }),
            Ok((_, _, None, _)) => {
                Err(OpenError::Unreadable { path: path.into(), why: "it does not say its format".into() })
            }
            Err(error) => Err(OpenError::of_reading(path, error)),
        }
    }

    /// Every version that a slot names has its body.
    fn check_bodies(&self, records: &Records) -> Result<(), ReadError> {
        for (key, slot) in &records.slots {
            for version in slot.versions() {
                if self.body(&BodyKey::new(key, version))?.is_none() {
                    return Err(ReadError::Meaning(format!("the body of {key} is missing")));
                }
            }
        }
        Ok(())
    }
}

/// Makes an empty journal, in place of whatever is there. It is there as a whole or not at all.
fn make(folder: &Path, instead: bool) -> Result<(), OpenError> {
    let (path, new) = (folder.join(NAME), folder.join("journal.redb.new"));
    let failed = |source| OpenError::Folder { path: new.clone(), source };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .map_err(failed)?;
    let database = Builder::new().set_cache_size(CACHE).create_file(file);
    let database = database.map_err(|error| OpenError::of_database(&new, error))?;
    fill(&database, instead).map_err(|error| OpenError::of_reading(&new, error))?;
    drop(database);
    faults::point("journal: before it is there");
    fs::rename(&new, &path).map_err(failed)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    faults::point("journal: when it is there");
    Ok(())
}

fn fill(database: &Database, instead: bool) -> Result<(), ReadError> {
    let write = database.begin_write()?;
    {
        let mut meta = write.open_table(META)?;
        meta.insert("format", FORMAT)?;
        if instead {
            meta.insert(INSTEAD, 1)?;
        }
        write.open_table(ROWS)?;
        write.open_table(ANSWERS)?;
        write.open_table(bodies::BODIES)?;
        write.open_table(audit::LINES)?;
    }
    Ok(write.commit()?)
}

/// Gives an unreadable file a second name, under which nobody opens it, and puts an empty one that says so in its place.
fn set_aside(folder: &Path, path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |source| OpenError::Folder { path: path.into(), source };
    let names = (1..1000).map(|number: u32| path.with_extension(format!("redb.unreadable-{number}")));
    let kept = names
        .into_iter()
        .find(|kept| !kept.exists())
        .unwrap_or_else(|| path.with_extension("redb.unreadable"));
    fs::hard_link(path, &kept).map_err(failed)?;
    make(folder, true)?;
    Ok(kept)
}
