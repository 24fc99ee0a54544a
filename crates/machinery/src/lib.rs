//! What every Kubernetes API does to JSON objects.
//!
//! The crate holds the pure functions that an API server, a proxy in front of one and their tests have in common. They
//! work on [`serde_json::Value`] and never on typed structs, so that a field that we do not know passes through
//! untouched. There is no clock, no task, no socket and no file. The behaviour is that of Kubernetes 1.36, down to the
//! texts of its errors; where it had to differ, the module says so.
//!
//! ```
//! use safepoint_machinery::{patch, selector::LabelSelector};
//! use serde_json::json;
//!
//! let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}]}});
//! assert!(LabelSelector::parse("app in (web, db)")?.matches(&safepoint_machinery::meta::labels(&pod)));
//!
//! let change = json!({"spec": {"containers": [{"name": "a", "image": "i:2"}]}});
//! let schema = patch::merge_keys::of("v1", "Pod").expect("pods are known");
//! let pod = patch::strategic(&pod, &change, schema)?;
//! assert_eq!(pod["spec"]["containers"], json!([{"name": "a", "image": "i:2"}]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod age;
mod depth;
pub mod go;
pub mod meta;
pub mod names;
pub mod patch;
pub mod quantity;
pub mod selector;
pub mod status;

pub mod watch;

pub use depth::{MAX_DEPTH, depth};
pub use patch::PatchError;
pub use quantity::Quantity;
pub use selector::{FieldSelector, LabelSelector};
pub use status::{FieldError, FieldErrors, FieldPath, Status};
pub use watch::{EventType, WatchEvent};
