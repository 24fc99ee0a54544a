//! The static pods of this machine, as the node API asks for them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::local::{Failure, KeptManifest, StaticPodHistory, reason};
use safepoint_core::{Key, Kind};
use safepoint_manifest::{BadName, FileName, PodKey};
use safepoint_nodeapi::{StaticPodWish, Unavailable};
use serde_json::Value;

use super::{LocalNode, unavailable};
use crate::manifests::{self, Board, Wish};

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn bad(error: BadName) -> Box<Failure> {
    Box::new(Failure::new(400, reason::BAD_REQUEST, error.to_string()))
}

/// Wishes for something, in the door's own words.
pub(super) async fn wish(board: &Board, wish: StaticPodWish) -> Result<(), Box<Failure>> {
    let pod = |namespace: &str, name: &str| PodKey::new(namespace, name).map_err(bad);
    let wish = match wish {
        StaticPodWish::Put { namespace, name, put } => {
            let file = put.file.as_deref().map(FileName::new).transpose().map_err(bad)?;
            Wish::Put { pod: pod(&namespace, &name)?, file, text: put.manifest, mode: put.mode }
        }
        StaticPodWish::TakeUp { namespace, name } => Wish::TakeUp { pod: pod(&namespace, &name)? },
        StaticPodWish::RollBack { namespace, name, revision } => {
            Wish::RollBack { pod: pod(&namespace, &name)?, revision }
        }
        StaticPodWish::Remove { namespace, name, may_wait } => {
            Wish::Remove { pod: pod(&namespace, &name)?, may_wait }
        }
        StaticPodWish::Withdraw { namespace, name, keeps_staged } => {
            Wish::Withdraw { pod: pod(&namespace, &name)?, keeps_staged }
        }
    };
    board.wish(wish).await
}

/// The manifests that were good.
pub(super) async fn history(
    board: &Board,
    namespace: &str,
    name: &str,
) -> Result<StaticPodHistory, Box<Failure>> {
    let pod = PodKey::new(namespace, name).map_err(bad)?;
    let known = board.known();
    let Some(door) = known.door.clone() else {
        let problem = known.problem.clone().unwrap_or_else(|| "the manifest door is starting".to_owned());
        return Err(Box::new(Failure::new(501, reason::NO_MANIFESTS, problem)));
    };
    let read = tokio::task::spawn_blocking(move || door.history(&pod)).await;
    let kept = read.map_err(|error| Box::new(Failure::new(503, reason::UNAVAILABLE, error.to_string())))?;
    let kept = kept.map_err(|outcome| manifests::refused(&outcome))?;
    let live = known.live.get(&Key { kind: Kind::StaticPod, ..Key::pod(namespace, name) });
    if kept.is_empty() && live.is_none() {
        let message = format!("{namespace}/{name} is no static pod of this node");
        return Err(Box::new(Failure::new(404, reason::NOT_FOUND, message)));
    }
    let items = kept.into_iter().map(|kept| KeptManifest {
        number: kept.number,
        in_place: live.is_some_and(|live| *live.manifest.digest() == kept.record.digest),
        revision: kept.record.revision,
        digest: kept.record.digest.to_string(),
        at: Time(kept.record.at),
    });
    Ok(StaticPodHistory { items: items.collect() })
}

// === impl LocalNode ===

impl LocalNode {
    /// The static pods, as a kubelet's list of pods has them.
    pub(super) async fn static_pods_as_pods(&self) -> Result<Vec<Value>, Unavailable> {
        let (known, node) = (self.0.manifests.known(), self.0.name.clone());
        let mirrors = self.0.witness.last_seen();
        let looked =
            self.0.desk.look(move |gate, _| manifests::show::pods(gate, &known, &node, mirrors)).await;
        looked.map_err(unavailable)
    }
}
