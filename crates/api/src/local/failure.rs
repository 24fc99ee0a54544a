//! The one shape of every refusal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node_gate::Blocker;

/// Why the agent says no.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// One word for programs; see [`reason`].
    pub reason: String,
    /// What is wrong and what to do, as a sentence.
    pub message: String,
    /// Everything that stands against a freeze, with reason `Unsettled`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// The holds that stand against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// Whether the barrier stays up although the freeze was refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub barrier_kept: bool,
    /// After how many seconds it makes sense to ask again; also in the header `Retry-After`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

// === impl Failure ===

impl Failure {
    /// A refusal without anything beside it.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            blockers: Vec::new(),
            holds: Vec::new(),
            barrier_kept: false,
            retry_after: None,
        }
    }
}

/// The words in [`Failure::reason`]. Programs match on them: words are added, never renamed. What is refused of a static pod
/// has the code of its outcome for a reason, such as `ManifestExists`.
pub mod reason {
    /// 400: the body or the path cannot be read, or says too much or too little.
    pub const BAD_REQUEST: &str = "BadRequest";
    /// 403: the caller has no right to change anything here.
    pub const FORBIDDEN: &str = "Forbidden";
    /// 404: there is no such pod, workload, hold or module.
    pub const NOT_FOUND: &str = "NotFound";
    /// 404: there is no such path.
    pub const NO_SUCH_PATH: &str = "NoSuchPath";
    /// 405: the path has no such method.
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    /// 409: the node did not settle in time.
    pub const UNSETTLED: &str = "Unsettled";
    /// 409: the node is freezing or frozen.
    pub const FROZEN: &str = "Frozen";
    /// 409: holders keep it back.
    pub const HELD: &str = "Held";
    /// 409: the other side's holds stand against it.
    pub const VETOED: &str = "Vetoed";
    /// 409: the hold was overridden and is out of force for a while.
    pub const OVERRIDDEN: &str = "Overridden";
    /// 409: the record could not be read, and nobody has said yet what runs.
    pub const SEALED: &str = "Sealed";
    /// 409: there is nothing to release.
    pub const NOTHING_HELD: &str = "NothingHeld";
    /// 409: another holder uses this name.
    pub const NAME_TAKEN: &str = "NameTaken";
    /// 409: what is pending is another revision than the one that was named.
    pub const ANOTHER_REVISION: &str = "AnotherRevision";
    /// 501: the agent looks after no manifests on this node.
    pub const NO_MANIFESTS: &str = "NoManifests";
    /// 413: the body is too large.
    pub const TOO_LARGE: &str = "TooLarge";
    /// 503: the gate cannot write its record, or is being restarted. Nothing was changed.
    pub const UNAVAILABLE: &str = "Unavailable";
}
