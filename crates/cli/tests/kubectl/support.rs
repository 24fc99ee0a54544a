//! What the tests are told with: a server, a place of one's own on it, and words for what kubectl said.

mod lines;
mod objects;
mod said;
mod server;
mod space;

use std::time::Duration;

pub(crate) use lines::Lines;
pub(crate) use objects::{NODE_STATUS, POD, event_about, node, widgets};
pub(crate) use said::{Said, assert_has, assert_lacks, assert_table};
pub(crate) use server::Server;
pub(crate) use space::Space;

/// How long something may take that takes a moment. A machine that builds something else meanwhile is slow, and waiting
/// longer costs nothing where all is well.
const PATIENCE: Duration = Duration::from_secs(120);
