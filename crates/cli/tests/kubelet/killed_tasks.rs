//! The task pods of a roll-out, killed at every step on a real kubelet. No agent is there that could go on instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use safepoint_testkit::{World, WorldOptions};
use serde_json::{Value, json};

use super::fleet::{condition, with_hub};
use super::kubectl::Kubectl;

/// One static pod for each step at which its first task dies. There have to be more of them than steps.
const STATIC_PODS: u32 = 24;
/// So many are upgraded at a time: a small node starts no more pods at once without stumbling.
const AT_A_TIME: u32 = 8;

/// The exit code of a container that SIGKILL has ended.
const KILLED: i64 = 137;

/// Makes the first task of each StaticPod die at the step that the StaticPod's name ends with.
const FIRST_TASKS_DIE: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: { name: first-tasks-die }
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - { apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }
    objectSelector: { matchLabels: { safepoint.dev/static-pod-work: upgrade } }
  matchConditions:
  - name: is-the-first
    expression: object.metadata.annotations["safepoint.dev/static-pod-attempt"] == "1"
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{spec: Object.spec{containers: [Object.spec.containers{name: "task", env: [
        Object.spec.containers.env{name: "SAFEPOINT_DIE_AT",
        value: object.metadata.labels["safepoint.dev/static-pod"].split("-")[1]}]}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: { name: first-tasks-die }
spec: { policyName: first-tasks-die }
"#;

fn name(step: u32) -> String {
    format!("eye-{step}")
}

fn containers(tag: &str) -> Value {
    json!([{"name": "main", "image": format!("app:{tag}"), "imagePullPolicy": "Never"}])
}

fn live(world: &World, step: u32) -> String {
    let path = world.static_pods().join(format!("{}.yaml", name(step)));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// It ran before anybody spoke of revisions.
fn put(world: &World, step: u32) -> String {
    let text = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name(step), "namespace": "default"},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": containers("v1")}})
    .to_string();
    fs::write(world.static_pods().join(format!("{}.yaml", name(step))), &text).unwrap();
    text
}

fn upgrade(world: &World, step: u32) {
    let object = json!({
        "apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod",
        "metadata": {"name": name(step), "namespace": "default"},
        "spec": {"staticPodName": name(step), "staticPodManifest": name(step),
            "upgradeStrategy": {"type": "AdvancedRollingUpdate", "retry": {"limit": 5, "backoffSeconds": 1}},
            "template": {"spec": {"terminationGracePeriodSeconds": 1, "containers": containers("v2")}}},
    });
    world.apply(&object.to_string()).unwrap();
}

/// Waits until a task would be given its step.
fn wait_for_policy(world: &World) {
    let path = world.folder().join("probe.json");
    let probe = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "default",
            "labels": {"safepoint.dev/static-pod": "eye-7", "safepoint.dev/static-pod-work": "upgrade"},
            "annotations": {"safepoint.dev/static-pod-attempt": "1"}},
        "spec": {"containers": [{"name": "task", "image": "app:v1"}]}});
    fs::write(&path, probe.to_string()).unwrap();
    let path = path.to_str().unwrap();
    world
        .wait("tasks are given their step", || {
            let pod = world.json(&["create", "--dry-run=server", "-f", path]).ok()?;
            (pod["spec"]["containers"][0]["env"][0]["value"] == "7").then_some(())
        })
        .unwrap();
}

/// Which StaticPods have every node upgraded.
fn done(world: &World) -> BTreeSet<String> {
    let list = world.json(&["get", "staticpods"]).unwrap();
    let objects = list["items"].as_array().cloned().unwrap_or_default();
    let done = objects.into_iter().filter(|object| {
        let status = &object["status"];
        condition(status, "Success") && status["upgradedNumber"] == 1 && status["readyNumber"] == 1
    });
    done.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// How the tasks ended, in the order of their ends: whose, the attempt, the exit code, the last words.
fn ended(watching: &Kubectl) -> Vec<(u32, u32, i64, String)> {
    let pods = watching.objects().into_iter();
    let ended = pods.filter_map(|pod| {
        let of = pod["metadata"]["labels"]["safepoint.dev/static-pod"].as_str()?;
        let attempt = pod["metadata"]["annotations"]["safepoint.dev/static-pod-attempt"].as_str()?;
        let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        let said = ended["message"].as_str().unwrap_or_default().to_owned();
        Some((
            of.strip_prefix("eye-")?.parse().ok()?,
            attempt.parse().ok()?,
            ended["exitCode"].as_i64()?,
            said,
        ))
    });
    let mut all: Vec<_> = Vec::new();
    for one in ended {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

#[test]
fn a_task_pod_killed_at_any_step_leaves_the_old_manifest_or_the_new_one_and_another_ends_its_work() {
    let mut world = World::start(&WorldOptions::default()).unwrap();
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig).unwrap();
    world.wait_node_ready().unwrap();
    let _hub = with_hub(&world);
    world.apply(FIRST_TASKS_DIE).unwrap();
    wait_for_policy(&world);
    let arguments = ["get", "pods", "--watch", "-l", "safepoint.dev/static-pod-work=upgrade", "-o", "json"];
    let watching = Kubectl::start(&world, "tasks", &arguments);

    let steps: Vec<u32> = (1..=STATIC_PODS).collect();
    for batch in steps.chunks(AT_A_TIME as usize) {
        let old: BTreeMap<u32, String> = batch.iter().map(|&step| (step, put(&world, step))).collect();
        world
            .wait("they run", || {
                let pods = world.json(&["get", "pods"]).ok()?;
                let is_ready = |step: &u32| {
                    let name = format!("{}-{}", name(*step), world.node());
                    let mut pods = pods["items"].as_array().into_iter().flatten();
                    pods.any(|pod| pod["metadata"]["name"] == name && condition(&pod["status"], "Ready"))
                };
                batch.iter().all(is_ready).then_some(())
            })
            .unwrap();
        for &step in batch {
            upgrade(&world, step);
        }
        // Looked at all the time, whatever is killed meanwhile: the old one or the new one, and nothing between.
        world
            .wait("other tasks have ended what was begun", || {
                for (&step, old) in &old {
                    let now = live(&world, step);
                    assert!(now == *old || is_new(&world, step, &now), "{}: {now}", name(step));
                }
                let done = done(&world);
                batch.iter().all(|step| done.contains(&name(*step))).then_some(())
            })
            .unwrap_or_else(|error| {
                let objects = world.run(&["get", "staticpods", "-o", "yaml"]).unwrap_or_default();
                panic!("{error:#}\n{objects}\n{:?}", ended(&watching))
            });
        for &step in batch {
            let now = live(&world, step);
            assert!(is_new(&world, step, &now), "{}: {now}", name(step));
        }
    }

    let ended = ended(&watching);
    let is_known = |code: &i64| [0, KILLED].contains(code);
    assert!(ended.iter().all(|(_, _, code, _)| is_known(code)), "{ended:#?}");
    let first = ended.iter().filter(|(_, attempt, ..)| *attempt == 1);
    let mut killed: Vec<u32> =
        first.filter(|(_, _, code, _)| *code == KILLED).map(|(step, ..)| *step).collect();
    killed.sort_unstable();
    let count = u32::try_from(killed.len()).unwrap();
    assert!(killed.into_iter().eq(1..=count), "not at every step, one after the other: {ended:#?}");
    assert!(count > 10, "only {count} steps: are faults compiled in?");
    let is_next = |step: u32, attempt: u32| (step, attempt) == (count + 1, 1);
    let came_through = ended.iter().any(|(step, attempt, code, _)| is_next(*step, *attempt) && *code == 0);
    assert!(came_through, "not every step was walked, make STATIC_PODS larger: {ended:#?}");
    let left = fs::read_dir(world.static_pods()).unwrap().count();
    assert_eq!(left, steps.len(), "something else lies in the kubelet's folder");
}

/// It is, byte for byte, what the hub keeps as the revision that is wanted.
fn is_new(world: &World, step: u32, text: &str) -> bool {
    let selector = format!("safepoint.dev/static-pod={}", name(step));
    let maps = world.json(&["get", "configmaps", "-l", &selector]).unwrap();
    let maps = maps["items"].as_array().into_iter().flatten();
    maps.flat_map(|map| map["data"].as_object().into_iter().flatten()).any(|(_, value)| *value == text)
}
