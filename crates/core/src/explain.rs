//! Why is this held, by whom, since when, what would a release do, and what can end it.
//!
//! The answer is data. The sentence is rendered here and nowhere else, so that the CLI, the dashboard, a pod's condition
//! and the webhook say the same thing.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::freeze::{Blocker, Mode, blocker_of};
use crate::gate::{Cause, Gate, Verdict};
use crate::hold::{Hold, OnExpiry};
use crate::object::{ChangeKind, Key};
use crate::text::{HoldId, Revision};
use crate::time::{Age, Span, Stamp};
use crate::workload::Workload;

/// What is to be said about one object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Why {
    /// The gate has never heard of it.
    Unknown,
    /// What runs is what is wanted.
    Settled,
    /// What runs is what is wanted, as far as it may be, and it is not well or not there yet.
    Unsettled(Blocker),
    /// A change is held.
    Held(Box<Explanation>),
}

/// Why a change is held.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The object.
    pub key: Key,
    /// What the change would do.
    pub change: ChangeKind,
    /// Whether something else takes its place under the same name.
    pub replaced: bool,
    /// The revision that runs.
    pub from: Option<Revision>,
    /// The revision that is wanted.
    pub to: Option<Revision>,
    /// Since when it is held.
    pub since: Stamp,
    /// How long that is.
    pub for_long: Span,
    /// All causes, the decisive one first.
    pub causes: Vec<Cause>,
    /// The holds among the causes, with who and why; for a frozen node every freeze in force.
    pub holders: Vec<HeldByHolder>,
    /// What a release would do now.
    pub release: ReleaseWould,
    /// Everything that has to happen before the change passes.
    pub endings: Vec<Ending>,
}

/// A hold among the causes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldByHolder {
    /// Its name.
    pub id: HoldId,
    /// The hold itself.
    pub hold: Hold,
}

/// What a release of the object's workload would do now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ReleaseWould {
    /// Open a grant. It takes a release of each of these workloads (configuration may have several), and so many changes
    /// pass with them.
    Open {
        /// The workloads.
        workloads: Vec<Workload>,
        /// How many changes.
        changes: usize,
    },
    /// Be refused, because the node or a holder stands against it.
    BeRefused,
    /// Change nothing: what the change waits for is not a hold.
    ChangeNothing,
}

/// Something that can end a hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ending {
    /// Every freeze is ended; with a lease that ends by itself if it is safe, at this age.
    Thaw(Option<Age>),
    /// The node settles and the freeze is acknowledged, or the freeze is refused; then it is decided again.
    BarrierFalls,
    /// The cluster can be reached and has listed everything.
    Relist,
    /// The holder drops this hold; with a lease that ends by itself if it is safe, at this age.
    HolderDrops(HoldId, Option<Age>),
    /// Somebody releases this workload, or takes the annotation off.
    Release(Workload),
    /// What it replaces has ended.
    PredecessorEnds,
}

// === impl Gate ===

impl Gate {
    /// Explains what the gate thinks of one object.
    #[must_use]
    pub fn explain(&self, key: &Key) -> Why {
        let Some(slot) = self.slots().get(key) else { return Why::Unknown };
        let (change, causes) = match self.verdict(key) {
            None | Some((_, Verdict::Admitted)) => {
                return blocker_of(key, slot).map_or(Why::Settled, Why::Unsettled);
            }
            Some((change, Verdict::Held(causes))) => (change, causes),
        };
        let since = slot.held.map_or(Stamp { age: self.age(), at: self.wall() }, |held| held.since);
        let holders: Vec<HeldByHolder> = self
            .holds()
            .iter()
            .filter(|(id, hold)| match hold.is_freeze() {
                true => hold.in_force() && matches!(self.mode(), Mode::Freezing | Mode::Frozen),
                false => causes.contains(&Cause::Held((*id).clone())),
            })
            .map(|(id, hold)| HeldByHolder { id: id.clone(), hold: hold.clone() })
            .collect();
        let endings = causes.iter().map(|cause| self.ending_of(cause, &holders)).collect();
        Why::Held(Box::new(Explanation {
            key: key.clone(),
            change,
            replaced: match (&slot.applied, &slot.wanted) {
                (Some(applied), Some(wanted)) => applied.version.uid != wanted.uid && key.kind.runs(),
                _ => false,
            },
            from: slot.applied.as_ref().map(|applied| applied.version.revision.clone()),
            to: slot.wanted.as_ref().map(|wanted| wanted.revision.clone()),
            since,
            for_long: self.age().since(since.age),
            release: self.release_would(&causes),
            causes,
            holders,
            endings,
        }))
    }

    fn ending_of(&self, cause: &Cause, holders: &[HeldByHolder]) -> Ending {
        let by_itself = |holder: &HeldByHolder| {
            let lease = holder.hold.lease?;
            (lease.on_expiry == OnExpiry::ThawIfSafe).then_some(lease.ends)
        };
        match cause {
            // All freezes must end: one without a lease keeps the node frozen for good.
            Cause::Frozen => {
                let ends: Option<Vec<Age>> =
                    holders.iter().filter(|holder| holder.hold.is_freeze()).map(by_itself).collect();
                Ending::Thaw(ends.and_then(|ends| ends.into_iter().max()))
            }
            Cause::Barrier => Ending::BarrierFalls,
            Cause::Resyncing => Ending::Relist,
            Cause::Held(id) => {
                let holder = holders.iter().find(|holder| holder.id == *id);
                Ending::HolderDrops(id.clone(), holder.and_then(by_itself))
            }
            Cause::Annotated(workload) => Ending::Release(workload.clone()),
            Cause::Predecessor | Cause::Room => Ending::PredecessorEnds,
        }
    }

    fn release_would(&self, causes: &[Cause]) -> ReleaseWould {
        if causes.iter().any(|cause| matches!(cause, Cause::Frozen | Cause::Barrier | Cause::Held(_))) {
            return ReleaseWould::BeRefused;
        }
        let armed = causes.iter().filter_map(|cause| match cause {
            Cause::Annotated(workload) => Some(workload.clone()),
            Cause::Frozen
            | Cause::Barrier
            | Cause::Resyncing
            | Cause::Held(_)
            | Cause::Predecessor
            | Cause::Room => None,
        });
        let workloads: Vec<Workload> = armed.collect();
        let pending: BTreeSet<Key> =
            workloads.iter().flat_map(|workload| self.pending_of(workload)).collect();
        if workloads.is_empty() {
            ReleaseWould::ChangeNothing
        } else if self.holders_of(&pending).is_empty() {
            ReleaseWould::Open { workloads, changes: pending.len() }
        } else {
            ReleaseWould::BeRefused
        }
    }
}

// === rendering ===

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("nothing of that name is known on this node"),
            Self::Settled => f.write_str("what runs is what is wanted"),
            Self::Unsettled(blocker) => write!(f, "nothing is held; {} {}", blocker.subject, blocker.message),
            Self::Held(explanation) => explanation.fmt(f),
        }
    }
}

impl fmt::Display for Explanation {
    /// One sentence: what is held, for how long, by whom and why, and what ends it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A revision means something to people only where it is a pod's, and says nothing where it stays the same.
        let to = self.to.as_ref().filter(|to| self.key.kind.runs() && self.from.as_ref() != Some(*to));
        let to = to.map(short);
        match (self.change, to) {
            (ChangeKind::Start, Some(to)) => write!(f, "the start of {} at revision {to}", self.key)?,
            (ChangeKind::Start, None) => write!(f, "the start of {}", self.key)?,
            (ChangeKind::Update, Some(to)) => write!(f, "the update of {} to revision {to}", self.key)?,
            (ChangeKind::Update, None) => write!(f, "the update of {}", self.key)?,
            (ChangeKind::Stop, Some(to)) if self.replaced => {
                write!(f, "the replacement of {} by revision {to}", self.key)?;
            }
            (ChangeKind::Stop, _) if self.replaced => write!(f, "the replacement of {}", self.key)?,
            (ChangeKind::Stop, _) => write!(f, "the end of {}", self.key)?,
        }
        match self.for_long {
            short if short < Span::from_secs(1) => f.write_str(" has been held for a moment")?,
            long => write!(f, " has been held for {long}")?,
        }
        write!(f, " (since {}) because ", self.since.at)?;
        write_list(f, &self.causes, |f, cause| self.write_cause(f, cause))?;
        f.write_str("; it passes when ")?;
        write_list(f, &self.endings, |f, ending| ending.fmt(f))?;
        match &self.release {
            ReleaseWould::Open { workloads, changes } => {
                f.write_str("; a release of ")?;
                write_list(f, workloads, |f, workload| workload.fmt(f))?;
                match changes {
                    1 => f.write_str(" lets this one change through"),
                    _ => write!(f, " lets {changes} changes through"),
                }
            }
            ReleaseWould::BeRefused => f.write_str("; a release would be refused until then"),
            ReleaseWould::ChangeNothing => Ok(()),
        }
    }
}

/// A revision as people can compare it by eye: that of a bare pod is a digest.
fn short(revision: &Revision) -> &str {
    let text = revision.as_str();
    match text.len() > 20 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => &text[..10],
        false => text,
    }
}

/// `a`, `a and b`, `a, b and c`.
fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(match index {
            0 => "",
            last if last + 1 == items.len() => " and ",
            _ => ", ",
        })?;
        write(f, item)?;
    }
    Ok(())
}

impl Explanation {
    fn write_cause(&self, f: &mut fmt::Formatter<'_>, cause: &Cause) -> fmt::Result {
        match cause {
            Cause::Frozen => {
                f.write_str("the node is kept frozen")?;
                self.write_holders(f, |holder| holder.hold.is_freeze())
            }
            Cause::Barrier => {
                f.write_str("the node is being frozen")?;
                self.write_holders(f, |holder| holder.hold.is_freeze())
            }
            Cause::Resyncing => {
                f.write_str("the node has thawed and waits for a complete list from the cluster")
            }
            Cause::Held(id) => {
                f.write_str("it is held")?;
                self.write_holders(f, |holder| holder.id == *id)
            }
            Cause::Annotated(workload) => write!(f, "{workload} is annotated to hold its upgrades"),
            Cause::Predecessor => f.write_str("what has to end first has not ended yet"),
            Cause::Room => f.write_str("a pod that is gone from the cluster is kept in its place"),
        }
    }

    fn write_holders(
        &self,
        f: &mut fmt::Formatter<'_>,
        which: impl Fn(&HeldByHolder) -> bool,
    ) -> fmt::Result {
        for (index, holder) in self.holders.iter().filter(|holder| which(holder)).enumerate() {
            f.write_str(if index == 0 { " by " } else { ", " })?;
            f.write_str(&holder.hold.label(&holder.id))?;
            if holder.hold.orphaned.is_some() {
                f.write_str(", orphaned")?;
            }
            write!(f, ": {:?}", &*holder.hold.reason)?;
        }
        Ok(())
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thaw(None) => f.write_str("the node is thawed"),
            Self::Thaw(Some(_)) => {
                f.write_str("the node is thawed (by itself once the lease is up and it is safe)")
            }
            Self::BarrierFalls => f.write_str("the freeze is over"),
            Self::Relist => f.write_str("the cluster has listed everything"),
            Self::HolderDrops(id, None) => write!(f, "hold {id} is dropped"),
            Self::HolderDrops(id, Some(_)) => {
                write!(f, "hold {id} is dropped (by itself once the lease is up and it is safe)")
            }
            Self::Release(workload) => write!(f, "{workload} is released"),
            Self::PredecessorEnds => f.write_str("that has ended"),
        }
    }
}
