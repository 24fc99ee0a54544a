//! The handlers: read, ask the gate, show what is true then.
//!
//! A freeze waits for its answer. A client that goes away while it waits has still asked for it: the freeze is not taken
//! back, and whoever asks again under the same id gets the answer.

use std::hash::{BuildHasher, RandomState};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use safepoint_api::local::{
    ChangeList, FreezeState, Hold, HoldDropped, HoldList, HoldTaken, LogPage, ModuleList, NodeStatus,
    Overriding, Release, Released, RenewHold, TakeFreeze, TakeHold, Why, reason,
};
use safepoint_core::{Answer, Ask, Gate, HoldId, Override};
use serde::Deserialize;

use super::Shared;
use super::release;
use crate::answer::{About, Done, Refused, failure, outcome};
use crate::caller::{Caller, Credentials};
use crate::extract::{Allowed, Asked, Named, Read};
use crate::node::Node;
use crate::{parse, view};

/// How many lines of the log are given where nobody says.
const LINES: usize = 100;
/// How many lines of the log are given at most.
const MOST_LINES: usize = 1000;

type Given<T> = Result<Json<T>, Refused>;

/// What may stand in the query of the log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogQuery {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

pub(super) async fn status<N: Node>(State(shared): State<Shared<N>>) -> Given<NodeStatus> {
    let node = shared.node;
    let (name, uplink, modules) = (node.name().to_owned(), node.uplink(), node.modules());
    let mut status = node.read(move |gate| view::node_status(gate, &name, uplink, modules)).await?;
    node.complete(&mut status.gate);
    Ok(Json(status))
}

pub(super) async fn changes<N: Node>(State(shared): State<Shared<N>>) -> Given<ChangeList> {
    Ok(Json(shared.node.read(view::change_list).await?))
}

pub(super) async fn why<N: Node>(
    State(shared): State<Shared<N>>,
    Named((namespace, pod)): Named<(String, String)>,
) -> Given<Why> {
    let unknown =
        format!("pod {namespace}/{pod} is not known on this node: `safepoint changes` lists what waits");
    let node = shared.node.name().to_owned();
    let found = shared.node.read(move |gate| view::why(gate, &node, &namespace, &pod)).await?;
    found.map(Json).ok_or_else(|| Refused(failure(404, reason::NOT_FOUND, unknown)))
}

pub(super) async fn holds<N: Node>(State(shared): State<Shared<N>>) -> Given<HoldList> {
    Ok(Json(shared.node.read(view::holds).await?))
}

pub(super) async fn take_hold<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Read(body): Read<TakeHold>,
) -> Result<(StatusCode, Json<HoldTaken>), Refused> {
    let asked = parse::take_hold(&body, &made_up("hold", &caller))?;
    let (id, caller) = (asked.id.clone(), caller.caller(asked.holder.as_deref()));
    let taken = shared
        .ask(caller, None, asked.ask, About::Hold(id.clone()), move |gate, done| {
            let in_flight = match done {
                Done::Holding { in_flight } => in_flight.iter().map(view::blocker).collect(),
                _ => Vec::new(),
            };
            Some(HoldTaken { hold: view::hold(gate, &id, gate.holds().get(&id)?), in_flight })
        })
        .await?;
    Ok((StatusCode::CREATED, Json(taken.ok_or_else(gone)?)))
}

pub(super) async fn renew_hold<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named(id): Named<String>,
    Read(body): Read<RenewHold>,
) -> Given<Hold> {
    let asked = parse::renew_hold(&body, &id)?;
    let (id, caller) = (asked.id.clone(), caller.caller(asked.holder.as_deref()));
    let renewed = shared
        .ask(caller, None, asked.ask, About::Hold(id.clone()), move |gate, _| {
            Some(view::hold(gate, &id, gate.holds().get(&id)?))
        })
        .await?;
    renewed.map(Json).ok_or_else(gone)
}

pub(super) async fn drop_hold<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named(id): Named<String>,
    Read(body): Read<Overriding>,
) -> Given<HoldDropped> {
    let overriding = parse::ending(&body)?;
    let hold = HoldId::from(&*id);
    let about = About::Hold(hold.clone());
    let dropped = shared.ask(caller.caller(None), overriding, Ask::Drop { id: hold }, about, |gate, done| {
        let until = match done {
            Done::Dropped { until } => until,
            _ => None,
        };
        HoldDropped { id, suspended_until: until.map(|until| view::wall_of(gate, until)) }
    });
    Ok(Json(dropped.await?))
}

pub(super) async fn freeze_state<N: Node>(State(shared): State<Shared<N>>) -> Given<FreezeState> {
    Ok(Json(shared.node.read(|gate| view::freeze_state(gate, None)).await?))
}

pub(super) async fn freeze<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Read(body): Read<TakeFreeze>,
) -> Result<(StatusCode, Json<FreezeState>), Refused> {
    let asked = parse::take_freeze(&body, &made_up("freeze", &caller))?;
    let (id, caller) = (asked.id.clone(), caller.caller(asked.holder.as_deref()));
    let frozen = shared
        .ask(caller, None, asked.ask, About::Hold(id.clone()), move |gate, _| {
            view::freeze_state(gate, Some(&id))
        })
        .await?;
    Ok((StatusCode::CREATED, Json(frozen)))
}

pub(super) async fn thaw<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Read(body): Read<Overriding>,
) -> Given<FreezeState> {
    let overriding = parse::ending(&body)?;
    // Also where others keep it frozen: the body says by whom.
    let thawed = shared.ask(caller.caller(None), overriding, Ask::Thaw, About::Node, |gate, _| {
        view::freeze_state(gate, None)
    });
    Ok(Json(thawed.await?))
}

pub(super) async fn release<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Read(body): Read<Release>,
) -> Given<Released> {
    let asked = parse::release(&body)?;
    Ok(Json(release::shown(release::release(&shared, caller.caller(None), asked).await?)))
}

pub(super) async fn modules<N: Node>(State(shared): State<Shared<N>>) -> Json<ModuleList> {
    Json(ModuleList { items: shared.node.modules() })
}

pub(super) async fn restart<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named(name): Named<String>,
) -> Result<StatusCode, Refused> {
    tracing::info!(module = %name, caller = %caller.caller(None), "restarting a module");
    shared.node.restart(&name).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(super) async fn log<N: Node>(
    State(shared): State<Shared<N>>,
    Asked(LogQuery { after, limit }): Asked<LogQuery>,
) -> Given<LogPage> {
    let limit = limit.unwrap_or(LINES);
    if !(1..=MOST_LINES).contains(&limit) {
        let message = format!("limit: must be between 1 and {MOST_LINES}");
        return Err(Refused(failure(400, reason::BAD_REQUEST, message)));
    }
    Ok(Json(shared.node.log(after, limit).await?))
}

/// A name for a hold whose holder chose none: readable, and not used by anybody else.
fn made_up(what: &str, caller: &Credentials) -> String {
    // The standard library seeds its hashes at random: enough for a name, and nothing to depend on.
    let random = RandomState::new().hash_one(what) & 0xff_ffff;
    format!("{what}-{}-{random:06x}", caller.word())
}

/// Between the answer and the look at the gate somebody else has ended it.
fn gone() -> Refused {
    Refused(failure(404, reason::NOT_FOUND, "the hold was taken and has been ended since by somebody else"))
}

// === impl Shared ===

impl<N: Node> Shared<N> {
    /// Asks the gate and shows what is true once it has answered.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        caller: Caller,
        overriding: Option<Override>,
        ask: Ask,
        about: About,
        show: impl FnOnce(&Gate, Done) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        tracing::debug!(%caller, ?ask, "asking the gate");
        let answer: Answer = self.node.ask(caller, overriding, ask).await?;
        let look = move |gate: &Gate| outcome(gate, &about, answer).map(|done| show(gate, done));
        Ok(self.node.read(look).await??)
    }
}
