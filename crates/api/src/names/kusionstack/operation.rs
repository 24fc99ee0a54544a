//! Labels of one operation: `<prefix>.podopslifecycle.kusionstack.io/<id>`.
//!
//! The id is chosen by the operation controller; several operations may be on one pod at once. One label is keyed by the
//! *type* of operation instead, the permission: [`permission_key`].

/// The domain behind every prefix.
const DOMAIN: &str = "podopslifecycle.kusionstack.io";
/// The prefix of the label that is keyed by type.
const PERMISSION: &str = "operation-permission";
/// The longest name part of a label's key.
const LONGEST_NAME: usize = 63;

/// The labels that an operation has under its id, in the order in which they appear on the pod.
///
/// A value is a time unless said otherwise. "Webhook" is the mutating one, which is the state machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OperationLabel {
    /// Written by the operation controller to begin, and removed by it to finish.
    Operating,
    /// Value a type. Written by the operation controller to begin.
    OperationType,
    /// Value a type. Written by the operation controller to cancel; the webhook answers in the same request.
    UndoOperationType,
    /// Written by the webhook: transition rules are asked whether the operation may begin.
    PreCheck,
    /// Written by the lifecycle: they all agree.
    PreChecked,
    /// Written by the webhook: the pod goes out of service and cooperation controllers switch off.
    Preparing,
    /// Written by the webhook: the operation controller may act now.
    Operate,
    /// Written by the webhook once every operation on the pod has finished.
    Operated,
    /// Value a type. Written by the webhook together with `Operated`.
    DoneOperationType,
    /// Written by the webhook: transition rules are asked whether the pod may go back into service.
    PostCheck,
    /// Written by the lifecycle: they all agree.
    PostChecked,
    /// Written by the webhook: the pod goes back into service and cooperation controllers switch on.
    Completing,
}

/// A label key that cannot be: its prefix is one of an operation, but no id follows; or an id that cannot stand in a key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid label {0}")]
pub struct InvalidLabel(pub String);

// === impl OperationLabel ===

impl OperationLabel {
    /// All of them. An undo removes them all.
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

    /// The key of this label for one operation.
    ///
    /// # Errors
    ///
    /// When `id` cannot be the name part of a label's key; nothing could ever be stored under it.
    pub fn key(self, id: &str) -> Result<String, InvalidLabel> {
        key(self.prefix(), id)
    }

    /// Which label of which operation a key is. `None`: it is not an operation's, as most labels of a pod are not.
    ///
    /// # Errors
    ///
    /// When the prefix is an operation's and no id follows, which the webhook refuses.
    pub fn parse(label: &str) -> Result<Option<(Self, &str)>, InvalidLabel> {
        let (prefix, id) = label.split_once('/').unwrap_or((label, ""));
        let Some(prefix) = prefix.strip_suffix(DOMAIN).and_then(|prefix| prefix.strip_suffix('.')) else {
            return Ok(None);
        };
        let Some(found) = Self::ALL.into_iter().find(|label| label.prefix() == prefix) else {
            return Ok(None);
        };
        if is_name(id) { Ok(Some((found, id))) } else { Err(InvalidLabel(label.to_owned())) }
    }
}

/// The key of the label by which the lifecycle permits all operations of one type, value a time.
///
/// # Errors
///
/// When `operation_type` cannot be the name part of a label's key.
pub fn permission_key(operation_type: &str) -> Result<String, InvalidLabel> {
    key(PERMISSION, operation_type)
}

fn key(prefix: &str, name: &str) -> Result<String, InvalidLabel> {
    let key = format!("{prefix}.{DOMAIN}/{name}");
    if is_name(name) { Ok(key) } else { Err(InvalidLabel(key)) }
}

/// The API server's rule for the name part of a label's key.
fn is_name(name: &str) -> bool {
    let (Some(first), Some(last)) = (name.bytes().next(), name.bytes().last()) else { return false };
    name.len() <= LONGEST_NAME
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_as_what_it_was_built_from() {
        for label in OperationLabel::ALL {
            let key = label.key("collaset").unwrap();
            assert_eq!(key, format!("{}.podopslifecycle.kusionstack.io/collaset", label.prefix()));
            assert_eq!(OperationLabel::parse(&key), Ok(Some((label, "collaset"))));
        }
    }

    #[test]
    fn a_permission_is_keyed_by_type_and_belongs_to_no_operation() {
        let key = permission_key("update").unwrap();
        assert_eq!(key, "operation-permission.podopslifecycle.kusionstack.io/update");
        assert_eq!(OperationLabel::parse(&key), Ok(None));
    }

    #[test]
    fn labels_of_others_are_passed_over() {
        for key in [
            "app",
            "kusionstack.io/control",
            "podopslifecycle.kusionstack.io/service-available",
            "podopslifecycle.kusionstack.io/completing",
            "operating.example.com/collaset",
            "operatingpodopslifecycle.kusionstack.io/collaset",
            "co.operating.podopslifecycle.kusionstack.io/collaset",
        ] {
            assert_eq!(OperationLabel::parse(key), Ok(None), "{key}");
        }
    }

    #[test]
    fn a_prefix_without_an_id_is_refused_with_the_text_that_clients_know() {
        for key in [
            "operating.podopslifecycle.kusionstack.io",
            "operate.podopslifecycle.kusionstack.io/",
            "operated.podopslifecycle.kusionstack.io/a/b",
        ] {
            let error = OperationLabel::parse(key).unwrap_err();
            assert_eq!(error.to_string(), format!("invalid label {key}"));
        }
    }

    #[test]
    fn an_id_that_no_label_can_carry_is_refused() {
        let longest = "a".repeat(63);
        assert!(OperationLabel::Operating.key(&longest).is_ok());
        for id in ["", "-a", "a-", "a b", "a/b", "ä", "a".repeat(64).as_str()] {
            assert!(OperationLabel::Operating.key(id).is_err(), "{id}");
            assert!(permission_key(id).is_err(), "{id}");
        }
    }
}
