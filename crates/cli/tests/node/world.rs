//! A cluster with one node, for one test.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use safepoint_apiserver::{Api, Options, Server, ServerOptions, User};
use safepoint_hub::{Definitions, Gates};
use safepoint_supervisor::{Config, Supervisor};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The node's name.
pub(super) const NODE: &str = "rover-7";
/// Longer than anything takes on a busy machine; nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(90);

/// The annotations of a pod whose upgrades wait, and whose first start does not.
pub(super) fn held() -> Value {
    json!({"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/first-install": "allow"})
}

/// A cluster, a node, and what happens on it.
pub(super) struct World {
    pub(super) folder: tempfile::TempDir,
    api: Api,
    admin: Router,
    address: SocketAddr,
    serving: Option<(CancellationToken, JoinHandle<()>)>,
    hub: CancellationToken,
    agent: Option<Child>,
    pub(super) extra: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
}

/// A run of a container: names are reused, and so are pids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Run {
    pub(super) pid: i32,
    pub(super) start_time: u64,
    pub(super) attempt: u64,
}

// === the cluster ===

impl World {
    /// A cluster and an agent that is ready.
    pub(super) async fn new() -> Self {
        let mut world = Self::without_agent().await;
        world.start_agent();
        world
    }

    /// A cluster whose node has not been started.
    pub(super) async fn without_agent() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let api = Api::open(Options::new(folder.path().join("api"))).await.unwrap();
        let server =
            Server::bind(api.clone(), &ServerOptions { listen: SocketAddr::from(([127, 0, 0, 1], 0)) })
                .await
                .unwrap();
        let address = server.address();
        api.node_kubeconfig(NODE, &server.url())
            .map(|path| fs::copy(path, folder.path().join("node.kubeconfig")))
            .unwrap()
            .unwrap();
        let admin = api.router(User::admin());
        let hub = CancellationToken::new();
        let client = kube::Client::new(admin.clone(), "default");
        let nothing =
            safepoint_supervisor::Spec::new("api").runs(|ctx: safepoint_supervisor::Ctx| async move {
                ctx.ready();
                ctx.cancelled().await;
                Ok(())
            });
        let supervisor = Supervisor::builder(Config::default())
            .module(nothing)
            .module(Definitions { client: client.clone(), after: "api" })
            .module(Gates { client, after: Definitions::NAME })
            .build()
            .unwrap();
        tokio::spawn(supervisor.run(hub.clone()));
        let mut world = Self {
            folder,
            api,
            admin,
            address,
            serving: None,
            hub,
            agent: None,
            extra: Vec::new(),
            variables: BTreeMap::new(),
        };
        world.serve(server);
        let path = "/apis/safepoint.dev/v1alpha1/nodegates";
        world
            .until("the definitions are there", async |world| (world.get(path).await.0 == 200).then_some(()))
            .await;
        world
    }

    fn serve(&mut self, server: Server) {
        let stop = CancellationToken::new();
        let task = tokio::spawn(server.run(stop.clone()));
        self.serving = Some((stop, task));
    }

    /// Cuts the link: nobody answers at the cluster's address any more.
    pub(super) async fn go_offline(&mut self) {
        self.drop_link().await;
        self.until("the agent has noticed", async |world| {
            (world.agent.is_none()
                || !world.local("GET", "/v1/status", None).await.1["uplink"]["connected"].as_bool()?)
            .then_some(())
        })
        .await;
    }

    /// The same, and nobody waits for the agent to notice.
    pub(super) async fn drop_link(&mut self) {
        let (stop, task) = self.serving.take().expect("the link is up");
        stop.cancel();
        task.await.unwrap();
    }

    pub(super) async fn go_online(&mut self) {
        let server = Server::bind(self.api.clone(), &ServerOptions { listen: self.address }).await.unwrap();
        self.serve(server);
    }

    /// Calls the API as its administrator.
    pub(super) async fn call(&self, method: &str, path: &str, body: Option<(&str, Value)>) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path);
        let mut bytes = Vec::new();
        if let Some((kind, body)) = body {
            request = request.header("content-type", kind);
            bytes = serde_json::to_vec(&body).unwrap();
        }
        let answer = self.admin.clone().oneshot(request.body(Body::from(bytes)).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, None).await
    }

    pub(super) async fn create(&self, path: &str, object: Value) -> Value {
        let (code, created) = self.call("POST", path, Some(("application/json", object))).await;
        assert_eq!(code, 201, "{created}");
        created
    }

    pub(super) async fn merge(&self, path: &str, change: Value) -> Value {
        self.patch(path, "merge", change).await
    }

    pub(super) async fn patch(&self, path: &str, how: &str, change: Value) -> Value {
        let kind = match how {
            "strategic" => "application/strategic-merge-patch+json",
            _ => "application/merge-patch+json",
        };
        let (code, changed) = self.call("PATCH", path, Some((kind, change))).await;
        assert_eq!(code, 200, "{changed}");
        changed
    }

    pub(super) async fn delete(&self, path: &str) {
        let (code, status) = self.call("DELETE", path, None).await;
        assert!(matches!(code, 200 | 202), "{status}");
    }

    /// Creates a pod on the node: one container that sleeps. Returns its uid.
    pub(super) async fn pod(&self, name: &str, annotations: Value) -> String {
        self.pod_with(name, annotations, json!({})).await
    }

    /// The same, with more in its spec.
    pub(super) async fn pod_with(&self, name: &str, annotations: Value, more: Value) -> String {
        let mut spec = json!({"nodeName": NODE, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"]}]});
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": spec});
        self.create(PODS, pod).await["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(super) async fn push(&self, name: &str, image: &str) {
        let change = json!({"spec": {"containers": [{"name": "main", "image": image}]}});
        let (code, changed) = self
            .call("PATCH", &pod_path(name), Some(("application/strategic-merge-patch+json", change)))
            .await;
        assert_eq!(code, 200, "{changed}");
    }

    /// The status of a pod's condition, or nothing.
    pub(super) async fn condition(&self, name: &str, kind: &str) -> Option<String> {
        let pod = self.get(&pod_path(name)).await.1;
        let conditions = pod["status"]["conditions"].as_array()?.clone();
        let found = conditions.iter().find(|condition| condition["type"] == kind)?;
        found["status"].as_str().map(str::to_owned)
    }

    pub(super) async fn until_ready(&self, name: &str) {
        let what = format!("{name} is ready");
        self.until(&what, async |world| {
            (world.condition(name, "Ready").await.as_deref() == Some("True")).then_some(())
        })
        .await;
    }

    /// Waits until the gate holds a change of this pod.
    pub(super) async fn until_held(&self, name: &str) {
        let what = format!("{name} is held");
        self.until(&what, async |world| (world.why(name).await["verdict"] == "Held").then_some(())).await;
    }

    /// Looks again and again. Nothing is measured by this: it ends when it is true.
    pub(super) async fn until<T, F>(&self, what: &str, look: F) -> T
    where
        F: AsyncFn(&World) -> Option<T>,
    {
        let looking = async {
            loop {
                if let Some(found) = look(self).await {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(found) => found,
            Err(_) => panic!("not seen within {PATIENCE:?}: {what}\n{}", self.log()),
        }
    }
}

pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";

pub(super) fn pod_path(name: &str) -> String {
    format!("{PODS}/{name}")
}

// === the node ===

impl World {
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("node")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }

    /// Starts the agent and waits until it says that it is ready.
    pub(super) fn start_agent(&mut self) {
        assert!(self.try_to_start_agent(), "the agent did not get ready:\n{}", self.log());
    }

    /// Starts the agent. False: it ended before it was ready.
    pub(super) fn try_to_start_agent(&mut self) -> bool {
        assert!(self.agent.is_none());
        let log =
            fs::File::options().create(true).append(true).open(self.folder.path().join("agent.log")).unwrap();
        // The agent as a program of its own, where one is named.
        let slim = std::env::var_os("SAFEPOINT_AGENT");
        let mut command = Command::new(slim.as_deref().unwrap_or(env!("CARGO_BIN_EXE_safepoint").as_ref()));
        if slim.is_none() {
            command.arg("agent");
        }
        command.args(["--node-name", NODE, "--kubeconfig"]).arg(self.folder.path().join("node.kubeconfig"));
        command.arg("--data").arg(self.data()).arg("--listen-socket").arg(self.socket()).args(&self.extra);
        command.env("SAFEPOINT_LOG", "info").env("RUST_BACKTRACE", "0").envs(&self.variables);
        let mut agent = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
        let ready = lines.any(|line| line.is_ok_and(|line| line.starts_with("ready in ")));
        self.agent = Some(agent);
        if !ready {
            self.wait_for_agent();
        }
        ready
    }

    /// `kill -9`.
    pub(super) fn kill_agent(&mut self) {
        let pid = i32::try_from(self.agent_pid()).ok().and_then(Pid::from_raw).expect("it is a pid");
        kill_process(pid, Signal::KILL).unwrap();
        self.wait_for_agent();
    }

    /// Waits for an agent that ends by itself.
    pub(super) fn wait_for_agent(&mut self) {
        self.agent.take().expect("the agent runs").wait().unwrap();
    }

    pub(super) fn agent_has_ended(&mut self) -> bool {
        self.agent.as_mut().is_none_or(|agent| agent.try_wait().unwrap().is_some())
    }

    pub(super) fn agent_pid(&self) -> u32 {
        self.agent.as_ref().expect("the agent runs").id()
    }

    /// Calls the node API over its socket. An agent that does not answer is code 0.
    pub(super) async fn local(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask(method, path, body).await.unwrap_or_default()
    }

    /// The same, and the agent may be killed meanwhile.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> impl Future<Output = Option<(u16, Value)>> + Send + 'static {
        let socket = self.socket();
        let bytes = body.map(|body| serde_json::to_vec(&body).unwrap()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "node")
            .header("content-type", "application/json")
            .body(Full::new(bytes::Bytes::from(bytes)))
            .unwrap();
        async move {
            let stream = tokio::net::UnixStream::connect(socket).await.ok()?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
            let connection = tokio::spawn(connection);
            let answer = sender.send_request(request).await.ok()?;
            let code = answer.status().as_u16();
            let bytes = answer.into_body().collect().await.ok()?.to_bytes();
            connection.abort();
            Some((code, serde_json::from_slice(&bytes).unwrap_or_default()))
        }
    }

    /// The text at a path of the node API.
    pub(super) fn text(&self, path: &str) -> String {
        let output = Command::new("curl")
            .arg("-s")
            .arg("--unix-socket")
            .arg(self.socket())
            .arg(format!("http://node{path}"))
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    pub(super) async fn why(&self, name: &str) -> Value {
        self.local("GET", &format!("/v1/why/default/{name}"), None).await.1
    }

    pub(super) async fn state(&self) -> String {
        self.local("GET", "/v1/status", None).await.1["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Releases the pod's upgrade. Returns the code and the answer.
    pub(super) async fn release(&self, name: &str) -> (u16, Value) {
        let body = json!({"pod": {"namespace": "default", "name": name}});
        self.local("POST", "/v1/releases", Some(body)).await
    }

    pub(super) async fn freeze(&self, id: &str) -> (u16, Value) {
        self.local("POST", "/v1/freeze", Some(json!({"id": id, "reason": "mission", "deadline": "60s"})))
            .await
    }

    pub(super) async fn thaw(&self) -> (u16, Value) {
        self.local("DELETE", "/v1/freeze", None).await
    }

    /// What the agent has said.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("agent.log")).unwrap_or_default()
    }

    // === processes ===

    /// The newest run of the pod's container `main`, if it was ever started.
    pub(super) fn run(&self, uid: &str) -> Option<Run> {
        self.runs(uid).pop()
    }

    /// All runs of the pod's container `main`, oldest first.
    pub(super) fn runs(&self, uid: &str) -> Vec<Run> {
        let folder = self.data().join("runtime/pods").join(uid).join("main");
        let attempts = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut runs: Vec<Run> = attempts.filter_map(|attempt| read_run(&attempt.path())).collect();
        runs.sort_by_key(|run| run.attempt);
        runs
    }

    pub(super) fn run_of(&self, uid: &str) -> Run {
        self.run(uid).unwrap_or_else(|| panic!("{uid} does not run\n{}", self.log()))
    }

    /// The uids of all pods of which something was ever started.
    pub(super) fn started(&self) -> Vec<String> {
        let pods = fs::read_dir(self.data().join("runtime/pods")).into_iter().flatten().flatten();
        let uids = pods.filter_map(|pod| pod.file_name().into_string().ok());
        uids.filter(|uid| !self.runs(uid).is_empty()).collect()
    }

    /// The folder in which the container sees its mounts.
    pub(super) fn root(&self, uid: &str) -> PathBuf {
        let attempt = self.run_of(uid).attempt.to_string();
        self.data().join("runtime/pods").join(uid).join("main").join(attempt).join("root")
    }
}

fn read_run(folder: &Path) -> Option<Run> {
    let attempt = folder.file_name()?.to_str()?.parse().ok()?;
    let started: Value = serde_json::from_slice(&fs::read(folder.join("started.json")).ok()?).ok()?;
    let pid = i32::try_from(started["pid"].as_i64()?).ok()?;
    Some(Run { pid, start_time: started["start"].as_u64()?, attempt })
}

impl Run {
    /// Whether it is that process and it runs.
    pub(super) fn is_alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // State is the third field of the file and the start time the twenty-second.
        fields.first() != Some(&"Z")
            && fields.get(19).and_then(|time| time.parse().ok()) == Some(self.start_time)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        self.hub.cancel();
        let pods = fs::read_dir(self.data().join("runtime/pods")).into_iter().flatten().flatten();
        for pod in pods {
            let containers = fs::read_dir(pod.path()).into_iter().flatten().flatten();
            for container in containers {
                let attempts = fs::read_dir(container.path()).into_iter().flatten().flatten();
                for run in attempts.filter_map(|attempt| read_run(&attempt.path())).filter(Run::is_alive) {
                    // The shim reaps it and ends.
                    let pid = Pid::from_raw(run.pid).expect("pids are not zero");
                    let _ =
                        kill_process_group(pid, Signal::KILL).or_else(|_| kill_process(pid, Signal::KILL));
                }
            }
        }
    }
}
