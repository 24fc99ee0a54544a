//! The configurations of admission webhooks. What a hook may say is decided where hooks are asked, in `admission`.

use jiff::Timestamp;
use serde_json::Value;

use super::{Rules, items};
use crate::admission::{default_configuration, validate_configuration};
use crate::fault::Problems;
use crate::table::{self, Column};

pub(crate) static MUTATING: Hooks = Hooks { kind: "MutatingWebhookConfiguration" };
pub(crate) static VALIDATING: Hooks = Hooks { kind: "ValidatingWebhookConfiguration" };

/// Hooks that change objects, or hooks that refuse them.
pub(crate) struct Hooks {
    kind: &'static str,
}

impl Rules for Hooks {
    fn default(&self, object: &mut Value) {
        default_configuration(object);
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        problems.extend(validate_configuration(object, self.kind));
    }

    fn counted(&self) -> Option<&'static str> {
        Some("webhooks")
    }

    fn needs_revision(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::new("Webhooks", "integer", "How many hooks it has."), Column::age()]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![items(object, "webhooks").count().into(), table::age(object, now)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_counts_the_hooks() {
        let configuration = json!({"webhooks": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(MUTATING.cells(&configuration, Timestamp::UNIX_EPOCH)[0], 2);
        assert_eq!(VALIDATING.cells(&json!({}), Timestamp::UNIX_EPOCH)[0], 0);
    }
}
