//! The gate's rows. A row is the record itself as JSON, so that what is read is what was written; its name only makes it
//! unique.

use redb::{Database, ReadableDatabase, ReadableTable, Table};
use safepoint_core::{Record, Records};

use super::error::ReadError;
use super::{CommitError, ROWS, name_of};

/// Writes one row, or removes it.
pub(super) fn put(rows: &mut Table<'_, &str, &[u8]>, record: &Record) -> Result<(), CommitError> {
    let name = name(record);
    if is_removal(record) {
        rows.remove(name.as_str())?;
    } else {
        let text = serde_json::to_vec(record).map_err(CommitError::Encode)?;
        rows.insert(name.as_str(), text.as_slice())?;
    }
    Ok(())
}

/// Reads all rows. What cannot be understood is a reason to read none.
pub(super) fn read(database: &Database) -> Result<Records, ReadError> {
    let mut records = Records::default();
    let read = database.begin_read()?;
    let rows = read.open_table(ROWS)?;
    for row in rows.iter()? {
        let (name, text) = row?;
        let record = serde_json::from_slice(text.value())
            .map_err(|error| ReadError::Meaning(format!("row {}: {error}", name.value())))?;
        records.put(record);
    }
    Ok(records)
}

fn name(record: &Record) -> String {
    match record {
        Record::Node(_) => "node".to_owned(),
        Record::Slot(key, _) => format!("slot/{}", name_of(key)),
        Record::Hold(id, _) => format!("hold/{id}"),
        // `Debug` of a workload is one to one; `Display` is for people.
        Record::Grant(workload, _) => format!("grant/{workload:?}"),
        Record::Replacement(workload, _) => format!("replacement/{workload:?}"),
        Record::Buried(number, _) => format!("buried/{number:020}"),
        Record::Installed(number, _) => format!("installed/{number:020}"),
        Record::Audit(_) => "audit".to_owned(),
    }
}

const fn is_removal(record: &Record) -> bool {
    match record {
        Record::Node(_) | Record::Audit(_) => false,
        Record::Slot(_, row) => row.is_none(),
        Record::Hold(_, row) => row.is_none(),
        Record::Grant(_, row) => row.is_none(),
        Record::Replacement(_, row) => row.is_none(),
        Record::Buried(_, row) => row.is_none(),
        Record::Installed(_, row) => row.is_none(),
    }
}
