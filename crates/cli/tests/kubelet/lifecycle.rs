//! Pods with a lifecycle on a real kubelet: one operation row by row, and what people do to pods ends as they expect, whether or
//! not the hub is there all the time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::hub;
use super::kubectl::Kubectl;
use super::node::Node;

const FINALIZER: &str = "prot.podopslifecycle.kusionstack.io/balancer";
const DOMAIN: &str = "podopslifecycle.kusionstack.io";
const GATE: &str = "pod.kusionstack.io/service-ready";
const PUT_OFF: &str = "pod deletion process is underway and being managed by PodOpsLifecycle";

/// A row of the table: the labels of the lifecycle without their domain and ids, the gate, Ready, and whether the load balancer
/// has its finalizer on the pod.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    labels: BTreeSet<String>,
    gate: bool,
    ready: bool,
    listed: bool,
}

fn row(labels: &[&str], gate: bool, ready: bool, listed: bool) -> Row {
    Row { labels: labels.iter().map(|&label| label.to_owned()).collect(), gate, ready, listed }
}

fn read(pod: &Value) -> Row {
    let is_true = |kind: &str| {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|it| it["type"] == kind && it["status"] == "True")
    };
    let keys = pod["metadata"]["labels"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let labels = keys.filter_map(|key| match key.split_once(&format!(".{DOMAIN}/")) {
        Some((label, _)) => Some(label.to_owned()),
        None => key.strip_prefix(&format!("{DOMAIN}/")).map(str::to_owned),
    });
    let mut finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    Row {
        labels: labels.collect(),
        gate: is_true(GATE),
        ready: is_true("Ready"),
        listed: finalizers.any(|it| it == FINALIZER),
    }
}

/// What was seen so far of a pod, each row once.
fn rows(watching: &Kubectl) -> Vec<Row> {
    let mut rows: Vec<Row> = watching.objects().iter().map(read).collect();
    rows.dedup();
    rows
}

/// A pod that takes part and is in nobody's list before its finalizer is there.
fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"kusionstack.io/control": "true"},
            "finalizers": [FINALIZER],
            "annotations": {"pod.kusionstack.io/available-conditions":
                json!({"expectedFinalizers": {"Balancer/default/front": FINALIZER}}).to_string()}},
        "spec": {"terminationGracePeriodSeconds": 2,
            "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never"}]},
    })
}

fn list(node: &Node, pod: &str, finalizers: Value) {
    let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
    node.kubectl(&["patch", "pod", pod, "--type=merge", "-p", &patch]);
}

#[test]
fn an_operation_goes_through_the_rows_of_the_protocol_on_a_real_kubelet() {
    let node = Node::new();
    let _hub = hub::with_lifecycle(&node.world);
    node.apply(&pod("web"));
    let watching = Kubectl::start(&node.world, "watch", &["get", "pod", "web", "--watch", "-o", "json"]);
    let wait = |what: &str, expected: &Row| {
        node.wait(what, || {
            let pod = node.world.json(&["get", "pod", "web"]).ok()?;
            (read(&pod) == *expected).then_some(())
        });
    };
    let idle = row(&["service-available"], true, true, true);
    wait("it serves", &idle);
    let (begun, restarted) = (rows(&watching).len(), node.running("web"));
    // A wish on it, and what it brings about: preparing, out of service, still in the load balancer's list.
    let label = |what: &[&str]| node.kubectl(&[&["label", "pod", "web"], what].concat());
    let operating = format!("operating.{DOMAIN}/job=1");
    let kind = format!("operation-type.{DOMAIN}/job=restart");
    label(&[&operating, &kind]);
    let prepared = ["operating", "operation-type", "operation-permission", "pre-checked", "preparing"];
    wait("it is prepared", &row(&prepared, false, false, true));
    // The load balancer lets go.
    list(&node, "web", json!([]));
    let operate = ["operating", "operation-type", "operation-permission", "pre-checked", "operate"];
    wait("it may be operated", &row(&operate, false, false, false));
    // Done.
    label(&[&format!("operating.{DOMAIN}/job-")]);
    let completing = ["operated", "done-operation-type", "post-checked", "completing"];
    wait("it is about to serve", &row(&completing, true, true, false));
    // The load balancer takes it up again.
    list(&node, "web", json!([FINALIZER]));
    wait("it serves again", &idle);
    assert_eq!(node.running("web"), restarted, "nobody restarted it");

    let seen = rows(&watching).split_off(begun);
    // While somebody may act, nobody is sent there and nobody has it in a list.
    for row in seen.iter().filter(|row| row.labels.contains("operate")) {
        assert!(!row.gate && !row.ready && !row.listed, "{row:?} of {seen:#?}");
    }
    // It serves as long as, and as soon as, it is said to.
    for row in seen.iter().filter(|row| row.labels.contains("service-available")) {
        assert!(row.gate && row.listed, "{row:?} of {seen:#?}");
    }
    let first = |label: &str| seen.iter().position(|row| row.labels.contains(label));
    let order = ["pre-check", "preparing", "operate", "operated", "completing"].map(first);
    assert!(order.is_sorted() && order.iter().all(Option::is_some), "{order:?} of {seen:#?}");
    let events = node.kubectl(&["describe", "pod", "web"]);
    assert!(events.contains("service readiness gate to: False"), "{events}");
}

const PROGRAMS: [(&str, &str, usize); 3] =
    [("Deployment", "web", 2), ("StatefulSet", "log", 2), ("DaemonSet", "eye", 1)];

fn workload(kind: &str, name: &str, replicas: usize) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name, "kusionstack.io/control": "true"}},
            "spec": {"terminationGracePeriodSeconds": 2,
                "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never"}]},
        },
    });
    if kind != "DaemonSet" {
        spec["replicas"] = replicas.into();
    }
    if kind == "StatefulSet" {
        spec["serviceName"] = name.into();
    }
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

/// The pods of a workload: their names and uids.
fn pods(node: &Node, name: &str) -> Vec<(String, String)> {
    let all = node.world.json(&["get", "pods", "-l", &format!("app={name}")]).unwrap();
    let text = |pod: &Value, field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
    all["items"].as_array().unwrap().iter().map(|pod| (text(pod, "name"), text(pod, "uid"))).collect()
}

fn wait_replaced(node: &Node, name: &str, count: usize, old: &[(String, String)]) {
    node.wait(&format!("the pods of {name} are others"), || {
        let now = pods(node, name);
        (now.len() == count && !now.iter().any(|(_, uid)| old.iter().any(|(_, old)| old == uid)))
            .then_some(())
    });
    node.wait_ready(name, count);
}

/// Puts every pod of a workload into the load balancer's list, so that its end has to wait for that one.
fn list_all(node: &Node, name: &str) {
    for (pod, _) in pods(node, name) {
        list(node, &pod, json!([FINALIZER]));
    }
}

/// Lets go of pods that are out of service, and of no others: what a cooperation controller does.
fn let_go(node: &Node, name: &str) {
    let all = node.world.json(&["get", "pods", "-l", &format!("app={name}")]).unwrap();
    for pod in all["items"].as_array().unwrap() {
        let row = read(pod);
        if row.listed && !row.ready {
            list(node, pod["metadata"]["name"].as_str().unwrap(), json!([]));
        }
    }
}

fn is_prepared(node: &Node, name: &str) -> Option<()> {
    let all = node.world.json(&["get", "pods", "-l", &format!("app={name}")]).ok()?;
    let mut rows = all["items"].as_array()?.iter().map(read);
    rows.any(|row| row.listed && !row.ready && row.labels.contains("preparing")).then_some(())
}

#[test]
fn what_people_do_to_pods_with_a_lifecycle_ends_as_they_expect_also_when_the_hub_restarts_in_the_middle() {
    let node = Node::new();
    let mut hub = hub::with_lifecycle(&node.world);
    for (kind, name, count) in PROGRAMS {
        node.apply(&workload(kind, name, count));
    }
    for (_, name, count) in PROGRAMS {
        node.wait_ready(name, count);
    }

    // kubectl delete pod: refused with the words that users know, and done when the pod is out of the list.
    for (_, name, count) in PROGRAMS {
        list_all(&node, name);
        let victim = pods(&node, name).remove(0);
        let said = node.world.run(&["delete", "pod", &victim.0]).unwrap_err().to_string();
        assert!(said.contains(PUT_OFF) && said.contains(FINALIZER), "{said}");
        node.wait("it is prepared", || is_prepared(&node, name));
        // The hub goes, the load balancer lets go meanwhile, the hub comes back.
        hub.kill();
        let_go(&node, name);
        hub.start_again().unwrap();
        node.wait(&format!("{} of {name} is gone", victim.0), || {
            (!pods(&node, name).contains(&victim)).then_some(())
        });
        node.wait_ready(name, count);
    }

    // kubectl rollout restart: every pod is replaced, each only after it was out of service.
    for (kind, name, count) in PROGRAMS {
        list_all(&node, name);
        let old = pods(&node, name);
        node.kubectl(&["rollout", "restart", &format!("{kind}/{name}")]);
        node.wait("the first is prepared", || is_prepared(&node, name));
        hub.kill();
        hub.start_again().unwrap();
        node.wait(&format!("{name} is restarted"), || {
            let_go(&node, name);
            let now = pods(&node, name);
            (now.len() == count && !now.iter().any(|pod| old.contains(pod))).then_some(())
        });
        wait_replaced(&node, name, count, &old);
    }

    // kubectl scale, down to nothing and up again.
    for (kind, name, count) in PROGRAMS.into_iter().filter(|(kind, ..)| *kind != "DaemonSet") {
        list_all(&node, name);
        node.kubectl(&["scale", &format!("{kind}/{name}"), "--replicas=0"]);
        node.wait("the first is prepared", || is_prepared(&node, name));
        hub.kill();
        hub.start_again().unwrap();
        node.wait(&format!("nothing of {name} is left"), || {
            let_go(&node, name);
            pods(&node, name).is_empty().then_some(())
        });
        node.kubectl(&["scale", &format!("{kind}/{name}"), &format!("--replicas={count}")]);
        node.wait_ready(name, count);
    }

    // kubectl drain waits for the lifecycle of each pod, and ends.
    let drained = || ["web", "log"].into_iter().flat_map(|name| pods(&node, name)).collect::<Vec<_>>();
    let old = drained();
    for name in ["web", "log"] {
        list_all(&node, name);
    }
    let drain = ["drain", node.world.node(), "--ignore-daemonsets", "--force", "--timeout=300s"];
    let drain = [drain.as_slice(), &["--pod-selector=app in (web,log)"]].concat();
    let drain = Kubectl::start(&node.world, "drain", &drain);
    node.wait("the first is prepared", || is_prepared(&node, "web").or_else(|| is_prepared(&node, "log")));
    hub.kill();
    hub.start_again().unwrap();
    node.wait("the node is drained", || {
        let_go(&node, "web");
        let_go(&node, "log");
        drain.said().contains(" drained").then_some(())
    });
    let left = drained();
    assert!(!left.iter().any(|pod| old.contains(pod)), "{left:?} of {old:?} were not drained");
    node.kubectl(&["uncordon", node.world.node()]);
    for (_, name, count) in PROGRAMS {
        node.wait_ready(name, count);
    }
}

#[test]
fn a_hold_of_the_node_answers_first_and_the_lifecycle_goes_on_after_the_release() {
    let node = Node::new();
    let _hub = hub::with_lifecycle(&node.world);
    node.apply(&workload("Deployment", "web", 1));
    node.wait_ready("web", 1);
    list_all(&node, "web");
    node.safepoint(&["node", "freeze", "--reason", "crane lift", "--id", "lift", "--when-settled"]);
    let victim = pods(&node, "web").remove(0);
    let running = node.running("web");
    // Asked dry: a wish that comes before the hub has heard of the freeze goes through the lifecycle.
    node.wait("the hub has heard of the freeze", || {
        let said = node.world.run(&["delete", "pod", &victim.0, "--dry-run=server"]).err()?.to_string();
        said.contains("crane lift").then_some(())
    });
    // One sentence, and it is the hold's: nothing is taken out of service on a machine that must not change.
    let said = node.world.run(&["delete", "pod", &victim.0]).unwrap_err().to_string();
    assert!(said.contains("crane lift"), "{said}");
    assert!(!said.contains(PUT_OFF), "{said}");
    let now = node.world.json(&["get", "pod", &victim.0]).unwrap();
    assert!(read(&now).ready && read(&now).gate, "{now}");
    assert_eq!(node.running("web"), running);
    // Opened, the wish goes through the lifecycle: out of service first, then out of the list, then deleted.
    node.safepoint(&["node", "unfreeze"]);
    node.wait("it is prepared", || is_prepared(&node, "web"));
    assert_eq!(node.running("web"), running, "it ended before the load balancer let go");
    let_go(&node, "web");
    wait_replaced(&node, "web", 1, &[victim]);
}
