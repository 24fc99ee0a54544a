//! The node API: what a program or a person on the machine says to the agent, and what the agent answers.
//!
//! It is spoken over the unix socket [`SOCKET`](crate::names::safepoint::SOCKET), as JSON over HTTP/1.1. Who calls is
//! known from the socket itself (uid, gid and pid), so nothing here carries a password: reading is for whoever can open
//! the socket, changing for root, the agent's user and members of the configured group. The bodies are those of a
//! [`NodeGate`](crate::NodeGate) wherever the two mean the same: whoever can read one can read the other.
//!
//! | method and path | body in | 2xx | what it does |
//! |---|---|---|---|
//! | `GET /v1/status` | | [`NodeStatus`] | what the gate does and why |
//! | `GET /v1/changes` | | [`ChangeList`] | what waits |
//! | `GET /v1/why/{namespace}/{pod}` | | [`Why`] | why it waits, as a sentence and as data |
//! | `GET /v1/holds` | | [`HoldList`] | who holds |
//! | `POST /v1/holds` | [`TakeHold`] | 201 [`HoldTaken`] | hold from now on |
//! | `PUT /v1/holds/{id}` | [`RenewHold`] | [`Hold`] | show that the holder lives |
//! | `DELETE /v1/holds/{id}` | [`Overriding`] | [`HoldDropped`] | hold no longer |
//! | `GET /v1/freeze` | | [`FreezeState`] | whether the node is frozen |
//! | `POST /v1/freeze` | [`TakeFreeze`] | 201 [`FreezeState`] | freeze the node |
//! | `DELETE /v1/freeze` | [`Overriding`] | [`FreezeState`] | end every freeze of this machine |
//! | `POST /v1/releases` | [`Release`] | [`Released`] | let a pending upgrade through |
//! | `GET /v1/static-pods` | | [`StaticPodList`] | the static pods, and what waits for them |
//! | `GET /v1/static-pods/{namespace}/{name}` | | [`StaticPodState`] | one of them |
//! | `PUT /v1/static-pods/{namespace}/{name}` | [`PutStaticPod`] | 202 [`StaticPodState`] | a manifest for it, at once or laid ready |
//! | `DELETE /v1/static-pods/{namespace}/{name}` | [`RemoveStaticPod`] | 202 [`StaticPodState`] | take it away |
//! | `GET /v1/static-pods/{namespace}/{name}/history` | | [`StaticPodHistory`] | what can be gone back to |
//! | `POST /v1/static-pods/{namespace}/{name}/upgrade` | | 202 [`StaticPodState`] | apply what waits |
//! | `POST /v1/static-pods/{namespace}/{name}/rollback` | [`RollBack`] | 202 [`StaticPodState`] | go back |
//! | `DELETE /v1/static-pods/{namespace}/{name}/next` | | [`StaticPodState`] | what waits is not wanted any more |
//! | `GET /v1/modules` | | [`ModuleList`] | the parts of the agent |
//! | `POST /v1/modules/{name}/restart` | | 202 | start one of them afresh |
//! | `GET /v1/log?after=N&limit=N` | | [`LogPage`] | the audit log |
//! | `GET /v1/events` | | [`Notice`]s, as server-sent events | what happens, as it happens |
//! | `GET /healthz`, `/readyz`, `/metrics`, `/openapi.json` | | | for whoever looks after the agent |
//!
//! Every refusal is a [`Failure`]: a code, a reason in one word for programs, a sentence for people.

mod ask;
mod failure;
mod log;
mod static_pod;
mod view;

pub use ask::{Overriding, Release, RenewHold, TakeFreeze, TakeHold};
pub use failure::{Failure, reason};
pub use log::{LogLine, LogPage, Notice, NoticeKind};
pub use static_pod::{
    KeptManifest, ManifestState, PutMode, PutStaticPod, RemoveStaticPod, RollBack, StaticPodHistory,
    StaticPodList, StaticPodOutcome, StaticPodPhase, StaticPodState, StaticPodStep,
};
pub use view::{
    ChangeList, FreezeState, HoldDropped, HoldList, HoldTaken, KeptBack, ModuleList, NodeStatus, Released,
    Uplink, Verdict, Why,
};

pub use crate::node_gate::{Blocker, Hold, ModuleStatus, Scope};
