//! The journal: what the gate has on record, the bodies of the objects it speaks of, and the audit log.
//!
//! One file, written in whole transactions, each of them on disk before [`Journal::commit`] returns. A step of the gate is
//! one transaction or part of one: its rows, the bodies that they name, its audit lines and its answers to orders are there
//! together or not at all.
//!
//! The file is never half read. A row that cannot be understood makes the whole of it unreadable, it is set aside for
//! somebody to look at, and the gate begins sealed: an empty record would end everything that runs.

mod audit;
mod bodies;
mod error;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use safepoint_core::{Key, Record, Records};

pub(crate) use audit::{Line, Page};
pub(crate) use bodies::{Body, BodyKey};
pub(crate) use error::{CommitError, OpenError};

use crate::faults;

/// Changed when an older agent could misread what this one writes.
const FORMAT: u64 = 1;
/// The agent shares a small machine with what it protects.
const CACHE: usize = 2 << 20;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const ROWS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rows");
const ANSWERS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("answers");

/// The open journal. Blocking: whoever calls it from async code does so on a thread for that.
pub(crate) struct Journal {
    database: Database,
    log: audit::Head,
}

/// What was found in the journal.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing: this node has no record yet.
    Nothing,
    /// The record.
    Records(Box<Records>),
    /// Something that cannot be understood. It was set aside under this name.
    Unreadable {
        /// What is wrong with it.
        why: String,
        /// Where it is now.
        kept: PathBuf,
    },
}

/// What becomes durable together.
#[derive(Default, Debug)]
pub(crate) struct Commit {
    pub(crate) records: Vec<Record>,
    /// The bodies of objects that were seen. Those that no slot names are not kept.
    pub(crate) bodies: Vec<Body>,
    /// What was answered to orders, by their id; `None` forgets one.
    pub(crate) answers: Vec<(String, Option<Vec<u8>>)>,
}

// === impl Journal ===

impl Journal {
    /// Opens the journal in a folder, and reads it.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Found), OpenError> {
        fs::create_dir_all(folder).map_err(|source| OpenError::Folder { path: folder.into(), source })?;
        let path = folder.join("journal.redb");
        let is_new = !path.exists();
        match Self::read(&path) {
            Ok((journal, _)) if is_new => Ok((journal, Found::Nothing)),
            Ok((journal, records)) => Ok((journal, Found::Records(Box::new(records)))),
            Err(OpenError::Unreadable { why, .. }) => {
                let kept = set_aside(&path)?;
                let (journal, _) = Self::read(&path)?;
                Ok((journal, Found::Unreadable { why, kept }))
            }
            Err(error) => Err(error),
        }
    }

    fn read(path: &Path) -> Result<(Self, Records), OpenError> {
        let unreadable = |why: String| OpenError::Unreadable { path: path.into(), why };
        let database = redb::Builder::new()
            .set_cache_size(CACHE)
            .create(path)
            .map_err(|error| OpenError::of_database(path, error))?;
        let broken = |error: redb::Error| unreadable(error.to_string());
        let write = database.begin_write().map_err(|error| broken(error.into()))?;
        {
            let mut meta = write.open_table(META).map_err(|error| broken(error.into()))?;
            let format =
                meta.get("format").map_err(|error| broken(error.into()))?.map(|format| format.value());
            match format {
                None => drop(meta.insert("format", FORMAT).map_err(|error| broken(error.into()))?),
                Some(FORMAT) => {}
                Some(format) => return Err(OpenError::Format { path: path.into(), format }),
            }
            write.open_table(ROWS).map_err(|error| broken(error.into()))?;
            write.open_table(ANSWERS).map_err(|error| broken(error.into()))?;
            write.open_table(bodies::BODIES).map_err(|error| broken(error.into()))?;
            write.open_table(audit::LINES).map_err(|error| broken(error.into()))?;
        }
        write.commit().map_err(|error| broken(error.into()))?;
        let records = rows::read(&database).map_err(&unreadable)?;
        let log = audit::Head::read(&database).map_err(&unreadable)?;
        let journal = Self { database, log };
        journal.check_bodies(&records).map_err(&unreadable)?;
        Ok((journal, records))
    }

    /// Makes it durable, all or nothing. After an error it is unknown what the disk has: open the journal again.
    pub(crate) fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        faults::point("journal: before the write");
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        let mut log = self.log.clone();
        {
            let mut rows = write.open_table(ROWS)?;
            let mut kept = write.open_table(bodies::BODIES)?;
            let mut lines = write.open_table(audit::LINES)?;
            for record in &commit.records {
                match record {
                    Record::Audit(line) => log.append(&mut lines, line)?,
                    Record::Slot(key, slot) => {
                        rows::put(&mut rows, record)?;
                        bodies::keep(&mut kept, key, slot.as_ref(), &commit.bodies)?;
                    }
                    _ => rows::put(&mut rows, record)?,
                }
            }
            log.trim(&mut lines)?;
            let mut answers = write.open_table(ANSWERS)?;
            for (order, answer) in &commit.answers {
                match answer {
                    Some(answer) => drop(answers.insert(order.as_str(), answer.as_slice())?),
                    None => drop(answers.remove(order.as_str())?),
                }
            }
        }
        faults::point("journal: before the commit");
        write.commit()?;
        self.log = log;
        faults::point("journal: after the commit");
        Ok(())
    }

    /// The body of one version of an object.
    pub(crate) fn body(&self, key: &BodyKey) -> Result<Option<Arc<[u8]>>, redb::Error> {
        let read = self.database.begin_read()?;
        let bodies = read.open_table(bodies::BODIES)?;
        Ok(bodies.get(key.as_str())?.map(|body| Arc::from(body.value())))
    }

    /// What was answered to orders.
    pub(crate) fn answers(&self) -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
        let read = self.database.begin_read()?;
        let answers = read.open_table(ANSWERS)?;
        let all = answers.iter()?.map(|row| {
            let (order, answer) = row?;
            Ok((order.value().to_owned(), answer.value().to_vec()))
        });
        all.collect()
    }

    /// Lines of the audit log after a number.
    pub(crate) fn log(&self, after: u64, limit: usize) -> Result<Page, redb::Error> {
        audit::page(&self.database, after, limit)
    }

    /// Every version that a slot names has its body.
    fn check_bodies(&self, records: &Records) -> Result<(), String> {
        for (key, slot) in &records.slots {
            for version in slot.versions() {
                let body = BodyKey::new(key, version);
                if self.body(&body).map_err(|error| error.to_string())?.is_none() {
                    return Err(format!("the body of {key} is missing"));
                }
            }
        }
        Ok(())
    }
}

/// Gives an unreadable file a name under which nobody opens it.
fn set_aside(path: &Path) -> Result<PathBuf, OpenError> {
    let free = (1..).map(|number: u32| path.with_extension(format!("redb.unreadable-{number}")));
    let kept =
        free.into_iter().find(|kept| !kept.exists()).unwrap_or_else(|| path.with_extension("unreadable"));
    fs::rename(path, &kept).map_err(|source| OpenError::Folder { path: path.into(), source })?;
    Ok(kept)
}

/// The name of an object in the tables.
fn name_of(key: &Key) -> String {
    format!("{:?}/{}/{}", key.kind, key.namespace, key.name)
}

#[cfg(test)]
mod tests;
