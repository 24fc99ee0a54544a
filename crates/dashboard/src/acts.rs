//! Orders that are waited for.
//!
//! An order is taken out of the NodeGate once it was answered, or when it will not be: whoever asked may have closed the page
//! long before. So it is waited for by a task of the dashboard, and not by the request.

use std::time::Duration;

use safepoint_api::node_gate::{OrderAnswer, OrderPhase, Override};
use safepoint_orders::{Act, Error, Gate, made_up};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::refusal::Refusal;
use crate::view::layout::Said;

/// A person waits for an answer so long; the order waits longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// Something to be done on a node, and whoever waits for what becomes of it.
pub(crate) struct Job {
    pub(crate) gate: Gate,
    /// Whether the cluster's own freeze is taken back first.
    pub(crate) unfreeze: bool,
    pub(crate) order: Option<(Act, Option<Override>)>,
    pub(crate) tell: oneshot::Sender<Result<Said, Refusal>>,
}

// === impl Job ===

impl Job {
    /// Does it, and sees to it that no order is left behind.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let Self { gate, unfreeze, order, tell } = self;
        let done = async {
            if unfreeze {
                gate.unfreeze().await?;
            }
            match order {
                None => Ok(well(format!("The cluster's freeze of {} is taken back.", gate.node()))),
                Some((act, override_)) => ordered(&gate, act, override_, &stop).await,
            }
        };
        // Nobody may be waiting any more.
        let _ = tell.send(done.await.map_err(Refusal::from));
    }
}

async fn ordered(
    gate: &Gate,
    act: Act,
    override_: Option<Override>,
    stop: &CancellationToken,
) -> Result<Said, Error> {
    let id = format!("web-{}", made_up());
    gate.give(&id, act, override_).await?;
    let answer = tokio::select! {
        answer = gate.answer(&id, |_| {}) => answer,
        () = stop.cancelled() => Ok(None),
    };
    if let Err(error) = gate.take_out(&id).await {
        tracing::warn!(%error, node = gate.node(), order = id, "cannot take an order back: take it out of the NodeGate");
    }
    Ok(match answer? {
        Some(answer) => answered(gate.node(), &answer),
        None => badly(format!("{} has not answered, and the order was taken back.", gate.node())),
    })
}

fn answered(node: &str, answer: &OrderAnswer) -> Said {
    let message = answer.message.trim_end_matches('.');
    match answer.phase {
        OrderPhase::Obeyed => well(format!("{node}: {message}.")),
        OrderPhase::Refused => badly(format!("{node} refuses: {message}.")),
        OrderPhase::Vetoed => badly(format!(
            "{node} does not obey: {message}. Its holder ends it there, or set the hold aside with an override."
        )),
    }
}

pub(crate) fn well(text: String) -> Said {
    Said { is_bad: false, text }
}

pub(crate) fn badly(text: String) -> Said {
    Said { is_bad: true, text }
}
