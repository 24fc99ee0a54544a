//! What people with kubectl see.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::json;

use crate::hub::until;
use crate::world::{HOLD, shared};

#[test]
fn kubectl_delete_says_who_holds_and_how_to_release() {
    shared(async |world| {
        world.bare("arm", json!({})).await;
        let hold = json!({"id": "lift-42", "holder": "flight-control", "origin": "Remote", "reason": "crane lift",
            "scope": {"kind": "Node"}, "since": "2026-11-15T11:30:00Z"});
        world.gate(json!({"state": "Frozen", "holds": [hold]})).await;
        world.until_put_off("arm", true).await;
        let dry = world.kubectl(&["delete", "pod", "arm", "--dry-run=server"]);
        let said = world.kubectl(&["delete", "pod", "arm"]);
        assert_eq!(dry.stderr, said.stderr, "a dry run says the same");
        let said = String::from_utf8(said.stderr).unwrap();
        let node = &world.node;
        assert!(said.starts_with("Error from server (Conflict): admission webhook \"hold.safepoint.dev\" denied the request: pod "), "{said}");
        assert!(
            said.contains(&format!(
                "node {node} is frozen by flight-control since 2026-11-15T11:30:00Z (\"crane lift\")"
            )),
            "{said}"
        );
        assert!(said.contains(&format!("`safepoint node unfreeze {node}`")), "{said}");
        until("the wish is noted", async || world.wish("arm").await).await;
        // The command that the message names withdraws it.
        let withdrawn = world.kubectl(&["annotate", "pod", "arm", "safepoint.dev/end-wished-"]);
        assert!(withdrawn.status.success());
        assert_eq!(world.wish("arm").await, None);
        let forced = world.kubectl(&["delete", "pod", "arm", "--force", "--grace-period=0"]);
        assert!(forced.status.success(), "{forced:?}");
    });
}

#[test]
fn kubectl_drain_waits_for_the_release_and_then_goes_on() {
    shared(async |world| {
        world.bare("arm", json!({HOLD: "true"})).await;
        world.until_put_off("arm", true).await;
        let mut kubectl = world.plane.kubernetes.kubectl();
        let arguments = ["drain", &world.node, "--force", "--timeout=120s", "--pod-selector=app=arm"];
        let mut drain =
            kubectl.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(drain.stderr.take().unwrap()).lines();
        let retries =
            lines.find(|line| line.as_ref().unwrap().contains("will retry after 5s")).unwrap().unwrap();
        assert!(
            retries.contains("hold.safepoint.dev") && retries.contains("annotated to hold its upgrades"),
            "{retries}"
        );
        let wish = until("the wish is noted", async || world.wish("arm").await).await;
        assert_eq!((&wish["how"], &wish["by"]), (&json!("eviction"), &json!("admin")));
        let arm = json!({"kind": "Pod", "namespace": world.namespace, "name": "arm"});
        let grant = json!({"workload": arm, "since": "2026-11-15T12:00:00Z", "by": "order-1"});
        world.gate(json!({"state": "Open", "grants": [grant]})).await;
        // The eviction has passed when the pod is on its way out; its node would end it then.
        until("the eviction has passed", async || {
            world.api::<Pod>().get("arm").await.unwrap().metadata.deletion_timestamp
        })
        .await;
        let own = world.plane.client(Some(&format!("system:node:{}", world.node))).await;
        let pods: kube::Api<Pod> = kube::Api::namespaced(own, &world.namespace);
        let ended = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        pods.delete("arm", &ended).await.unwrap();
        for line in lines {
            drop(line.unwrap());
        }
        assert!(drain.wait().unwrap().success());
    });
}

#[test]
fn the_nodes_own_deletion_passes_and_ends_what_was_wished() {
    shared(async |world| {
        world.bare("arm", json!({HOLD: "true"})).await;
        world.until_put_off("arm", true).await;
        assert!(!world.kubectl(&["delete", "pod", "arm", "--wait=false"]).status.success());
        until("the wish is noted", async || world.wish("arm").await).await;
        let own = world.plane.client(Some(&format!("system:node:{}", world.node))).await;
        let pods: kube::Api<Pod> = kube::Api::namespaced(own, &world.namespace);
        pods.delete("arm", &DeleteParams::default()).await.unwrap();
        let ending = world.api::<Pod>().get("arm").await.unwrap();
        assert!(ending.metadata.deletion_timestamp.is_some());
    });
}
