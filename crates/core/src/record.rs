//! What of the gate is durable, as rows that the journal writes in one transaction before any effect is visible.
//!
//! A step returns the rows that it changed, so the cost of a write is the cost of the change. Everything that is not a
//! row here (health, safety signals, who waits for an answer) is unknown after a restart and reported anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::freeze::{Phase, Thaw};
use crate::grant::{Grant, Replacement};
use crate::hold::{Hold, Holder};
use crate::object::{Key, Needs, Slot};
use crate::text::{HoldId, OrderId, Revision, Text, Uid};
use crate::time::{Clock, Stamp};
use crate::workload::Workload;

/// One durable row; `None` removes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Record {
    /// The node's own row.
    Node(Box<NodeRow>),
    /// One object.
    Slot(Key, Option<Slot>),
    /// One hold.
    Hold(HoldId, Option<Hold>),
    /// One open release.
    Grant(Workload, Option<Grant>),
    /// One replacement under way.
    Replacement(Workload, Option<Replacement>),
    /// A uid that must never start, by the order in which they were buried.
    Buried(u64, Option<Uid>),
    /// A workload that has been installed here, so that what comes next is an upgrade; by order.
    Installed(u64, Option<Installed>),
    /// A line of the audit log. It is only ever added.
    Audit(AuditLine),
}

/// What there is once per node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NodeRow {
    /// The gate's clock at the time of the write.
    pub clock: Clock,
    /// The freeze, if there is one.
    pub phase: Option<Phase>,
    /// The thaw, if one is under way.
    pub thaw: Option<Thaw>,
    /// The last number given to a hold, a release or a burial.
    pub order: u64,
    /// The newest orders that were decided.
    pub decided: Vec<OrderId>,
    /// Whether the gate does not know what runs, because an earlier record could not be read.
    pub sealed: bool,
    /// What the machine has for pods, as a door last said.
    #[serde(default)]
    pub room: Needs,
}

/// What was installed first of a workload.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Installed {
    /// The workload.
    pub workload: Workload,
    /// Its first revision, for as long as no other has followed: more pods of it belong to the first install.
    pub first: Option<Revision>,
}

/// Who decided what, when and why.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AuditLine {
    /// When.
    pub at: Stamp,
    /// On whose word; none when the gate acted on its own record.
    pub by: Option<Holder>,
    /// What was decided, in words.
    pub what: Text,
    /// Why, in the caller's words.
    pub why: Option<Text>,
}

/// All rows of a gate, as a journal would read them back.
///
/// Audit lines are not state and are not kept here.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Records {
    /// The node's row; none before the first write.
    pub node: Option<NodeRow>,
    /// Objects.
    pub slots: BTreeMap<Key, Slot>,
    /// Holds.
    pub holds: BTreeMap<HoldId, Hold>,
    /// Open releases.
    pub grants: BTreeMap<Workload, Grant>,
    /// Replacements under way.
    pub replacements: BTreeMap<Workload, Replacement>,
    /// Uids that must never start.
    pub buried: BTreeMap<u64, Uid>,
    /// Workloads that have been installed.
    pub installed: BTreeMap<u64, Installed>,
}

// === impl Records ===

impl Records {
    /// Applies one row.
    pub fn put(&mut self, record: Record) {
        fn set<K: Ord, V>(rows: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
            match value {
                Some(value) => drop(rows.insert(key, value)),
                None => drop(rows.remove(&key)),
            }
        }
        match record {
            Record::Node(row) => self.node = Some(*row),
            Record::Slot(key, slot) => set(&mut self.slots, key, slot),
            Record::Hold(id, hold) => set(&mut self.holds, id, hold),
            Record::Grant(workload, grant) => set(&mut self.grants, workload, grant),
            Record::Replacement(workload, replacement) => set(&mut self.replacements, workload, replacement),
            Record::Buried(order, uid) => set(&mut self.buried, order, uid),
            Record::Installed(order, workload) => set(&mut self.installed, order, workload),
            Record::Audit(_) => {}
        }
    }
}

/// A map as a list of pairs: in most formats the key of a map has to be a text.
pub(crate) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}
