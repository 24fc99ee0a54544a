//! Static pods as the node API shows them.

use std::collections::BTreeSet;

use safepoint_api::local::{ManifestState, StaticPodPhase, StaticPodState};
use safepoint_api::names::kubernetes::CONFIG_MIRROR;
use safepoint_api::names::openyurt::pod_condition::NEED_UPGRADE;
use safepoint_core::{Gate, Key, Kind, Slot, Verdict, Version, Why};
use serde_json::{Value, json};

use super::board::Known;
use super::due::Row;

/// Every static pod that the gate or the kubelet knows, and those that could not be installed or have not ended as wanted.
pub(crate) fn states(gate: &Gate, known: &Known) -> Vec<StaticPodState> {
    let slots = gate.slots().keys().filter(|key| key.kind == Kind::StaticPod);
    let has_failed = |row: &Row| row.last.as_ref().is_some_and(|last| last.exit_code != 0);
    let failed = known.rows.iter().filter(|(_, row)| has_failed(row)).map(|(key, _)| key);
    let keys: BTreeSet<&Key> = slots.chain(known.live.keys()).chain(failed).collect();
    keys.into_iter().map(|key| state(gate, known, key)).collect()
}

fn state(gate: &Gate, known: &Known, key: &Key) -> StaticPodState {
    let slot = gate.slots().get(key).cloned().unwrap_or_default();
    let live = known.live.get(key);
    let phase = phase(gate, key, &slot);
    let why = match gate.explain(key) {
        why @ Why::Held(_) => Some(why.to_string()),
        Why::Unknown | Why::Settled | Why::Unsettled(_) => None,
    };
    StaticPodState {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        phase,
        file: live.map(|live| live.file.as_str().to_owned()),
        current: live.map(|live| manifest(known, key, &live.version)),
        next: next(&slot, known, key).map(|version| manifest(known, key, version)),
        why,
        last: known.rows.get(key).and_then(|row| row.last.clone()),
    }
}

fn phase(gate: &Gate, key: &Key, slot: &Slot) -> StaticPodPhase {
    match gate.verdict(key) {
        _ if slot.is_ending() => StaticPodPhase::Removing,
        Some((_, Verdict::Held(_))) if slot.is_settled() => StaticPodPhase::Held,
        _ if slot.is_settled() => StaticPodPhase::Settled,
        _ => StaticPodPhase::Upgrading,
    }
}

/// The manifest that is to follow the one that is in place, if any: newest first.
fn next<'a>(slot: &'a Slot, known: &Known, key: &Key) -> Option<&'a Version> {
    let live = known.live.get(key).map(|live| &live.version.digest);
    let applied = slot.applied.as_ref().map(|applied| &applied.version);
    let mut versions = slot.wanted.as_ref().into_iter().chain(applied);
    versions.find(|version| !version.deleting && Some(&version.digest) != live)
}

fn manifest(known: &Known, key: &Key, version: &Version) -> ManifestState {
    let staged = known.staged.get(key).filter(|staged| staged.digest.as_str() == version.digest.as_str());
    ManifestState {
        // One that does not say its revision goes by its digest, which is shown anyway.
        revision: Some(version.revision.to_string()).filter(|revision| *revision != version.digest.as_str()),
        digest: version.digest.to_string(),
        staged: staged.is_some(),
        images: staged
            .map(|staged| {
                staged.images.iter().map(|image| format!("{} {}", image.image, image.digest)).collect()
            })
            .unwrap_or_default(),
    }
}

/// The static pods as the API server shows them: the mirrors that it has shown, and for those that it has not, what lies in
/// the kubelet's folder. Whether a newer version waits is said by the gate, which knows without the cluster.
pub(crate) fn pods(gate: &Gate, known: &Known, node: &str, mirrors: Vec<Value>) -> Vec<Value> {
    let name = |pod: &Value| {
        let of = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
        (of("namespace"), of("name"))
    };
    let seen: BTreeSet<_> = mirrors.iter().map(name).collect();
    let own = known.live.values().filter_map(|live| {
        let mut pod: Value = serde_saphyr::from_str(live.manifest.text()).ok()?;
        // A list can be read as what a map would say, and nothing can be written into it.
        if !pod["metadata"].is_object() || !pod["spec"].is_object() {
            return None;
        }
        let mirror = format!("{}-{node}", live.key.name);
        if seen.contains(&(live.key.namespace.to_string(), mirror.clone())) {
            return None;
        }
        pod["metadata"]["name"] = json!(mirror);
        pod["metadata"]["namespace"] = json!(&*live.key.namespace);
        pod["metadata"]["annotations"][CONFIG_MIRROR] = json!(live.version.digest.as_str());
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": node, "controller": true}]);
        pod["spec"]["nodeName"] = json!(node);
        Some(pod)
    });
    let mut pods: Vec<Value> = own.collect();
    pods.extend(mirrors);
    for pod in &mut pods {
        let (namespace, name) = name(pod);
        let key = known.live.keys().find(|key| {
            *key.namespace == namespace && name.strip_suffix(node) == Some(&format!("{}-", key.name))
        });
        if let Some(key) = key {
            say(pod, gate.verdict(key).is_some());
        }
    }
    pods
}

/// Says in the condition of OpenYurt whether a newer version waits, unless the cluster has said it.
fn say(pod: &mut Value, needs_upgrade: bool) {
    if !pod["status"].is_object() && pod.is_object() {
        // A manifest may say anything there.
        pod["status"] = json!({});
    }
    let Some(status) = pod.get_mut("status") else { return };
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    let said = conditions.iter_mut().find(|condition| condition["type"] == NEED_UPGRADE);
    match said {
        Some(said) if needs_upgrade => said["status"] = json!("True"),
        Some(_) => {}
        None => {
            let status = if needs_upgrade { "True" } else { "False" };
            conditions.push(json!({"type": NEED_UPGRADE, "status": status}));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use safepoint_core::{Config, Event, Now, Sighting, Span, Timestamp};
    use safepoint_manifest::FileName;

    use super::super::read::Read;
    use super::*;

    fn text(revision: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: nginx\n  annotations: {{openyurt.io/static-pod-hash: \
             {revision}}}\nspec:\n  containers: [{{name: main, image: nginx}}]\n"
        )
    }

    fn read_text(text: &str) -> Read {
        Read::new(FileName::new("nginx").unwrap(), text).unwrap()
    }

    fn read(revision: &str) -> Read {
        read_text(&text(revision))
    }

    /// A node on which `one` is in place and `two` is staged.
    fn staged() -> (Gate, Known) {
        let now = Now { monotonic: Span::from_secs(1), boot: 1, wall: Timestamp(0), trusted: true };
        let mut gate = Gate::new(Config::default(), now);
        let (one, two) = (read("one"), read("two"));
        let (key, version) = (one.key.clone(), Box::new(one.version.clone()));
        let _ = gate.step(Event::Found { key, instead_of: None, version, why: "".into() }, now);
        let (uid, digest) = (one.version.uid.clone(), one.digest().clone());
        let health = safepoint_core::Health::Ready;
        let _ = gate.step(Event::Reported { key: one.key.clone(), uid, digest, health }, now);
        let wanted = Version { hold: true, ..two.version.clone() };
        let sightings = vec![Sighting::Present(two.key, wanted)];
        let _ = gate.step(Event::Observed { sightings, complete: BTreeSet::new() }, now);
        (gate, Known { live: [(one.key.clone(), one)].into(), ..Known::default() })
    }

    #[test]
    fn a_static_pod_shows_what_is_in_place_what_waits_and_why() {
        let (gate, known) = staged();
        let states = states(&gate, &known);
        let [state] = states.as_slice() else { panic!("{states:?}") };
        assert_eq!((state.phase, state.file.as_deref()), (StaticPodPhase::Held, Some("nginx.yaml")));
        let revision = |it: &Option<ManifestState>| it.as_ref().and_then(|it| it.revision.clone());
        assert_eq!(
            (revision(&state.current), revision(&state.next)),
            (Some("one".into()), Some("two".into()))
        );
        assert!(state.why.as_ref().unwrap().contains("static pod default/nginx is released"), "{state:?}");
    }

    #[test]
    fn the_list_of_pods_has_a_mirror_also_where_the_cluster_shows_none() {
        let (gate, known) = staged();
        let own = pods(&gate, &known, "rover-7", Vec::new());
        assert_eq!(own[0]["metadata"]["name"], "nginx-rover-7");
        assert_eq!(own[0]["metadata"]["ownerReferences"][0]["kind"], "Node");
        let condition = json!([{"type": "PodNeedUpgrade", "status": "True"}]);
        assert_eq!(own[0]["status"]["conditions"], condition);
        // The cluster's own mirror is shown as it is, with what the gate knows.
        let mirror = json!({"metadata": {"namespace": "default", "name": "nginx-rover-7", "uid": "u1"},
            "status": {"phase": "Running", "conditions": [{"type": "PodNeedUpgrade", "status": "False"}]}});
        let shown = pods(&gate, &known, "rover-7", vec![mirror]);
        assert_eq!((shown.len(), &shown[0]["metadata"]["uid"]), (1, &json!("u1")));
        assert_eq!(shown[0]["status"]["conditions"], condition);
    }
    /// It is the gate's own task that looks, and what is wrong in somebody's file must not end it.
    #[test]
    fn a_manifest_whose_status_is_anything_is_shown_with_one_of_ours() {
        for status in ["well", "[well]", "7", "null", "{conditions: well}"] {
            let (gate, mut known) = staged();
            let odd = read_text(&format!("{}status: {status}\n", text("one")));
            known.live.insert(odd.key.clone(), odd);
            let own = pods(&gate, &known, "rover-7", Vec::new());
            let condition = json!([{"type": "PodNeedUpgrade", "status": "True"}]);
            assert_eq!(own[0]["status"]["conditions"], condition, "{status}");
        }
    }
}
