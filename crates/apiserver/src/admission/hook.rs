//! Hooks as they are asked: read once from the stored configurations, with their selectors, expressions and clients.

use std::sync::Arc;
use std::time::Duration;

use safepoint_machinery::{meta, selector::LabelSelector};
use serde_json::Value;
use tracing::warn;

use super::client::Target;
use super::condition::Condition;
use super::rule::Rule;

/// Whether a hook may change the object, or only refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Mutating,
    Validating,
}

/// What becomes of a write if the hook cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePolicy {
    /// It is refused.
    Fail,
    /// It goes on as if the hook had agreed.
    Ignore,
}

/// What happens when a hook is asked, apart from the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideEffects {
    /// Nothing, or nothing on a dry run.
    NoneOnDryRun,
    /// Something, perhaps.
    Some,
    /// The configuration does not say.
    Unsaid,
}

/// One webhook of a configuration.
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(crate) rules: Vec<Rule>,
    /// Whether a rule that names another version of the resource is meant for this one, too.
    pub(crate) equivalent: bool,
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) side_effects: SideEffects,
    /// Whether it is asked again when a later hook has changed the object.
    pub(crate) reinvocable: bool,
    /// Whether it understands the reviews that we write.
    pub(crate) speaks_v1: bool,
    pub(crate) timeout: Duration,
    /// Where it is, or why it will never be reached.
    pub(crate) target: Result<Target, String>,
}

/// All hooks of the server, in the order in which they are asked: by the name of their configuration, then as they stand
/// in it. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    configurations: Vec<Arc<Configuration>>,
}

struct Configuration {
    flavour: Flavour,
    name: String,
    /// What `hooks` was made from.
    source: Value,
    hooks: Vec<Hook>,
}

// === impl Hooks ===

impl Hooks {
    /// Reads `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration` objects. Those that are as they were when
    /// these hooks were read keep their connections; [`Hooks::default`] are none.
    ///
    /// This never fails, and nothing is left out because it is wrong: a hook of which a part cannot be used stays a hook
    /// that cannot be reached, and its `failurePolicy` says what that means.
    pub(crate) fn recompile(&self, configurations: &[Value]) -> Hooks {
        let mut compiled: Vec<_> =
            configurations.iter().filter_map(|value| self.configuration(value)).collect();
        compiled.sort_by(|a, b| a.name.cmp(&b.name));
        Hooks { configurations: compiled }
    }

    /// The same, from nothing.
    #[cfg(test)]
    pub(crate) fn compile(configurations: &[Value]) -> Hooks {
        Hooks::default().recompile(configurations)
    }

    fn configuration(&self, value: &Value) -> Option<Arc<Configuration>> {
        let flavour = match meta::kind(value) {
            Some("MutatingWebhookConfiguration") => Flavour::Mutating,
            Some("ValidatingWebhookConfiguration") => Flavour::Validating,
            kind => {
                warn!(?kind, "an object that is no webhook configuration was given for one");
                return None;
            }
        };
        let name = meta::name(value).unwrap_or_default();
        let source = value.get("webhooks").unwrap_or(&Value::Null);
        let same =
            |old: &&Arc<Configuration>| old.flavour == flavour && old.name == name && old.source == *source;
        if let Some(unchanged) = self.configurations.iter().find(same) {
            return Some(unchanged.clone());
        }
        let hooks = source.as_array().into_iter().flatten().map(Hook::compile).collect();
        Some(Arc::new(Configuration { flavour, name: name.to_owned(), source: source.clone(), hooks }))
    }

    /// The hooks of one flavour.
    pub(crate) fn of(&self, flavour: Flavour) -> impl Iterator<Item = &Hook> {
        let wanted = move |configuration: &&Arc<Configuration>| configuration.flavour == flavour;
        self.configurations.iter().filter(wanted).flat_map(|configuration| &configuration.hooks)
    }
}

// === impl Hook ===

impl Hook {
    fn compile(value: &Value) -> Hook {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        // What went wrong first. A part that cannot be read is taken for one that matches, so that the failure policy
        // gets its say about everything the hook may have been meant for.
        let mut trouble = None;
        let rules = match value.get("rules").filter(|rules| !rules.is_null()) {
            Some(rules) => serde_json::from_value(rules.clone()).unwrap_or_else(|error| {
                trouble.get_or_insert(format!("rules cannot be read: {error}"));
                vec![Rule::everything()]
            }),
            None => Vec::new(),
        };
        let mut selector = |field: &str| {
            // A selector that is missing was not defaulted, which makes it one for everything.
            let Some(selector) = value.get(field).filter(|selector| !selector.is_null()) else {
                return LabelSelector::default();
            };
            LabelSelector::from_object(Some(selector)).unwrap_or_else(|error| {
                trouble.get_or_insert(format!("{field} cannot be used: {error}"));
                LabelSelector::default()
            })
        };
        let (namespaces, objects) = (selector("namespaceSelector"), selector("objectSelector"));
        let items = |field: &str| value.get(field).and_then(Value::as_array).into_iter().flatten();
        let expression =
            |condition: &Value| condition.get("expression").and_then(Value::as_str).map(Condition::compile);
        let seconds = value.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10).clamp(1, 30);
        let timeout = Duration::from_secs(seconds);
        let target = Target::compile(value.get("clientConfig").unwrap_or(&Value::Null), timeout);
        Hook {
            name: text("name").unwrap_or_default().to_owned(),
            rules,
            equivalent: text("matchPolicy") != Some("Exact"),
            namespaces,
            objects,
            conditions: items("matchConditions").filter_map(expression).collect(),
            on_failure: match text("failurePolicy") {
                Some("Ignore") => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            side_effects: match text("sideEffects") {
                Some("None" | "NoneOnDryRun") => SideEffects::NoneOnDryRun,
                Some(_) => SideEffects::Some,
                None => SideEffects::Unsaid,
            },
            reinvocable: text("reinvocationPolicy") == Some("IfNeeded"),
            speaks_v1: items("admissionReviewVersions").any(|version| version == "v1"),
            timeout,
            target: match trouble {
                Some(trouble) => Err(trouble),
                None => target,
            },
        }
    }
}
