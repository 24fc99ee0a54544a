//! A cluster in this process, a node that answers as it is told, and a dashboard that is asked as a browser asks it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Event, Node, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::runtime::wait::conditions::is_crd_established;
use kube::{Client, ResourceExt};
use safepoint_api::node_gate::{NodeGateSpec, Order};
use safepoint_api::{NodeGate, StaticPod};
use safepoint_apiserver::{Api as EmbeddedApi, Options, User};
use safepoint_supervisor::{Config, Supervisor};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::line::Line;
use crate::dashboard::work;
use crate::known::Known;
use crate::people::People;
use crate::places::Places;
use crate::routes::{App, Inner};
use crate::session::{Cookies, form_token};
use crate::view::words::encoded;
use crate::watches::Watches;

/// The node.
pub(crate) const NODE: &str = "rover-7";
/// Where the browser thinks that it is.
pub(crate) const HERE: &str = "http://127.0.0.1:7080";
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) known: Arc<Known>,
    /// The token of somebody who may do everything.
    pub(crate) admin: String,
    /// The token of a node: it may next to nothing, and list static pods.
    pub(crate) other: String,
    /// The token of somebody who may nothing but say who they are.
    pub(crate) visitor: String,
    line: Line,
    _tasks: JoinSet<()>,
    router: Router,
    _data: tempfile::TempDir,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let api = EmbeddedApi::open(Options::new(data.path())).await.unwrap();
        let client = Client::new(api.router(User::admin()), "default");
        let mut tasks = JoinSet::new();
        let running = api.clone();
        tasks.spawn(async move { running.run_controllers(CancellationToken::new()).await });
        define(&client).await;
        let url = "https://127.0.0.1:1";
        let admin = token(&api.admin_kubeconfig(url).unwrap());
        let other = token(&api.node_kubeconfig("stranger", url).unwrap());
        let visitor = account(&client, "visitor").await;

        let known = Arc::new(Known::new());
        let clock = || "2026-11-16T12:00:00Z".parse().unwrap();
        let line = Line::new();
        let watches = Watches {
            client: line.through(client.clone()),
            known: Arc::clone(&known),
            clock,
            after: Vec::new(),
        };
        let supervisor = Supervisor::builder(Config::default()).module(watches).build().unwrap();
        let mut health = supervisor.handle().health();
        tasks.spawn(async move { drop(supervisor.run(CancellationToken::new()).await) });
        let ready = health.wait_for(|health| health.modules[Watches::NAME].state.is_serving());
        drop(tokio::time::timeout(PATIENCE, ready).await.expect("the watches come up").unwrap());

        let (jobs, waiting) = mpsc::channel(16);
        let app = App::new(Inner {
            known: Arc::clone(&known),
            people: People::new(line.through(Client::new(api.guarded_router(), "default"))),
            own: client.clone(),
            cookies: Cookies { secure: false },
            clock,
            hint: "Ask the admin.".to_owned(),
            jobs,
            places: Places::default(),
            stop: CancellationToken::new(),
        });
        tasks.spawn(work(waiting, CancellationToken::new()));
        Self { client, known, admin, other, visitor, line, _tasks: tasks, router: app.router(), _data: data }
    }

    /// The same with a node that has said this about itself.
    pub(crate) async fn with_node(status: Value) -> Self {
        let world = Self::new().await;
        let node = json!({"metadata": {"name": NODE, "labels": {"zone": "hall"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let nodes: Api<Node> = Api::all(world.client.clone());
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "",
            "lastTransitionTime": "2026-11-15T11:00:00Z", "lastHeartbeatTime": "2026-11-15T11:00:00Z"}]}});
        nodes.patch_status(NODE, &PatchParams::default(), &Patch::Merge(ready)).await.unwrap();
        let gate = NodeGate::new(NODE, NodeGateSpec::default());
        world.gates().create(&PostParams::default(), &gate).await.unwrap();
        world.says(status).await;
        world
    }

    /// Whether the dashboard reaches the cluster.
    pub(crate) fn cut_off(&self, is_cut: bool) {
        self.line.cut(is_cut);
    }

    /// The cluster answers nothing any more.
    pub(crate) fn goes_dead(&self) {
        self.line.kill();
    }

    /// Nobody may order this node anything any more.
    pub(crate) fn forbid(&self, node: &'static str) {
        self.line.forbid(node);
    }

    /// What another node says about itself, and the dashboard has heard.
    pub(crate) async fn another_says(&self, node: &str, status: Value) {
        let gate = NodeGate::new(node, NodeGateSpec::default());
        self.gates().create(&PostParams::default(), &gate).await.unwrap();
        let change = Patch::Merge(json!({"status": status}));
        let gate = self.gates().patch_status(node, &PatchParams::default(), &change).await.unwrap();
        let version = gate.resource_version().unwrap();
        until("the dashboard has heard", async || {
            self.known.look(|world| {
                let gate = world.nodes.get(node)?.gate.as_ref()?;
                (gate.version == version).then_some(())
            })
        })
        .await;
    }

    pub(crate) fn gates(&self) -> Api<NodeGate> {
        Api::all(self.client.clone())
    }

    pub(crate) fn static_pods(&self) -> Api<StaticPod> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// What the node says about itself, and the dashboard has heard.
    pub(crate) async fn says(&self, status: Value) {
        let change = Patch::Merge(json!({"status": status}));
        let gate = self.gates().patch_status(NODE, &PatchParams::default(), &change).await.unwrap();
        let version = gate.resource_version().unwrap();
        until("the dashboard has heard", async || {
            self.known.look(|world| {
                let gate = world.nodes.get(NODE)?.gate.as_ref()?;
                (gate.version == version && world.nodes[NODE].node.as_ref()?.ready).then_some(())
            })
        })
        .await;
    }

    /// Sends a form, and answers the order that comes of it with this phase, as the node would.
    pub(crate) async fn post_answered(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        phase: &str,
    ) -> (Answer, Order) {
        let gates = self.gates();
        let answered = async {
            let order =
                until("an order", async || gates.get(NODE).await.unwrap().spec.orders.first().cloned()).await;
            let answer = json!({"id": order.id, "phase": phase, "message": "as it was told", "at": "2026-11-16T12:00:01Z"});
            let change = Patch::Merge(json!({"status": {"orders": [answer]}}));
            gates.patch_status(NODE, &PatchParams::default(), &change).await.unwrap();
            order
        };
        tokio::join!(self.post(path, &self.admin, fields), answered)
    }

    /// What was noted of what people asked for.
    pub(crate) async fn noted(&self) -> Vec<String> {
        let events: Api<Event> = Api::all(self.client.clone());
        let list = events.list(&ListParams::default()).await.unwrap();
        list.items.into_iter().filter_map(|event| event.message).collect()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        let cookie = format!("safepoint={token}");
        let request = Request::get(path).header(header::COOKIE, cookie).body(Body::empty()).unwrap();
        Answer::of(self.send(request).await).await
    }

    /// Sends a form as a page of the dashboard does.
    pub(crate) async fn post(&self, path: &str, token: &str, fields: &[(&str, &str)]) -> Answer {
        let form = form_token(token);
        let fields = [&[("form", form.as_str())], fields].concat();
        self.post_from(Some(HERE), path, token, &fields).await
    }

    pub(crate) async fn post_from(
        &self,
        origin: Option<&str>,
        path: &str,
        token: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::HOST, "127.0.0.1:7080")
            .header(header::COOKIE, format!("safepoint={token}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        Answer::of(self.send(request.body(Body::from(body.join("&"))).unwrap()).await).await
    }
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: parts.status, headers: parts.headers, text }
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Asserts that it sends the browser on, and what is to be said there.
    pub(crate) fn goes_on_to(&self, path: &str) -> String {
        assert_eq!(
            (self.code, self.header(header::LOCATION)),
            (StatusCode::SEE_OTHER, path),
            "{}",
            self.text
        );
        let cookie = self.header(header::SET_COOKIE);
        let said = cookie
            .strip_prefix("safepoint-said=")
            .and_then(|rest| rest.split_once(';'))
            .unwrap_or_default()
            .0;
        percent_encoding::percent_decode_str(said).decode_utf8().unwrap().into_owned()
    }
}

async fn define(client: &Client) {
    let all: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in safepoint_api::crds() {
        all.create(&PostParams::default(), &crd).await.unwrap();
        let name = crd.name_any();
        let established = await_condition(all.clone(), &name, is_crd_established());
        tokio::time::timeout(PATIENCE, established).await.expect("it is served").unwrap();
    }
}

/// Makes a service account, and returns a token of it.
async fn account(client: &Client, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let (how, wanted) = (PostParams::default(), TokenRequest::default());
    accounts.create_token_request(name, &how, &wanted).await.unwrap().status.unwrap().token
}

fn token(kubeconfig: &std::path::Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let config: Value = serde_saphyr::from_str(&text).unwrap();
    config["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

/// Looks again and again until there is something.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, found).await {
        Ok(found) => found,
        Err(_) => panic!("it never came: {what}"),
    }
}
