//! Clients written with kube-rs, in the same process: the way in which controllers and most tests use the API.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test")]

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_apiserver::{Api, Options, User};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

/// An API with its controllers running, in a folder of its own.
struct World {
    api: Api,
    _stop: DropGuard,
    _data: tempfile::TempDir,
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "the controllers run beside the test until it ends")]
    async fn new() -> World {
        let data = tempfile::tempdir().unwrap();
        let api = Api::open(Options::new(data.path())).await.unwrap();
        let stop = CancellationToken::new();
        tokio::spawn({
            let (api, stop) = (api.clone(), stop.clone());
            async move { api.run_controllers(stop).await }
        });
        World { api, _stop: stop.drop_guard(), _data: data }
    }

    fn client(&self, user: User) -> Client {
        Client::new(self.api.router(user), "default")
    }

    fn admin(&self) -> Client {
        self.client(User::admin())
    }

    /// Makes the kind NodeGate and waits until it is served.
    async fn with_node_gates(&self) {
        let crds: kube::Api<CustomResourceDefinition> = kube::Api::all(self.admin());
        for crd in safepoint_api::crds() {
            let name = crd.name_any();
            crds.create(&PostParams::default(), &crd).await.unwrap();
            await_condition(crds.clone(), &name, conditions::is_crd_established()).await.unwrap();
        }
    }
}

fn pod(name: &str, node: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "nodeName": node,
            "containers": [{ "name": "main", "image": "example/app:1", "envFrom": [{ "secretRef": { "name": "used" } }] }],
        },
    }))
    .unwrap()
}

fn secret(name: &str) -> Secret {
    serde_json::from_value(json!({ "metadata": { "name": name }, "stringData": { "key": "value" } })).unwrap()
}

fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_watcher_with_streaming_lists_sees_what_is_there_and_what_comes() {
    let world = World::new().await;
    let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(world.admin());
    let map = |name: &str| serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    maps.create(&PostParams::default(), &map("before")).await.unwrap();

    let mut events = watcher(maps.clone(), watcher::Config::default().streaming_lists()).boxed();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Init)));
    let Some(Event::InitApply(first)) = events.try_next().await.unwrap() else { panic!("the first object") };
    assert_eq!(first.name_any(), "before");
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::InitDone)));

    maps.create(&PostParams::default(), &map("after")).await.unwrap();
    let Some(Event::Apply(second)) = events.try_next().await.unwrap() else { panic!("the second object") };
    assert_eq!(second.name_any(), "after");
    maps.delete("before", &DeleteParams::default()).await.unwrap();
    let Some(Event::Delete(gone)) = events.try_next().await.unwrap() else { panic!("the deletion") };
    assert_eq!(gone.name_any(), "before");
}

#[tokio::test]
async fn a_custom_resource_is_checked_by_the_rules_of_its_definition() {
    let world = World::new().await;
    world.with_node_gates().await;
    let gates: kube::Api<NodeGate> = kube::Api::all(world.admin());
    let gate: NodeGate = serde_json::from_value(json!({
        "apiVersion": "safepoint.dev/v1alpha1", "kind": "NodeGate", "metadata": { "name": "rover-7" }, "spec": {},
    }))
    .unwrap();
    gates.create(&PostParams::default(), &gate).await.unwrap();
    let patch = json!({ "spec": { "freeze": { "reason": "" } } });
    let refused = gates.patch("rover-7", &PatchParams::default(), &Patch::Merge(&patch)).await;
    assert_eq!(code(refused), 422);
}

#[tokio::test]
async fn a_node_reaches_what_it_has_to_do_with_and_nothing_else() {
    let world = World::new().await;
    world.with_node_gates().await;
    let admin_pods: kube::Api<Pod> = kube::Api::default_namespaced(world.admin());
    let admin_secrets: kube::Api<Secret> = kube::Api::default_namespaced(world.admin());
    for name in ["used", "other"] {
        admin_secrets.create(&PostParams::default(), &secret(name)).await.unwrap();
    }
    admin_pods.create(&PostParams::default(), &pod("mine", "rover-7")).await.unwrap();
    admin_pods.create(&PostParams::default(), &pod("theirs", "rover-8")).await.unwrap();

    let node = world.client(User::of_node("rover-7"));
    let pods: kube::Api<Pod> = kube::Api::all(node.clone());
    let mine = pods.list(&ListParams::default().fields("spec.nodeName=rover-7")).await.unwrap();
    assert_eq!(mine.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["mine"]);
    assert_eq!(code(pods.list(&ListParams::default()).await), 403);
    assert_eq!(code(pods.list(&ListParams::default().fields("spec.nodeName=rover-8")).await), 403);

    let pods: kube::Api<Pod> = kube::Api::default_namespaced(node.clone());
    let status = json!({ "status": { "phase": "Running" } });
    pods.patch_status("mine", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    assert_eq!(code(pods.patch_status("theirs", &PatchParams::default(), &Patch::Merge(&status)).await), 403);
    assert_eq!(code(pods.create(&PostParams::default(), &pod("new", "rover-7")).await), 403);

    let secrets: kube::Api<Secret> = kube::Api::default_namespaced(node.clone());
    assert_eq!(secrets.get("used").await.unwrap().name_any(), "used");
    assert_eq!(code(secrets.get("other").await), 403);
    assert_eq!(code(secrets.list(&ListParams::default()).await), 403);

    let nodes: kube::Api<Node> = kube::Api::all(node.clone());
    let own: Node = serde_json::from_value(json!({ "metadata": { "name": "rover-7" } })).unwrap();
    let other: Node = serde_json::from_value(json!({ "metadata": { "name": "rover-8" } })).unwrap();
    nodes.create(&PostParams::default(), &own).await.unwrap();
    assert_eq!(code(nodes.create(&PostParams::default(), &other).await), 403);

    let gates: kube::Api<NodeGate> = kube::Api::all(node);
    assert_eq!(code(gates.get("rover-7").await), 404);
    assert_eq!(code(gates.get("rover-8").await), 403);
}

/// A text in the place of the spec ended the request with a panic.
#[tokio::test]
async fn a_request_for_a_token_whose_spec_is_no_object_is_refused() {
    let world = World::new().await;
    let accounts: kube::Api<ServiceAccount> = kube::Api::namespaced(world.admin(), "default");
    let account = serde_json::from_value(json!({ "metadata": { "name": "robot" } })).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let asked = async |body: serde_json::Value| {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
        world.admin().request::<serde_json::Value>(request).await
    };
    for spec in [json!("x"), json!(["x"]), json!(7)] {
        assert_eq!(code(asked(json!({ "spec": spec })).await), 400, "{spec}");
    }
    for body in [json!({}), json!({ "spec": null }), json!({ "spec": {} })] {
        assert!(asked(body).await.unwrap()["status"]["token"].is_string());
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_is_worth_nothing() {
    let world = World::new().await;
    let path = world.api.node_kubeconfig("rover-7", "https://in.process").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let token =
        text.lines().find_map(|line| line.trim().strip_prefix("token:")).unwrap().trim().trim_matches('"');
    let ask = async || {
        let client = Client::new(world.api.guarded_router(), "default");
        let request = http::Request::get("/version").header("authorization", format!("Bearer {token}"));
        let response = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
        response.status().as_u16()
    };
    assert_eq!(ask().await, 200);
    assert!(world.api.revoke_node("rover-7").unwrap());
    assert_eq!(ask().await, 401);
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused_and_disturbs_nothing() {
    let world = World::new().await;
    let Err(error) = Api::open(Options::new(world._data.path())).await else { panic!("it was opened twice") };
    assert!(error.to_string().contains("in use"), "{error}");
    let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(world.admin());
    maps.list(&ListParams::default()).await.unwrap();
}

/// Runs something to its end, with everything that it has left running.
fn in_its_own_time<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_watch_goes_on_where_the_list_ended_and_an_old_one_is_told_so() {
    let data = tempfile::tempdir().unwrap();
    let map = |name: &str| serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    let maps = async || {
        let api = Api::open(Options::new(data.path())).await.unwrap();
        kube::Api::<ConfigMap>::default_namespaced(Client::new(api.router(User::admin()), "default"))
    };
    let (old, listed) = in_its_own_time(async {
        let maps = maps().await;
        let first = maps.create(&PostParams::default(), &map("a")).await.unwrap();
        maps.create(&PostParams::default(), &map("b")).await.unwrap();
        let listed = maps.list(&ListParams::default()).await.unwrap();
        (first.resource_version().unwrap(), listed.metadata.resource_version.unwrap())
    });
    // After a restart the past is gone, and where the list ended is now.
    in_its_own_time(async {
        let maps = maps().await;
        let mut events = maps.watch(&WatchParams::default(), &old).await.unwrap().boxed();
        let Some(WatchEvent::Error(status)) = events.try_next().await.unwrap() else { panic!("an error") };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        let mut events = maps.watch(&WatchParams::default(), &listed).await.unwrap().boxed();
        maps.create(&PostParams::default(), &map("c")).await.unwrap();
        let Some(WatchEvent::Added(map)) = events.try_next().await.unwrap() else {
            panic!("the next object")
        };
        assert_eq!(map.name_any(), "c");
    });
}
