//! Static pods: what the node's owner and the upgrade task ask for.
//!
//! A manifest that is put waits at the gate like any other change. What the owner asks for at this moment, to apply what
//! waits, to go back or to take away, is a wish and a release in one: refused, it leaves nothing behind, and it is finished
//! also for a client that goes away meanwhile.

#[cfg(test)]
mod tests;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use safepoint_api::local::{
    PutStaticPod, RemoveStaticPod, RollBack, StaticPodHistory, StaticPodList, StaticPodPhase, StaticPodState,
    reason,
};
use safepoint_core::{Key, Kind};

use super::Shared;
use super::release::release_pod;
use crate::answer::{Refused, failure};
use crate::caller::Credentials;
use crate::extract::{Allowed, AllowedManifests, LONGEST_MANIFEST, Named, Read};
use crate::node::{Node, StaticPodWish};

type Given<T> = Result<Json<T>, Refused>;
type Accepted = Result<(StatusCode, Json<StaticPodState>), Refused>;
/// A static pod, by namespace and name.
type Names = Named<(String, String)>;

pub(super) async fn list<N: Node>(State(shared): State<Shared<N>>) -> Given<StaticPodList> {
    Ok(Json(StaticPodList { items: shared.node.static_pods().await? }))
}

pub(super) async fn get<N: Node>(
    State(shared): State<Shared<N>>,
    Named((namespace, name)): Names,
) -> Given<StaticPodState> {
    Ok(Json(shared.static_pod(&namespace, &name).await?))
}

pub(super) async fn history<N: Node>(
    State(shared): State<Shared<N>>,
    Named((namespace, name)): Names,
) -> Given<StaticPodHistory> {
    Ok(Json(shared.node.static_pod_history(&namespace, &name).await?))
}

pub(super) async fn put<N: Node>(
    State(shared): State<Shared<N>>,
    AllowedManifests(caller): AllowedManifests,
    Named((namespace, name)): Names,
    Read(put): Read<PutStaticPod, LONGEST_MANIFEST>,
) -> Accepted {
    tracing::info!(pod = %format!("{namespace}/{name}"), mode = ?put.mode, caller = %caller.caller(None), "taking a manifest");
    let (to, of) = (namespace.clone(), name.clone());
    shared.node.wish(StaticPodWish::Put { namespace, name, put }).await?;
    shared.accepted(&to, &of).await
}

pub(super) async fn upgrade<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named((namespace, name)): Names,
) -> Accepted {
    apply(&shared, caller, &namespace, &name).await?;
    shared.accepted(&namespace, &name).await
}

/// Lets what waits for a static pod through. Where nothing does, what the cluster has for it is laid ready first, and stays so
/// if it is not let through; what has failed before is tried again.
pub(crate) async fn apply<N: Node>(
    shared: &Shared<N>,
    caller: Credentials,
    namespace: &str,
    name: &str,
) -> Result<(), Refused> {
    let state = shared.static_pod(namespace, name).await?;
    if state.phase == StaticPodPhase::Upgrading && state.why.is_none() {
        // Asked again while the first is under way.
        return Ok(());
    }
    if state.phase == StaticPodPhase::Settled {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        shared.node.wish(StaticPodWish::TakeUp { namespace, name }).await?;
    }
    match release_pod(shared, caller.caller(None), key(namespace, name)).await {
        Ok(_) => Ok(()),
        // It has passed by itself meanwhile.
        Err(Refused(refused)) if refused.reason == reason::NOTHING_HELD => {
            match shared.static_pod(namespace, name).await?.phase {
                StaticPodPhase::Upgrading | StaticPodPhase::Removing => Ok(()),
                StaticPodPhase::Settled | StaticPodPhase::Held => Err(Refused(refused)),
            }
        }
        Err(refused) => Err(refused),
    }
}

pub(super) async fn rollback<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named((namespace, name)): Names,
    Read(RollBack { revision }): Read<RollBack>,
) -> Accepted {
    let (to, of) = (namespace.clone(), name.clone());
    let wish = StaticPodWish::RollBack { namespace, name, revision };
    shared.wish_and_release(caller, wish, &to, &of).await?;
    shared.accepted(&to, &of).await
}

pub(super) async fn remove<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(caller): Allowed,
    Named((namespace, name)): Names,
    Read(RemoveStaticPod { may_wait }): Read<RemoveStaticPod>,
) -> Accepted {
    let (to, of) = (namespace.clone(), name.clone());
    let wish = StaticPodWish::Remove { namespace, name, may_wait };
    match may_wait {
        true => shared.node.wish(wish).await?,
        false => shared.wish_and_release(caller, wish, &to, &of).await?,
    }
    shared.accepted(&to, &of).await
}

pub(super) async fn withdraw<N: Node>(
    State(shared): State<Shared<N>>,
    Allowed(_): Allowed,
    Named((namespace, name)): Names,
) -> Given<StaticPodState> {
    let state = shared.static_pod(&namespace, &name).await?;
    let wish = StaticPodWish::Withdraw { namespace, name, keeps_staged: false };
    shared.node.wish(wish).await?;
    // Of one that was yet to be installed nothing is left.
    let (namespace, name) = (&state.namespace, &state.name);
    let left = shared.static_pod(namespace, name).await;
    Ok(Json(left.unwrap_or_else(|_| StaticPodState { next: None, why: None, ..state.clone() })))
}

fn key(namespace: &str, name: &str) -> Key {
    Key { kind: Kind::StaticPod, ..Key::pod(namespace, name) }
}

// === impl Shared ===

impl<N: Node> Shared<N> {
    async fn static_pod(&self, namespace: &str, name: &str) -> Result<StaticPodState, Refused> {
        let mut all = self.node.static_pods().await?.into_iter();
        let unknown = || {
            let message = format!(
                "{namespace}/{name} is no static pod of this node: `safepoint static-pod list` shows them"
            );
            Refused(failure(404, reason::NOT_FOUND, message))
        };
        all.find(|state| state.namespace == namespace && state.name == name).ok_or_else(unknown)
    }

    async fn accepted(&self, namespace: &str, name: &str) -> Accepted {
        Ok((StatusCode::ACCEPTED, Json(self.static_pod(namespace, name).await?)))
    }

    /// Wishes for something and releases it, or takes the wish back.
    #[expect(
        clippy::disallowed_methods,
        reason = "a request ends with its client, and a wish that is neither released nor taken back would pass with the next release"
    )]
    async fn wish_and_release(
        &self,
        caller: Credentials,
        wish: StaticPodWish,
        namespace: &str,
        name: &str,
    ) -> Result<(), Refused> {
        let (shared, namespace, name) = (self.clone(), namespace.to_owned(), name.to_owned());
        let done = tokio::spawn(async move {
            shared.node.wish(wish).await?;
            let released = release_pod(&shared, caller.caller(None), key(&namespace, &name)).await;
            if let Err(refused) = released {
                shared.node.wish(StaticPodWish::Withdraw { namespace, name, keeps_staged: true }).await?;
                return Err(refused);
            }
            Ok(())
        });
        let ended =
            |error| Refused(failure(503, reason::UNAVAILABLE, format!("it was not finished: {error}")));
        done.await.map_err(ended)?
    }
}
