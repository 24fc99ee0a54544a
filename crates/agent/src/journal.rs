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
mod open;
mod rows;

use std::path::PathBuf;
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use safepoint_core::{Key, Record, Records};

pub(crate) use audit::{Line, Page};
pub(crate) use bodies::{Body, BodyKey};
pub(crate) use error::{CommitError, OpenError};

use crate::faults;

/// Changed when an older agent could misread what this one writes.
const FORMAT: u64 = 1;
/// The agent shares a small machine with what it protects, and reads a body when it has changed.
const CACHE: usize = 256 << 10;

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

    /// What is kept under names that begin so, by the rest of the name.
    pub(crate) fn kept(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
        let read = self.database.begin_read()?;
        let answers = read.open_table(ANSWERS)?;
        let mut found = Vec::new();
        for row in answers.range(prefix..)? {
            let (name, value) = row?;
            let Some(rest) = name.value().strip_prefix(prefix) else { break };
            found.push((rest.to_owned(), value.value().to_vec()));
        }
        Ok(found)
    }

    /// Lines of the audit log after a number.
    pub(crate) fn log(&self, after: u64, limit: usize) -> Result<Page, redb::Error> {
        audit::page(&self.database, after, limit)
    }
}

/// The name of an object in the tables.
fn name_of(key: &Key) -> String {
    format!("{:?}/{}/{}", key.kind, key.namespace, key.name)
}

#[cfg(test)]
mod tests;
