//! More streams than a connection can have.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_relay::{Pace, empty};
use tokio::sync::watch;

use crate::support::server::Settings;
use crate::support::world::calm;
use crate::support::{Authority, Client, Pipe, Server, Version, World, piece, pipe, rest, soon};

/// A server that keeps every answer open.
struct Watches {
    server: Server,
    open: Arc<Mutex<Vec<Pipe>>>,
    most: Arc<AtomicUsize>,
}

impl Watches {
    async fn start(authority: &Authority, version: Version, streams: u32) -> Self {
        let open: Arc<Mutex<Vec<Pipe>>> = Arc::default();
        let most = Arc::new(AtomicUsize::new(0));
        let (pipes, counted) = (Arc::clone(&open), Arc::clone(&most));
        let server = Server::start_with(authority, Settings::of(version, streams), move |_| {
            let (pipe, body) = pipe();
            let mut pipes = pipes.lock().unwrap();
            pipes.push(pipe);
            counted.fetch_max(pipes.len(), Ordering::SeqCst);
            async { Response::new(body) }
        })
        .await;
        Self { server, open, most }
    }
}

/// Opens so many watches at once, over one connection.
async fn watch(client: &Client, count: usize) -> Vec<Response<Incoming>> {
    let begin = |number| {
        let mut sender = client.sender();
        let uri = format!("https://{}/api/v1/namespaces/x/secrets/{number}", client.address());
        async move { sender.send_request(Request::get(uri).body(empty()).unwrap()).await.unwrap() }
    };
    soon(join_all((0..count).map(begin))).await
}

async fn until(count: &mut watch::Receiver<usize>, is_so: impl FnMut(&usize) -> bool) {
    soon(count.wait_for(is_so)).await.unwrap();
}

#[tokio::test]
async fn four_hundred_watches_pass_where_a_connection_has_a_hundred_streams() {
    let authority = Authority::new();
    let watches = Watches::start(&authority, Version::Two, 100).await;
    let world = World::new(&authority, &[watches.server.uri()]).await;
    let client = world.client(Version::Two).await;
    let mut answers = watch(&client, 400).await;
    assert_eq!(watches.most.load(Ordering::SeqCst), 400);
    assert!(*watches.server.connections().borrow() <= 6, "not a connection for each");
    // All of them are alive, the first as the last.
    let pipes = std::mem::take(&mut *watches.open.lock().unwrap());
    for pipe in &pipes {
        assert!(soon(pipe.write("event")).await);
    }
    for answer in &mut answers {
        assert_eq!(piece(answer.body_mut()).await, "event");
    }
    // And there is room for one more request.
    assert_eq!(watch(&client, 1).await[0].status(), 200);
}

#[tokio::test]
async fn a_server_that_allows_few_streams_gets_more_connections() {
    let authority = Authority::new();
    let watches = Watches::start(&authority, Version::Two, 10).await;
    let world = World::new(&authority, &[watches.server.uri()]).await;
    let client = world.client(Version::Two).await;
    let answers = watch(&client, 60).await;
    assert!(answers.iter().all(|answer| answer.status() == 200));
    assert!(*watches.server.connections().borrow() >= 6);
}

#[tokio::test]
async fn a_server_without_http2_gets_a_connection_for_each() {
    let authority = Authority::new();
    let watches = Watches::start(&authority, Version::One, 0).await;
    let world = World::new(&authority, &[watches.server.uri()]).await;
    let client = world.client(Version::Two).await;
    let answers = watch(&client, 60).await;
    assert!(answers.iter().all(|answer| answer.status() == 200));
    assert_eq!(watches.most.load(Ordering::SeqCst), 60);
}

#[tokio::test]
async fn connections_that_are_not_needed_any_more_go_away() {
    for (version, few) in [(Version::Two, 1), (Version::One, 2)] {
        let authority = Authority::new();
        let watches = Watches::start(&authority, version, 100).await;
        let pace = Pace { look: Duration::from_millis(10), idle: Duration::from_millis(50), ..calm() };
        let world = World::with_pace(&authority, &[watches.server.uri()], pace).await;
        let client = world.client(Version::Two).await;
        let answers = watch(&client, 200).await;
        let mut connections = watches.server.connections();
        until(&mut connections, |count| *count >= 2).await;
        // Some are cancelled, and some end.
        let (cancelled, ended) = answers.into_iter().partition::<Vec<_>, _>(|answer| answer.status() != 200);
        drop(cancelled);
        watches.open.lock().unwrap().clear();
        for answer in ended {
            assert_eq!(rest(answer.into_body()).await, "");
        }
        until(&mut connections, |count| *count <= few).await;
        assert_eq!(watch(&client, 1).await[0].status(), 200, "what is left works");
    }
}

#[tokio::test]
async fn a_cancelled_watch_makes_room_for_another() {
    let authority = Authority::new();
    let watches = Watches::start(&authority, Version::Two, 100).await;
    let world = World::new(&authority, &[watches.server.uri()]).await;
    world.until_reached().await;
    let client = world.client(Version::Two).await;
    for _ in 0..10 {
        let answers = watch(&client, 70).await;
        drop(answers);
        let abandoned = std::mem::take(&mut *watches.open.lock().unwrap());
        soon(join_all(abandoned.iter().map(Pipe::abandoned))).await;
    }
    assert!(watches.server.accepted() <= 3, "700 watches in a row need few connections");
    let mut sender = client.sender();
    let request = Request::get(format!("https://{}/", client.address())).body(empty()).unwrap();
    let mut answer = soon(sender.send_request(request)).await.unwrap();
    let pipe = watches.open.lock().unwrap().pop().unwrap();
    pipe.write("still alive").await;
    assert_eq!(piece(answer.body_mut()).await, "still alive");
    drop(pipe);
    assert!(soon(answer.body_mut().collect()).await.is_ok());
}

#[tokio::test]
async fn a_server_that_says_goodbye_is_asked_over_another_connection_and_ends_its_streams_itself() {
    for version in [Version::Two, Version::One] {
        let authority = Authority::new();
        let watches = Watches::start(&authority, version, 100).await;
        let world = World::new(&authority, &[watches.server.uri()]).await;
        world.until_reached().await;
        let client = world.client(Version::Two).await;
        let mut old = watch(&client, 100).await;
        watches.server.say_goodbye();
        // Writes too: none of them may be lost on a connection that is about to close.
        for _ in 0..100 {
            let mut sender = client.sender();
            let uri = format!("https://{}/", client.address());
            let request = Request::post(uri).body(safepoint_relay::full("{}")).unwrap();
            let answer = soon(sender.send_request(request)).await.unwrap();
            assert_eq!(answer.status(), 200, "{version:?}");
        }
        let pipes = std::mem::take(&mut *watches.open.lock().unwrap());
        for pipe in &pipes[..100] {
            assert!(soon(pipe.write("still here")).await);
        }
        for answer in &mut old {
            assert_eq!(piece(answer.body_mut()).await, "still here", "{version:?}");
        }
    }
}
