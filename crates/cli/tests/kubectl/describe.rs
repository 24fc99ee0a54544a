//! `kubectl describe`: what is known about one object, and its events.

use crate::support::{NODE_STATUS, POD, Space, assert_has, assert_lacks, assert_table, event_about, node};

/// What stands behind a heading such as `Node:`.
fn field<'a>(text: &'a str, heading: &str) -> &'a str {
    let line = text.lines().find(|line| line.trim_start().starts_with(heading));
    line.unwrap_or_else(|| panic!("no {heading} in\n{text}")).split_once(':').unwrap().1.trim()
}

/// The lines below a heading, to the end.
fn below<'a>(text: &'a str, heading: &str) -> &'a str {
    text.split_once(heading).unwrap_or_else(|| panic!("no {heading} in\n{text}")).1
}

#[test]
fn a_pod_is_described_with_its_events() {
    let space = Space::new();
    space.apply(POD);
    let uid = space.run("get pod web -o jsonpath={.metadata.uid}");
    space.file("event.yaml", &event_about("Pod", "web", space.namespace(), &uid, "Odd", "something is odd"));
    space.run("create -f event.yaml");

    let text = space.run("describe pod web");
    assert_eq!(field(&text, "Namespace:"), space.namespace());
    assert_eq!(field(&text, "Node:"), "rover/");
    assert_eq!(field(&text, "Labels:"), "app=web");
    assert_eq!(field(&text, "Annotations:"), "note: hello");
    assert_eq!(field(&text, "Status:"), "Pending");
    assert_eq!(field(&text, "Image:"), "server:1");
    assert_eq!(field(&text, "Port:"), "80/TCP (http)");
    assert_eq!(field(&text, "MODE:"), "fast");
    assert_eq!(field(&text, "QoS Class:"), "Burstable");
    assert_has(&text, "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s");
    assert_table(
        below(&text, "Events:"),
        &[
            "Type Reason Age From Message",
            "---- ------ ---- ---- -------",
            "Warning Odd * (x3 over *) tester something is odd",
        ],
    );
}

#[test]
fn a_node_is_described_with_its_pods_and_its_events() {
    let space = Space::new();
    let name = format!("node-{}", space.namespace());
    space.apply(&node(&name));
    space.run(&format!("patch node {name} --subresource=status -p '{NODE_STATUS}'"));
    space.apply(&POD.replace("rover", &name));
    // Events of what has no namespace are kept in `default`, and name the node as its uid, as a kubelet does.
    space.file("event.yaml", &event_about("Node", &name, "''", &name, "Rebooted", "the machine was off"));
    space.run("create -f event.yaml -n default");

    let text = space.run(&format!("describe node {name}"));
    assert_eq!(field(&text, "Roles:"), "edge");
    assert_eq!(field(&text, "Unschedulable:"), "false");
    assert_eq!(field(&text, "InternalIP:"), "10.0.0.7");
    assert_eq!(field(&text, "Kubelet Version:"), "v1.36.4");
    assert_eq!(field(&text, "PodCIDR:"), "10.1.0.0/24");
    assert_has(&text, "KubeletReady");
    let pods = below(&text, "Non-terminated Pods:");
    let row = pods.lines().find(|line| line.trim_start().starts_with(space.namespace())).unwrap();
    assert_table(row, &["* web 100m (2%) 0 (0%) 64Mi (0%) 64Mi (0%) *"]);
    let row = below(&text, "Events:").lines().find(|line| line.contains("Rebooted")).unwrap();
    assert_table(row, &["Warning Rebooted * (x3 over *) tester the machine was off"]);
}

#[test]
fn a_namespace_is_described() {
    let space = Space::new();
    let text = space.run(&format!("describe namespace {}", space.namespace()));
    assert_eq!(field(&text, "Name:"), space.namespace());
    assert_eq!(field(&text, "Labels:"), format!("kubernetes.io/metadata.name={}", space.namespace()));
    assert_eq!(field(&text, "Status:"), "Active");
}

#[test]
fn settings_are_shown_and_secrets_only_counted() {
    let space = Space::new();
    space.run("create configmap settings --from-literal=mode=fast");
    let text = space.run("describe configmap settings");
    assert_has(&text, "Data\n====\nmode:\n----\nfast\n");
    assert_has(&text, "\nEvents:  <none>\n");
    space.run("create secret generic key --from-literal=word=friend");
    let text = space.run("describe secret key");
    assert_has(&text, "Type:  Opaque");
    assert_has(&text, "word:  6 bytes");
    assert_lacks(&text, "friend");
}

#[test]
fn a_service_account_a_service_and_a_lease_are_described() {
    let space = Space::new();
    space.run("create serviceaccount robot");
    assert_eq!(field(&space.run("describe sa robot"), "Namespace:"), space.namespace());
    space.run("create service clusterip web --clusterip=None --tcp=80:8080");
    let text = space.run("describe svc web");
    assert_eq!(field(&text, "Selector:"), "app=web");
    assert_eq!(field(&text, "TargetPort:"), "8080/TCP");
    space.apply("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: lock}, spec: {holderIdentity: me}}");
    assert_eq!(field(&space.run("describe lease lock"), "Holder Identity:"), "me");
}

#[test]
fn objects_are_described_by_label_and_by_the_beginning_of_their_names() {
    let space = Space::new();
    space.apply(POD);
    space.run("run db --image=db:2");
    let both = space.run("describe pods");
    assert!(both.matches("\nNamespace:").count() == 2, "{both}");
    assert_eq!(field(&space.run("describe pods -l run=db"), "Name:"), "db");
    assert_eq!(field(&space.run("describe pod we"), "Name:"), "web");
    assert_eq!(
        space.refused("describe pod nobody"),
        "Error from server (NotFound): pods \"nobody\" not found\n"
    );
}
