//! The fleet as one looks at it: how each node stands, which of them are asked for, and how they are grouped.

use std::collections::BTreeMap;

use safepoint_api::WorkloadRef;
use safepoint_api::node_gate::GateState;
use serde::Deserialize;

use crate::known::{Machine, World};

/// Rows on one page.
pub(crate) const PAGE: usize = 50;
/// Groups that are shown; whoever groups by a label that every node has a value of its own for sees no more.
pub(crate) const GROUPS: usize = 100;

/// How a node stands, in the order in which people should hear of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Standing {
    /// Held by a hold that has outlived its holder or its lease.
    Orphaned,
    /// Not ready: nobody knows what its gate does now.
    Offline,
    Freezing,
    Frozen,
    Thawing,
    /// No freeze, and something waits or somebody holds everything.
    Held,
    /// No agent has said how it is.
    Unknown,
    Open,
    /// A node of the cluster without an agent: nothing is held there.
    NoAgent,
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    /// A part of a node's name, or a label as `key=value`.
    pub(crate) q: String,
    /// Only nodes that stand so.
    pub(crate) standing: String,
    /// Only nodes with held changes.
    pub(crate) held: String,
    /// The key of the label to group by.
    pub(crate) group: String,
    /// Which page, from one.
    pub(crate) page: usize,
}

/// One page of nodes, and what there is of all of them.
#[derive(Default, Debug)]
pub(crate) struct Fleet {
    pub(crate) counts: BTreeMap<Standing, usize>,
    /// Of the whole fleet.
    pub(crate) nodes: usize,
    pub(crate) nodes_holding: usize,
    pub(crate) held_changes: i64,
    /// How many nodes are asked for.
    pub(crate) found: usize,
    pub(crate) page: usize,
    pub(crate) pages: usize,
    pub(crate) rows: Vec<(String, Standing, Machine)>,
    /// By the value of a label, with the number of groups that are not shown.
    pub(crate) groups: Option<(Vec<(String, Group)>, usize)>,
}

/// Nodes with one value of a label.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Group {
    pub(crate) nodes: usize,
    pub(crate) counts: BTreeMap<Standing, usize>,
    pub(crate) held_changes: i64,
}

/// A workload of which something is held, and where.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct HeldWorkload {
    pub(crate) nodes: usize,
    pub(crate) changes: usize,
}

// === impl Standing ===

impl Standing {
    pub(crate) const ALL: [Self; 9] = [
        Self::Orphaned,
        Self::Offline,
        Self::Freezing,
        Self::Frozen,
        Self::Thawing,
        Self::Held,
        Self::Unknown,
        Self::Open,
        Self::NoAgent,
    ];

    /// How a node stands, as `safepoint top` has it. Whoever may not see Nodes does not learn whether it is ready.
    pub(crate) fn of(machine: &Machine, sees_nodes: bool) -> Self {
        let ready = machine.node.as_ref().is_none_or(|node| node.ready);
        match &machine.gate {
            Some(gate) if gate.orphaned => Self::Orphaned,
            _ if sees_nodes && !ready => Self::Offline,
            None => Self::NoAgent,
            Some(gate) => match gate.state {
                None => Self::Unknown,
                Some(GateState::Freezing) => Self::Freezing,
                Some(GateState::Frozen) => Self::Frozen,
                Some(GateState::Thawing) => Self::Thawing,
                Some(GateState::Open) if gate.held_count > 0 || gate.holder.is_some() => Self::Held,
                Some(GateState::Open) => Self::Open,
            },
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Orphaned => "orphaned",
            Self::Offline => "offline",
            Self::Freezing => "freezing",
            Self::Frozen => "frozen",
            Self::Thawing => "thawing",
            Self::Held => "held",
            Self::Unknown => "unknown",
            Self::Open => "open",
            Self::NoAgent => "no agent",
        }
    }

    /// The same where there may be no space: in an address, and for the style.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::NoAgent => "no-agent",
            other => other.word(),
        }
    }

    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Orphaned => "a hold has outlived its holder or its lease; somebody must look",
            Self::Offline => "the node is not ready; what its gate does now is not known",
            Self::Freezing => "nothing new is let through, what is under way may finish",
            Self::Frozen => "everything has settled, and nothing changes",
            Self::Thawing => "what was missed is being applied, the newest only",
            Self::Held => "no freeze, but something waits here, or somebody holds everything",
            Self::Unknown => "no agent has said how this node is",
            Self::Open => "no freeze, and nothing waits",
            Self::NoAgent => "a node without an agent: nothing is held here",
        }
    }
}

// === impl Query ===

impl Query {
    fn asks_for(&self, name: &str, standing: Standing, machine: &Machine, sees_nodes: bool) -> bool {
        let text = self.q.trim();
        let matches = match text.split_once('=') {
            Some((key, value)) if sees_nodes => {
                let label = machine.node.as_ref().and_then(|node| node.labels.get(key.trim()));
                label.is_some_and(|label| label == value.trim())
            }
            Some(_) => false,
            None => name.contains(&text.to_lowercase()),
        };
        let standing = self.standing.is_empty() || self.standing == standing.key();
        let held = self.held.is_empty() || machine.gate.as_ref().is_some_and(|gate| gate.held_count > 0);
        matches && standing && held
    }
}

// === impl Fleet ===

impl Fleet {
    /// What a person sees who asks for this.
    pub(crate) fn of(world: &World, query: &Query, sees_nodes: bool) -> Self {
        let mut fleet = Self { nodes: world.nodes.len(), ..Self::default() };
        let mut found = Vec::new();
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let key = query.group.trim();
        for (name, machine) in &world.nodes {
            let standing = Standing::of(machine, sees_nodes);
            *fleet.counts.entry(standing).or_default() += 1;
            let held = machine.gate.as_ref().map_or(0, |gate| i64::from(gate.held_count));
            fleet.held_changes += held;
            fleet.nodes_holding += usize::from(held > 0);
            if !query.asks_for(name, standing, machine, sees_nodes) {
                continue;
            }
            found.push((standing, name));
            if !key.is_empty() && sees_nodes {
                let value = machine.node.as_ref().and_then(|node| node.labels.get(key));
                let group = groups.entry(value.cloned().unwrap_or_default()).or_default();
                group.nodes += 1;
                group.held_changes += held;
                *group.counts.entry(standing).or_default() += 1;
            }
        }
        found.sort_unstable();
        fleet.found = found.len();
        fleet.pages = found.len().div_ceil(PAGE).max(1);
        fleet.page = query.page.clamp(1, fleet.pages);
        let rows = found.iter().skip((fleet.page - 1) * PAGE).take(PAGE);
        fleet.rows = rows
            .map(|(standing, name)| {
                let mut machine = world.nodes[*name].clone();
                if !sees_nodes {
                    machine.node = None;
                }
                ((*name).clone(), *standing, machine)
            })
            .collect();
        if !key.is_empty() && sees_nodes {
            let more = groups.len().saturating_sub(GROUPS);
            fleet.groups = Some((groups.into_iter().take(GROUPS).collect(), more));
        }
        fleet
    }
}

/// The workloads of which something is held, those that are held on most nodes first.
pub(crate) fn held_workloads(world: &World) -> Vec<(WorkloadRef, HeldWorkload)> {
    let mut all: BTreeMap<&WorkloadRef, (HeldWorkload, &str)> = BTreeMap::new();
    for (node, machine) in &world.nodes {
        for workload in
            machine.gate.iter().flat_map(|gate| &gate.held).filter_map(|held| held.workload.as_ref())
        {
            let (held, last) = all.entry(workload).or_default();
            held.changes += 1;
            if *last != node.as_str() {
                (held.nodes, *last) = (held.nodes + 1, node);
            }
        }
    }
    let mut all: Vec<_> = all.into_iter().map(|(workload, (held, _))| (workload.clone(), held)).collect();
    all.sort_by(|(a, one), (b, other)| other.nodes.cmp(&one.nodes).then_with(|| a.cmp(b)));
    all
}

#[cfg(test)]
mod tests;
