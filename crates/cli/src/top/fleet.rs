//! The fleet: every node, how it stands, and the order in which they are shown. Pure.
//!
//! The order is made anew when something has changed, once before the screen is drawn; a row is made when it is looked at.

use std::cmp::Reverse;
use std::sync::Arc;

use anstyle::Style;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::StaticPod;
use safepoint_api::node_gate::{GateState, NodeGateStatus};

use super::known::{Known, Link, Sighting};
use super::list::{self, Item, Row, Rows, Section};
use super::{roll_out, text};
use crate::show::table::Cell;
use crate::show::{age, style, words};

/// Whether the cluster hears of a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Presence {
    Ready,
    Away { since: Option<Time> },
}

/// Something that the cluster has told.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Gate(Sighting<Box<NodeGateStatus>>),
    Node(Sighting<Presence>),
    RollOut(Sighting<Box<StaticPod>>),
}

/// How a node stands, what needs a person first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Standing {
    Orphaned,
    Offline,
    Freezing,
    Frozen,
    Thawing,
    /// Open, and something waits or somebody holds everything.
    Held,
    /// Its agent has not said how it is.
    Unknown,
    Open,
    /// A node of the cluster without an agent: nothing is held there.
    NoAgent,
}

/// In which order nodes are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Sort {
    #[default]
    Trouble,
    Name,
    Held,
    Longest,
}

/// What is known of the nodes of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fleet {
    pub(crate) gates: Known<Box<NodeGateStatus>>,
    pub(crate) nodes: Known<Presence>,
    pub(crate) roll_outs: Known<Box<StaticPod>>,
    pub(crate) sort: Sort,
    order: Vec<Arc<str>>,
    widest: Vec<usize>,
    /// How many stand how, and how many changes are held.
    counts: Vec<(Standing, usize)>,
    held: usize,
    #[cfg(test)]
    made: std::cell::Cell<usize>,
}

const COLUMNS: [&str; 6] = ["NODE", "STATE", "HELD", "SINCE", "HOLDER", "REASON"];
const NEEDED: &[&str] = &["NODE", "STATE", "HELD", "HOLDER", "REASON", "SINCE"];

// === impl Standing ===

impl Standing {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Orphaned => "Orphaned",
            Self::Offline => "Offline",
            Self::Freezing => "Freezing",
            Self::Frozen => "Frozen",
            Self::Thawing => "Thawing",
            Self::Held => "Held",
            Self::Unknown => "Unknown",
            Self::Open => "Open",
            Self::NoAgent => "No agent",
        }
    }

    const fn colour(self) -> Style {
        match self {
            Self::Orphaned | Self::Offline => style::ALARM,
            Self::Freezing | Self::Frozen | Self::Thawing | Self::Held | Self::Unknown => style::WAITS,
            Self::Open => style::GOOD,
            Self::NoAgent => style::QUIET,
        }
    }
}

/// What is true of a node, by what its agent said last and by whether the cluster hears of it.
pub(crate) fn standing(gate: Option<&NodeGateStatus>, presence: Option<&Presence>) -> Standing {
    match (gate, presence) {
        (Some(gate), _) if gate.orphaned => Standing::Orphaned,
        (_, Some(Presence::Away { .. })) => Standing::Offline,
        (None, _) => Standing::NoAgent,
        (Some(gate), _) => match gate.state {
            None => Standing::Unknown,
            Some(GateState::Freezing) => Standing::Freezing,
            Some(GateState::Frozen) => Standing::Frozen,
            Some(GateState::Thawing) => Standing::Thawing,
            Some(GateState::Open) if gate.held_count > 0 || gate.holder.is_some() => Standing::Held,
            Some(GateState::Open) => Standing::Open,
        },
    }
}

// === impl Sort ===

impl Sort {
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Trouble => Self::Name,
            Self::Name => Self::Held,
            Self::Held => Self::Longest,
            Self::Longest => Self::Trouble,
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Trouble => "trouble first",
            Self::Name => "by name",
            Self::Held => "most held first",
            Self::Longest => "longest first",
        }
    }
}

// === impl Fleet ===

impl Fleet {
    pub(crate) fn take(&mut self, told: Told, now: Timestamp) {
        match told {
            Told::Gate(sighting) => self.gates.take(sighting, now),
            Told::Node(sighting) => self.nodes.take(sighting, now),
            Told::RollOut(sighting) => self.roll_outs.take(sighting, now),
        }
    }

    pub(crate) fn gate(&self, node: &str) -> Option<&NodeGateStatus> {
        self.gates.all.get(node).map(|gate| &**gate)
    }

    pub(crate) fn standing(&self, node: &str) -> Standing {
        match standing(self.gate(node), self.nodes.all.get(node)) {
            // Not every gate has been told of yet.
            Standing::NoAgent if self.gates.link == Link::Connecting => Standing::Unknown,
            standing => standing,
        }
    }

    /// What is not connected, or not yet: the first of the three.
    pub(crate) fn link(&self) -> &Link {
        let all = [&self.gates.link, &self.nodes.link, &self.roll_outs.link];
        let lost = all.into_iter().find(|link| link.is_lost());
        lost.or_else(|| all.into_iter().find(|link| **link == Link::Connecting)).unwrap_or(&Link::Connected)
    }

    fn since(&self, node: &str) -> Option<&Time> {
        match self.nodes.all.get(node) {
            Some(Presence::Away { since }) => since.as_ref(),
            Some(Presence::Ready) | None => self.gate(node).and_then(|gate| gate.since.as_ref()),
        }
    }

    /// Puts the nodes in order, as far as they have these words in them, and counts.
    pub(crate) fn arrange(&mut self, filter: &str) {
        let mut all: Vec<Arc<str>> = self.gates.all.keys().cloned().collect();
        all.extend(self.nodes.all.keys().filter(|name| !self.gates.all.contains_key(*name)).cloned());
        let mut counts: Vec<(Standing, usize)> = Vec::new();
        for name in &all {
            let standing = self.standing(name);
            match counts.iter_mut().find(|(it, _)| *it == standing) {
                Some((_, count)) => *count += 1,
                None => counts.push((standing, 1)),
            }
        }
        counts.sort_unstable();
        let held = self.gates.all.values().map(|gate| usize::try_from(gate.held_count).unwrap_or(0)).sum();
        if !filter.trim().is_empty() {
            all.retain(|name| list::has(self.texts(name).into_iter(), filter));
        }
        let number = |name: &Arc<str>| self.gate(name).map_or(0, |gate| gate.held_count);
        match self.sort {
            Sort::Trouble => {
                all.sort_by_cached_key(|name| (self.standing(name), Reverse(number(name)), Arc::clone(name)));
            }
            Sort::Name => all.sort_unstable(),
            Sort::Held => all.sort_by_cached_key(|name| (Reverse(number(name)), Arc::clone(name))),
            Sort::Longest => {
                // Who has never said since when comes last.
                let since = |name: &Arc<str>| self.since(name).map_or(Timestamp::MAX, |since| since.0);
                all.sort_by_cached_key(|name| (since(name), Arc::clone(name)));
            }
        }
        let name = all.iter().map(|name| text::width(name)).max().unwrap_or(0);
        let of = |of: fn(&NodeGateStatus) -> &Option<String>| {
            all.iter().filter_map(|name| of(self.gate(name)?).as_deref()).map(text::width).max().unwrap_or(1)
        };
        self.widest = vec![name, 8, 4, 5, of(|gate| &gate.holder), of(|gate| &gate.reason)];
        (self.order, self.counts, self.held) = (all, counts, held);
    }

    /// How often a row was made.
    #[cfg(test)]
    pub(crate) fn rows_made(&self) -> usize {
        self.made.get()
    }

    /// What can be searched for.
    fn texts(&self, name: &str) -> Vec<String> {
        let mut texts = vec![name.to_owned(), self.standing(name).word().to_owned()];
        if let Some(gate) = self.gate(name) {
            texts.extend([&gate.holder, &gate.reason].into_iter().flatten().cloned());
        }
        texts
    }

    fn row(&self, index: usize, now: Timestamp) -> Row {
        #[cfg(test)]
        self.made.set(self.made.get() + 1);
        let name = &self.order[index];
        let (gate, standing) = (self.gate(name), self.standing(name));
        let held = gate.map_or(0, |gate| gate.held_count);
        let waits = if held > 0 { style::WAITS } else { style::PLAIN };
        let text = |of: Option<&String>| of.cloned().unwrap_or_default();
        let cells = vec![
            Cell::from(name.to_string()),
            Cell::styled(standing.word(), standing.colour()),
            Cell::styled(held.to_string(), waits),
            self.since(name).map(|since| age::at(since, now)).unwrap_or_default().into(),
            text(gate.and_then(|gate| gate.holder.as_ref())).into(),
            text(gate.and_then(|gate| gate.reason.as_ref())).into(),
        ];
        Row { item: Item::Machine(Arc::clone(name)), cells }
    }

    /// The sections of the page: roll-outs, those under way first, then the nodes.
    pub(crate) fn sections(&self, now: Timestamp, filter: &str) -> Vec<Section<'_>> {
        let roll_outs = roll_out::section(&self.roll_outs.all, filter);
        let nodes = Section {
            title: format!("NODES {}", text::grouped(self.order.len())),
            columns: COLUMNS.to_vec(),
            needed: NEEDED,
            widest: self.widest.clone(),
            rows: Rows::Asked {
                count: self.order.len(),
                item: Box::new(|index| Item::Machine(Arc::clone(&self.order[index]))),
                row: Box::new(move |index| self.row(index, now)),
            },
        };
        vec![roll_outs, nodes]
    }

    /// What stands above them.
    pub(crate) fn header(&self) -> Vec<(String, Style)> {
        let all: usize = self.counts.iter().map(|(_, count)| count).sum();
        let each = self
            .counts
            .iter()
            .map(|(standing, count)| format!("{} {}", text::grouped(*count), standing.word().to_lowercase()));
        let each = each.collect::<Vec<_>>().join(", ");
        let worst = self.counts.first().map_or(style::PLAIN, |(standing, _)| standing.colour());
        let sum = if each.is_empty() { String::new() } else { format!(": {each}") };
        let going = self.roll_outs.all.values().filter(|it| roll_out::is_under_way(it)).count();
        let held = format!(
            "{} held · {} in progress · {}",
            words::count(self.held, "change"),
            words::count(going, "roll-out"),
            self.sort.words()
        );
        let nodes = if all == 1 { "node" } else { "nodes" };
        vec![(format!("{} {nodes}{sum}", text::grouped(all)), worst), (held, style::PLAIN)]
    }
}
