//! What a webhook is to the hub: an entry that says when it is asked, and a function that answers.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::review::{Answer, Request};

/// A question that the hub wants to be asked by the API server.
pub trait Hook: Send + Sync + 'static {
    /// When it is to be asked. The same each time.
    fn entry(&self) -> Entry;

    /// Answers. An answer that takes longer than the API server waits is as good as none, and what was asked passes.
    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a>;
}

/// An answer on its way.
pub type Reviewing<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// When a hook is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The webhook's name, a domain of three parts or more. People see it in refusals.
    pub name: &'static str,
    /// The end of the path where the server answers for it, such as `/hold`.
    pub path: &'static str,
    /// Whether it may change objects.
    pub flavour: Flavour,
    /// Which requests it is asked about.
    pub rules: Vec<Rule>,
    /// Labels that the object has, as it is or as it will be; none: every object.
    pub labels: &'static [(&'static str, &'static str)],
    /// A condition on the request in CEL, with a name, if there is one.
    pub condition: Option<(&'static str, &'static str)>,
    /// What asking it does beside the answer.
    pub side_effects: SideEffects,
    /// How long the API server waits for an answer, in whole seconds. What nobody answers passes.
    pub patience: Duration,
}

/// Whether a hook may change objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// It may; it is asked first.
    Mutating,
    /// It may only refuse.
    Validating,
}

/// Requests by what they do to what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The resource, such as `pods` or `pods/eviction`.
    pub resource: &'static str,
    /// The operations, such as `CREATE`.
    pub operations: &'static [&'static str],
}

/// What asking a hook does beside the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideEffects {
    /// Nothing.
    None,
    /// Nothing where the request is a dry run.
    NoneOnDryRun,
}

// === impl SideEffects ===

impl SideEffects {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::NoneOnDryRun => "NoneOnDryRun",
        }
    }
}

impl Rule {
    /// Operations on a resource of the core group.
    #[must_use]
    pub const fn core(resource: &'static str, operations: &'static [&'static str]) -> Self {
        Self { group: "", version: "v1", resource, operations }
    }
}
