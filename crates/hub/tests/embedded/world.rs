//! A cluster in this process: the embedded API, a node, and pods on it that nobody runs.

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::routing::get;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, EvictParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Client, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_api::names::safepoint::END_WISHED;
use safepoint_apiserver::{Api as EmbeddedApi, Options, User};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::hub::{RunningHub, until};

/// The node.
pub(crate) const NODE: &str = "rover-7";

pub(crate) struct World {
    api: EmbeddedApi,
    pub(crate) admin: Client,
    _controllers: JoinSet<()>,
    _data: tempfile::TempDir,
}

/// How a request ended.
#[derive(PartialEq, Debug)]
pub(crate) enum Said {
    Yes,
    No { code: u16, reason: String, message: String },
}

impl World {
    pub(crate) async fn new() -> Self {
        let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let api = EmbeddedApi::open(Options::new(data.path())).await.unwrap();
        let admin = Client::new(api.router(User::admin()), "default");
        let mut controllers = JoinSet::new();
        let running = api.clone();
        controllers.spawn(async move { running.run_controllers(CancellationToken::new()).await });
        let node: Node = serde_json::from_value(json!({"metadata": {"name": NODE}})).unwrap();
        Api::all(admin.clone()).create(&PostParams::default(), &node).await.unwrap();
        Self { api, admin, _controllers: controllers, _data: data }
    }

    /// A world with a hub that works.
    pub(crate) async fn with_hub() -> (Self, RunningHub) {
        let world = Self::new().await;
        let hub = RunningHub::leading(crate::hub::options(&world.admin)).await;
        world.registered().await;
        (world, hub)
    }

    /// A client that the API takes for this user, who may do everything.
    pub(crate) fn act_as(&self, name: &str) -> Client {
        let user = User { name: name.into(), groups: vec!["system:masters".into()], ..User::admin() };
        Client::new(self.api.router(user), "default")
    }

    /// The administrator's client, on an API that has this disruption budget, which this one has none of.
    pub(crate) fn with_budget(&self, budget: &Arc<Mutex<Value>>) -> Client {
        let budget = Arc::clone(budget);
        let list = move || async move {
            let items = [budget.lock().unwrap().clone()];
            let kind = "PodDisruptionBudgetList";
            Json(json!({"apiVersion": "policy/v1", "kind": kind, "metadata": {}, "items": items}))
        };
        let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
        Client::new(self.api.router(User::admin()).route(path, get(list)), "default")
    }

    /// A client of the node.
    pub(crate) fn node(&self) -> Client {
        Client::new(self.api.router(User::of_node(NODE)), "default")
    }

    /// Waits until the API server asks the hub: a pod that is held is not ended.
    pub(crate) async fn registered(&self) {
        self.gate(json!({"state": "Frozen"})).await;
        self.pod("canary", json!({})).await;
        until("the webhooks are asked", async || {
            let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
            matches!(said(self.pods("jane").delete("canary", &dry).await), Said::No { .. }).then_some(())
        })
        .await;
        self.gate(json!({"state": "Open"})).await;
        until("the hub has seen that it is open", async || {
            let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
            (said(self.pods("jane").delete("canary", &dry).await) == Said::Yes).then_some(())
        })
        .await;
    }

    pub(crate) fn pods(&self, user: &str) -> Api<Pod> {
        Api::default_namespaced(self.act_as(user))
    }

    /// A pod that the node runs, as far as anybody can tell.
    pub(crate) async fn pod(&self, name: &str, annotations: Value) -> Pod {
        let pod = json!({"metadata": {"name": name, "annotations": annotations, "labels": {"app": name}},
            "spec": {"nodeName": NODE, "containers": [{"name": "main", "image": "rover:v1"}]}});
        let pods = self.pods("jane");
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        let status = json!({"status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z"}});
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap()
    }

    /// What the node says about itself.
    pub(crate) async fn gate(&self, status: Value) {
        let gates: Api<NodeGate> = Api::all(self.admin.clone());
        until("the gate of the node is there", async || gates.get_opt(NODE).await.unwrap()).await;
        let mut whole = json!({"holds": null, "grants": null, "held": null});
        whole.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        let change = Patch::Merge(json!({"status": whole}));
        gates.patch_status(NODE, &PatchParams::default(), &change).await.unwrap();
    }

    /// The same, and waits until the hub puts the end of a pod off, or not.
    pub(crate) async fn gate_seen(&self, status: Value, pod: &str, put_off: bool) {
        self.gate(status).await;
        until("the hub has seen the gate", async || {
            let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
            let said = said(self.pods("jane").delete(pod, &dry).await);
            (matches!(said, Said::No { .. }) == put_off).then_some(())
        })
        .await;
    }

    pub(crate) async fn delete(&self, user: &str, pod: &str) -> Said {
        said(self.pods(user).delete(pod, &DeleteParams::default()).await)
    }

    pub(crate) async fn force(&self, user: &str, pod: &str) -> Said {
        let now = DeleteParams {
            grace_period_seconds: Some(0),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        said(self.pods(user).delete(pod, &now).await)
    }

    pub(crate) async fn evict(&self, user: &str, pod: &str) -> Said {
        said(self.pods(user).evict(pod, &EvictParams::default()).await)
    }

    /// The wish that a pod carries now.
    pub(crate) async fn wish(&self, pod: &str) -> Option<Value> {
        let found = self.pods("jane").get_opt(pod).await.unwrap()?;
        let wish = found.annotations().get(END_WISHED)?;
        Some(serde_json::from_str(wish).unwrap())
    }

    /// The wish that a pod carries as soon as there is one.
    pub(crate) async fn wished(&self, pod: &str) -> Value {
        until("the wish is noted", async || self.wish(pod).await).await
    }

    /// Takes the wish off, as the refusal says.
    pub(crate) async fn withdraw(&self, pod: &str) {
        let change = Patch::Merge(json!({"metadata": {"annotations": {END_WISHED: null}}}));
        self.pods("jane").patch(pod, &PatchParams::default(), &change).await.unwrap();
    }
}

pub(crate) fn said<T>(done: Result<T, kube::Error>) -> Said {
    match done {
        Ok(_) => Said::Yes,
        Err(kube::Error::Api(status)) => {
            Said::No { code: status.code, reason: status.reason.clone(), message: status.message.clone() }
        }
        Err(error) => panic!("no answer: {error}"),
    }
}

impl Said {
    pub(crate) fn is_no(&self) -> bool {
        matches!(self, Said::No { .. })
    }

    /// The refusal.
    pub(crate) fn no(self) -> (u16, String, String) {
        match self {
            Said::No { code, reason, message } => (code, reason, message),
            Said::Yes => panic!("it was to be refused"),
        }
    }
}
