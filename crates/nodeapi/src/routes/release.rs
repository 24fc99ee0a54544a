//! Releases, as the native API and the compatible ones ask for them.

use safepoint_api::PodRef;
use safepoint_api::local::{KeptBack, Released, reason};
use safepoint_core as core;
use safepoint_core::{Ask, HoldId, Key, Workload};

use super::Shared;
use crate::answer::{About, Done, Refused, failure};
use crate::caller::Caller;
use crate::node::Node;
use crate::parse::{ReleaseAsk, Target};
use crate::view;

/// What was released, and what was not and by whom it is held.
pub(crate) type Outcome = (Vec<Workload>, Vec<(Workload, Vec<HoldId>)>);

/// Releases what was asked for.
pub(crate) async fn release<N: Node>(
    shared: &Shared<N>,
    caller: Caller,
    asked: ReleaseAsk,
) -> Result<Outcome, Refused> {
    let ReleaseAsk { target, revision, overriding } = asked;
    let (what, subject) = match target {
        Target::Pod(PodRef { namespace, name }) => {
            let subject = format!("pod {namespace}/{name}");
            let node = shared.node.name().to_owned();
            let found = shared.node.read(move |gate| view::find_pod(gate, &node, &namespace, &name)).await?;
            let unknown = || {
                let message =
                    format!("{subject} is not known on this node: `safepoint changes` lists what waits");
                Refused(failure(404, reason::NOT_FOUND, message))
            };
            (core::Released::Pod(found.ok_or_else(unknown)?), subject)
        }
        Target::Workload(workload) => {
            let subject = workload.to_string();
            (core::Released::Workload(workload), subject)
        }
        Target::Node => (core::Released::Node, "this node".to_owned()),
    };
    let ask = Ask::Release { what, revision };
    shared.ask(caller, overriding, ask, About::Release(subject), |_, done| pick(done)).await
}

/// Releases the workload of a pod that the gate knows.
pub(crate) async fn release_pod<N: Node>(
    shared: &Shared<N>,
    caller: Caller,
    key: Key,
) -> Result<Outcome, Refused> {
    let about = About::Release(key.to_string());
    let ask = Ask::Release { what: core::Released::Pod(key), revision: None };
    shared.ask(caller, None, ask, about, |_, done| pick(done)).await
}

fn pick(done: Done) -> Outcome {
    match done {
        Done::Released { workloads, held } => (workloads, held),
        Done::Holding { .. }
        | Done::Renewed
        | Done::Dropped { .. }
        | Done::Frozen
        | Done::Thawing
        | Done::StillFrozen { .. } => (Vec::new(), Vec::new()),
    }
}

/// The same in the words of the wire.
pub(super) fn shown((workloads, held): Outcome) -> Released {
    let kept = |(of, holds): &(Workload, Vec<HoldId>)| KeptBack {
        workload: view::workload(of),
        holds: holds.iter().map(ToString::to_string).collect(),
    };
    Released {
        workloads: workloads.iter().map(view::workload).collect(),
        held: held.iter().map(kept).collect(),
    }
}
