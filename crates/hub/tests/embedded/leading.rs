//! Several hubs: all answer, one leads.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use safepoint_hub::{Hub, Options};
use serde_json::{Value, json};

use crate::hub::{RunningHub, options, until};
use crate::several::{follows, stop};
use crate::world::World;

fn named(world: &World, name: &str) -> Options {
    Options { elected_as: Some(name.to_owned()), critical: true, ..options(&world.admin) }
}

async fn leader(world: &World) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(world.admin.clone(), "safepoint-system");
    leases.get_opt("safepoint-hub").await.unwrap()?.spec?.holder_identity
}

/// A client that asks a hub as the API server would.
async fn api_server(world: &World, hub: &RunningHub) -> Client {
    let secrets: Api<Secret> = Api::namespaced(world.admin.clone(), "safepoint-system");
    let data = secrets.get("safepoint-webhook").await.unwrap().data.unwrap();
    let (_, ca) = x509_parser::pem::parse_x509_pem(&data["ca.crt"].0).unwrap();
    let mut config = kube::Config::new(format!("https://{}", hub.address).parse().unwrap());
    config.root_cert = Some(vec![ca.contents]);
    Client::try_from(config).unwrap()
}

/// The path of a hook as the API server knows it.
async fn path(world: &World, hook: &str) -> String {
    let secrets: Api<Secret> = Api::namespaced(world.admin.clone(), "safepoint-system");
    let data = secrets.get("safepoint-webhook").await.unwrap().data.unwrap();
    format!("/{}{hook}", String::from_utf8(data["token"].0.clone()).unwrap())
}

async fn ask(client: &Client, path: &str, request: Value) -> Value {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let request = http::Request::post(path).header("content-type", "application/json");
    client.request(request.body(review.to_string().into_bytes()).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hubs_both_answer_and_one_leads_and_the_other_takes_over() {
    let world = World::new().await;
    let first = RunningHub::leading(named(&world, "first")).await;
    world.registered().await;
    let second = RunningHub::start(named(&world, "second")).await;
    assert_eq!(leader(&world).await.as_deref(), Some("first"));
    follows(&second).await;

    world.pod("arm", json!({"edge.kubeedge.io/hold-upgrade": "true"})).await;
    let pod = serde_json::to_value(world.pods("jane").get("arm").await.unwrap()).unwrap();
    let hold = path(&world, "/hold").await;
    for hub in [&first, &second] {
        let client = api_server(&world, hub).await;
        let request = json!({"uid": "q1", "operation": "DELETE", "namespace": "default", "name": "arm", "dryRun": true,
            "userInfo": {"username": "jane"}, "oldObject": pod});
        until("the hub knows the gate", async || {
            let answer = ask(&client, &hold, request.clone()).await;
            (answer["response"]["allowed"] == false).then_some(())
        })
        .await;
    }

    stop(first).await;
    second.until("registration").await;
    assert_eq!(leader(&world).await.as_deref(), Some("second"));
    world.gate_seen(json!({"state": "Open"}), "arm", true).await;
    stop(second).await;
    assert_eq!(leader(&world).await.as_deref(), Some(""), "it was given up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_is_followed_when_its_lease_has_ended() {
    let world = World::new().await;
    let first = RunningHub::leading(named(&world, "first")).await;
    let second = RunningHub::start(named(&world, "second")).await;
    first.kill().await;
    second.until("registration").await;
    assert_eq!(leader(&world).await.as_deref(), Some("second"));
    let third = RunningHub::start(named(&world, "third")).await;
    follows(&third).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_that_begin_at_once_agree_on_one_certificate() {
    let world = World::new().await;
    let (first, second) = (
        RunningHub::begin(Hub::bind(named(&world, "first")).unwrap()),
        RunningHub::begin(Hub::bind(named(&world, "second")).unwrap()),
    );
    first.until("webhooks").await;
    second.until("webhooks").await;
    // Each is asked with the authority that is in the Secret: a client that does not trust it gets no answer.
    for hub in [&first, &second] {
        let client = api_server(&world, hub).await;
        let answer = ask(
            &client,
            &path(&world, "/carry").await,
            json!({"uid": "q1", "object": {"metadata": {"name": "a"}}}),
        )
        .await;
        assert_eq!(answer["response"], json!({"uid": "q1", "allowed": true}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_told() {
    let world = World::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let hub = RunningHub::leading(Options { health: Some(address), ..named(&world, "first") }).await;
    world.registered().await;
    hub.until("health").await;
    let client = Client::try_from(kube::Config::new(format!("http://{address}").parse().unwrap())).unwrap();
    let get = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    };
    assert!(get("/healthz").await.ends_with("ok\n"));
    let ready = get("/readyz").await;
    assert!(ready.contains("[+]webhooks ok\n") && ready.ends_with("ok\n"), "{ready}");
    let metrics = get("/metrics").await;
    assert!(metrics.contains("safepoint_leader 1\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    assert!(
        metrics.contains("safepoint_webhook_reviews_total{hook=\"hold.safepoint.dev\",verdict=\"denied\"}"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_know_the_path_is_not_answered() {
    let (world, hub) = World::with_hub().await;
    let client = api_server(&world, &hub).await;
    let known = path(&world, "/hold").await;
    for unknown in ["/hold".to_owned(), format!("/{}/hold", "0".repeat(32)), known[..20].to_owned() + "/hold"]
    {
        let request = http::Request::post(unknown).body(b"{}".to_vec()).unwrap();
        let refused = client.request_text(request).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 404));
    }
    let strange = http::Request::post(known).body(b"{}".to_vec()).unwrap();
    let refused = client.request_text(strange).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 400));
}
