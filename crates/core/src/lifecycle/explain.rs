//! What a pod waits for, since when, as data and as one sentence. A phase that takes long raises an alarm and nothing
//! else: no time that passes moves a pod.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::phase::{Phase, phase, phase_of};
use super::rules::{Blocked, RuleStates, StageState};
use super::view::{Expectations, Operation, View};
use super::words::{Label, Mark, Nanos, OperationId, OperationType};
use crate::text::Text;
use crate::time::Span;

/// What is to be said about a pod.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// Where it is.
    pub phase: Phase,
    /// The operations on it.
    pub operations: Vec<OperationWhy>,
    /// What the pod itself waits for where nobody operates on it.
    pub waits: Vec<Wait>,
    /// Whether it is to be deleted through the lifecycle.
    pub wished_gone: bool,
    /// What takes too long.
    pub alarms: Vec<Alarm>,
}

/// What is to be said about one operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OperationWhy {
    /// Its id.
    pub id: OperationId,
    /// What it does or did, where it says so.
    pub kind: Option<OperationType>,
    /// Where it is.
    pub phase: Phase,
    /// For how long, where the labels tell.
    pub for_long: Option<Span>,
    /// What it waits for. Empty: the lifecycle takes the next step by itself.
    pub waits: Vec<Wait>,
}

/// Something that is waited for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Wait {
    /// The operation says what it does.
    Type,
    /// These rules agree.
    Rules(Vec<Blocked>),
    /// Cooperation controllers that are still switching on say so with these finalizers.
    Registration(Vec<Text>),
    /// Somebody mends the annotation that declares finalizers.
    Annotation(Text),
    /// The controller closes the gate.
    GateCloses,
    /// The controller opens the gate.
    GateOpens,
    /// The kubelet says that the pod is not ready.
    NotReady,
    /// The kubelet says that the pod is ready.
    Ready,
    /// Cooperation controllers switch off and remove these finalizers.
    Finalizers(Vec<Text>),
    /// The operation controller acts and finishes.
    Finish,
    /// These operations finish.
    Others(Vec<OperationId>),
    /// Somebody takes the label off that keeps the pod out of service.
    StayOffline,
}

/// A phase that takes longer than it should.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Alarm {
    /// Whose.
    pub id: OperationId,
    /// Which.
    pub phase: Phase,
    /// For how long it has been in it.
    pub for_long: Span,
}

/// How long an operation may be in each phase before somebody should look. `None`: as long as it takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Timeouts {
    /// While rules are asked before it.
    pub pre_check: Option<Span>,
    /// While the pod goes out of service.
    pub preparing: Option<Span>,
    /// While it acts.
    pub operating: Option<Span>,
    /// While rules are asked after it.
    pub post_check: Option<Span>,
    /// While the pod goes back.
    pub completing: Option<Span>,
}

/// Explains a pod.
#[must_use]
pub fn explain(view: &View, rules: &RuleStates, timeouts: &Timeouts, now: Nanos) -> Explanation {
    let operations: Vec<OperationWhy> = view
        .alive()
        .map(|(id, operation)| {
            let phase = phase_of(operation);
            let since = operation.since(entered_by(phase));
            OperationWhy {
                id: id.clone(),
                kind: operation
                    .kind()
                    .or_else(|| operation.get(Label::DoneOperationType).cloned().map(OperationType)),
                phase,
                for_long: since.map(|since| Span(now.since(since).0 / 1_000_000)),
                waits: waits(view, operation, phase, rules),
            }
        })
        .collect();
    let alarms = operations
        .iter()
        .filter_map(|why| {
            let for_long = why.for_long?;
            (for_long > timeouts.of(why.phase)?).then(|| Alarm {
                id: why.id.clone(),
                phase: why.phase,
                for_long,
            })
        })
        .collect();
    let phase = phase(view);
    let waits = match phase {
        Phase::Offline => vec![Wait::StayOffline],
        Phase::Starting => back(view),
        _ => Vec::new(),
    };
    Explanation { phase, operations, waits, wished_gone: view.is_wished_gone(), alarms }
}

const fn entered_by(phase: Phase) -> Label {
    match phase {
        Phase::PreCheck => Label::PreCheck,
        Phase::Preparing => Label::Preparing,
        Phase::Operating => Label::Operate,
        Phase::PostCheck => Label::PostCheck,
        _ => Label::Completing,
    }
}

fn waits(view: &View, operation: &Operation, phase: Phase, rules: &RuleStates) -> Vec<Wait> {
    let asked = |state: &StageState| match state {
        StageState::Passed => Vec::new(),
        StageState::Waiting(blocked) => vec![Wait::Rules(blocked.clone())],
    };
    match phase {
        Phase::PreCheck => {
            let untyped = operation.kind().is_none().then_some(Wait::Type);
            let registering = view.is_registering().then(|| unmet(view)).into_iter().flatten();
            untyped.into_iter().chain(asked(&rules.pre_check)).chain(registering).collect()
        }
        Phase::Preparing if view.gate.condition != Some(false) => {
            let registering = view.is_registering().then(|| unmet(view)).into_iter().flatten();
            registering.chain([Wait::GateCloses]).collect()
        }
        Phase::Preparing => {
            let finalizers: Vec<Text> = view.protections().cloned().collect();
            let ready = view.ready.then_some(Wait::NotReady);
            let protected = (!finalizers.is_empty()).then_some(Wait::Finalizers(finalizers));
            ready.into_iter().chain(protected).collect()
        }
        Phase::Operating if operation.has(Label::Operating) => vec![Wait::Finish],
        Phase::Operating => vec![Wait::Others(busy(view))],
        Phase::PostCheck => match busy(view) {
            others if others.is_empty() => asked(&rules.post_check),
            others => vec![Wait::Others(others)],
        },
        Phase::Completing => match busy(view) {
            others if others.is_empty() => back(view),
            others => vec![Wait::Others(others)],
        },
        _ => Vec::new(),
    }
}

fn busy(view: &View) -> Vec<OperationId> {
    view.alive().filter(|(_, operation)| operation.is_busy()).map(|(id, _)| id.clone()).collect()
}

/// What a pod waits for that goes into service.
fn back(view: &View) -> Vec<Wait> {
    let gate = (view.is_gated() && view.gate.condition != Some(true)).then_some(Wait::GateOpens);
    let ready = (!view.ready).then_some(Wait::Ready);
    gate.into_iter().chain(ready).chain(unmet(view)).collect()
}

fn unmet(view: &View) -> Option<Wait> {
    match &view.expectations {
        Expectations::Malformed(error) => Some(Wait::Annotation(error.clone())),
        Expectations::Declared(_) if view.is_registered() => None,
        Expectations::Declared(_) => {
            Some(Wait::Registration(view.missing().map(|(_, finalizer)| finalizer.clone()).collect()))
        }
    }
}

impl Timeouts {
    const fn of(&self, phase: Phase) -> Option<Span> {
        match phase {
            Phase::PreCheck => self.pre_check,
            Phase::Preparing => self.preparing,
            Phase::Operating => self.operating,
            Phase::PostCheck => self.post_check,
            Phase::Completing => self.completing,
            Phase::NotControlled
            | Phase::Starting
            | Phase::ServiceAvailable
            | Phase::Offline
            | Phase::Deleting => None,
        }
    }
}

// === rendering ===

impl fmt::Display for Explanation {
    /// One sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase {
            Phase::NotControlled => f.write_str("the pod does not take part in the lifecycle")?,
            Phase::ServiceAvailable => f.write_str("the pod is in service")?,
            Phase::Deleting => f.write_str("the pod is terminating")?,
            Phase::Offline => f.write_str("the pod is kept out of service")?,
            Phase::Starting => f.write_str("the pod is not in service yet")?,
            phase => write!(f, "the pod is in {phase}")?,
        }
        write_waits(f, &self.waits)?;
        for why in &self.operations {
            write!(f, "; {why}")?;
        }
        if self.wished_gone && self.phase != Phase::Deleting {
            write!(f, "; it is to be deleted (take the label {} off to keep it)", Mark::ToDelete.key())?;
        }
        for alarm in &self.alarms {
            write!(
                f,
                "; {} has been in {} for {}, which is too long",
                alarm.id, alarm.phase, alarm.for_long
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for OperationWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        if let Some(kind) = self.kind.as_ref().filter(|kind| !kind.0.is_empty()) {
            write!(f, " ({kind})")?;
        }
        write!(f, " is in {}", self.phase)?;
        match self.for_long {
            Some(short) if short < Span::from_secs(1) => f.write_str(" for a moment")?,
            Some(long) => write!(f, " for {long}")?,
            None => {}
        }
        write_waits(f, &self.waits)
    }
}

fn write_waits(f: &mut fmt::Formatter<'_>, waits: &[Wait]) -> fmt::Result {
    for (index, wait) in waits.iter().enumerate() {
        f.write_str(if index == 0 { " and waits until " } else { " and " })?;
        write!(f, "{wait}")?;
    }
    Ok(())
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type => f.write_str("it says which type of operation it is"),
            Self::Rules(rules) => {
                let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
                write!(f, "the rules agree: {}", rules.join(", "))
            }
            Self::Registration(finalizers) => {
                write!(f, "the pod is registered with {}", finalizers.join(", "))
            }
            Self::Annotation(error) => write!(f, "the annotation about finalizers is mended ({error})"),
            Self::GateCloses => f.write_str("the gate is closed"),
            Self::GateOpens => f.write_str("the gate is open"),
            Self::NotReady => f.write_str("the kubelet says that it is not ready"),
            Self::Ready => f.write_str("the kubelet says that it is ready"),
            Self::Finalizers(finalizers) => write!(f, "{} are removed", finalizers.join(", ")),
            Self::Finish => f.write_str("its controller has finished"),
            Self::Others(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(f, "{} have finished", ids.join(", "))
            }
            Self::StayOffline => write!(f, "the label {} is taken off", Mark::StayOffline.key()),
        }
    }
}
