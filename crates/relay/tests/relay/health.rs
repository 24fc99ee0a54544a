//! A server that goes away, falls silent, is ill, is slow, and comes back.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_relay::{Body, Reachable, empty, full};
use tokio::sync::mpsc;

use crate::support::{
    Authority, Client, Line, Pipe, Server, Version, World, each_way, hasty, noise, piece, pipe, rest, soon,
};

/// What a Status says: code, reason and message.
async fn said(response: Response<Incoming>) -> (StatusCode, String, String) {
    let code = response.status();
    assert!(!response.headers().contains_key("retry-after"));
    let body: serde_json::Value = serde_json::from_slice(&rest(response.into_body()).await).unwrap();
    assert_eq!(body["kind"], "Status");
    assert_eq!(body["code"], code.as_u16());
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    (code, text("reason"), text("message"))
}

async fn answers(authority: &Authority, version: Version, text: &'static str) -> Server {
    Server::start(authority, version, move |_| async move { Response::new(full(text)) }).await
}

async fn watches(authority: &Authority, version: Version) -> (Server, mpsc::UnboundedReceiver<Pipe>) {
    let (tell, told) = mpsc::unbounded_channel();
    let server = Server::start(authority, version, move |_| {
        let (pipe, body) = pipe();
        tell.send(pipe).unwrap();
        async { Response::new(body) }
    })
    .await;
    (server, told)
}

/// Takes requests, says so, and never answers.
async fn never_answers(authority: &Authority, version: Version) -> (Server, mpsc::UnboundedReceiver<()>) {
    let (tell, told) = mpsc::unbounded_channel();
    let server = Server::start(authority, version, move |_| {
        tell.send(()).unwrap();
        std::future::pending::<Response<Body>>()
    })
    .await;
    (server, told)
}

async fn gets(client: &mut Client, text: &str) {
    let response = soon(client.get("/")).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(rest(response.into_body()).await, text);
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_refuses_connections() {
    each_way(async |near, far| {
        let authority = Authority::new();
        let server = answers(&authority, far, "hello").await;
        let mut line = Line::to(server.address).await;
        let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
        let mut client = world.client(near).await;
        gets(&mut client, "hello").await;
        line.close().await;
        world.until_lost().await;
        let (code, reason, message) = said(soon(client.get("/")).await.unwrap()).await;
        assert_eq!((code, reason.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"));
        assert!(message.contains(&line.uri()) && message.contains("refused"), "{message}");
        line.open();
        world.until_reached().await;
        gets(&mut client, "hello").await;
    })
    .await;
}

#[tokio::test]
async fn the_first_request_tells_too_that_a_server_refuses() {
    let authority = Authority::new();
    let mut line = Line::to("127.0.0.1:1".parse().unwrap()).await;
    line.close().await;
    let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
    let mut client = world.client(Version::Two).await;
    let (code, _, message) = said(soon(client.get("/")).await.unwrap()).await;
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(message.contains("refused"), "{message}");
}

#[tokio::test]
async fn who_waits_for_a_server_that_falls_silent_is_told() {
    each_way(async |near, far| {
        let authority = Authority::new();
        let (server, mut taken) = never_answers(&authority, far).await;
        let line = Line::to(server.address).await;
        let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
        world.until_reached().await;

        let mut client = world.client(near).await;
        let silence = async {
            soon(taken.recv()).await.unwrap();
            line.go_dead();
        };
        let (response, ()) = soon(async { tokio::join!(client.get("/api/v1/pods"), silence) }).await;
        let (code, _, message) = said(response.unwrap()).await;
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE, "{near:?} to {far:?}: {message}");
        assert!(matches!(&*world.upstream.reachable().borrow(), Reachable::No { .. }));

        // A write may have happened.
        line.come_alive();
        world.until_reached().await;
        let silence = async {
            soon(taken.recv()).await.unwrap();
            line.go_dead();
        };
        let post = Request::post("/api/v1/pods").body(full("{}")).unwrap();
        let (response, ()) = soon(async { tokio::join!(client.send(post), silence) }).await;
        let (code, reason, message) = said(response.unwrap()).await;
        assert_eq!((code, reason.as_str()), (StatusCode::GATEWAY_TIMEOUT, "Timeout"));
        assert!(message.contains("not known"), "{message}");
        assert_eq!(server.asked().iter().filter(|asked| asked.method == "POST").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_accepts_connections_and_says_nothing_is_down() {
    let authority = Authority::new();
    let server = answers(&authority, Version::Two, "hello").await;
    let line = Line::to(server.address).await;
    line.go_dead();
    let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
    let Reachable::No { why } = world.until(|reachable| matches!(reachable, Reachable::No { .. })).await
    else {
        unreachable!()
    };
    assert!(why.contains("within 2s"), "{why}");
}

#[tokio::test]
async fn a_stream_ends_with_an_error_when_its_server_falls_silent() {
    each_way(async |near, far| {
        let authority = Authority::new();
        let (server, mut told) = watches(&authority, far).await;
        let line = Line::to(server.address).await;
        let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
        world.until_reached().await;
        let mut client = world.client(near).await;
        let mut body = soon(client.get("/watch")).await.unwrap().into_body();
        let watch = soon(told.recv()).await.unwrap();
        watch.write("event").await;
        assert_eq!(piece(&mut body).await, "event");
        line.go_dead();
        soon(body.frame()).await.expect("not the end").expect_err("but an error");
    })
    .await;
}

#[tokio::test]
async fn a_write_whose_connection_breaks_is_not_repeated() {
    each_way(async |near, far| {
        let authority = Authority::new();
        let (server, mut taken) = never_answers(&authority, far).await;
        let other = answers(&authority, far, "hello").await;
        let line = Line::to(server.address).await;
        let world = World::with_pace(&authority, &[line.uri(), other.uri()], hasty()).await;
        world.until_at(&line.uri()).await;
        let mut client = world.client(near).await;
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let request = Request::builder().method(method).uri("/").body(full("{}")).unwrap();
            let cut = async {
                soon(taken.recv()).await.unwrap();
                line.cut();
            };
            let (response, ()) = soon(async { tokio::join!(client.send(request), cut) }).await;
            let (code, _, message) = said(response.unwrap()).await;
            // Whichever is noticed first, the broken connection or two probes that were lost with it.
            assert!([502, 504].contains(&code.as_u16()), "{near:?} to {far:?}: {code} {message}");
            assert!(message.contains("not known"), "{message}");
            world.until_at(&line.uri()).await;
        }
        assert_eq!(server.asked().len(), 4);
        assert_eq!(other.asked().len(), 0, "nobody tried again elsewhere");
    })
    .await;
}

#[tokio::test]
async fn a_read_whose_server_dies_is_answered_by_the_next() {
    each_way(async |near, far| {
        let authority = Authority::new();
        let (server, mut taken) = never_answers(&authority, far).await;
        let other = answers(&authority, far, "hello").await;
        let mut line = Line::to(server.address).await;
        let world = World::with_pace(&authority, &[line.uri(), other.uri()], hasty()).await;
        world.until_at(&line.uri()).await;
        let mut client = world.client(near).await;
        let close = async {
            soon(taken.recv()).await.unwrap();
            line.close().await;
        };
        let (response, ()) = soon(async { tokio::join!(client.get("/"), close) }).await;
        assert_eq!(rest(response.unwrap().into_body()).await, "hello", "{near:?} to {far:?}");
    })
    .await;
}

#[tokio::test]
async fn requests_go_to_the_second_server_and_come_back_while_streams_stay() {
    for far in [Version::One, Version::Two] {
        let authority = Authority::new();
        let first = answers(&authority, far, "first").await;
        let (second, mut told) = watches(&authority, far).await;
        let mut line = Line::to(first.address).await;
        let world = World::with_pace(&authority, &[line.uri(), second.uri()], hasty()).await;
        world.until_at(&line.uri()).await;
        let mut client = world.client(Version::Two).await;
        gets(&mut client, "first").await;

        line.close().await;
        let mut body = soon(client.get("/watch")).await.unwrap().into_body();
        let watch = soon(told.recv()).await.unwrap();
        watch.write("second").await;
        assert_eq!(piece(&mut body).await, "second");

        line.open();
        world.until_at(&line.uri()).await;
        gets(&mut client, "first").await;
        watch.write("still second").await;
        assert_eq!(piece(&mut body).await, "still second");
    }
}

#[tokio::test]
async fn a_server_that_is_not_ready_gets_no_requests_and_keeps_its_streams() {
    let authority = Authority::new();
    let (first, mut told) = watches(&authority, Version::Two).await;
    let second = answers(&authority, Version::Two, "second").await;
    let world = World::with_pace(&authority, &[first.uri(), second.uri()], hasty()).await;
    world.until_at(&first.uri()).await;
    let mut client = world.client(Version::Two).await;
    let mut body = soon(client.get("/watch")).await.unwrap().into_body();
    let watch = soon(told.recv()).await.unwrap();
    first.say_ready(500);
    world.until_at(&second.uri()).await;
    gets(&mut client, "second").await;
    watch.write("event").await;
    assert_eq!(piece(&mut body).await, "event");
    first.say_ready(403);
    // A refusal is an answer.
    world.until_at(&first.uri()).await;
}

#[tokio::test]
async fn a_slow_line_is_not_a_dead_one() {
    let authority = Authority::new();
    let server =
        Server::start(&authority, Version::Two, |_| async { Response::new(full(noise(1, 128 << 10))) }).await;
    let line = Line::to(server.address).await;
    let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
    world.until_reached().await;
    let mut client = world.client(Version::Two).await;
    // A large answer comes slowly, and every probe waits behind it for longer than a probe may take.
    line.go_dead();
    line.trickle(1);
    let slowly = async {
        loop {
            line.trickle(1024);
            tokio::time::sleep(std::time::Duration::from_millis(40)).await;
        }
    };
    let reading = async { rest(soon(client.get("/big")).await.unwrap().into_body()).await };
    let body = tokio::select! {
        body = reading => body,
        () = slowly => unreachable!(),
    };
    assert!(body == noise(1, 128 << 10));
    assert_eq!(server.asked().len(), 1, "it came at the first attempt");
}

#[tokio::test]
async fn a_connection_that_is_stuck_is_given_up_when_another_works() {
    let authority = Authority::new();
    let (server, mut told) = watches(&authority, Version::Two).await;
    let line = Line::to(server.address).await;
    let world = World::with_pace(&authority, &[line.uri()], hasty()).await;
    world.until_reached().await;
    let mut client = world.client(Version::Two).await;
    let mut body = soon(client.get("/watch")).await.unwrap().into_body();
    let watch = soon(told.recv()).await.unwrap();
    watch.write("event").await;
    assert_eq!(piece(&mut body).await, "event");
    // What a router does that has forgotten a connection: new ones work.
    line.forget();
    soon(body.frame()).await.expect("not the end").expect_err("but an error");
    assert!(matches!(&*world.upstream.reachable().borrow(), Reachable::Yes { .. }), "the server is well");
    assert_eq!(soon(client.get("/watch")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn what_cannot_be_passed_on_is_refused() {
    let authority = Authority::new();
    let server = answers(&authority, Version::One, "hello").await;
    let world = World::new(&authority, &[server.uri()]).await;
    let request = Request::options("*").body(empty()).unwrap();
    let refused = soon(world.upstream.send(request)).await.err().unwrap();
    assert_eq!(refused.to_response().status(), StatusCode::BAD_REQUEST);
    assert_eq!(server.asked().len(), 0);
}
