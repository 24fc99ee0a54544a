//! Whether the pod of a manifest is well: who sees it, and what has to be seen for how long.
//!
//! A phase says nothing: a pod whose container crashes for ever is `Running`. So a pod is good when it was ready for a stretch
//! of time, and bad as soon as it cannot become so. Who sees it is a [`Source`]: the kubelet, the container runtime, or whoever
//! calls. Pods are told apart by the revision in their annotations and by their uids: the old one runs on for a while.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::journal::Failure;
use crate::manifest::ContainerWanted;
use crate::names::PodKey;

pub use self::first::FirstOf;
pub(crate) use self::judge::{Judge, Target, Verdict};
pub use self::kubelet::{Credentials, KubeletSource, Trust, TrustError};
pub use self::runtime::RuntimeSource;
pub use self::told::Told;

mod first;
mod judge;
mod kubelet;
mod runtime;
mod seen;
mod told;

/// Longer than any kubelet or runtime that is well takes to answer.
const ANSWER: Duration = Duration::from_secs(15);

/// What has to be seen, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// For how long a pod has to be ready.
    pub stretch: Duration,
    /// Within which time it has to have become so. What the old pod may take to end is added.
    pub within: Duration,
    /// How often it is looked at.
    pub every: Duration,
    /// How often its containers may be restarted meanwhile.
    pub restarts: u32,
}

/// The pod that is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// As the manifest names it.
    pub key: PodKey,
    /// The node, if it is known: the kubelet appends it to the name.
    pub node: Option<String>,
    /// The containers that have to run.
    pub containers: Vec<ContainerWanted>,
}

/// A pod, as a source sees it now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodSeen {
    /// Its uid. A manifest with other contents gets another one.
    pub uid: String,
    /// What its annotation says of the template that it was made from.
    pub revision: Option<String>,
    /// Whether all of it is ready; where the source knows of no readiness, whether all of it runs.
    pub ready: bool,
    /// How often its containers were restarted, all together.
    pub restarts: u32,
    /// Why it will not become ready, if that is known.
    pub failure: Option<Failure>,
    /// What it is doing instead of being ready.
    pub note: String,
}

/// A source that cannot see.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Blind(pub String);

/// What a source answers, in time.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Vec<PodSeen>, Blind>> + Send + 'a>>;

/// Who sees what runs.
pub trait Source: Send {
    /// What to call it.
    fn name(&self) -> String;

    /// The pods of this name that are there now, of whatever revision. None is an answer; not to know is an error.
    fn look<'a>(&'a mut self, wanted: &'a Wanted) -> Looking<'a>;
}

// === impl Rules ===

impl Default for Rules {
    fn default() -> Self {
        Self {
            stretch: Duration::from_secs(10),
            within: Duration::from_secs(120),
            every: Duration::from_millis(500),
            restarts: 0,
        }
    }
}

// === impl Wanted ===

impl Wanted {
    /// Whether a pod of the kubelet's is this one. Where nobody knows the node, whatever follows the name is taken for it.
    pub fn is_named(&self, namespace: &str, name: &str, node: Option<&str>) -> bool {
        let rest = name.strip_prefix(self.key.name()).and_then(|rest| rest.strip_prefix('-'));
        let node = self.node.as_deref().or(node);
        namespace == self.key.namespace()
            && match (rest, node) {
                (Some(rest), Some(node)) => rest == node,
                (Some(rest), None) => !rest.is_empty(),
                (None, _) => false,
            }
    }
}

/// Looks once, and does not wait for ever.
pub(crate) async fn look(source: &mut dyn Source, wanted: &Wanted) -> Result<Vec<PodSeen>, Blind> {
    match timeout(ANSWER, source.look(wanted)).await {
        Ok(looked) => looked,
        Err(_) => Err(Blind(format!("{} did not answer within {ANSWER:?}", source.name()))),
    }
}

/// Looks until the pod is good or bad. The uids of the pods that were judged are added to `judged`.
pub(crate) async fn verify(
    source: &mut dyn Source,
    wanted: &Wanted,
    target: Target,
    rules: Rules,
    judged: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut judge = Judge::new(target, rules);
    loop {
        let seen = look(source, wanted).await;
        let verdict = judge.look(seen.as_deref(), start.elapsed());
        judged.extend(judge.take_judged());
        match verdict {
            Verdict::Wait => sleep(rules.every).await,
            Verdict::Good => return Ok(()),
            Verdict::Bad(failure) => return Err(failure),
        }
    }
}
