//! What happens to the gate (events) and what it asks for (effects).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::freeze::{Blocker, Mode};
use crate::grant::GrantEnd;
use crate::hold::{Holder, OnExpiry, Scope};
use crate::object::{ChangeKind, Health, HeldBy, Key, Kind, Needs, Version};
use crate::text::{Digest, HoldId, OrderId, PartName, Revision, SignalName, Text, Uid};
use crate::time::{Age, Span, Stamp, Timestamp};
use crate::workload::Workload;

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Event {
    /// What was found running when Safepoint was installed on a machine that is in use, or after its record was lost.
    /// It was not admitted by the gate, and it must not be stopped by it either. Ignored once the gate knows what runs.
    Adopted(Vec<(Key, Version)>),
    /// A door reports that another version is in place than it was told: it was put there by somebody who asked nobody, it
    /// was there before the gate was, or what was admitted turned out to be no good and the door has gone back. The machine
    /// runs it, so it counts as applied. What failed is not wanted any more; anything newer still is.
    Found {
        /// The object.
        key: Key,
        /// What the door was told last, as far as it knows: a report that was made before it heard of something newer is
        /// dropped.
        instead_of: Option<Digest>,
        /// What is in place.
        version: Box<Version>,
        /// How that came about, for the audit log.
        why: Text,
    },
    /// What the cluster wants: first list, watch event, relist and reconnect are all this one event.
    Observed {
        /// What was seen, newest last.
        sightings: Vec<Sighting>,
        /// The kinds of which this is a complete list: what is not in it is gone.
        complete: BTreeSet<Kind>,
    },
    /// A door reports how an admitted version is doing.
    Reported {
        /// The object.
        key: Key,
        /// Which one: a late report about a predecessor of the same name is dropped.
        uid: Uid,
        /// Which version of it: a report that the machine made before it took in an update is dropped as well.
        digest: Digest,
        /// How it is.
        health: Health,
    },
    /// A door reports that a pod has ended and nothing of it is left.
    Ended {
        /// The pod.
        key: Key,
        /// Which one.
        uid: Uid,
    },
    /// A part of the agent reports whether it can enforce the gate, and what stands against a freeze.
    PartReported {
        /// The part.
        part: PartName,
        /// What it found; empty when nothing objects.
        blockers: Vec<Blocker>,
    },
    /// A door reports what the machine has for pods. Not known, it is the scheduler's business alone.
    RoomReported(Needs),
    /// A safety signal was read.
    SignalRead {
        /// Which.
        signal: SignalName,
        /// What it said.
        reading: Reading,
    },
    /// Somebody asks for something and wants an answer.
    Asked(Request),
    /// Time has passed.
    Ticked,
}

/// One object as the cluster wants it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Sighting {
    /// It is there.
    Present(Key, Version),
    /// It is gone.
    Gone(Key, Uid),
}

/// What a safety signal says. Anything but `Safe` counts as unsafe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Reading {
    /// A change would be safe now.
    Safe,
    /// A change would not be safe now.
    Unsafe,
    /// The signal cannot tell.
    Unknown,
}

/// Tells the driver which caller waits for an answer. It means nothing to the gate and does not survive a restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// A request and who makes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Whom to answer.
    pub id: RequestId,
    /// Who asks.
    pub caller: Holder,
    /// The order it carries out, if it comes from the cluster.
    pub order: Option<Order>,
    /// Put the other side's veto out of force, on record.
    pub overriding: Option<Override>,
    /// What is asked.
    pub ask: Ask,
}

/// An order from the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Its name: an order that was decided is not decided again.
    pub id: OrderId,
    /// After which it is no longer meant.
    pub expires: Option<Timestamp>,
}

/// Why and for how long somebody puts another's hold out of force.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Override {
    /// The reason; it must not be empty.
    pub reason: Text,
    /// After this time the hold is in force again.
    pub length: Span,
}

/// A lease that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseAsk {
    /// How long.
    pub length: Span,
    /// What happens when it is up.
    pub on_expiry: OnExpiry,
}

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Hold changes back from now on.
    Hold {
        /// The hold's name.
        id: HoldId,
        /// Why.
        reason: Text,
        /// From what.
        scope: Scope,
        /// For how long; without, until it is dropped.
        lease: Option<LeaseAsk>,
    },
    /// Freeze the node.
    Freeze {
        /// The freeze's name.
        id: HoldId,
        /// Why.
        reason: Text,
        /// For how long; without, until it is dropped.
        lease: Option<LeaseAsk>,
        /// How long the node may take to settle before the freeze is refused.
        settle: Span,
        /// Keep the barrier up after a refusal, until the node settles.
        keep_barrier: bool,
    },
    /// Show that the holder is alive; also how an orphaned hold is taken up again.
    Renew {
        /// The hold's name.
        id: HoldId,
        /// A new length, if it is to change.
        length: Option<Span>,
    },
    /// End one hold or freeze.
    Drop {
        /// The hold's name.
        id: HoldId,
    },
    /// End every freeze of the caller's side.
    Thaw,
    /// End these freezes and no others.
    ThawOnly(BTreeSet<HoldId>),
    /// Let pending upgrades through.
    Release {
        /// Whose.
        what: Released,
        /// Only if this is the revision that is pending; without, whichever is.
        revision: Option<Revision>,
    },
}

/// What a release is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Released {
    /// One workload.
    Workload(Workload),
    /// The workload of this pod, running or wanted.
    Pod(Key),
    /// Every workload of the node that has something pending.
    Node,
}

/// What the caller is told, once it is durable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The hold stands.
    Holding {
        /// What is in flight within its scope: the hold may catch it half done.
        in_flight: Vec<Blocker>,
    },
    /// The hold was renewed.
    Renewed,
    /// The hold was dropped, or put out of force until the given age by an override.
    Dropped {
        /// When an overridden hold is in force again.
        until: Option<Age>,
    },
    /// The node is frozen.
    Frozen {
        /// Since when.
        since: Stamp,
    },
    /// The thaw was accepted: no freeze is in force any more.
    Thawing,
    /// The caller's freezes are gone, others keep the node frozen.
    StillFrozen {
        /// Which.
        by: Vec<HoldId>,
    },
    /// These workloads are released, and these stay held by holders.
    Released {
        /// What was released.
        workloads: Vec<Workload>,
        /// What was not, and who holds it.
        held: Vec<(Workload, Vec<HoldId>)>,
    },
    /// This order was decided before, one way or the other.
    DecidedBefore,
    /// No, and why. Nothing was changed, except where the reason says so.
    Refused(Refusal),
}

/// Why the gate says no.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// The node did not settle in time.
    Unsettled {
        /// Everything that stands against the freeze.
        blockers: Vec<Blocker>,
        /// Whether the barrier stays up until it settles.
        barrier_kept: bool,
    },
    /// The node is freezing or frozen.
    Frozen {
        /// By which holds.
        by: Vec<HoldId>,
    },
    /// Holders keep this back; they drop their holds, or an override puts them out of force.
    HeldBy {
        /// Which.
        by: Vec<HoldId>,
    },
    /// The other side's holds stand against it; an override puts them out of force.
    Vetoed {
        /// Which.
        by: Vec<HoldId>,
    },
    /// The hold of this name has been overridden; it is in force again at the given age.
    Overridden {
        /// When.
        until: Age,
    },
    /// The record could not be read, and nobody has said yet what runs: opening anything could end all of it.
    Sealed,
    /// There is nothing to release.
    NothingPending,
    /// What is pending is not the revision that was named.
    AnotherRevision {
        /// Of this workload.
        workload: Workload,
        /// It is this one; none where the successor has not shown up yet.
        pending: Option<Revision>,
    },
    /// No such pod, workload or hold.
    NotFound,
    /// Another holder uses this name.
    NameTaken {
        /// Who.
        by: Holder,
    },
    /// An override must say why, and for how long.
    OverrideIncomplete,
    /// The order's time is over, or the clock cannot be trusted to say that it is not.
    OrderExpired,
    /// A lease or a length must be longer than nothing.
    EmptyLease,
}

/// Something to do, after everything that was recorded is durable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Effect {
    /// Let the machine see a change. The only effect that touches a workload.
    Admit(Change),
    /// Confirm to the cluster the end of a pod that never started here, so that it is not left terminating.
    Discard {
        /// The pod.
        key: Key,
        /// Which one.
        uid: Uid,
    },
    /// A pending change is held, now or by another cause than before.
    Held {
        /// The object.
        key: Key,
        /// What kind of cause comes first.
        by: HeldBy,
    },
    /// A change is no longer held: it was admitted, or there is no change any more.
    NoLongerHeld {
        /// The object.
        key: Key,
    },
    /// Tell a caller.
    Answer(RequestId, Answer),
    /// List everything again.
    Relist,
    /// The node's mode is now this.
    ModeIs(Mode),
    /// A grant ended.
    GrantClosed(Workload, GrantEnd),
    /// Something a person should look at.
    Alarm(Alarm),
}

/// A change that was admitted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Change {
    /// What it does.
    pub kind: ChangeKind,
    /// To which object.
    pub key: Key,
    /// To which one of that name.
    pub uid: Uid,
    /// The version that the machine is now told.
    pub digest: Digest,
}

/// Something a person should look at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Alarm {
    /// A hold was not renewed in time, or could not end because it was not safe. It stays.
    Orphaned(HoldId),
    /// An override put this hold out of force.
    Overridden(HoldId),
    /// A release was used up by its deadline before the workload settled.
    ReleaseExpired(Workload),
}
