//! The file: which tables there are, how they are read once at the start and written ever after.
//!
//! Two tables. `objects` maps (collection, namespace, name) to (revision, created, JSON text), so that the
//! text is readable with any tool that shows strings. `meta` holds the format and the revision counter,
//! which is not the largest revision of any object: the last write may have been a delete.
//!
//! One commit is one fsync. The database underneath checksums every page and, when a commit was torn by a
//! power cut, takes the one before. Opening it syncs the file before anything is read from it, so what a
//! killed process had written but not synced is durable before anybody is shown it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use redb::{
    Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
};
use tracing::warn;

use crate::error::{OpenError, Unreadable};
use crate::key::Key;
use crate::object::{Object, TagsFn};

mod create;

/// Collection, namespace and name.
type Name = (&'static str, &'static str, &'static str);
/// Revision, revision of the creation, and text.
type Row = (u64, u64, &'static [u8]);

const OBJECTS: TableDefinition<Name, Row> = TableDefinition::new("objects");
const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const REVISION: &str = "revision";

/// The newest format this version reads, and the one it writes.
const KNOWN_FORMAT: u64 = 1;
/// The revision of an empty store. Not 0, which Kubernetes clients read as "any revision will do".
const FIRST_REVISION: u64 = 1;

/// The final state of each key that a batch touches; `None` if it is gone.
pub(crate) type Changes = BTreeMap<Key, Option<Arc<Object>>>;

/// The open file.
pub(crate) struct Disk {
    database: Database,
}

/// What the file held when it was opened.
pub(crate) struct Contents {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Object>>,
}

/// Rows as they are on disk, before anything of them is believed.
struct Raw {
    format: Option<u64>,
    revision: Option<u64>,
    objects: Vec<(Key, u64, u64, Bytes)>,
}

// === impl Disk ===

impl Disk {
    /// Opens the file, or begins it if there is none.
    pub(crate) fn open(path: &Path, cache_bytes: usize, tags: TagsFn) -> Result<(Self, Contents), OpenError> {
        create::unless_there(path, cache_bytes)?;
        Self::open_with(path, cache_bytes, tags, |builder| builder.open(path))
    }

    /// Opens whatever the backend holds, or begins it if that is nothing.
    pub(crate) fn open_backend(
        backend: impl StorageBackend,
        cache_bytes: usize,
        tags: TagsFn,
    ) -> Result<(Self, Contents), OpenError> {
        let path = PathBuf::from("(backend)");
        Self::open_with(&path, cache_bytes, tags, |builder| builder.create_with_backend(backend))
    }

    fn open_with(
        path: &Path,
        cache_bytes: usize,
        tags: TagsFn,
        open: impl FnOnce(&redb::Builder) -> Result<Database, DatabaseError>,
    ) -> Result<(Self, Contents), OpenError> {
        // The database panics on some damage that it finds before it has verified the checksums.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::try_open(path, cache_bytes, tags, open)));
        opened.unwrap_or_else(|panic| {
            let problem = panic.downcast_ref::<&str>().map(ToString::to_string);
            let problem = problem.or_else(|| panic.downcast_ref().cloned());
            let problem = problem.unwrap_or_else(|| "no reason was given".to_owned());
            Err(OpenError::of(path, Unreadable::Damaged { entry: "(file)".to_owned(), problem }))
        })
    }

    fn try_open(
        path: &Path,
        cache_bytes: usize,
        tags: TagsFn,
        open: impl FnOnce(&redb::Builder) -> Result<Database, DatabaseError>,
    ) -> Result<(Self, Contents), OpenError> {
        let unreadable = |source: Unreadable| OpenError::of(path, source);
        let verified = Rc::new(Cell::new(false));
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        builder.set_repair_callback({
            let verified = Rc::clone(&verified);
            move |_| verified.set(true)
        });
        let mut database = open(&builder).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path: path.to_owned() },
            error => unreadable(redb::Error::from(error).into()),
        })?;
        // After a crash the database has verified every checksum just now. After a clean end it would not,
        // and a page that rotted since would be served as it is.
        if !verified.get() {
            let sound =
                database.check_integrity().map_err(|error| unreadable(redb::Error::from(error).into()))?;
            if !sound {
                warn!(path = %path.display(), "repaired the free-space records of the store; objects were not affected");
            }
        }
        let raw = match read(&database).map_err(|error| unreadable(error.into()))? {
            Some(raw) => raw,
            None => {
                begin(&database).map_err(|error| unreadable(error.into()))?;
                Raw { format: Some(KNOWN_FORMAT), revision: Some(FIRST_REVISION), objects: Vec::new() }
            }
        };
        match raw.format {
            Some(KNOWN_FORMAT) => {}
            Some(found) if found > KNOWN_FORMAT => {
                return Err(OpenError::Newer { path: path.to_owned(), found, known: KNOWN_FORMAT });
            }
            _ => return Err(unreadable(Unreadable::Foreign)),
        }
        let contents = raw.believe(tags).map_err(unreadable)?;
        Ok((Self { database }, contents))
    }

    /// Writes the changes and the counter in one transaction, and returns once they are durable.
    ///
    /// After an error it is unknown whether the disk has them, and the database takes no more.
    pub(crate) fn commit(&self, changes: &Changes, revision: u64) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for (key, object) in changes {
                let row = (&*key.collection, &*key.namespace, &*key.name);
                match object {
                    Some(object) => {
                        objects.insert(row, (object.revision, object.created, &object.json[..]))?;
                    }
                    None => {
                        objects.remove(row)?;
                    }
                }
            }
            transaction.open_table(META)?.insert(REVISION, revision)?;
        }
        Ok(transaction.commit()?)
    }
}

// === impl Raw ===

impl Raw {
    /// Parses and tags what was read, and refuses what contradicts itself.
    fn believe(self, tags: TagsFn) -> Result<Contents, Unreadable> {
        let damaged = |entry: String, problem: String| Unreadable::Damaged { entry, problem };
        let Some(revision) = self.revision else {
            return Err(damaged("revision".to_owned(), "it is missing".to_owned()));
        };
        let mut objects = Vec::with_capacity(self.objects.len());
        for (key, at, created, json) in self.objects {
            if at > revision || created > at {
                let problem = format!("revision {at}, created at {created}, in a store at {revision}");
                return Err(damaged(key.to_string(), problem));
            }
            let value = serde_json::from_slice(&json)
                .map_err(|error| damaged(key.to_string(), format!("its text is not JSON: {error}")))?;
            let tags = tags(&key, &value);
            objects.push(Arc::new(Object { key, revision: at, created, json, tags }));
        }
        Ok(Contents { revision, objects })
    }
}

/// Reads everything; `None` if nothing was ever written.
fn read(database: &Database) -> Result<Option<Raw>, redb::Error> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(None);
    }
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        // Somebody else's database.
        Err(redb::TableError::TableDoesNotExist(_) | redb::TableError::TableTypeMismatch { .. }) => {
            return Ok(Some(Raw { format: None, revision: None, objects: Vec::new() }));
        }
        Err(error) => return Err(error.into()),
    };
    let get = |name: &str| Ok::<_, redb::Error>(meta.get(name)?.map(|value| value.value()));
    let mut raw = Raw { format: get(FORMAT)?, revision: get(REVISION)?, objects: Vec::new() };
    if raw.format != Some(KNOWN_FORMAT) {
        // What the other tables of another format look like is not known here.
        return Ok(Some(raw));
    }
    for row in transaction.open_table(OBJECTS)?.iter()? {
        let (key, value) = row?;
        let (collection, namespace, name) = key.value();
        let (revision, created, json) = value.value();
        let previous = raw.objects.last().map(|(key, ..)| key);
        let key = Key {
            collection: shared(previous.map(|key| &key.collection), collection),
            namespace: shared(previous.map(|key| &key.namespace), namespace),
            name: name.into(),
        };
        raw.objects.push((key, revision, created, Bytes::copy_from_slice(json)));
    }
    Ok(Some(raw))
}

/// Neighbours have collection and namespace in common, so one copy of each text is enough.
fn shared(previous: Option<&Arc<str>>, text: &str) -> Arc<str> {
    match previous {
        Some(previous) if **previous == *text => Arc::clone(previous),
        _ => text.into(),
    }
}

/// Makes the tables of an empty store.
fn begin(database: &Database) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    {
        transaction.open_table(OBJECTS)?;
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, KNOWN_FORMAT)?;
        meta.insert(REVISION, FIRST_REVISION)?;
    }
    Ok(transaction.commit()?)
}
