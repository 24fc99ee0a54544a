//! The tables of what the agent shows, the same whether it was asked or the cluster was.

use anstyle::Style;
use jiff::Timestamp;
use safepoint_api::local::{Blocker, LogLine, Notice, NoticeKind, Uplink};
use safepoint_api::node_gate::{
    GateState, Grant, HeldChange, Hold, ModuleState, ModuleStatus, NodeGateStatus, Origin,
};

use super::table::{Cell, Table};
use super::{age, style, words};

/// Everything about a node on one page.
pub(crate) struct Page<'a> {
    pub(crate) node: &'a str,
    /// Not known through the cluster: whoever reads this there has reached it.
    pub(crate) uplink: Option<&'a Uplink>,
    pub(crate) pods: Option<i32>,
    pub(crate) gate: &'a NodeGateStatus,
}

/// A node on one page: first what is true, then who holds, then what waits.
pub(crate) fn page(page: &Page<'_>, wide: bool) -> String {
    let (gate, now) = (page.gate, age::now());
    let mut text = String::new();
    let mut line = |name: &str, value: &str, style: Style| {
        let value = words::clean(value);
        text.push_str(&format!("{}{name:<8}{:#} {style}{value}{style:#}\n", style::HEADING, style::HEADING));
    };
    line("Node", page.node, style::PLAIN);
    let (state, colour) = state(gate, now);
    line("State", &state, colour);
    match page.uplink {
        None => {}
        Some(uplink) if uplink.connected => line("Cluster", "connected", style::GOOD),
        Some(uplink) => {
            let since =
                uplink.since.as_ref().map_or_else(String::new, |at| format!(" for {}", age::at(at, now)));
            let why = uplink.message.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            line("Cluster", &format!("not reachable{since}{why}"), style::WAITS);
        }
    }
    if let Some(pods) = page.pods {
        line("Pods", &format!("{pods} admitted"), style::PLAIN);
    }
    let held = usize::try_from(gate.held_count).unwrap_or(0);
    let colour = if held == 0 { style::PLAIN } else { style::WAITS };
    line("Held", &words::count(held, "change"), colour);
    if let Some(version) = gate.agent_version.as_ref().filter(|_| wide) {
        line("Agent", version, style::PLAIN);
    }
    let troubled: Vec<ModuleStatus> =
        gate.modules.iter().filter(|module| wide || !is_well(module.state)).cloned().collect();
    let parts = [
        ("Holds", &gate.holds.is_empty(), holds(&gate.holds, wide, now)),
        ("Not settled", &gate.blockers.is_empty(), blockers(&gate.blockers, now)),
        ("Waiting", &gate.held.is_empty(), changes(&gate.held, wide, now)),
        ("Released", &gate.grants.is_empty(), grants(&gate.grants, now)),
        ("Modules", &troubled.is_empty(), modules(&troubled, now)),
    ];
    for (name, is_empty, table) in parts {
        if !is_empty {
            text.push_str(&format!("\n{}{name}{:#}\n{}", style::HEADING, style::HEADING, table.text()));
        }
    }
    if gate.held_truncated {
        text.push_str("There are more changes than the cluster shows: ask on the node itself.\n");
    }
    text
}

/// What a gate does, since when, for whom and why.
pub(crate) fn state(gate: &NodeGateStatus, now: Timestamp) -> (String, Style) {
    let (word, colour) = match gate.state {
        None => return ("not known: the agent has not reported".to_owned(), style::ALARM),
        Some(GateState::Open) => ("Open", style::GOOD),
        Some(GateState::Freezing) => ("Freezing", style::WAITS),
        Some(GateState::Frozen) => ("Frozen", style::WAITS),
        Some(GateState::Thawing) => ("Thawing", style::WAITS),
    };
    let mut text = word.to_owned();
    if let Some(since) = &gate.since {
        text = format!("{text} for {}", age::at(since, now));
    }
    if let Some(holder) = &gate.holder {
        // A hold on the whole node keeps everything back without being a freeze.
        let held = if gate.state == Some(GateState::Open) { "held by" } else { "by" };
        text = format!("{text}, {held} {holder}");
    }
    if let Some(reason) = &gate.reason {
        text = format!("{text}: {reason}");
    }
    match gate.orphaned {
        true => (format!("{text} (ORPHANED: nobody renews it, somebody must look)"), style::ALARM),
        false if gate.holder.is_some() => (text, style::WAITS),
        false => (text, colour),
    }
}

pub(crate) fn holds(holds: &[Hold], wide: bool, now: Timestamp) -> Table {
    let mut table = Table::new(
        ["ID", "HOLDER", "COVERS", "AGE", "ENDS", "REASON"].into_iter().chain(wide.then_some("FROM")),
    );
    for hold in holds {
        let colour =
            if hold.orphaned || hold.suspended_until.is_some() { style::ALARM } else { style::PLAIN };
        let from = match hold.origin {
            Origin::Local => "this machine",
            Origin::Remote => "the cluster",
        };
        table.row([
            hold.id.clone().into(),
            hold.holder.clone().into(),
            words::scope(&hold.scope).into(),
            age::at(&hold.since, now).into(),
            Cell::styled(words::ends(hold, now), colour),
            hold.reason.clone().into(),
            from.into(),
        ]);
    }
    table
}

pub(crate) fn changes(changes: &[HeldChange], wide: bool, now: Timestamp) -> Table {
    let heading = ["NAMESPACE", "NAME", "CHANGE", "WORKLOAD", "REVISION", "HELD BY", "AGE"];
    let mut table = Table::new(heading.into_iter().chain(wide.then_some("WHY")));
    for held in changes {
        let kind = if held.kind == "Pod" { String::new() } else { format!("{}/", held.kind.to_lowercase()) };
        table.row([
            held.namespace.clone().into(),
            format!("{kind}{}", held.name).into(),
            words::change(held.change).into(),
            held.workload.as_ref().map(words::workload).unwrap_or_default().into(),
            words::revisions(held, wide).into(),
            held.held_by.join(",").into(),
            age::at(&held.since, now).into(),
            held.why.clone().into(),
        ]);
    }
    table
}

pub(crate) fn blockers(blockers: &[Blocker], now: Timestamp) -> Table {
    let mut table = Table::new(["OBJECT", "REASON", "SINCE", "WHAT IS MISSING"]);
    for blocker in blockers {
        let object = blocker.object.as_ref().map(|object| {
            let namespace = object.namespace.as_ref().map_or_else(String::new, |space| format!("{space}/"));
            format!("{} {namespace}{}", object.kind.to_lowercase(), object.name)
        });
        table.row([
            object.unwrap_or_default().into(),
            blocker.reason.clone().into(),
            blocker.since.as_ref().map(|since| age::at(since, now)).unwrap_or_default().into(),
            blocker.message.clone().into(),
        ]);
    }
    table
}

pub(crate) fn grants(grants: &[Grant], now: Timestamp) -> Table {
    let mut table = Table::new(["WORKLOAD", "REVISION", "AGE", "BY"]);
    for grant in grants {
        table.row([
            words::workload(&grant.workload).into(),
            grant.revision.clone().unwrap_or_default().into(),
            age::at(&grant.since, now).into(),
            grant.by.clone().into(),
        ]);
    }
    table
}

/// Whether nobody has to look at it.
pub(crate) const fn is_well(state: ModuleState) -> bool {
    matches!(state, ModuleState::Ready | ModuleState::Completed)
}

pub(crate) fn modules(modules: &[ModuleStatus], now: Timestamp) -> Table {
    let mut table = Table::new(["NAME", "STATE", "RESTARTS", "LAST FAILURE", "MESSAGE"]);
    for module in modules {
        let colour = match module.state {
            ModuleState::Ready | ModuleState::Completed => style::GOOD,
            ModuleState::Failed | ModuleState::Backoff => style::ALARM,
            _ => style::WAITS,
        };
        let failure = module.last_failure.as_ref();
        let failed = failure.map(|failure| format!("{} ago: {}", age::at(&failure.at, now), failure.message));
        table.row([
            module.name.clone().into(),
            Cell::styled(format!("{:?}", module.state), colour),
            module.restarts.to_string().into(),
            failed.unwrap_or_default().into(),
            module.message.clone().unwrap_or_default().into(),
        ]);
    }
    table
}

/// A line of the audit log.
pub(crate) fn log_line(line: &LogLine, wide: bool) -> String {
    let hash = if wide { format!("  {}", line.hash) } else { String::new() };
    let said = words::clean(&format!("{line}{hash}"));
    let quiet = style::QUIET;
    format!("{quiet}{:>5}  {}{quiet:#}  {said}", line.number, line.at.0)
}

/// Something that happened.
pub(crate) fn notice(notice: &Notice) -> String {
    let colour = notice_colour(notice.kind);
    let (quiet, kind, said) = (style::QUIET, format!("{:?}", notice.kind), words::clean(&notice.message));
    format!("{quiet}{}{quiet:#}  {colour}{kind:<13}{colour:#} {said}", notice.at.0)
}

pub(crate) const fn notice_colour(kind: NoticeKind) -> Style {
    match kind {
        NoticeKind::Alarm => style::ALARM,
        NoticeKind::Held | NoticeKind::Mode => style::WAITS,
        NoticeKind::Admitted | NoticeKind::NoLongerHeld | NoticeKind::ReleaseClosed => style::GOOD,
        NoticeKind::Uplink | NoticeKind::Module => style::PLAIN,
    }
}
