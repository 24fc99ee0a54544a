//! Waiting for what a node answers, with a word on what is waited for.

use std::time::Duration;

use safepoint_api::NodeGate;
use safepoint_api::node_gate::OrderAnswer;
use safepoint_orders::{ANSWER, Error};

use super::{Cluster, connect};
use crate::problem::{Exit, Problem};
use crate::show::progress::Progress;

// === impl Cluster ===

impl Cluster {
    /// Looks at the NodeGate until there is something to see; none when the time is over. `look` also says what is waited for.
    pub(super) async fn wait_for<T>(
        &self,
        patience: Duration,
        look: impl FnMut(&NodeGate) -> Result<T, String>,
    ) -> Result<Option<T>, Problem> {
        let mut progress = Progress::new(self.quiet);
        interruptible(self.gate.wait_for(patience, look, |waiting| progress.say(waiting))).await
    }

    /// The answer to an order.
    pub(super) async fn answer(&self, id: &str) -> Result<OrderAnswer, Problem> {
        let mut progress = Progress::new(self.quiet);
        let answered = interruptible(self.gate.answer(id, |waiting| progress.say(waiting))).await?;
        answered.ok_or_else(|| {
            self.silent("the order was taken back; if the node had it already, `safepoint status --node` shows what it did")
        })
    }

    pub(super) fn silent(&self, hint: &str) -> Problem {
        let message = format!("{} has not answered within {} seconds", self.node(), ANSWER.as_secs());
        Problem::new(Exit::Unreachable, message).hint(hint)
    }
}

/// Whoever waits may stop waiting, and takes back what was asked.
async fn interruptible<T>(waiting: impl Future<Output = Result<T, Error>>) -> Result<T, Problem> {
    tokio::select! {
        seen = waiting => seen.map_err(|error| connect::asked(&error)),
        _ = tokio::signal::ctrl_c() => Err(Problem::failed("interrupted, and taken back")),
    }
}
