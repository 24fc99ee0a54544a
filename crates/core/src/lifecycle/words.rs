//! The words of the protocol: which labels there are, whose they are, and how they are spelled on a pod.
//!
//! Core knows no Kubernetes type, and a label's key is not one: it is text that refusals have to quote. Nothing else of a
//! pod is spelled here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// The domain behind every prefix of an operation's label.
pub const DOMAIN: &str = "podopslifecycle.kusionstack.io";
/// Label that opts a pod in, with the value [`CONTROL_ON`].
pub const CONTROL: &str = "kusionstack.io/control";
/// The one value of [`CONTROL`] that counts.
pub const CONTROL_ON: &str = "true";
/// Readiness gate and condition.
pub const SERVICE_READY: &str = "pod.kusionstack.io/service-ready";
/// What the finalizers of cooperation controllers begin with.
pub const PROTECTION_FINALIZER_PREFIX: &str = "prot.podopslifecycle.kusionstack.io";
/// Annotation that declares finalizers which must be there before the pod is in service.
pub const AVAILABLE_CONDITIONS: &str = "pod.kusionstack.io/available-conditions";
/// Annotation: when a deletion was put off last.
pub const DELETE_TIMESTAMP: &str = "gracedelete.kusionstack.io/delete-timestamp";
/// The id under which pods are deleted.
pub const DELETE_ID: &str = "pod-delete";
/// The type of the operation that deletes a pod.
pub const DELETE_TYPE: &str = "delete";

const PERMISSION: &str = "operation-permission";

/// A label that an operation has under its id. A value is a time unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Label {
    /// The operation controller's: it has begun, and not finished.
    Operating,
    /// The operation controller's, a type: what it does.
    OperationType,
    /// The operation controller's, a type: it is cancelled.
    UndoOperationType,
    /// Rules are asked whether it may begin.
    PreCheck,
    /// They agree.
    PreChecked,
    /// The pod goes out of service.
    Preparing,
    /// It may act now.
    Operate,
    /// It has acted, and so have all others.
    Operated,
    /// A type: what it did.
    DoneOperationType,
    /// Rules are asked whether the pod may go back.
    PostCheck,
    /// They agree.
    PostChecked,
    /// The pod goes back into service.
    Completing,
}

/// A label that the pod has once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Mark {
    /// The lifecycle's: the pod is in normal service.
    ServiceAvailable,
    /// People's: an idle pod is not to be brought into service.
    StayOffline,
    /// The operation controllers': what was begun ends in deletion.
    PreparingToDelete,
    /// A workload's, for display: the pod is new.
    Creating,
    /// A workload's, for display: the pod is new, in the place of another.
    Completing,
    /// Anybody's: delete this pod through the lifecycle.
    ToDelete,
    /// What [`Mark::ToDelete`] was called once. Read, never written.
    ToDeleteOld,
}

/// A label that the lifecycle reads or writes. Its text is the key on the pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum LabelKey {
    /// An operation's.
    Operation(OperationId, Label),
    /// The permission of all operations of one type.
    Permission(OperationType),
    /// The pod's.
    Mark(Mark),
}

/// Time as the labels have it: nanoseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Text);

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// Under which name an operation controller operates; the name part of its labels.
    OperationId
    /// What an operation does, such as `update`; the name part of its permission.
    OperationType
}

// === impl Label ===

impl Label {
    /// All of them, in the order in which they come on a pod.
    pub const ALL: [Self; 12] = [
        Self::Operating,
        Self::OperationType,
        Self::UndoOperationType,
        Self::PreCheck,
        Self::PreChecked,
        Self::Preparing,
        Self::Operate,
        Self::Operated,
        Self::DoneOperationType,
        Self::PostCheck,
        Self::PostChecked,
        Self::Completing,
    ];

    /// The first part of the key, without the domain.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Operating => "operating",
            Self::OperationType => "operation-type",
            Self::UndoOperationType => "undo-operation-type",
            Self::PreCheck => "pre-check",
            Self::PreChecked => "pre-checked",
            Self::Preparing => "preparing",
            Self::Operate => "operate",
            Self::Operated => "operated",
            Self::DoneOperationType => "done-operation-type",
            Self::PostCheck => "post-check",
            Self::PostChecked => "post-checked",
            Self::Completing => "completing",
        }
    }

    /// Whether the lifecycle writes it. The others are the operation controller's.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        !matches!(self, Self::Operating | Self::OperationType | Self::UndoOperationType)
    }

    /// Whether it can only be there after the operation has acted.
    pub(crate) const fn is_after(self) -> bool {
        matches!(
            self,
            Self::Operated | Self::DoneOperationType | Self::PostCheck | Self::PostChecked | Self::Completing
        )
    }
}

// === impl Mark ===

impl Mark {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ServiceAvailable,
        Self::StayOffline,
        Self::PreparingToDelete,
        Self::Creating,
        Self::Completing,
        Self::ToDelete,
        Self::ToDeleteOld,
    ];

    /// Its key.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::ServiceAvailable => "podopslifecycle.kusionstack.io/service-available",
            Self::StayOffline => "podopslifecycle.kusionstack.io/stay-offline",
            Self::PreparingToDelete => "podopslifecycle.kusionstack.io/preparing-to-delete",
            Self::Creating => "podopslifecycle.kusionstack.io/creating",
            Self::Completing => "podopslifecycle.kusionstack.io/completing",
            Self::ToDelete => "collaset.kusionstack.io/to-delete",
            Self::ToDeleteOld => "podopslifecycle.kusionstack.io/to-delete",
        }
    }
}

// === impl LabelKey ===

impl LabelKey {
    /// Which label a key is. `None`: none of the lifecycle's, as most labels of a pod.
    ///
    /// # Errors
    ///
    /// The key, when it has the prefix of an operation's label or of a permission and not exactly one name after it.
    pub fn parse(key: &str) -> Result<Option<Self>, Text> {
        if let Some(mark) = Mark::ALL.into_iter().find(|mark| mark.key() == key) {
            return Ok(Some(Self::Mark(mark)));
        }
        let (prefix, name) = key.split_once('/').unwrap_or((key, ""));
        let Some(prefix) = prefix.strip_suffix(DOMAIN).and_then(|prefix| prefix.strip_suffix('.')) else {
            return Ok(None);
        };
        let label = Label::ALL.into_iter().find(|label| label.prefix() == prefix);
        if label.is_none() && prefix != PERMISSION {
            return Ok(None);
        }
        if name.is_empty() || name.contains('/') {
            return Err(key.into());
        }
        Ok(Some(
            label.map_or_else(|| Self::Permission(name.into()), |label| Self::Operation(name.into(), label)),
        ))
    }
}

impl fmt::Display for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(id, label) => write!(f, "{}.{DOMAIN}/{id}", label.prefix()),
            Self::Permission(kind) => write!(f, "{PERMISSION}.{DOMAIN}/{kind}"),
            Self::Mark(mark) => f.write_str(mark.key()),
        }
    }
}

/// The prefix of permissions, with the domain, as a refusal has it.
pub(crate) fn permission_prefix() -> String {
    format!("{PERMISSION}.{DOMAIN}")
}

// === impl Nanos ===

impl Nanos {
    /// A length of time.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The time that a label's value says. `None`: it says none, as a value that people wrote may not.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        value.parse().ok().map(Self)
    }

    /// How long it has been since then. A time in the future, by somebody else's clock, is no time ago.
    #[must_use]
    pub const fn since(self, then: Self) -> Self {
        Self(self.0.saturating_sub(then.0))
    }

    /// As a label's value.
    #[must_use]
    pub fn text(self) -> Text {
        self.0.to_string().into()
    }
}
