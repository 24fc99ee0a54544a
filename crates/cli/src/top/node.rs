//! One node: as its agent tells, and the sections of its page, which are the same when the cluster tells. Pure.

use std::collections::VecDeque;

use anstyle::Style;
use jiff::Timestamp;
use safepoint_api::local::{LogLine, NodeStatus, Notice};
use safepoint_api::node_gate::{Blocker, HeldChange, NodeGateStatus};

use super::known::Link;
use super::list::{Item, Section};
use crate::show::table::{Cell, Table};
use crate::show::{age, style, tables, words};

/// So many of the last events and lines of the log are kept.
const KEPT: usize = 100;

/// What the agent of this machine has told.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    pub(crate) link: Link,
    pub(crate) status: NodeStatus,
    /// The newest first, each with its number since this program began.
    pub(crate) notices: VecDeque<(u64, Notice)>,
    /// The newest first.
    pub(crate) log: VecDeque<LogLine>,
    told: u64,
}

/// Something that the agent has told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Told {
    /// How everything is now, and the lines of the log since it was looked at.
    Status(Box<NodeStatus>, Vec<LogLine>),
    Notice(Box<Notice>),
    Lost(String),
}

// === impl Here ===

impl Here {
    pub(crate) const fn new(status: NodeStatus) -> Self {
        Self { link: Link::Connected, status, notices: VecDeque::new(), log: VecDeque::new(), told: 0 }
    }

    pub(crate) fn take(&mut self, told: Told, now: Timestamp) {
        match told {
            Told::Status(status, lines) => {
                self.status = *status;
                self.link = Link::Connected;
                for line in lines {
                    self.log.push_front(line);
                }
                self.log.truncate(KEPT);
            }
            Told::Notice(notice) => {
                self.told += 1;
                self.notices.push_front((self.told, *notice));
                self.notices.truncate(KEPT);
            }
            Told::Lost(why) => self.link.lose(why, now),
        }
    }

    /// What has happened: the events since this program began, and the end of the log.
    pub(crate) fn history(&self, filter: &str) -> [Section<'static>; 2] {
        let mut events = Table::new(["AT", "KIND", "WHAT"]);
        for (_, notice) in &self.notices {
            let (kind, colour) = (format!("{:?}", notice.kind), tables::notice_colour(notice.kind));
            let message = notice.message.clone().into();
            events.row([time(notice.at.0).into(), Cell::styled(kind, colour), message]);
        }
        let mut log = Table::new(["AT", "NUMBER", "WHAT"]);
        for line in &self.log {
            log.row([time(line.at.0).into(), line.number.to_string().into(), line.to_string().into()]);
        }
        let notices = self.notices.iter().map(|(number, _)| Item::Notice(*number));
        let lines = self.log.iter().map(|line| Item::Line(line.number));
        [
            Section::of("events", &["AT", "WHAT", "KIND"], events, notices, filter),
            Section::of("log", &["AT", "WHAT", "NUMBER"], log, lines, filter),
        ]
    }
}

/// What a gate shows: what waits, who holds, what is not settled and what was released; then other things; and the parts of
/// its agent, which are many and mostly well.
pub(crate) fn sections<const N: usize>(
    gate: &NodeGateStatus,
    between: [Section<'static>; N],
    now: Timestamp,
    filter: &str,
) -> Vec<Section<'static>> {
    let waiting = Section::of(
        "waiting",
        &["NAMESPACE", "NAME", "CHANGE", "HELD BY", "AGE", "WORKLOAD", "REVISION"],
        tables::changes(&gate.held, false, now),
        gate.held.iter().map(of_change),
        filter,
    );
    let holds = Section::of(
        "holds",
        &["ID", "HOLDER", "ENDS", "REASON", "COVERS", "AGE"],
        tables::holds(&gate.holds, false, now),
        gate.holds.iter().map(|hold| Item::Hold(hold.id.clone())),
        filter,
    );
    let unsettled = Section::of(
        "not settled",
        &["OBJECT", "WHAT IS MISSING", "SINCE", "REASON"],
        tables::blockers(&gate.blockers, now),
        gate.blockers.iter().map(|blocker| Item::Blocker(of_blocker(blocker))),
        filter,
    );
    let released = Section::of(
        "released",
        &["WORKLOAD", "AGE", "BY", "REVISION"],
        tables::grants(&gate.grants, now),
        gate.grants.iter().map(|grant| Item::Grant(words::workload(&grant.workload))),
        filter,
    );
    let mut parts = gate.modules.clone();
    parts.sort_by_key(|module| tables::is_well(module.state));
    let modules = Section::of(
        "modules",
        &["NAME", "STATE", "RESTARTS", "MESSAGE", "LAST FAILURE"],
        tables::modules(&parts, now),
        parts.iter().map(|module| Item::Module(module.name.clone())),
        filter,
    );
    [waiting, holds, unsettled, released].into_iter().chain(between).chain([modules]).collect()
}

pub(crate) fn of_change(held: &HeldChange) -> Item {
    let HeldChange { kind, namespace, name, change, .. } = held.clone();
    Item::Change { kind, namespace, name, change }
}

pub(crate) fn of_blocker(blocker: &Blocker) -> String {
    let object = blocker.object.as_ref().map(|it| format!("{}/{}", it.kind, it.name));
    format!("{} {}", blocker.reason, object.unwrap_or_default())
}

/// `08:00:00Z`. The day is in the details.
fn time(at: Timestamp) -> String {
    at.strftime("%H:%M:%SZ").to_string()
}

/// What stands above the sections.
pub(crate) fn header(
    name: &str,
    gate: &NodeGateStatus,
    about: Vec<String>,
    now: Timestamp,
) -> Vec<(String, Style)> {
    let (state, colour) = tables::state(gate, now);
    let held = usize::try_from(gate.held_count).unwrap_or(0);
    let mut about = about;
    about.push(format!("{} held", words::count(held, "change")));
    let troubled = gate.modules.iter().filter(|module| !tables::is_well(module.state)).count();
    let mut colours = style::PLAIN;
    if troubled > 0 {
        about.push(format!("{} in trouble", words::count(troubled, "module")));
        colours = style::WAITS;
    }
    about.extend(gate.agent_version.as_ref().map(|version| format!("agent {version}")));
    let mut lines = vec![(format!("{name} · {state}"), colour), (about.join(" · "), colours)];
    if gate.held_truncated {
        let more = "there are more changes than the cluster shows: ask on the node itself";
        lines.push((more.to_owned(), style::WAITS));
    }
    lines
}

/// How the way from the node to its cluster is.
pub(crate) fn uplink(status: &NodeStatus, now: Timestamp) -> String {
    match (&status.uplink.connected, &status.uplink.since) {
        (true, _) => "cluster connected".to_owned(),
        (false, Some(since)) => format!("cluster not reachable for {}", age::at(since, now)),
        (false, None) => "cluster not reachable".to_owned(),
    }
}
