//! Waiting for what a node answers, with a word on what is waited for.

use std::time::Duration;

use safepoint_api::NodeGate;
use safepoint_api::node_gate::OrderAnswer;
use tokio::time::Instant;

use super::{ANSWER, Cluster};
use crate::problem::{Exit, Problem};
use crate::show::progress::Progress;

/// How often the cluster is asked. A node writes its status once a second at most.
const PACE: Duration = Duration::from_millis(500);

// === impl Cluster ===

impl Cluster {
    /// Looks at the NodeGate until there is something to see; none when the time is over. `look` also says what is waited for.
    pub(super) async fn wait_for<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&NodeGate) -> Result<T, String>,
    ) -> Result<Option<T>, Problem> {
        let until = Instant::now() + patience;
        let mut progress = Progress::new(self.quiet);
        loop {
            match look(&self.gate().await?) {
                Ok(seen) => return Ok(Some(seen)),
                Err(waiting) => progress.say(&waiting),
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            tokio::select! {
                () = tokio::time::sleep(PACE) => {}
                // Whoever waits takes back what was asked.
                _ = tokio::signal::ctrl_c() => return Err(Problem::failed("interrupted, and taken back")),
            }
        }
    }

    /// The answer to an order.
    pub(super) async fn answer(&self, id: &str) -> Result<OrderAnswer, Problem> {
        let answered = self
            .wait_for(ANSWER, |gate| {
                let answers = gate.status.iter().flat_map(|status| &status.orders);
                let answer = answers.into_iter().find(|answer| answer.id == id);
                answer.cloned().ok_or_else(|| format!("waiting for {} to answer", self.node))
            })
            .await?;
        answered.ok_or_else(|| {
            self.silent("the order was taken back; if the node had it already, `safepoint status --node` shows what it did")
        })
    }

    pub(super) fn silent(&self, hint: &str) -> Problem {
        let message = format!("{} has not answered within {} seconds", self.node, ANSWER.as_secs());
        Problem::new(Exit::Unreachable, message).hint(hint)
    }
}

/// Whether the node has seen the spec of this generation.
pub(super) fn has_seen(gate: &NodeGate, generation: Option<i64>) -> bool {
    let observed = gate.status.as_ref().and_then(|status| status.observed_generation);
    observed.zip(generation).is_some_and(|(observed, generation)| observed >= generation)
}
