//! Objects with one revision for all, durable in groups, watched in order.
//!
//! What etcd is to a Kubernetes API server, for one machine and in one file. Every write takes the next
//! revision of the one counter; every state of the whole is named by a revision. All objects are in memory,
//! so reading never waits for the disk. A write is made durable first, then visible, then answered: nobody
//! ever sees a revision that a power cut could take back.
//!
//! ```
//! use safepoint_store::{EventKind, Key, Options, Scope, Start, Store, Write};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = Store::in_memory(Options::default());
//! let mut watch = store.watch(Scope::collection("pods").namespace("default"), Start::Now).unwrap();
//!
//! let key = Key::new("pods", "default", "web");
//! let made = store.write(Write::create(key.clone(), json!({ "kind": "Pod" }))).await.unwrap();
//! assert_eq!(store.get(&key).unwrap(), made.object);
//! assert_eq!(&made.object.json[..], br#"{"kind":"Pod","metadata":{"resourceVersion":"2"}}"#);
//!
//! let event = watch.next().await.unwrap();
//! assert_eq!((event.revision, event.kind), (made.revision, EventKind::Put));
//! # });
//! ```
//!
//! # What is promised
//!
//! | | |
//! |---|---|
//! | a write that was answered | survives a power cut, and was visible to every reader before the answer |
//! | a batch of writes | is there after a power cut as a whole or not at all |
//! | a revision that anyone was shown | is never given to another write, and the counter never goes back |
//! | a commit that fails | is not visible, and the store refuses writes until it is opened again; then all of it is there, or nothing |
//! | a watch | gets each event of its scope once and in order, or is told that it lagged |
//! | a slow watch | never makes a writer wait |
//! | the past | is kept in memory within bounds; what is older, or before the opening, is [`RevisionError::Compacted`] |
//!
//! After a failed fsync some kernels show data in their cache that the disk has not got. Nothing above the
//! file can tell; that is one more reason to look at the disk before the store is opened again.

mod disk;
mod error;
mod event;
mod index;
mod key;
mod object;
mod options;
mod queue;
mod ring;
mod shared;
mod state;
mod store;
mod watch;
mod watchers;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use error::{Failure, OpenError, RevisionError, Unreadable, WatchEnded, WriteError};
pub use event::{Event, EventKind};
pub use key::{Key, Scope};
pub use object::{Object, Tags, TagsFn};
pub use options::Options;
pub use shared::Stats;
pub use state::{Listing, Start};
pub use store::Store;
pub use watch::Watch;
pub use write::{Change, Committed, Expect, Write};
