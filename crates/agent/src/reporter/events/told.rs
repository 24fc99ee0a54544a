//! What is worth telling, in words. Pure.

use safepoint_api::local::{LogLine, NoticeKind};
use safepoint_api::names::safepoint::event;
use safepoint_core::{Alarm, ChangeKind, Effect, Gate, GrantEnd, HeldBy, Key, Mode};
use safepoint_nodeapi::view;

/// What it is about.
#[derive(Debug)]
pub(super) enum About {
    /// An object, and its uid.
    Object(Key, Option<String>),
    Node,
    /// The NodeGate.
    Gate,
}

/// Something to tell.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) about: About,
    /// The same for those who listen on the machine.
    pub(super) subject: String,
    pub(super) reason: &'static str,
    pub(super) is_warning: bool,
    pub(super) message: String,
}

// === impl Told ===

impl Told {
    /// What an effect is to people.
    pub(super) fn of(gate: &Gate, effect: &Effect) -> Option<(NoticeKind, Self)> {
        let of = |key: &Key, kind, reason, is_warning, message: String| {
            let slot = gate.slots().get(key);
            let uid = slot.and_then(|slot| slot.versions().last()).map(|version| version.uid.to_string());
            let about = About::Object(key.clone(), uid);
            Some((kind, Self { about, subject: key.to_string(), reason, is_warning, message }))
        };
        let of_node = |kind, subject: String, reason, is_warning, message: String| {
            Some((kind, Self { about: About::Node, subject, reason, is_warning, message }))
        };
        match effect {
            Effect::Held { by: HeldBy::Predecessor, .. } => None,
            Effect::Held { key, .. } => {
                of(key, NoticeKind::Held, event::UPGRADE_HELD, false, gate.explain(key).to_string())
            }
            Effect::NoLongerHeld { key } => of(
                key,
                NoticeKind::NoLongerHeld,
                event::UPGRADE_NO_LONGER_HELD,
                false,
                format!("{key} is held no longer"),
            ),
            Effect::Admit(change) => {
                let message = format!("{} of {} admitted", word(change.kind), change.key);
                of(&change.key, NoticeKind::Admitted, event::CHANGE_ADMITTED, false, message)
            }
            Effect::ModeIs(mode) => {
                let reason = match mode {
                    Mode::Open => event::GATE_OPEN,
                    Mode::Freezing => event::GATE_FREEZING,
                    Mode::Frozen => event::GATE_FROZEN,
                    Mode::Thawing => event::GATE_THAWING,
                };
                of_node(NoticeKind::Mode, "node".into(), reason, false, mode_in_words(gate, *mode))
            }
            Effect::GrantClosed(workload, end) => {
                let (reason, message) = match end {
                    GrantEnd::Settled => {
                        (event::RELEASE_SETTLED, format!("{workload} has settled on what was released"))
                    }
                    GrantEnd::Expired => (
                        event::RELEASE_EXPIRED,
                        format!("the release of {workload} ended before it had settled"),
                    ),
                };
                of_node(
                    NoticeKind::ReleaseClosed,
                    workload.to_string(),
                    reason,
                    *end == GrantEnd::Expired,
                    message,
                )
            }
            Effect::Alarm(alarm) => {
                let (subject, reason, message) = match alarm {
                    Alarm::Orphaned(id) => (
                        id.to_string(),
                        event::HOLD_ORPHANED,
                        format!("hold {id} has lost its holder and stays; somebody has to look"),
                    ),
                    Alarm::Overridden(id) => {
                        (id.to_string(), event::HOLD_OVERRIDDEN, format!("hold {id} was overridden"))
                    }
                    Alarm::ReleaseExpired(workload) => (
                        workload.to_string(),
                        event::RELEASE_EXPIRED,
                        format!("the release of {workload} ended before it had settled"),
                    ),
                };
                of_node(NoticeKind::Alarm, subject, reason, true, message)
            }
            Effect::Discard { .. } | Effect::Answer(..) | Effect::Relist => None,
        }
    }

    /// A line of the audit log, and how many before it were not told.
    pub(super) fn recorded(line: &LogLine, left_out: u64) -> Self {
        let message = match left_out {
            0 => line.to_string(),
            _ => format!("{line} (and {left_out} before it: see `safepoint log` on the node)"),
        };
        Self {
            about: About::Gate,
            subject: "node".to_owned(),
            reason: event::RECORDED,
            is_warning: false,
            message,
        }
    }
}

/// A freeze has somebody who wants it, and a reason.
fn mode_in_words(gate: &Gate, mode: Mode) -> String {
    let status = view::gate_status(gate);
    match (mode, status.holder, status.reason) {
        (Mode::Freezing | Mode::Frozen, Some(holder), Some(reason)) => {
            format!("the node is {mode}, by {holder}: {reason}")
        }
        _ => format!("the node is {mode}"),
    }
}

const fn word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Stop => "the end",
        ChangeKind::Update => "the update",
        ChangeKind::Start => "the start",
    }
}
