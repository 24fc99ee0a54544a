//! Names that the gate passes around. Each kind of name is its own type, so that a uid cannot be used where a hold id is meant.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A short immutable text that is cheap to clone: the gate copies names far more often than it makes them.
pub type Text = Arc<str>;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Text);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// The identity of one object in the cluster, never used twice. A pod that is recreated under its old name has a new one.
    Uid
    /// What a controller calls one version of its pods: `pod-template-hash`, `controller-revision-hash`, or the digest of a bare pod.
    Revision
    /// A digest over everything of an object that matters to the machine: spec, labels and annotations (the hold
    /// annotation left out, so that arming a hold is not itself a change).
    Digest
    /// The name under which a hold is renewed and dropped. Chosen by the holder, so that one who comes back finds its hold.
    HoldId
    /// The name of a remote order, so that each is obeyed at most once however often it is delivered.
    OrderId
    /// A safety signal such as `landed` or `in-park`.
    SignalName
    /// A part of the agent that enforces the gate, such as a door or the journal.
    PartName
}
