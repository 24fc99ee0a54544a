//! From the words of a NodeGate to those of the gate, and back.

use jiff::Timestamp as Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::names::safepoint::order as reason;
use safepoint_api::node_gate::{self, Order, OrderAnswer, OrderPhase};
use safepoint_core::{
    Answer, Ask, Holder, Key, LeaseAsk, OnExpiry, Order as CoreOrder, OrderId, Origin, Override, Refusal,
    Released, Span, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::ANSWER;
use crate::keeper::Asking;

/// What is kept of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Kept {
    /// The gate decided.
    Decided(Answer, Timestamp),
    /// The order asks for something that this agent does not know.
    NotUnderstood(String),
}

/// An answer as it is kept.
pub(crate) fn kept_answer(answer: &Answer, at: Timestamp) -> Option<Vec<u8>> {
    serde_json::to_vec(&Kept::Decided(answer.clone(), at)).ok()
}

pub(super) fn not_understood(problem: String) -> Vec<u8> {
    serde_json::to_vec(&Kept::NotUnderstood(problem)).expect("a text always serialises into memory")
}

/// What an order asks of the gate.
pub(super) fn order(order: &Order) -> Result<Asking, String> {
    let ask = match (&order.release, &order.thaw) {
        (Some(release), None) => Ask::Release {
            what: match (&release.workload, &release.pod) {
                (Some(workload), None) => Released::Workload(
                    safepoint_nodeapi::parse::workload(workload).map_err(|problems| problems.to_string())?,
                ),
                (None, Some(pod)) => Released::Pod(Key::pod(&pod.namespace, &pod.name)),
                _ => return Err("name what to release: either a workload or a pod".into()),
            },
            revision: release.revision.as_deref().map(Into::into),
        },
        (None, Some(thaw)) => match &thaw.holds {
            Some(ids) => Ask::ThawOnly(ids.iter().map(|id| id.as_str().into()).collect()),
            None => Ask::Thaw,
        },
        _ => return Err("this agent knows the orders release and thaw; it may be older than the hub".into()),
    };
    let over = order.override_.as_ref();
    Ok(Asking {
        caller: Holder { name: format!("order {}", order.id).into(), origin: Origin::Remote },
        known_as: None,
        order: Some(CoreOrder {
            id: OrderId::from(order.id.as_str()),
            expires: order.expires.as_ref().map(|expires| Timestamp(expires.0.as_millisecond())),
        }),
        over: over.map(|over| Override { reason: over.reason.as_str().into(), length: span(over.duration) }),
        ask,
        keep_answer: Some(format!("{ANSWER}{}", order.id)),
    })
}

pub(super) fn span(span: safepoint_api::Span) -> Span {
    safepoint_nodeapi::parse::span(span)
}

pub(super) fn lease(lease: &node_gate::Lease) -> LeaseAsk {
    let on_expiry = match lease.on_expiry {
        node_gate::OnExpiry::ThawIfSafe => OnExpiry::ThawIfSafe,
        node_gate::OnExpiry::Stay => OnExpiry::Stay,
    };
    LeaseAsk { length: span(lease.duration), on_expiry }
}

/// A kept answer, as the status of the NodeGate shows it.
pub(crate) fn answer_of(name: &str, kept: &[u8]) -> Option<OrderAnswer> {
    let id = name.strip_prefix(ANSWER)?.to_owned();
    let (phase, reason, message, at) = match serde_json::from_slice(kept).ok()? {
        Kept::NotUnderstood(problem) => {
            (OrderPhase::Refused, Some(reason::NOT_UNDERSTOOD.to_owned()), problem, Timestamp(0))
        }
        Kept::Decided(answer, at) => {
            let (phase, reason, message) = words(&answer);
            (phase, reason, message, at)
        }
    };
    let at = Time(Moment::from_millisecond(at.0).ok()?);
    Some(OrderAnswer { id, phase, reason, message, at })
}

fn words(answer: &Answer) -> (OrderPhase, Option<String>, String) {
    let obeyed = |message: String| (OrderPhase::Obeyed, None, message);
    let refused = |reason: &str, message: String| (OrderPhase::Refused, Some(reason.to_owned()), message);
    match answer {
        Answer::Released { workloads, held } => {
            let names: Vec<String> = workloads.iter().map(ToString::to_string).collect();
            let mut message = format!("released {}", names.join(", "));
            for (workload, by) in held {
                let by: Vec<&str> = by.iter().map(safepoint_core::HoldId::as_str).collect();
                message = format!("{message}; {workload} stays held by {}", by.join(", "));
            }
            obeyed(message)
        }
        Answer::Thawing => obeyed("the node thaws".into()),
        Answer::StillFrozen { by } => obeyed(format!("ended; the node stays frozen by {}", list(by))),
        Answer::Dropped { until: None } => obeyed("dropped".into()),
        Answer::Dropped { until: Some(_) } => obeyed("put out of force for a while".into()),
        Answer::Holding { .. } | Answer::Renewed | Answer::Frozen { .. } => obeyed("done".into()),
        Answer::DecidedBefore => {
            refused("DecidedBefore", "an order of this id was decided before; give it a new id".into())
        }
        Answer::Refused(refusal) => match refusal {
            Refusal::Vetoed { by } => {
                let message = format!(
                    "held on the node by {}; their holders drop them, or the order carries an override",
                    list(by)
                );
                (OrderPhase::Vetoed, Some("Vetoed".to_owned()), message)
            }
            Refusal::HeldBy { by } => refused("Held", format!("held by {}", list(by))),
            Refusal::Frozen { by } => {
                refused("Frozen", format!("the node is frozen by {}; thaw it first", list(by)))
            }
            Refusal::OrderExpired => refused(
                reason::EXPIRED,
                "it arrived after its time, or the node's clock cannot be trusted to say that it did not"
                    .into(),
            ),
            Refusal::NothingPending => refused(reason::NOTHING_HELD, "nothing that it names is held".into()),
            Refusal::NotFound => refused("NotFound", "nothing of that name is known on this node".into()),
            Refusal::Sealed => refused(
                "Sealed",
                "the node's record could not be read, and nobody has said yet what runs there".into(),
            ),
            Refusal::AnotherRevision { workload, pending } => {
                let pending = pending.as_ref().map_or("not known yet", |pending| pending.as_str());
                refused("AnotherRevision", format!("what is pending of {workload} is revision {pending}"))
            }
            Refusal::Overridden { .. } => {
                refused("Overridden", "it was overridden and is out of force for a while".into())
            }
            Refusal::OverrideIncomplete => {
                refused(reason::NOT_UNDERSTOOD, "an override says why, and for how long".into())
            }
            Refusal::Unsettled { .. } => refused("Unsettled", "the node did not settle in time".into()),
            Refusal::NameTaken { by } => refused("NameTaken", format!("{} uses this name", by.name)),
            Refusal::EmptyLease => {
                refused(reason::NOT_UNDERSTOOD, "a lease must be longer than nothing".into())
            }
        },
    }
}

fn list(ids: &[safepoint_core::HoldId]) -> String {
    let ids: Vec<&str> = ids.iter().map(safepoint_core::HoldId::as_str).collect();
    ids.join(", ")
}
