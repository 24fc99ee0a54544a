//! The audit log, and what happens as it happens.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the audit log, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogPage {
    /// The lines.
    pub items: Vec<LogLine>,
    /// The number of the last line that there is.
    pub last: u64,
    /// Whether every line here follows from the one before it: nothing was changed or taken out. Who has read all pages and
    /// found each of them intact has checked the whole log.
    pub intact: bool,
}

/// Who did what, when and why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Its number; the first is 1.
    pub number: u64,
    /// When, by the machine's clock.
    pub at: Time,
    /// On whose word; absent where the gate acted on its own record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What.
    pub what: String,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// SHA-256 over this line and the hash of the line before, in hexadecimal.
    pub hash: String,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(by) = &self.by {
            write!(f, ", by {by}")?;
        }
        self.reason.as_ref().map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// When.
    pub at: Time,
    /// What kind of thing; also the name of the server-sent event.
    pub kind: NoticeKind,
    /// What it is about: `pod default/rover`, a workload, a hold, a module.
    pub subject: String,
    /// The whole as a sentence.
    pub message: String,
}

/// The kinds of [`Notice`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum NoticeKind {
    /// A change was admitted: the machine sees it now.
    Admitted,
    /// A change waits.
    Held,
    /// A change waits no longer.
    NoLongerHeld,
    /// The node's mode is another one.
    Mode,
    /// A release has run its course.
    ReleaseClosed,
    /// Something a person should look at.
    Alarm,
    /// The way to the cluster is open or closed.
    Uplink,
    /// A module has another state.
    Module,
}
