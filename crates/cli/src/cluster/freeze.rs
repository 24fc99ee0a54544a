//! The freeze in the spec of a NodeGate.
//!
//! A freeze that was refused is taken out again, unless the barrier is to stay up.

use std::time::Duration;

use safepoint_api::node_gate::{Blocker, Freeze, GateState, Lease, Origin, Override, ScopeKind, Thaw};
use safepoint_api::{NodeGate, Span};
use safepoint_orders::{ANSWER, has_seen, is_frozen, local_freezes, made_up};

use super::{Act, Cluster, asked};
use crate::problem::{Exit, Problem};
use crate::show::progress::settling;

/// How long a node may take to settle if nobody says: it has to hear of the freeze, and to say so, in any case.
const SETTLE: Duration = Duration::from_secs(10);

/// A freeze that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Freezing {
    pub(crate) id: Option<String>,
    pub(crate) holder: Option<String>,
    pub(crate) reason: String,
    pub(crate) lease: Option<Lease>,
    pub(crate) deadline: Option<Span>,
    pub(crate) hold_barrier: bool,
}

/// How far a freeze has come.
enum Seen {
    Frozen(Box<NodeGate>),
    /// The freeze was taken out by somebody else.
    Withdrawn,
}

// === impl Cluster ===

impl Cluster {
    /// Freezes the node, and waits until it is frozen or has not settled in time.
    pub(crate) async fn freeze(&self, freezing: Freezing) -> Result<NodeGate, Problem> {
        let Freezing { id, holder, reason, lease, deadline, hold_barrier } = freezing;
        let id = id.unwrap_or_else(|| format!("cli-{}", made_up()));
        let settle = deadline.map_or(SETTLE, Duration::from);
        // The barrier stays up until this command has looked: it decides what a refusal means, and the node must not
        // open in between.
        let deadline = Span::try_from(settle).ok();
        let freeze = Freeze { id: Some(id.clone()), reason, holder, deadline, hold_barrier: true, lease };
        let written = self.gate.freeze(&freeze).await.map_err(|error| asked(&error))?;
        let generation = written.metadata.generation;
        let mut blockers = Vec::new();
        let mut heard = false;
        let seen = self
            .wait_for(ANSWER.max(settle), |gate| {
                heard = has_seen(gate, generation);
                let status = gate.status.clone().unwrap_or_default();
                blockers = status.blockers.clone();
                match gate.spec.freeze.as_ref().and_then(|freeze| freeze.id.as_ref()) {
                    Some(wanted) if *wanted == id => {}
                    _ => return Ok(Seen::Withdrawn),
                }
                match heard && is_frozen(&status) {
                    true => Ok(Seen::Frozen(Box::new(gate.clone()))),
                    false if heard => Err(settling(&status.blockers)),
                    false => Err(format!("waiting for {} to hear of it", self.node())),
                }
            })
            .await;
        match seen {
            Err(problem) => {
                if !hold_barrier {
                    let _ = self.gate.withdraw(&id).await;
                }
                Err(problem)
            }
            Ok(Some(Seen::Frozen(gate))) => Ok(*gate),
            Ok(Some(Seen::Withdrawn)) => {
                Err(Problem::new(Exit::Refused, "somebody else has taken the freeze out of the NodeGate"))
            }
            Ok(None) => Err(self.not_frozen(&id, heard, hold_barrier, blockers).await),
        }
    }

    async fn not_frozen(&self, id: &str, heard: bool, keep: bool, blockers: Vec<Blocker>) -> Problem {
        if !keep && let Err(error) = self.gate.withdraw(id).await {
            return asked(&error);
        }
        let next = match keep {
            true => {
                "the freeze stays in its NodeGate, and the node is frozen once it can be; `safepoint node unfreeze` takes it back"
            }
            false => {
                "nothing is frozen: ask again later, give it a --deadline, or keep the barrier up with --hold-barrier"
            }
        };
        match heard {
            false => self.silent(next),
            true => {
                let problem = Problem::new(Exit::Refused, format!("{} did not settle in time", self.node()));
                Problem { blockers, ..problem }.hint(next)
            }
        }
    }

    /// Ends the cluster's freeze, and with an override also those that were taken on the node.
    pub(crate) async fn unfreeze(&self, override_: Option<Override>) -> Result<NodeGate, Problem> {
        let was_ours = self.gate().await?.spec.freeze.is_some();
        let written = self.gate.unfreeze().await.map_err(|error| asked(&error))?;
        let generation = written.metadata.generation;
        let seen = self
            .wait_for(ANSWER, |gate| {
                let status = gate.status.clone().unwrap_or_default();
                let mut remote = status.holds.iter().filter(|hold| hold.origin == Origin::Remote);
                match has_seen(gate, generation) && !remote.any(|hold| hold.scope.kind == ScopeKind::Node) {
                    true => Ok(gate.clone()),
                    false => Err(format!("waiting for {} to hear of it", self.node())),
                }
            })
            .await?;
        let gate =
            seen.ok_or_else(|| self.silent("its freeze is out of the NodeGate: it thaws when it is back"))?;
        // Nothing was taken out, so the status may be older than what somebody on the node has just done: the gate itself
        // is asked. An override is an order anyway.
        if override_.is_some() || !was_ours {
            self.order(Act::Thaw(Thaw::default()), override_).await?;
            return self.gate().await;
        }
        let status = gate.status.clone().unwrap_or_default();
        match local_freezes(&status).reduce(|all, next| format!("{all}, {next}")) {
            Some(by) if is_frozen(&status) || status.state == Some(GateState::Freezing) => Err(Problem::new(
                Exit::Refused,
                format!("{} stays frozen by {by}, on the node itself", self.node()),
            )
            .hint("its holder ends it there, or set it aside with --override REASON --for TIME")),
            _ => Ok(gate),
        }
    }
}
