//! What the validating webhook refuses: a write that brings in labels which contradict each other. The texts are known to
//! scripts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::view::{Expectations, Operation, View};
use super::words::{DOMAIN, Label, LabelKey, OperationId, permission_prefix};
use crate::text::Text;

/// Why a pod is refused. Its text comes after the webhook's own words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// The annotation that declares finalizers cannot be read.
    Expectations(Text),
    /// A label has a prefix of ours and not exactly one name.
    InvalidLabel(Text),
    /// A label is there without the one that comes with it: this one is missing.
    Unpaired(OperationId, Label),
    /// A pre-check is passed without any permission.
    NoPermission,
    /// There is a permission without any passed pre-check.
    NoPreChecked,
}

/// Checks a pod as it is to be stored, after it has been admitted. `old` is the pod before the write.
///
/// What contradicts is refused when it is brought in. What is already there, because a write passed the webhook by, is
/// passed over: the pod could not be changed at all otherwise, not even by whoever wants to mend it. The controller mends
/// what it can; see [`Lifecycle::reconcile`](super::Lifecycle::reconcile).
///
/// # Errors
///
/// What contradicts.
pub fn check(view: &View, old: Option<&View>) -> Result<(), Refusal> {
    if !view.controlled {
        return Ok(());
    }
    if let Expectations::Malformed(error) = &view.expectations
        && old.is_none_or(|old| old.expectations != view.expectations)
    {
        return Err(Refusal::Expectations(error.clone()));
    }
    names(view, old)?;
    for (id, operation) in &view.operations {
        let missing = unpaired(operation);
        if let Some(label) = missing
            && old.and_then(|old| unpaired(old.operations.get(id)?)) != missing
        {
            return Err(Refusal::Unpaired(id.clone(), label));
        }
    }
    match unpermitted(view) {
        Some(refusal)
            if old.is_none_or(|old| unpermitted(old).as_ref() != Some(&refusal) || grants(view, old)) =>
        {
            Err(refusal)
        }
        _ => Ok(()),
    }
}

/// Refuses keys that name no operation, or more than one, unless they are there already.
pub(super) fn names(view: &View, old: Option<&View>) -> Result<(), Refusal> {
    let is_new = |key: &&Text| old.is_none_or(|old| !old.invalid.contains(*key));
    view.invalid.iter().find(is_new).map_or(Ok(()), |key| Err(Refusal::InvalidLabel(key.clone())))
}

/// The label that is missing beside another one.
const fn unpaired(operation: &Operation) -> Option<Label> {
    match (operation.has(Label::Operated), operation.has(Label::DoneOperationType)) {
        (true, false) => Some(Label::DoneOperationType),
        (false, true) => Some(Label::Operated),
        (true, true) | (false, false) => None,
    }
}

fn unpermitted(view: &View) -> Option<Refusal> {
    let pre_checked = view.operations.values().any(|operation| operation.has(Label::PreChecked));
    match (pre_checked, !view.permissions.is_empty()) {
        (true, false) => Some(Refusal::NoPermission),
        (false, true) => Some(Refusal::NoPreChecked),
        (true, true) | (false, false) => None,
    }
}

/// Whether more is passed or permitted than before.
fn grants(view: &View, old: &View) -> bool {
    view.labels().any(|(key, _)| {
        let grant = matches!(key, LabelKey::Permission(_) | LabelKey::Operation(_, Label::PreChecked));
        grant && old.get(&key).is_none()
    })
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expectations(error) => f.write_str(error),
            Self::InvalidLabel(key) => write!(f, "invalid label {key}"),
            Self::Unpaired(id, label) => {
                write!(f, "not found label {}", LabelKey::Operation(id.clone(), *label))
            }
            // As Go prints a set.
            Self::NoPermission => {
                write!(f, "not found the expected label prefixes: map[{}:{{}}]", permission_prefix())
            }
            Self::NoPreChecked => {
                let prefix = Label::PreChecked.prefix();
                write!(f, "not found the expected label prefixes: map[{prefix}.{DOMAIN}:{{}}]")
            }
        }
    }
}

impl std::error::Error for Refusal {}
