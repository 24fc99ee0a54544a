//! Roll-outs of static pods, as rows with a bar and as a page of nodes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use anstyle::Style;
use jiff::Timestamp;
use safepoint_api::StaticPod;
use safepoint_api::names::openyurt::static_pod_condition::{SUCCESS, UPGRADING};
use safepoint_api::static_pod::{NodeUpgradeState, StaticPodStatus};

use super::list::{Item, Section};
use super::text;
use crate::show::table::{Cell, Table};
use crate::show::{age, style};

/// The columns of a bar.
const BAR: usize = 16;

fn is(status: &StaticPodStatus, kind: &str) -> bool {
    status.conditions.iter().any(|it| it.type_ == kind && it.status == "True")
}

/// Whether nodes are still to be upgraded.
pub(crate) fn is_under_way(object: &StaticPod) -> bool {
    object.status.as_ref().is_some_and(|status| is(status, UPGRADING))
}

/// How a roll-out stands, in the hub's word, which is the reason of all its conditions.
pub(crate) fn word(object: &StaticPod) -> (String, Style) {
    let Some(status) = object.status.as_ref().filter(|status| !status.conditions.is_empty()) else {
        return ("Unseen".to_owned(), style::QUIET);
    };
    let colour = match () {
        () if is(status, UPGRADING) => style::WAITS,
        () if is(status, SUCCESS) => style::GOOD,
        () => style::ALARM,
    };
    (status.conditions[0].reason.clone(), colour)
}

/// How much of it is done: the bar, and the figures.
pub(crate) fn progress(status: &StaticPodStatus) -> (String, String) {
    let number = |it: i32| usize::try_from(it).unwrap_or(0);
    let (done, all) = (number(status.upgraded_number), number(status.desired_number));
    (text::bar(done, all, BAR), format!("{}/{}", text::grouped(done), text::grouped(all)))
}

/// Every roll-out, those under way first.
pub(crate) fn section(all: &BTreeMap<Arc<str>, Box<StaticPod>>, filter: &str) -> Section<'static> {
    let mut objects: Vec<_> = all.iter().collect();
    objects.sort_by_key(|(name, object)| (!is_under_way(object), Arc::clone(name)));
    let mut table = Table::new(["NAME", "PROGRESS", "NODES", "STATE", "DEFERRED", "FAILED"]);
    for (name, object) in &objects {
        let status = object.status.clone().unwrap_or_default();
        let (state, colour) = word(object);
        let (bar, figures) = progress(&status);
        let failed = if status.failed_number > 0 { style::ALARM } else { style::PLAIN };
        table.row([
            name.to_string().into(),
            Cell::styled(bar, colour),
            figures.into(),
            Cell::styled(state, colour),
            status.deferred_number.to_string().into(),
            Cell::styled(status.failed_number.to_string(), failed),
        ]);
    }
    let items = objects.into_iter().map(|(name, _)| Item::RollOut(Arc::clone(name)));
    Section::of(
        "roll-outs",
        &["NAME", "PROGRESS", "NODES", "STATE", "FAILED", "DEFERRED"],
        table,
        items,
        filter,
    )
}

/// What became of each node.
pub(crate) fn nodes(object: &StaticPod, now: Timestamp, filter: &str) -> Section<'static> {
    let mut table = Table::new(["NODE", "STATE", "REASON", "SINCE", "MESSAGE"]);
    let nodes = object.status.as_ref().map(|status| &*status.nodes).unwrap_or_default();
    for node in nodes {
        let colour = match node.state {
            NodeUpgradeState::Upgraded => style::GOOD,
            NodeUpgradeState::Failed => style::ALARM,
            NodeUpgradeState::Pending | NodeUpgradeState::Upgrading | NodeUpgradeState::Deferred => {
                style::WAITS
            }
        };
        table.row([
            node.node.clone().into(),
            Cell::styled(format!("{:?}", node.state), colour),
            node.reason.clone().unwrap_or_default().into(),
            node.since.as_ref().map(|since| age::at(since, now)).unwrap_or_default().into(),
            node.message.clone().unwrap_or_default().into(),
        ]);
    }
    let items = nodes.iter().map(|node| Item::Machine(node.node.as_str().into()));
    let needed = &["NODE", "STATE", "REASON", "MESSAGE", "SINCE"];
    Section::of("nodes", needed, table, items, filter)
}

/// What stands above them.
pub(crate) fn header(name: &str, object: &StaticPod) -> Vec<(String, Style)> {
    let status = object.status.clone().unwrap_or_default();
    let ((state, colour), (bar, figures)) = (word(object), progress(&status));
    let counts = format!(
        "{} ready · {} put off · {} failed · revision {}",
        status.ready_number,
        status.deferred_number,
        status.failed_number,
        status.update_revision.as_deref().unwrap_or("not seen by the hub yet"),
    );
    let mut lines = vec![(format!("{name} · {state} {bar} {figures}"), colour), (counts, style::PLAIN)];
    // The one that is true says how it stands; the others say what it is not.
    let told = status.conditions.iter().find(|it| it.status == "True" && !it.message.is_empty());
    lines.extend(told.map(|it| (it.message.clone(), style::PLAIN)));
    if status.nodes_truncated {
        lines.push((
            "the cluster does not show every node: those that are upgraded are left out first".to_owned(),
            style::QUIET,
        ));
    }
    lines
}
