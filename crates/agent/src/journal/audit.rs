//! The audit log: who did what, when and why. It is only ever added to, and each line carries a hash over itself and the
//! line before, so that a line that was changed or taken out shows.

use std::fmt::Write;

use aws_lc_rs::digest::{Context, SHA256};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, Table, TableDefinition};
use safepoint_core::AuditLine;
use serde::{Deserialize, Serialize};

use super::CommitError;
use super::error::ReadError;

pub(super) const LINES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

/// So many lines are kept; a device lives for years. The oldest that is left is believed.
const KEPT: u64 = 100_000;

/// One line as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) line: AuditLine,
    /// Over the hash of the line before, the number and the line, in hexadecimal.
    pub(crate) hash: String,
}

/// Some lines.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) lines: Vec<Line>,
    /// The number of the last line there is.
    pub(crate) last: u64,
    /// Whether each line follows from the one before, in the whole log.
    pub(crate) intact: bool,
}

/// The end of the log.
#[derive(Clone, Default, Debug)]
pub(super) struct Head {
    number: u64,
    hash: String,
}

// === impl Head ===

impl Head {
    pub(super) fn read(database: &Database) -> Result<Self, ReadError> {
        let read = database.begin_read()?;
        let lines = read.open_table(LINES)?;
        match lines.last()? {
            None => Ok(Self::default()),
            Some((_, text)) => {
                let line: Line = serde_json::from_slice(text.value())
                    .map_err(|error| ReadError::Meaning(format!("audit log: {error}")))?;
                Ok(Self { number: line.number, hash: line.hash })
            }
        }
    }

    pub(super) fn append(
        &mut self,
        lines: &mut Table<'_, u64, &[u8]>,
        line: &AuditLine,
    ) -> Result<(), CommitError> {
        let number = self.number + 1;
        let hash = hash(&self.hash, number, line).map_err(CommitError::Encode)?;
        let line = Line { number, line: line.clone(), hash: hash.clone() };
        lines.insert(number, serde_json::to_vec(&line).map_err(CommitError::Encode)?.as_slice())?;
        *self = Self { number, hash };
        Ok(())
    }

    pub(super) fn trim(&self, lines: &mut Table<'_, u64, &[u8]>) -> Result<(), CommitError> {
        while lines.len()? > KEPT {
            lines.pop_first()?;
        }
        Ok(())
    }
}

/// Reads lines after a number, and checks that each follows from the one before. Who reads page by page has checked all.
pub(super) fn page(database: &Database, after: u64, limit: usize) -> Result<Page, redb::Error> {
    let read = database.begin_read()?;
    let table = read.open_table(LINES)?;
    let last = table.last()?.map_or(0, |(number, _)| number.value());
    let mut page = Page { lines: Vec::new(), last, intact: true };
    let mut before: Option<Line> = None;
    for row in table.range(after..)?.take(limit.saturating_add(1)) {
        let (number, text) = row?;
        let Ok(line) = serde_json::from_slice::<Line>(text.value()) else {
            page.intact = false;
            continue;
        };
        let is_asked_for = line.number > after;
        let follows = match &before {
            // What the page begins with is believed; so is the oldest that is left, unless it is the first of all.
            None if !is_asked_for || line.number > 1 => after == 0 || !is_asked_for,
            None => hash("", 1, &line.line).is_ok_and(|hash| hash == line.hash),
            Some(before) => {
                line.number == before.number + 1
                    && hash(&before.hash, line.number, &line.line).is_ok_and(|hash| hash == line.hash)
            }
        };
        page.intact &= follows && number.value() == line.number;
        if is_asked_for && page.lines.len() < limit {
            page.lines.push(line.clone());
        }
        before = Some(line);
    }
    Ok(page)
}

fn hash(before: &str, number: u64, line: &AuditLine) -> Result<String, serde_json::Error> {
    let mut context = Context::new(&SHA256);
    context.update(before.as_bytes());
    context.update(&number.to_le_bytes());
    context.update(&serde_json::to_vec(line)?);
    let mut text = String::with_capacity(64);
    for byte in context.finish().as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
