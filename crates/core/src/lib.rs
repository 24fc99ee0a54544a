//! Every decision of Safepoint, pure.
//!
//! The crate holds no clock, no task, no socket and no file, and knows no Kubernetes type. A driver delivers [`Event`]s
//! to the [`Gate`] together with the time, makes the returned records durable, and then carries out the effects:
//!
//! ```
//! use safepoint_core::{Config, Event, Gate, Now, Span, Timestamp};
//!
//! let now = Now { monotonic: Span(0), boot: 1, wall: Timestamp(1_794_700_800_000), trusted: true };
//! let mut gate = Gate::new(Config::default(), now);
//! let outcome = gate.step(Event::Ticked, now);
//! assert!(outcome.records.is_empty() && outcome.effects.is_empty());
//! ```
//!
//! The words are those of `docs/glossary.md`; the invariants are in `ARCHITECTURE.md` and are checked by `safepoint-model`.

mod event;
mod explain;
mod freeze;
mod gate;
mod grant;
mod guard;
mod hold;
pub mod lifecycle;
mod object;
mod record;
pub mod rollout;
mod text;
mod time;
mod workload;

pub use event::{
    Alarm, Answer, Ask, Change, Effect, Event, LeaseAsk, Order, Override, Reading, Refusal, Released,
    Request, RequestId, Sighting,
};
pub use explain::{Ending, Explanation, HeldByHolder, ReleaseWould, Why};
pub use freeze::{Blocker, BlockerReason, Mode, Phase, Subject, Thaw};
pub use gate::{Cause, Config, Gate, Outcome, PORT, Verdict};
pub use grant::{Grant, GrantEnd, Replacement, Target};
pub use guard::Guard;
pub use hold::{
    Barrier, Hold, HoldKind, Holder, Lease, OnExpiry, Origin, Requirement, Scope, Selector, Suspension,
};
pub use object::{Applied, ChangeKind, Health, Held, HeldBy, Key, Kind, Needs, Slot, Stage, Version};
pub use record::{AuditLine, Installed, NodeRow, Record, Records};
pub use text::{Digest, HoldId, OrderId, PartName, Revision, SignalName, Text, Uid};
pub use time::{Age, Clock, Now, Span, Stamp, Timestamp};
pub use workload::{Controller, Labels, PodIdentity, Workload, WorkloadKind};
