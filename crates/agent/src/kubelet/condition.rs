//! How a pod is, read from the status that a kubelet writes. Pure.

use std::collections::BTreeMap;

use safepoint_core::Health;
use serde_json::Value;

use super::mask::is_over;

/// The containers that an update replaces, and what ran in them before.
pub(super) type Replaced = BTreeMap<String, String>;

/// What of a version counts for how its pod does.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Traits {
    generation: Option<i64>,
    /// The ephemeral containers: they are started at some time after the version was seen.
    ephemeral: Vec<String>,
}

/// How a pod does, if the status is about the version that is shown.
///
/// A kubelet says that it has seen a version before it has acted on it: until a container that the version replaces runs
/// as another one, the pod is on its way.
pub(super) fn health(shown: &Traits, replaced: &Replaced, status: &Value) -> Option<Health> {
    let seen = status["observedGeneration"].as_i64();
    if let (Some(seen), Some(generation)) = (seen, shown.generation)
        && seen < generation
    {
        return None;
    }
    if is_over(status) {
        return Some(Health::Finished);
    }
    let is_replaced = |container: &Value| {
        let name = container["name"].as_str().unwrap_or_default();
        replaced.get(name).is_none_or(|before| container["containerID"].as_str() != Some(before))
    };
    let is_resized = ["PodResizePending", "PodResizeInProgress"].iter().all(|kind| !is_true(status, kind));
    let is_added = shown.ephemeral.iter().all(|name| {
        let mut found = status["ephemeralContainerStatuses"].as_array().into_iter().flatten();
        let is_begun = |state: &Value| !state["running"].is_null() || !state["terminated"].is_null();
        found.any(|container| container["name"] == name.as_str() && is_begun(&container["state"]))
    });
    if !containers(status).all(is_replaced) || !is_resized || !is_added {
        return Some(Health::Starting);
    }
    if is_true(status, "Ready") {
        return Some(Health::Ready);
    }
    let waits_for = |reasons: &[&str]| {
        containers(status).any(|container| {
            container["state"]["waiting"]["reason"].as_str().is_some_and(|reason| reasons.contains(&reason))
        })
    };
    if waits_for(&["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"]) {
        Some(Health::Pulling)
    } else if !has_run(status) || waits_for(&["ContainerCreating", "PodInitializing"]) {
        Some(Health::Starting)
    } else {
        Some(Health::Unready)
    }
}

/// Whether one of its containers has ever run. One that lacks its configuration waits for it, whatever word a kubelet has for that.
fn has_run(status: &Value) -> bool {
    let mut containers = status["containerStatuses"].as_array().into_iter().flatten();
    containers.any(|container| {
        !container["state"]["running"].is_null()
            || !container["state"]["terminated"].is_null()
            || !container["lastState"]["terminated"].is_null()
            || container["restartCount"].as_u64().is_some_and(|restarts| restarts > 0)
    })
}

/// The running containers of a pod that another version of it replaces, with the ids that they have now. Those that have
/// done their work are not started again for another image.
pub(super) fn replaced(before: &Value, after: &Value, status: &Value) -> Replaced {
    let specs = |pod: &Value| -> BTreeMap<String, Value> {
        let list = |name: &str| pod["spec"][name].as_array().cloned().unwrap_or_default();
        let sidecars = list("initContainers").into_iter().filter(|it| it["restartPolicy"] == "Always");
        let all = sidecars.chain(list("containers"));
        all.map(|container| (container["name"].as_str().unwrap_or_default().to_owned(), container.clone()))
            .collect()
    };
    let (before, after) = (specs(before), specs(after));
    let changed = |name: &str| {
        before.get(name).is_some_and(|old| after.get(name).is_some_and(|new| old["image"] != new["image"]))
    };
    containers(status)
        .filter(|container| !container["state"]["running"].is_null())
        .filter_map(|container| Some((container["name"].as_str()?, container["containerID"].as_str()?)))
        .filter(|(name, _)| changed(name))
        .map(|(name, id)| (name.to_owned(), id.to_owned()))
        .collect()
}

impl Traits {
    pub(super) fn of(pod: &Value) -> Self {
        let ephemeral = pod["spec"]["ephemeralContainers"].as_array().into_iter().flatten();
        Self {
            generation: pod["metadata"]["generation"].as_i64(),
            ephemeral: ephemeral.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect(),
        }
    }
}

/// Whether a kubelet has ever acted on a pod.
pub(crate) fn is_taken(pod: &Value) -> bool {
    pod["status"]["startTime"].is_string()
}

fn containers(status: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter();
    lists.flat_map(|list| status[list].as_array().into_iter().flatten())
}

fn is_true(status: &Value, kind: &str) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ready(generation: i64, id: &str) -> Value {
        json!({"phase": "Running", "observedGeneration": generation, "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "containerID": id, "state": {"running": {}}}]})
    }

    fn pod(image: &str) -> Value {
        json!({"spec": {"containers": [{"name": "main", "image": image}, {"name": "side", "image": "side:v1"}]}})
    }

    fn at(generation: i64) -> Traits {
        Traits { generation: Some(generation), ephemeral: Vec::new() }
    }

    fn of(status: &Value) -> Option<Health> {
        health(&at(1), &Replaced::new(), status)
    }

    #[test]
    fn a_status_of_an_earlier_version_says_nothing() {
        assert_eq!(health(&at(2), &Replaced::new(), &ready(1, "a")), None);
        assert_eq!(health(&at(2), &Replaced::new(), &ready(2, "a")), Some(Health::Ready));
    }

    #[test]
    fn where_no_generation_is_told_the_status_is_believed() {
        let mut status = ready(1, "a");
        status.as_object_mut().unwrap().remove("observedGeneration");
        assert_eq!(health(&at(2), &Replaced::new(), &status), Some(Health::Ready));
    }

    #[test]
    fn a_version_that_was_seen_and_not_acted_on_has_not_arrived() {
        let replaced = replaced(&pod("rover:v1"), &pod("rover:v2"), &ready(1, "a"));
        assert_eq!(replaced, Replaced::from([("main".into(), "a".into())]));
        assert_eq!(health(&at(2), &replaced, &ready(2, "a")), Some(Health::Starting));
        assert_eq!(health(&at(2), &replaced, &ready(2, "b")), Some(Health::Ready));
    }

    #[test]
    fn what_has_done_its_work_is_not_started_again_for_another_image() {
        let mut status = ready(1, "a");
        status["containerStatuses"][0]["state"] = json!({"terminated": {}});
        assert_eq!(replaced(&pod("rover:v1"), &pod("rover:v2"), &status), Replaced::new());
    }

    #[test]
    fn a_resize_and_an_ephemeral_container_are_waited_for() {
        let mut status = ready(1, "a");
        let resize = json!({"type": "PodResizePending", "status": "True"});
        status["conditions"].as_array_mut().unwrap().push(resize);
        assert_eq!(of(&status), Some(Health::Starting));
        let debugged = Traits::of(&json!({"spec": {"ephemeralContainers": [{"name": "debug"}]}}));
        let mut status = ready(1, "a");
        assert_eq!(health(&debugged, &Replaced::new(), &status), Some(Health::Starting));
        status["ephemeralContainerStatuses"] = json!([{"name": "debug", "state": {"running": {}}}]);
        assert_eq!(health(&debugged, &Replaced::new(), &status), Some(Health::Ready));
    }

    #[test]
    fn every_state_of_a_pod_has_a_word() {
        let waiting = |reason: &str| {
            json!({"phase": "Pending", "observedGeneration": 1,
                "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": reason}}}]})
        };
        assert_eq!(of(&json!({"phase": "Pending"})), Some(Health::Starting));
        assert_eq!(of(&waiting("ContainerCreating")), Some(Health::Starting));
        assert_eq!(of(&waiting("ImagePullBackOff")), Some(Health::Pulling));
        assert_eq!(of(&waiting("CreateContainerConfigError")), Some(Health::Starting));
        let mut crashed = waiting("CrashLoopBackOff");
        crashed["containerStatuses"][0]["restartCount"] = json!(1);
        assert_eq!(of(&crashed), Some(Health::Unready));
        assert_eq!(of(&json!({"phase": "Failed"})), Some(Health::Finished));
        assert_eq!(of(&json!({"phase": "Succeeded"})), Some(Health::Finished));
    }
}
