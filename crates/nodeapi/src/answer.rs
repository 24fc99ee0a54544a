//! What the gate answers, as a status code, a reason for programs and a sentence that says what to do next.
//!
//! The one place where an [`Answer`] becomes HTTP: both matches are exhaustive, so a new answer of the gate cannot be
//! forgotten here. The compatible APIs take the sentences from here as well and put them into their own form.

#[cfg(test)]
mod tests;

use axum::response::{IntoResponse, Response};
use axum::{Json, http::HeaderValue, http::StatusCode, http::header};
use safepoint_api::local::{Failure, reason};
use safepoint_core::{Age, Answer, Blocker, Gate, HoldId, Refusal, Revision, Workload};

use crate::node::{RestartError, Unavailable};
use crate::parse::Problems;
use crate::view;

/// After so many seconds a node that has not settled may have: pods take about that long to become ready.
const RETRY_UNSETTLED: u32 = 5;
/// After so many seconds a gate that was restarted is back.
const RETRY_UNAVAILABLE: u32 = 1;
/// How many blockers a sentence names; all of them are in the list beside it.
const NAMED: usize = 3;

/// What the gate did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    Holding { in_flight: Vec<Blocker> },
    Renewed,
    Dropped { until: Option<Age> },
    Frozen,
    Thawing,
    StillFrozen { by: Vec<HoldId> },
    Released { workloads: Vec<Workload>, held: Vec<(Workload, Vec<HoldId>)> },
}

/// What a refusal is about, for the sentence.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Hold(HoldId),
    Node,
    Release(String),
}

/// Tells what was done from what was refused.
pub(crate) fn outcome(gate: &Gate, about: &About, answer: Answer) -> Result<Done, Failure> {
    Ok(match answer {
        Answer::Holding { in_flight } => Done::Holding { in_flight },
        Answer::Renewed => Done::Renewed,
        Answer::Dropped { until } => Done::Dropped { until },
        Answer::Frozen { .. } => Done::Frozen,
        Answer::Thawing => Done::Thawing,
        Answer::StillFrozen { by } => Done::StillFrozen { by },
        Answer::Released { workloads, held } => Done::Released { workloads, held },
        // Only orders of the cluster are decided once, and none comes through here.
        Answer::DecidedBefore => return Err(failure(409, reason::NAME_TAKEN, "this was decided before")),
        Answer::Refused(refusal) => return Err(refused(gate, about, refusal)),
    })
}

fn refused(gate: &Gate, about: &About, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Unsettled { blockers, barrier_kept } => unsettled(&blockers, barrier_kept),
        Refusal::Frozen { by } => {
            let message = format!(
                "the node is frozen or being frozen by {}: end that with `safepoint node unfreeze` first",
                listed(gate, &by)
            );
            Failure { holds: names(&by), ..failure(409, reason::FROZEN, message) }
        }
        Refusal::HeldBy { by } => {
            let message = format!(
                "it is held by {}: the holder drops it, `safepoint unhold {}` does, or release it with an override that \
                 says why",
                listed(gate, &by),
                by.first().map_or("ID", HoldId::as_str)
            );
            Failure { holds: names(&by), ..failure(409, reason::HELD, message) }
        }
        Refusal::Vetoed { by } => {
            let message = format!(
                "the cluster holds it with {}: take the freeze out of the NodeGate of this node, or ask again with an \
                 override that says why and for how long",
                listed(gate, &by)
            );
            Failure { holds: names(&by), ..failure(409, reason::VETOED, message) }
        }
        Refusal::Overridden { until } => {
            let until = view::wall_of(gate, until).0;
            let message = format!("this hold was overridden; it is in force again by itself at {until}");
            failure(409, reason::OVERRIDDEN, message)
        }
        Refusal::Sealed => failure(
            409,
            reason::SEALED,
            "the agent's record could not be read, and nothing is let through before the cluster has said what runs \
             here: restore the way to the cluster, and see `safepoint status`",
        ),
        Refusal::NothingPending => failure(
            409,
            reason::NOTHING_HELD,
            format!("nothing waits for {}: `safepoint changes` lists what does", about.subject()),
        ),
        Refusal::AnotherRevision { workload, pending } => another_revision(&workload, pending.as_ref()),
        Refusal::NotFound => failure(404, reason::NOT_FOUND, about.unknown()),
        Refusal::NameTaken { by } => failure(
            409,
            reason::NAME_TAKEN,
            format!("{} belongs to {}: choose another id, or call as that holder", about.subject(), by.name),
        ),
        Refusal::OverrideIncomplete => {
            failure(400, reason::BAD_REQUEST, "override: say why, and for how long")
        }
        Refusal::OrderExpired => failure(409, reason::NOT_FOUND, "the time of this order is over"),
        Refusal::EmptyLease => failure(
            400,
            reason::BAD_REQUEST,
            "for: a lease must be longer than nothing, and a hold without a lease is not given one by renewing it",
        ),
    }
}

fn unsettled(blockers: &[Blocker], barrier_kept: bool) -> Failure {
    let named: Vec<String> = blockers.iter().take(NAMED).map(ToString::to_string).collect();
    let more = blockers.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let next = if barrier_kept {
        "the barrier stays up and the node is frozen once it settles; `safepoint node unfreeze` takes it down"
    } else {
        "nothing is frozen: ask again later, give it a deadline, or keep the barrier up with `--hold-barrier`"
    };
    Failure {
        blockers: blockers.iter().map(view::blocker).collect(),
        barrier_kept,
        retry_after: Some(RETRY_UNSETTLED),
        ..failure(
            409,
            reason::UNSETTLED,
            format!("the node did not settle in time: {}{more}; {next}", named.join(", ")),
        )
    }
}

fn another_revision(workload: &Workload, pending: Option<&Revision>) -> Failure {
    let pending = pending.map_or_else(
        || "what will follow is not known yet".to_owned(),
        |pending| format!("what is pending is revision {pending}"),
    );
    let message = format!("{workload}: {pending}, not the one that was named; see `safepoint changes`");
    failure(409, reason::ANOTHER_REVISION, message)
}

/// Holds as people look for them: `flight-control (uid 1000) (mission)`.
fn listed(gate: &Gate, by: &[HoldId]) -> String {
    let label = |id: &HoldId| gate.holds().get(id).map_or_else(|| id.to_string(), |hold| hold.label(id));
    let all: Vec<String> = by.iter().map(label).collect();
    if all.is_empty() { "a freeze".to_owned() } else { all.join(", ") }
}

fn names(by: &[HoldId]) -> Vec<String> {
    by.iter().map(ToString::to_string).collect()
}

/// A refusal without anything beside it.
pub(crate) fn failure(code: u16, reason: &str, message: impl Into<String>) -> Failure {
    Failure::new(code, reason, message)
}

// === impl About ===

impl About {
    fn subject(&self) -> String {
        match self {
            Self::Hold(id) => format!("hold {id}"),
            Self::Node => "this node".to_owned(),
            Self::Release(what) => what.clone(),
        }
    }

    fn unknown(&self) -> String {
        match self {
            Self::Hold(id) => format!("there is no hold {id}: `safepoint status` lists the holds"),
            Self::Node => "there is nothing of that name on this node".to_owned(),
            Self::Release(what) => {
                format!("{what} is not known on this node: `safepoint changes` lists what waits")
            }
        }
    }
}

// === Refused ===

/// A refusal of the native API.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Failure);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry = self.0.retry_after;
        let mut response = (code, Json(self.0)).into_response();
        if let Some(seconds) = retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Box<Failure>> for Refused {
    fn from(failure: Box<Failure>) -> Self {
        Self(*failure)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<Unavailable> for Refused {
    fn from(error: Unavailable) -> Self {
        let message = format!("{error}; nothing was changed, ask again in a moment");
        let failure = failure(503, reason::UNAVAILABLE, message);
        Self(Failure { retry_after: Some(RETRY_UNAVAILABLE), ..failure })
    }
}

impl From<Problems> for Refused {
    fn from(problems: Problems) -> Self {
        Self(failure(400, reason::BAD_REQUEST, problems.to_string()))
    }
}

impl From<RestartError> for Refused {
    fn from(error: RestartError) -> Self {
        match error {
            RestartError::NoSuchModule => {
                let message = "there is no module of that name: `safepoint modules` lists them";
                Self(failure(404, reason::NOT_FOUND, message))
            }
            RestartError::Unavailable(error) => error.into(),
        }
    }
}
