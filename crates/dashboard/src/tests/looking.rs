//! What is seen, and what is sent when it changes.

use axum::body::Body;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::world::{NODE, World, until};
use crate::known::News;

/// A node that holds the upgrade of a rover.
fn holding() -> Value {
    json!({
        "state": "Frozen", "since": "2026-11-15T12:00:00Z", "holder": "crane", "reason": "lift <7>", "heldCount": 1,
        "agentVersion": "0.1.0",
        "holds": [{"id": "lift-1", "holder": "crane", "origin": "Local", "reason": "lift <7>",
            "scope": {"kind": "Node"}, "since": "2026-11-15T12:00:00Z"}],
        "held": [{"kind": "Pod", "namespace": "default", "name": "rover", "change": "Update", "fromRevision": "aaa",
            "toRevision": "bbb", "workload": {"kind": "Pod", "namespace": "default", "name": "rover"},
            "since": "2026-11-15T12:30:00Z", "why": "rover waits because the node is frozen by crane", "heldBy": ["lift-1"]}],
        "modules": [{"name": "uplink", "state": "Ready", "restarts": 3}],
    })
}

/// What is sent to a page while it is looked at.
async fn live(world: &World, path: &str) -> Body {
    let cookie = format!("safepoint={}", world.admin);
    let request = Request::get(path).header(header::COOKIE, cookie).body(Body::empty()).unwrap();
    let response = world.send(request).await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    response.into_body()
}

/// What is sent until this is in it.
async fn heard(body: &mut Body, words: &str) -> String {
    let mut sent = String::new();
    let all = async {
        while !sent.contains(words) {
            let frame = body.frame().await.unwrap().unwrap();
            sent.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(60), all).await;
    assert!(in_time.is_ok(), "{words} is not sent: {sent}");
    sent
}

#[tokio::test]
async fn the_fleet_is_seen_at_a_glance() {
    let world = World::with_node(holding()).await;
    let page = world.get("/?group=zone", &world.admin).await;
    assert_eq!(page.code, StatusCode::OK);
    for seen in [
        "1 node, 1 frozen; 1 change held on 1 of them.",
        "<tr id=\"node-rover-7\">",
        "lift &lt;7&gt;",
        "Roll-outs in progress",
        "href=\"/?q=zone%3Dhall\"",
        "<div id=\"lost\"><p role=\"status\"></p></div>",
        "data-live=\"/live?page=%2F%3Fgroup%3Dzone&amp;seen=",
    ] {
        assert!(page.text.contains(seen), "{seen} is not in {}", page.text);
    }
    assert!(world.get("/?q=drone", &world.admin).await.text.contains("No node is like that."));
    assert_eq!(world.get("/?page=x", &world.admin).await.code, StatusCode::BAD_REQUEST);
    let held = world.get("/held", &world.admin).await;
    assert!(held.text.contains("href=\"/workloads/default/Pod/rover\""), "{}", held.text);
}

#[tokio::test]
async fn the_page_of_a_node_says_what_it_holds_and_why_with_before_and_after() {
    let world = World::with_node(holding()).await;
    let pods: Api<Pod> = Api::default_namespaced(world.client.clone());
    let pod = json!({"metadata": {"name": "rover"},
        "spec": {"nodeName": NODE, "containers": [{"name": "drive", "image": "rover:v2"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let runs = json!({"status": {"phase": "Running", "containerStatuses": [{"name": "drive", "image": "rover:v1",
        "imageID": "", "ready": true, "restartCount": 0}]}});
    pods.patch_status("rover", &PatchParams::default(), &Patch::Merge(runs)).await.unwrap();

    let release = "/nodes/rover-7/release?kind=Pod&amp;namespace=default&amp;name=rover&amp;revision=bbb";
    for path in ["/nodes/rover-7", "/workloads/default/Pod/rover"] {
        let page = world.get(path, &world.admin).await;
        for seen in [
            "rover waits because the node is frozen by crane",
            release,
            "<del>rover:v1</del>",
            "<ins>rover:v2</ins>",
        ] {
            assert!(page.text.contains(seen), "{path}: {seen} is not in {}", page.text);
        }
    }
    let page = world.get("/nodes/rover-7", &world.admin).await.text;
    for seen in [
        "lift-1",
        "crane<span class=\"note\">, on the node</span>",
        "uplink",
        "safepoint log",
        "/thaw?override=yes",
    ] {
        assert!(page.contains(seen), "{seen} is not in {page}");
    }
    let form = world.get(&release.replace("&amp;", "&"), &world.admin).await;
    assert!(
        form.text.contains("pod default/rover") && form.text.contains("<code>bbb</code>"),
        "{}",
        form.text
    );
    assert_eq!(world.get("/nodes/nobody", &world.admin).await.code, StatusCode::NOT_FOUND);
    assert_eq!(world.get("/nodes/rover-7/explode", &world.admin).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_was_asked_and_what_happened_is_in_the_log() {
    let world = World::with_node(json!({"state": "Open"})).await;
    world.post("/nodes/rover-7/freeze", &world.admin, &[("reason", "crane lift")]).await;
    for path in ["/log", "/nodes/rover-7"] {
        let page = world.get(path, &world.admin).await;
        assert!(
            page.text.contains("kubernetes-admin asks to freeze rover-7: crane lift"),
            "{path}: {}",
            page.text
        );
    }
    assert!(world.get("/log", &world.admin).await.text.contains("how it was when the page was loaded"));
}

#[tokio::test]
async fn what_happened_to_a_workload_is_shown_when_nothing_of_it_is_held_any_more() {
    let world = World::with_node(json!({"state": "Open"})).await;
    for (pod, message) in
        [("rover", "the update of rover admitted"), ("camera", "the start of camera admitted")]
    {
        let event = json!({"metadata": {"generateName": "e.", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod}, "message": message,
            "reason": "ChangeAdmitted", "reportingComponent": "safepoint.dev/agent", "source": {"host": NODE}});
        let events: Api<Event> = Api::default_namespaced(world.client.clone());
        events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    }
    let page = world.get("/workloads/default/Pod/rover", &world.admin).await.text;
    assert!(page.contains("No node holds anything of it."), "{page}");
    assert!(page.contains("the update of rover admitted") && !page.contains("camera"), "{page}");
}

#[tokio::test]
async fn a_release_is_offered_for_those_nodes_that_may_be_ordered_something() {
    let world = World::with_node(holding()).await;
    world.another_says("rover-8", holding()).await;
    let page = async || world.get("/workloads/default/Pod/rover", &world.admin).await.text;
    let offers = |page: &str, node: &str| page.contains(&format!("/nodes/{node}/release"));
    let all = page().await;
    assert!(offers(&all, "rover-7") && offers(&all, "rover-8"), "{all}");

    let world = World::with_node(holding()).await;
    world.another_says("rover-8", holding()).await;
    world.forbid("rover-7");
    let some = world.get("/workloads/default/Pod/rover", &world.admin).await.text;
    assert!(
        some.contains("held on 2 nodes") && !offers(&some, "rover-7") && offers(&some, "rover-8"),
        "{some}"
    );
}

#[tokio::test]
async fn an_override_is_offered_where_the_freeze_was_taken_on_the_node() {
    let over = "/nodes/rover-7/thaw?override=yes";
    let world = World::with_node(holding()).await;
    assert!(world.get("/nodes/rover-7", &world.admin).await.text.contains(over));
    let mut status = holding();
    status["holds"][0]["origin"] = json!("Remote");
    world.says(status).await;
    let page = world.get("/nodes/rover-7", &world.admin).await.text;
    assert!(!page.contains(over) && page.contains("/nodes/rover-7/thaw\""), "{page}");
}

#[tokio::test]
async fn a_node_that_somebody_holds_without_a_freeze_is_held() {
    let world = World::with_node(json!({"state": "Open", "holder": "crane", "reason": "lift"})).await;
    for path in ["/", "/?standing=held", "/nodes/rover-7"] {
        let page = world.get(path, &world.admin).await.text;
        assert!(page.contains("<span class=\"badge held\""), "{path}: {page}");
        assert!(page.contains("something waits here, or somebody holds everything"), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_dashboard_that_does_not_hear_the_cluster_says_so_until_it_hears_it_again() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let mut fleet = live(&world, &format!("/live?page=%2F&seen={}", world.known.version())).await;
    let mut node = live(&world, "/live?page=%2Fnodes%2Frover-7").await;
    world.cut_off(true);
    let since = "<time class=\"since\" datetime=\"2026-11-16T12:00:00Z\">";
    for body in [&mut fleet, &mut node] {
        let sent = heard(body, "The cluster is not heard").await;
        assert!(sent.contains(since) && !sent.contains("event: reload"), "{sent}");
    }
    let late = world.get("/", &world.admin).await;
    let is_said = late.text.contains("The cluster is not heard") || late.code == StatusCode::BAD_GATEWAY;
    assert!(is_said, "{}", late.text);

    world.cut_off(false);
    for body in [&mut fleet, &mut node] {
        let sent = heard(body, "<div id=\"lost\"><p role=\"status\"></p></div>").await;
        assert!(!sent.contains("event: reload"), "{sent}");
    }
    world.says(json!({"state": "Open", "reason": "news"})).await;
    heard(&mut fleet, "news").await;
}

#[tokio::test]
async fn a_page_whose_look_is_not_answered_says_so_instead_of_waiting() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let mut body = live(&world, "/live?page=%2Fnodes%2Frover-7").await;
    world.goes_dead();
    world.known.take(News::Gate(NODE.to_owned(), None));
    heard(&mut body, "The cluster is not heard").await;
}

#[tokio::test]
async fn whoever_comes_back_is_sent_everything() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let path = format!("/live?page=%2F&seen={}", world.known.version());
    let cookie = format!("safepoint={}", world.admin);
    let request = Request::get(&path).header(header::COOKIE, cookie).header("last-event-id", "piece");
    let mut body = world.send(request.body(Body::empty()).unwrap()).await.into_body();
    heard(&mut body, "<section id=\"standings\"").await;
}

#[tokio::test]
async fn only_the_row_that_changes_is_sent_again() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let path = format!("/live?page=%2F&seen={}", world.known.version());
    let mut body = live(&world, &path).await;
    world.says(json!({"state": "Open", "reason": "a new reason"})).await;
    let sent = heard(&mut body, "a new reason").await;
    assert!(sent.starts_with("event: piece\ndata: <tr id=\"node-rover-7\">"), "{sent}");
}

#[tokio::test]
async fn a_page_that_is_older_than_what_is_known_is_sent_anew() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let mut body = live(&world, "/live?page=%2Fnodes%2Frover-7&seen=1").await;
    heard(&mut body, "<section id=\"standing\"").await;
    let other = world.get("/live?page=%2Fnowhere", &world.admin).await;
    assert_eq!(other.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_dashboard_forgets_what_is_deleted() {
    let world = World::with_node(json!({"state": "Open"})).await;
    world.gates().delete(NODE, &kube::api::DeleteParams::default()).await.unwrap();
    until("it is gone", async || world.known.look(|known| known.nodes[NODE].gate.is_none().then_some(())))
        .await;
    assert_eq!(world.get("/nodes/rover-7", &world.admin).await.code, StatusCode::NOT_FOUND);
}
