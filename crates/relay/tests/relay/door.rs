//! Who comes in, and who does not.

use std::net::SocketAddr;

use http::{Request, Response};
use http_body_util::BodyExt;
use safepoint_relay::{Client as Expected, ListenError, Listener, Source, full, loopback_certificate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::support::pki::{NODE, NODES, replace};
use crate::support::{Authority, Client, Pair, Server, Version, World, piece, pipe, rest, soon};

async fn hello(authority: &Authority) -> (Server, World) {
    let server = Server::start(authority, Version::Two, |_| async { Response::new(full("hello")) }).await;
    let world = World::new(authority, &[server.uri()]).await;
    (server, world)
}

/// Whether somebody with this certificate gets an answer.
async fn is_let_in(world: &World, own: Option<&Pair>) -> bool {
    let mut answers = Vec::new();
    for version in [Version::One, Version::Two] {
        let Ok(mut client) = world.client_as(own, version).await else {
            answers.push(false);
            continue;
        };
        answers.push(soon(client.get("/")).await.is_ok_and(|response| response.status() == 200));
    }
    assert_eq!(answers[0], answers[1]);
    answers[0]
}

#[tokio::test]
async fn only_the_kubelet_of_this_node_is_let_in() {
    let authority = Authority::new();
    let (server, world) = hello(&authority).await;
    let stranger = Authority::new();
    assert!(!is_let_in(&world, None).await, "nobody");
    assert!(!is_let_in(&world, Some(&stranger.node())).await, "signed by somebody else");
    assert!(
        !is_let_in(&world, Some(&authority.client("system:node:edge-2", &[NODES]))).await,
        "another node"
    );
    assert!(!is_let_in(&world, Some(&authority.client(NODE, &["system:masters"]))).await, "not as a node");
    assert!(!is_let_in(&world, Some(&authority.client(NODE, &[]))).await, "not as anything");
    assert!(!is_let_in(&world, Some(&authority.client("", &[NODES]))).await, "without a name");
    assert!(!is_let_in(&world, Some(&authority.server())).await, "a server's certificate");
    let expired = authority.client_between(NODE, &[NODES], 2000, 2010);
    assert!(!is_let_in(&world, Some(&expired)).await, "expired");
    assert_eq!(server.asked().len(), 0, "none of them got a word in");
    assert!(is_let_in(&world, Some(&authority.node())).await);
    assert!(is_let_in(&world, Some(&authority.client(NODE, &["other", NODES]))).await, "one group of two");
}

#[tokio::test]
async fn a_machine_without_a_clock_lets_its_kubelet_in() {
    let authority = Authority::new();
    let (_server, world) = hello(&authority).await;
    // To this machine the certificate is as far in the future as that of today is to one that wakes up in 1970.
    let future = authority.client_between(NODE, &[NODES], 2085, 2086);
    assert!(is_let_in(&world, Some(&future)).await);
    let stranger = Authority::new().client_between(NODE, &[NODES], 2085, 2086);
    assert!(!is_let_in(&world, Some(&stranger)).await, "but nobody else");
    let never = authority.client_between(NODE, &[NODES], 2086, 2085);
    assert!(!is_let_in(&world, Some(&never)).await, "nor one that ends before it begins");
}

#[tokio::test]
async fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let authority = Authority::new();
    let (_server, world) = hello(&authority).await;
    let mut crowd = Vec::new();
    for _ in 0..200 {
        crowd.push(TcpStream::connect(world.door).await.unwrap());
        if crowd.len() % 50 == 0 {
            assert!(is_let_in(&world, Some(&world.node)).await);
        }
    }
    // The oldest have been sent away.
    let mut byte = [0; 1];
    assert_eq!(soon(crowd[0].read(&mut byte)).await.unwrap_or(0), 0);
    drop(crowd);
}

#[tokio::test]
async fn what_is_no_tls_is_sent_away() {
    let authority = Authority::new();
    let (server, world) = hello(&authority).await;
    let mut stream = TcpStream::connect(world.door).await.unwrap();
    stream.write_all(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP/"), "not a word of HTTP");
    assert_eq!(server.asked().len(), 0);
    assert!(is_let_in(&world, Some(&world.node)).await);
}

#[tokio::test]
async fn when_the_door_closes_short_answers_finish_and_long_ones_break_off() {
    for version in [Version::One, Version::Two] {
        let authority = Authority::new();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::start(&authority, Version::Two, move |_| {
            let (pipe, body) = pipe();
            tell.send(pipe).unwrap();
            async { Response::new(body) }
        })
        .await;
        let mut world = World::new(&authority, &[server.uri()]).await;
        let (mut one, mut two) = (world.client(version).await, world.client(version).await);
        let mut long = soon(one.get("/long")).await.unwrap().into_body();
        let endless = soon(told.recv()).await.unwrap();
        let short = soon(two.get("/short")).await.unwrap().into_body();
        let ending = soon(told.recv()).await.unwrap();
        endless.write("begin").await;
        assert_eq!(piece(&mut long).await, "begin");
        world.stop.cancel();
        ending.write("complete").await;
        drop(ending);
        assert_eq!(rest(short).await, "complete");
        while soon(world.tasks.join_next()).await.is_some() {}
        soon(long.frame()).await.expect("not the end").expect_err("but an error");
        assert!(world.client_as(Some(&world.node), version).await.is_err(), "and nobody comes in");
        soon(endless.abandoned()).await;
    }
}

/// A door whose certificates are in files.
struct Door {
    address: SocketAddr,
    folder: tempfile::TempDir,
    _tasks: JoinSet<()>,
}

impl Door {
    async fn open(authority: &Authority) -> (Self, String) {
        let folder = tempfile::tempdir().unwrap();
        let made = loopback_certificate(&["127.0.0.1"]).unwrap();
        let file = |name: &str| folder.path().join(name);
        replace(&file("door.crt"), &made.certificate);
        replace(&file("door.key"), &made.key);
        replace(&file("ca.crt"), &authority.pem());
        let client = Expected {
            authority: Source::File(file("ca.crt")),
            name: NODE.to_owned(),
            group: NODES.to_owned(),
        };
        let (certificate, key) = (Source::File(file("door.crt")), Source::File(file("door.key")));
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(any, certificate, key, client).await.unwrap();
        let address = listener.local_addr();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let answer = |request: Request<_>, peer: safepoint_relay::Peer| async move {
                assert_eq!(request.uri().path(), "/");
                assert!(peer.address().ip().is_loopback());
                Response::new(full(peer.name().to_owned()))
            };
            listener.serve(answer, CancellationToken::new()).await;
        });
        (Self { address, folder, _tasks: tasks }, made.authority)
    }

    async fn says(&self, authority: &str, own: &Pair) -> Option<String> {
        let mut client = Client::connect(self.address, authority, Some(own), Version::Two).await.ok()?;
        let response = soon(client.get("/")).await.ok()?;
        Some(String::from_utf8(rest(response.into_body()).await.to_vec()).unwrap())
    }
}

#[tokio::test]
async fn the_peer_has_a_name_and_replaced_files_count_from_the_next_handshake_on() {
    let (old, new) = (Authority::new(), Authority::new());
    let (door, known_by) = Door::open(&old).await;
    let file = |name: &str| door.folder.path().join(name);
    assert_eq!(door.says(&known_by, &old.node()).await.as_deref(), Some(NODE));
    assert_eq!(door.says(&known_by, &new.node()).await, None);

    replace(&file("ca.crt"), &new.pem());
    assert_eq!(door.says(&known_by, &new.node()).await.as_deref(), Some(NODE));
    assert_eq!(door.says(&known_by, &old.node()).await, None);

    // Between the two files it is half a change, which does not count.
    let made = loopback_certificate(&["127.0.0.1"]).unwrap();
    replace(&file("door.crt"), &made.certificate);
    assert_eq!(door.says(&known_by, &new.node()).await.as_deref(), Some(NODE));
    replace(&file("door.key"), &made.key);
    assert_eq!(door.says(&made.authority, &new.node()).await.as_deref(), Some(NODE));
    assert_eq!(door.says(&known_by, &new.node()).await, None);
}

#[tokio::test]
async fn a_door_that_cannot_be_opened_says_why() {
    let authority = Authority::new();
    let (door, _) = Door::open(&authority).await;
    let client = Expected { authority: authority.source(), name: NODE.to_owned(), group: NODES.to_owned() };
    let (certificate, key) = authority.server().sources();
    let taken = Listener::bind(door.address, certificate.clone(), key.clone(), client.clone()).await;
    assert!(matches!(taken.err().unwrap(), ListenError::Port { address, .. } if address == door.address));

    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (_, other) = authority.server().sources();
    let mixed = Listener::bind(any, certificate.clone(), other, client.clone()).await.err().unwrap();
    assert!(mixed.to_string().contains("the key does not belong to the certificate"), "{mixed}");

    let nowhere = Source::File("/nowhere/ca.crt".into());
    let missing = Listener::bind(any, certificate, key, Expected { authority: nowhere, ..client }).await;
    assert!(missing.err().unwrap().to_string().starts_with("cannot read /nowhere/ca.crt"));
}
