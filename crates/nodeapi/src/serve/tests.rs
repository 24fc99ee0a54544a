//! Real sockets, real processes, and where the tests run as root, real users. curl is the client: what it can do, people
//! can do. Where something is missing the test says so and proves nothing.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::rights::accounts;
use crate::testing::{TestNode, pod};

/// A user that no machine has.
const STRANGER: &str = "54321";

struct Running {
    node: TestNode,
    socket: PathBuf,
    ports: Vec<(Compat, SocketAddr)>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    folder: TempDir,
}

/// What curl got: the code, 0 if it could not connect, and the body.
type Got = (u16, String);

impl Running {
    async fn start(group: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Other users must be able to reach the socket's own folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let socket = folder.path().join("run/agent.sock");
        let node = TestNode::running([&cam()]);
        node.sees([&cam().revision("b")]);
        let (stop, mut tasks, mut ports) = (CancellationToken::new(), JoinSet::new(), Vec::new());
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        for compat in [Compat::KubeEdge, Compat::YurtHub, Compat::Horizon] {
            let port = Port::bind(node.clone(), compat, any, group).await.unwrap();
            ports.push((compat, port.address()));
            tasks.spawn(port.run(stop.clone()));
        }
        let server = Server::bind(node.clone(), &socket, group).await.unwrap();
        tasks.spawn(server.run(stop.clone()));
        Self { node, socket, ports, stop, tasks, folder }
    }

    fn url(&self, compat: Compat, path: &str) -> String {
        let (_, address) = self.ports.iter().find(|(other, _)| *other == compat).unwrap();
        format!("http://{address}{path}")
    }

    async fn curl(&self, as_user: &[&str], arguments: &[&str]) -> Got {
        curl(as_user, arguments).await
    }

    async fn native(&self, as_user: &[&str], arguments: &[&str], path: &str) -> Got {
        let socket = self.socket.to_str().unwrap();
        let url = format!("http://localhost{path}");
        let all: Vec<&str> =
            ["--unix-socket", socket, &url].into_iter().chain(arguments.iter().copied()).collect();
        curl(as_user, &all).await
    }

    async fn end(mut self) -> TempDir {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.folder
    }
}

fn cam() -> crate::testing::Object {
    pod("robot", "cam").annotated()
}

async fn curl(as_user: &[&str], arguments: &[&str]) -> Got {
    let (program, before) =
        as_user.split_first().map_or(("curl", &[][..]), |(program, rest)| (*program, rest));
    let curl = if as_user.is_empty() { &[][..] } else { &["curl"] };
    let output = Command::new(program)
        .args(before)
        .args(curl)
        .args(["-s", "-m", "20", "-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, code) = text.rsplit_once('\n').unwrap();
    (code.parse().unwrap(), body.to_owned())
}

/// Whether these programs are there; if not, the test says so.
fn have(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        !std::env::split_paths(&paths).any(|folder| folder.join(program).exists())
    });
    if let Some(missing) = missing {
        println!("skipped: {missing} is not on this machine");
    }
    missing.is_none()
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can become another user");
    }
    root
}

#[tokio::test]
async fn people_use_the_socket_with_curl() {
    if !have(&["curl"]) {
        return;
    }
    let running = Running::start(None).await;
    let (code, body) = running.native(&[], &[], "/v1/status").await;
    assert_eq!(code, 200);
    assert!(body.contains(r#""node":"rover-7""#), "{body}");
    let hold = r#"{"id":"mission","reason":"flying","scope":{"kind":"Node"}}"#;
    assert_eq!(running.native(&[], &["-d", hold], "/v1/holds").await.0, 201);
    assert_eq!(
        running.native(&[], &["-X", "DELETE"], "/v1/holds/mission").await,
        (200, r#"{"id":"mission"}"#.to_owned())
    );
    let caller = &running.node.callers()[0];
    let uid = rustix::process::geteuid().as_raw();
    assert!(caller.contains(&format!("uid {uid}")) && caller.contains("pid "), "{caller}");
    running.end().await;
}

#[tokio::test]
async fn a_body_that_is_far_too_large_is_answered_all_the_same() {
    if !have(&["curl"]) {
        return;
    }
    let running = Running::start(None).await;
    let file = running.folder.path().join("novel");
    fs::write(&file, vec![b' '; 4 * 1024 * 1024]).unwrap();
    let sent = format!("@{}", file.display());
    let (code, body) = running.native(&[], &["--data-binary", &sent], "/v1/holds").await;
    assert_eq!(code, 413, "{body}");
    running.end().await;
}

#[tokio::test]
async fn clients_of_other_systems_use_their_ports_with_curl() {
    if !have(&["curl"]) {
        return;
    }
    let running = Running::start(None).await;
    let unhold = running.url(Compat::KubeEdge, "/api/v1/pods/unhold-upgrade");
    assert_eq!(running.curl(&[], &["-X", "POST", "--data-binary", "robot/x\n", &unhold]).await.0, 404);
    assert_eq!(
        running.curl(&[], &["-X", "POST", "--data-binary", "robot/cam\n", &unhold]).await,
        (200, String::new())
    );
    assert_eq!(running.node.gate(|gate| gate.pending().count()), 0);
    let (code, pods) = running.curl(&[], &[&running.url(Compat::YurtHub, "/pods")]).await;
    assert_eq!(code, 200);
    assert!(pods.contains("PodList"), "{pods}");
    let state = running.url(Compat::Horizon, "/node/configstate");
    running.node.ready(&cam().revision("b"));
    let (code, body) = running.curl(&[], &["-X", "PUT", "-d", r#"{"state":"changefreeze"}"#, &state]).await;
    assert_eq!(code, 201, "{body}");
    assert!(body.contains(r#""state":"changefreeze""#), "{body}");
    let (code, head) = running.curl(&[], &["-I", &state]).await;
    assert_eq!(code, 200);
    let length = format!("content-length: {}", body.len());
    assert!(head.to_lowercase().contains(&length), "{head}");
    assert!(
        running.node.callers().iter().all(|caller| caller.contains("uid ")),
        "{:?}",
        running.node.callers()
    );
    running.end().await;
}

#[tokio::test]
async fn another_user_reads_where_the_socket_lets_them_and_changes_nothing() {
    if !have(&["curl", "setpriv"]) || !is_root() {
        return;
    }
    let running = Running::start(None).await;
    let stranger = ["setpriv", "--reuid", STRANGER, "--regid", STRANGER, "--clear-groups"];
    assert_eq!(running.native(&stranger, &[], "/v1/status").await.0, 0, "the socket is closed to them");
    // An operator who opens the socket to everybody opens reading.
    fs::set_permissions(running.socket.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&running.socket, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(running.native(&stranger, &[], "/v1/status").await.0, 200);
    let (code, body) = running.native(&stranger, &["-d", "{}"], "/v1/freeze").await;
    assert_eq!(code, 403);
    assert!(body.contains("uid 54321 may not change anything here"), "{body}");
    let unhold = running.url(Compat::KubeEdge, "/api/v1/pods/unhold-upgrade");
    assert_eq!(running.curl(&stranger, &["-d", "robot/cam", &unhold]).await.0, 403);
    let upgrade = running.url(Compat::YurtHub, "/openyurt.io/v1/namespaces/robot/pods/cam/upgrade");
    assert_eq!(running.curl(&stranger, &["-X", "POST", &upgrade]).await.0, 403);
    let state = running.url(Compat::Horizon, "/node/configstate");
    assert_eq!(
        running.curl(&stranger, &["-X", "PUT", "-d", r#"{"state":"changefreeze"}"#, &state]).await.0,
        403
    );
    assert_eq!(running.curl(&stranger, &[&state]).await.0, 200);
    assert!(running.node.callers().is_empty());
    running.end().await;
}

#[tokio::test]
async fn members_of_the_group_may_change_things_by_primary_or_supplementary_group() {
    let group = "games";
    let Some(gid) = accounts::gid_of(Path::new(accounts::GROUPS), group) else {
        return println!("skipped: there is no group {group} on this machine");
    };
    if !have(&["curl", "setpriv"]) || !is_root() {
        return;
    }
    let running = Running::start(Some(group)).await;
    let found = fs::metadata(&running.socket).unwrap();
    assert_eq!((found.gid(), found.mode() & 0o777), (gid, 0o660));
    let gid = gid.to_string();
    let primary = ["setpriv", "--reuid", STRANGER, "--regid", &gid, "--clear-groups"];
    let supplementary = ["setpriv", "--reuid", STRANGER, "--regid", STRANGER, "--groups", &gid];
    for (number, member) in [&primary[..], &supplementary[..]].into_iter().enumerate() {
        let hold = format!(r#"{{"id":"h{number}","reason":"flying","scope":{{"kind":"Node"}}}}"#);
        let (code, body) = running.native(member, &["-d", &hold], "/v1/holds").await;
        assert_eq!(code, 201, "{body}");
        assert!(body.contains("uid 54321"), "{body}");
    }
    running.end().await;
}

#[tokio::test]
async fn the_socket_is_for_its_group_and_goes_away_with_the_server() {
    let running = Running::start(None).await;
    let socket = running.socket.clone();
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o660);
    assert_eq!(fs::metadata(socket.parent().unwrap()).unwrap().mode() & 0o777, 0o750);
    assert_eq!(fs::read_dir(socket.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
    let folder = running.end().await;
    assert!(!socket.exists());
    drop(folder);
}

#[tokio::test]
async fn what_a_dead_agent_left_is_replaced_and_a_living_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "a socket outlives its listener");
    let first = Server::bind(TestNode::new(), &socket, None).await.unwrap();
    let second = Server::bind(TestNode::new(), &socket, None).await.unwrap_err();
    assert_eq!(second.to_string(), format!("another agent answers on {}: stop it first", socket.display()));
    assert!(socket.exists());
    drop(first);
    assert!(!socket.exists());
}

#[tokio::test]
async fn the_socket_of_a_successor_is_not_taken_away_by_its_predecessor() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let first = Server::bind(TestNode::new(), &socket, None).await.unwrap();
    fs::remove_file(&socket).unwrap();
    let _second = Server::bind(TestNode::new(), &socket, None).await.unwrap();
    drop(first);
    assert!(socket.exists());
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    fs::write(&socket, "precious").unwrap();
    let error = Server::bind(TestNode::new(), &socket, None).await;
    let BindError::Socket { source, .. } = error.unwrap_err() else { panic!("another error") };
    assert_eq!(source.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
}

#[tokio::test]
async fn a_compatible_api_is_never_open_to_the_network() {
    let open = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Port::bind(TestNode::new(), Compat::KubeEdge, open, None).await.unwrap_err();
    assert!(error.to_string().starts_with("KubeEdge answers on loopback only"), "{error}");
}

#[tokio::test]
async fn a_group_that_does_not_exist_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, group) = (folder.path().join("s"), Some("no-such-group-here"));
    let error = Server::bind(TestNode::new(), &socket, group).await.unwrap_err();
    assert!(error.to_string().contains("groupadd"), "{error}");
}

#[tokio::test]
async fn a_port_stands_by_itself_and_one_that_is_taken_says_by_whom_it_may_be() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let port = Port::bind(TestNode::new(), Compat::Horizon, any, None).await.unwrap();
    let second = Port::bind(TestNode::new(), Compat::Horizon, port.address(), None).await.unwrap_err();
    let said =
        format!("cannot listen on {} for Open Horizon: is the original still running there?", port.address());
    assert_eq!(second.to_string(), said);
    let stop = CancellationToken::new();
    stop.cancel();
    port.run(stop).await;
}

#[tokio::test]
async fn a_client_that_says_nothing_and_one_that_follows_events_do_not_keep_the_server_from_ending() {
    let running = Running::start(None).await;
    let _silent = UnixStream::connect(&running.socket).await.unwrap();
    let mut follower = UnixStream::connect(&running.socket).await.unwrap();
    follower.write_all(b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    follower.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    running.end().await;
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), follower.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the stream has an end");
}

#[tokio::test]
async fn one_user_does_not_take_all_places() {
    let running = Running::start(None).await;
    let mut open = Vec::new();
    // The places of one user, and one more that is closed at once.
    for _ in 0..65 {
        open.push(UnixStream::connect(&running.socket).await.unwrap());
    }
    let mut last = open.pop().unwrap();
    assert_eq!(last.read(&mut [0; 1]).await.unwrap(), 0, "it is closed");
    drop(open);
    running.end().await;
}
