//! What people ask through the cluster: of a node by its NodeGate, of a static pod by its StaticPod.
//!
//! ```text
//!   safepoint node freeze NODE ──┐
//!                                ├──► `Gate`, `static_pods` ──► NodeGate.spec, StaticPod.spec
//!   dashboard                 ───┘
//! ```
//!
//! The command line and the dashboard make the same writes, which stand here: nobody's change in between is overwritten, a
//! freeze that is there is never replaced in passing, and an order is taken out again once it has done its work. Whoever calls
//! brings a client, and with it the rights.

mod freeze;
mod gate;
pub mod static_pods;

pub use freeze::{is_frozen, local_freezes, wish};
pub use gate::{ANSWER, Act, Gate, has_seen, made_up};

/// Why something could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster refuses, or cannot be reached.
    #[error("the cluster does not do it")]
    Cluster(#[from] kube::Error),
    /// There is no such NodeGate.
    #[error("the cluster has no NodeGate {node}")]
    NoGate {
        /// The node.
        node: String,
    },
    /// The spec has room for one freeze, and there is another.
    #[error("it is to be frozen already, by {by}: {reason}")]
    Occupied {
        /// Who wants it.
        by: String,
        /// Why.
        reason: String,
    },
    /// There is no such StaticPod.
    #[error("the cluster has no StaticPod {namespace}/{name}")]
    NoStaticPod {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// There is no such revision.
    #[error("the cluster keeps no such revision")]
    NoRevision,
    /// The ConfigMap of a revision is damaged.
    #[error("the ConfigMap of revision {revision} has no template that can be read")]
    NoTemplate {
        /// The revision.
        revision: String,
    },
    /// Somebody has replaced the ConfigMap of a revision.
    #[error(
        "the template in the ConfigMap of revision {revision} is that of {found}: somebody has replaced it; \
         look who may write ConfigMaps there, and apply the template that you want"
    )]
    OtherTemplate {
        /// The revision.
        revision: String,
        /// That of what is there.
        found: String,
    },
}
