//! The static pods of a node for tests: those that its gate knows. The text of a manifest is its revision.

use safepoint_api::local::{
    Failure, KeptManifest, ManifestState, PutMode, StaticPodHistory, StaticPodPhase, StaticPodState, reason,
};
use safepoint_core::{Gate, Key, Kind, Verdict, Version, Why};

use super::{MORNING, Object, TestNode, static_pod};
use crate::answer::failure;
use crate::node::StaticPodWish;
use crate::view;

pub(super) fn states(gate: &Gate) -> Vec<StaticPodState> {
    let keys = gate.slots().keys().filter(|key| key.kind == Kind::StaticPod);
    keys.map(|key| state(gate, key)).collect()
}

fn state(gate: &Gate, key: &Key) -> StaticPodState {
    let slot = &gate.slots()[key];
    let manifest = |version: &Version| ManifestState {
        revision: Some(version.revision.to_string()),
        digest: version.digest.to_string(),
        staged: version.hold,
        images: Vec::new(),
    };
    let applied = slot.applied.as_ref().map(|applied| &applied.version);
    StaticPodState {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        phase: match gate.verdict(key) {
            _ if slot.is_ending() => StaticPodPhase::Removing,
            Some((_, Verdict::Held(_))) => StaticPodPhase::Held,
            _ if slot.is_settled() => StaticPodPhase::Settled,
            _ => StaticPodPhase::Upgrading,
        },
        file: Some(format!("{}.yaml", key.name)),
        current: applied.map(manifest),
        next: slot.wanted.as_ref().filter(|wanted| Some(*wanted) != applied).map(manifest),
        why: match gate.explain(key) {
            why @ Why::Held(_) => Some(why.to_string()),
            _ => None,
        },
        last: None,
    }
}

pub(super) fn history() -> StaticPodHistory {
    let kept = KeptManifest {
        number: 1,
        revision: Some("old".to_owned()),
        digest: "old".to_owned(),
        at: view::time(MORNING),
        in_place: false,
    };
    StaticPodHistory { items: vec![kept] }
}

pub(super) fn wish(node: &TestNode, wish: StaticPodWish) -> Result<(), Box<Failure>> {
    let applied = |of: &Object| {
        node.gate(|gate| {
            let applied = gate.slots().get(&of.key).and_then(|slot| slot.applied.as_ref());
            applied.map(|applied| Object { key: of.key.clone(), version: applied.version.clone() })
        })
    };
    let missing = || Box::new(failure(404, "ManifestMissing", "it has no manifest on this node"));
    let wanted = match wish {
        StaticPodWish::Put { namespace, name, put } => {
            let object = static_pod(&namespace, &name).revision(&put.manifest);
            match put.mode {
                PutMode::Stage => object.annotated(),
                PutMode::Upgrade if applied(&object).is_none() => return Err(missing()),
                PutMode::Upgrade | PutMode::Install => object,
            }
        }
        StaticPodWish::TakeUp { .. } => {
            return Err(Box::new(failure(409, "NothingStaged", "nothing waits for it on this node")));
        }
        StaticPodWish::RollBack { revision: Some(_), .. } => {
            return Err(Box::new(failure(409, "NoHistory", "no other manifest is kept on this node")));
        }
        StaticPodWish::RollBack { namespace, name, revision: None } => {
            static_pod(&namespace, &name).revision("old").annotated()
        }
        StaticPodWish::Remove { namespace, name, may_wait } => {
            let object = applied(&static_pod(&namespace, &name)).ok_or_else(missing)?.deleting();
            if may_wait { object } else { object.annotated() }
        }
        StaticPodWish::Withdraw { namespace, name, .. } => {
            let object = applied(&static_pod(&namespace, &name));
            object
                .ok_or_else(|| Box::new(failure(404, reason::NOT_FOUND, "there is nothing of that name")))?
        }
    };
    node.sees([&wanted]);
    Ok(())
}
