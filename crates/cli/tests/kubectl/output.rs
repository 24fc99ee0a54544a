//! `kubectl get -o`: how objects are shown.

use serde_json::Value;

use crate::support::{NODE_STATUS, POD, Space, assert_has, assert_lacks, assert_table, node};

#[test]
fn pods_have_the_columns_of_kubernetes() {
    let space = Space::new();
    space.apply(POD);
    assert_table(&space.run("get pods"), &["NAME READY STATUS RESTARTS AGE", "web 0/1 Pending 0 *"]);
    space.run(
        r#"patch pod web --subresource=status -p '{"status": {
            "phase": "Running", "podIP": "10.1.0.2", "podIPs": [{"ip": "10.1.0.2"}],
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "server", "image": "server:1", "imageID": "", "ready": true, "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}'"#,
    );
    // Two words in a heading and one in its cell.
    assert_table(
        &space.run("get pods -o wide"),
        &[
            "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES",
            "web 1/1 Running 2 * 10.1.0.2 rover <none> <none>",
        ],
    );
}

#[test]
fn every_kind_has_its_columns() {
    let space = Space::new();
    space.run("create configmap settings --from-literal=a=1 --from-literal=b=2");
    space.run("create secret generic key --from-literal=a=1");
    space.run("create serviceaccount robot");
    space.apply(
        "
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lock}
spec: {holderIdentity: me}
",
    );
    assert_table(&space.run("get cm settings"), &["NAME DATA AGE", "settings 2 *"]);
    assert_table(&space.run("get secret key"), &["NAME TYPE DATA AGE", "key Opaque 1 *"]);
    assert_table(&space.run("get sa robot"), &["NAME AGE", "robot *"]);
    assert_table(
        &space.run("get svc web -o wide"),
        &[
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR",
            "web ClusterIP None <none> 80/TCP * app=web",
        ],
    );
    assert_table(&space.run("get lease lock"), &["NAME HOLDER AGE", "lock me *"]);
    assert_table(
        &space.run(&format!("get ns {}", space.namespace())),
        &["NAME STATUS AGE", &format!("{} Active *", space.namespace())],
    );
}

#[test]
fn nodes_have_the_columns_of_kubernetes() {
    let space = Space::new();
    let name = format!("node-{}", space.namespace());
    space.apply(&node(&name));
    space.run(&format!("patch node {name} --subresource=status -p '{NODE_STATUS}'"));
    assert_table(
        &space.run(&format!("get node {name} -o wide")),
        &[
            "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
            &format!("{name} Ready edge * v1.36.4 10.0.0.7 <none> Linux 6.12 (amd64) containerd://2"),
        ],
    );
}

#[test]
fn an_object_is_shown_whole() {
    let space = Space::new();
    space.apply(POD);
    let json: Value = serde_json::from_str(&space.run("get pod web -o json")).unwrap();
    assert_eq!((&json["apiVersion"], &json["kind"]), (&"v1".into(), &"Pod".into()));
    assert_eq!(json["spec"]["containers"][0]["env"][0]["value"], "fast");
    // What the server filled in.
    assert_eq!(json["spec"]["restartPolicy"], "Always");
    assert_eq!(json["status"]["qosClass"], "Burstable");

    let yaml = space.run("get pod web -o yaml");
    assert!(yaml.starts_with("apiVersion: v1\nkind: Pod\nmetadata:\n"), "{yaml}");
    assert_has(&yaml, "\n  - env:\n    - name: MODE\n      value: fast\n    image: server:1\n");
    assert_lacks(&yaml, "managedFields");

    let list: Value = serde_json::from_str(&space.run("get pods -o json")).unwrap();
    assert_eq!((&list["kind"], &list["items"][0]["kind"]), (&"List".into(), &"Pod".into()));
}

#[test]
fn parts_of_objects_are_picked() {
    let space = Space::new();
    space.apply(POD);
    space.run("run db --image=db:2");
    assert_eq!(space.run("get pods -o name"), "pod/db\npod/web\n");
    assert_eq!(space.run("get pods -o jsonpath='{.items[*].metadata.name}'"), "db web");
    assert_eq!(
        space.run(
            r#"get pods -o jsonpath='{range .items[?(@.spec.nodeName=="rover")]}{.metadata.name}{"\n"}{end}'"#
        ),
        "web\n"
    );
    assert_table(
        &space.run("get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image,NODE:.spec.nodeName"),
        &["NAME IMAGE NODE", "db db:2 <none>", "web server:1 rover"],
    );
    assert_eq!(space.run("get pod web -o go-template='{{.spec.nodeName}}'"), "rover");
    space.run("create secret generic key --from-literal=word=friend");
    assert_eq!(space.run("get secret key -o go-template='{{.data.word | base64decode}}'"), "friend");
}

#[test]
fn labels_are_shown_and_become_columns() {
    let space = Space::new();
    space.apply(POD);
    assert_table(
        &space.run("get pods --show-labels"),
        &["NAME READY STATUS RESTARTS AGE LABELS", "web 0/1 Pending 0 * app=web,tier=front"],
    );
    assert_table(
        &space.run("get pods -L tier -L nothing"),
        &["NAME READY STATUS RESTARTS AGE TIER NOTHING", "web 0/1 Pending 0 * front"],
    );
}

#[test]
fn a_subresource_is_shown_as_its_object_is() {
    let space = Space::new();
    space.apply(POD);
    assert_table(
        &space.run("get pod web --subresource=status"),
        &["NAME READY STATUS RESTARTS AGE", "web 0/1 Pending 0 *"],
    );
}
