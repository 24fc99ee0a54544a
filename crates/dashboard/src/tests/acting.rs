//! What forms do: through the cluster, with the person's own rights, noted first.

use http::StatusCode;
use kube::api::{Patch, PatchParams, PostParams};
use safepoint_orders::static_pods::revisions;
use serde_json::json;

use super::world::{HERE, NODE, World, until};
use crate::session::form_token;

#[tokio::test]
async fn a_node_is_frozen_and_thawed_for_a_reason_that_is_noted() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let form = world.get("/nodes/rover-7/freeze", &world.admin).await;
    assert!(form.text.contains("<label for=\"reason\">"), "{}", form.text);

    let fields = [("reason", " crane lift "), ("for", "30m")];
    let said = world.post("/nodes/rover-7/freeze", &world.admin, &fields).await.goes_on_to("/nodes/rover-7");
    assert!(said.starts_with("rover-7 is asked to freeze."), "{said}");
    let freeze = world.gates().get(NODE).await.unwrap().spec.freeze.unwrap();
    assert_eq!((freeze.reason.as_str(), freeze.holder.as_deref()), ("crane lift", Some("kubernetes-admin")));
    assert!(freeze.hold_barrier && freeze.lease.unwrap().duration.to_string() == "30m");
    assert_eq!(world.noted().await, ["kubernetes-admin asks to freeze rover-7: crane lift"]);

    let again = world.post("/nodes/rover-7/freeze", &world.admin, &[("reason", "test")]).await;
    assert_eq!(again.code, StatusCode::CONFLICT, "a freeze is not replaced in passing");
    assert!(again.text.contains("by kubernetes-admin: crane lift"), "{}", again.text);

    let said = world.post("/nodes/rover-7/thaw", &world.admin, &[("reason", "done")]).await;
    assert!(said.goes_on_to("/nodes/rover-7").contains("taken back"));
    assert!(world.gates().get(NODE).await.unwrap().spec.freeze.is_none());
}

#[tokio::test]
async fn nothing_is_done_without_a_reason_or_with_one_that_cannot_be_meant() {
    let world = World::with_node(json!({"state": "Open"})).await;
    for (fields, why) in [
        (vec![("reason", " ")], "Say why."),
        (vec![("reason", "lift"), ("for", "soon")], "as a length of time"),
    ] {
        let answer = world.post("/nodes/rover-7/freeze", &world.admin, &fields).await;
        assert_eq!(answer.code, StatusCode::BAD_REQUEST);
        assert!(answer.text.contains(why) && answer.text.contains("<form id=\"ask\""), "{}", answer.text);
    }
    assert!(world.gates().get(NODE).await.unwrap().spec.freeze.is_none());
    assert!(world.noted().await.is_empty());
}

#[tokio::test]
async fn a_form_from_another_site_or_for_another_person_does_nothing() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let own = form_token(&world.admin);
    let other = form_token(&world.other);
    for (origin, form) in [
        (Some("http://evil"), own.as_str()),
        (None, own.as_str()),
        (Some(HERE), other.as_str()),
        (Some(HERE), ""),
    ] {
        let fields = [("form", form), ("reason", "because")];
        let answer = world.post_from(origin, "/nodes/rover-7/freeze", &world.admin, &fields).await;
        assert_eq!(answer.code, StatusCode::FORBIDDEN, "{origin:?} {form}");
    }
    assert!(world.gates().get(NODE).await.unwrap().spec.freeze.is_none());
}

#[tokio::test]
async fn a_release_is_ordered_answered_and_taken_out_again() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let fields = [
        ("kind", "Deployment"),
        ("namespace", "shop"),
        ("name", "web"),
        ("revision", "abc"),
        ("reason", "the robot stands still"),
    ];
    let (answer, order) = world.post_answered("/nodes/rover-7/release", &fields, "Obeyed").await;
    assert_eq!(answer.goes_on_to("/nodes/rover-7"), "rover-7: as it was told.");
    let release = order.release.unwrap();
    assert_eq!((release.revision.as_deref(), release.workload.unwrap().name.as_str()), (Some("abc"), "web"));
    assert!(world.gates().get(NODE).await.unwrap().spec.orders.is_empty(), "no order is left behind");
    let noted = world.noted().await;
    assert_eq!(
        noted,
        ["kubernetes-admin asks to release deployment shop/web on rover-7: the robot stands still"]
    );
}

#[tokio::test]
async fn a_veto_is_told_and_an_override_carries_its_reason_and_its_end() {
    let world = World::with_node(json!({"state": "Frozen"})).await;
    let (answer, order) = world.post_answered("/nodes/rover-7/thaw", &[("reason", "recall")], "Vetoed").await;
    assert!(answer.goes_on_to("/nodes/rover-7").starts_with("!rover-7 does not obey: as it was told."));
    assert!(order.override_.is_none());

    let fields = [("reason", "recall"), ("override", "yes"), ("for", "10m")];
    let (answer, order) = world.post_answered("/nodes/rover-7/thaw", &fields, "Obeyed").await;
    assert_eq!(answer.goes_on_to("/nodes/rover-7"), "rover-7: as it was told.");
    let override_ = order.override_.unwrap();
    assert_eq!((override_.reason.as_str(), override_.duration.to_string().as_str()), ("recall", "10m"));
    assert!(order.thaw.is_some() && order.id.starts_with("web-"));
}

#[tokio::test]
async fn a_static_pod_is_paused_resumed_and_brought_back() {
    let world = World::new().await;
    let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod",
        "metadata": {"name": "beacon", "namespace": "default"},
        "spec": {"staticPodName": "beacon", "staticPodManifest": "beacon",
            "template": {"spec": {"containers": [{"name": "main", "image": "beacon:v1"}]}}}});
    let first =
        world.static_pods().create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
    let first = first.unwrap();
    keep_revision(&world, &first).await;
    let newer =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "beacon:v2"}]}}}});
    world.static_pods().patch("beacon", &PatchParams::default(), &Patch::Merge(newer)).await.unwrap();

    let path = "/static-pods/default/beacon";
    until("the dashboard has heard", async || {
        world.known.look(|known| (!known.static_pods.is_empty()).then_some(()))
    })
    .await;
    assert!(world.get(path, &world.admin).await.text.contains("/static-pods/default/beacon/pause"));
    world.post(&format!("{path}/pause"), &world.admin, &[("reason", "a doubt")]).await.goes_on_to(path);
    assert!(world.static_pods().get("beacon").await.unwrap().spec.paused);
    world.post(&format!("{path}/resume"), &world.admin, &[("reason", "no doubt")]).await.goes_on_to(path);
    assert!(!world.static_pods().get("beacon").await.unwrap().spec.paused);

    let now = world.static_pods().get("beacon").await.unwrap();
    let kept = revisions(&world.client, &now).await.unwrap();
    let form = world.get(&format!("{path}/roll-back"), &world.admin).await;
    assert!(form.text.contains(&kept[0].revision), "{}", form.text);
    let fields = [("reason", "it is worse"), ("revision", kept[0].revision.as_str())];
    let said = world.post(&format!("{path}/roll-back"), &world.admin, &fields).await.goes_on_to(path);
    assert!(said.contains("goes back to revision"), "{said}");
    let back = world.static_pods().get("beacon").await.unwrap();
    assert_eq!(back.spec.template, first.spec.template);
    assert!(
        world.noted().await.iter().any(|note| note.contains("asks to roll default/beacon back to revision"))
    );
}

/// Keeps the template of an object, as the hub does.
async fn keep_revision(world: &World, object: &safepoint_api::StaticPod) {
    use k8s_openapi::api::core::v1::ConfigMap;
    use safepoint_api::names::safepoint::static_pod::{KEY_TEMPLATE, OF, REVISION, WANTED_AT};
    let map = json!({"metadata": {"name": "safepoint-static-beacon-1", "namespace": "default",
            "labels": {OF: "beacon", REVISION: object.spec.template.revision()},
            "annotations": {WANTED_AT: "2026-11-16T12:00:00Z"},
            "ownerReferences": [{"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "name": "beacon",
                "uid": object.metadata.uid}]},
        "data": {KEY_TEMPLATE: serde_json::to_string(&object.spec.template).unwrap()}});
    let maps = kube::Api::<ConfigMap>::namespaced(world.client.clone(), "default");
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
}
