//! Who the relay is to the servers, and how it becomes somebody else.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use http::{Request, Response, header};
use hyper::body::Incoming;
use safepoint_relay::{Pace, Reachable, empty, full};

use crate::support::pki::replace;
use crate::support::server::Settings;
use crate::support::{Authority, Client, Server, Version, WAYS, World, hasty, piece, pipe, soon};

async fn status(client: &mut Client) -> u16 {
    let response = soon(client.get("/")).await.unwrap();
    let status = response.status().as_u16();
    crate::support::rest(response.into_body()).await;
    status
}

/// Asks until the server sees what it should. Each round trip takes about as long as a look at the files.
async fn until(client: &mut Client, server: &Server, is_so: impl Fn(&crate::support::Asked) -> bool) {
    soon(async {
        loop {
            assert_eq!(status(client).await, 200);
            if server.asked().last().is_some_and(&is_so) {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_new_certificate_is_used_by_new_requests_while_old_streams_live_on() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::start(&authority, far, move |request: Request<Incoming>| {
            let (pipe, body) = pipe();
            let is_watch = request.uri().path() == "/watch";
            if is_watch {
                tell.send(pipe).unwrap();
            }
            async move { Response::new(if is_watch { body } else { full("hello") }) }
        })
        .await;
        let world = World::with_pace(&authority, &[server.uri()], quick()).await;
        let mut watcher = world.client(near).await;
        let mut body = soon(watcher.get("/watch")).await.unwrap().into_body();
        let watch = soon(told.recv()).await.unwrap();
        let first = world.node.certificate_der();
        assert_eq!(server.asked()[0].certificate, Some(first.clone()));

        // As a kubelet does it.
        let second = authority.node();
        second.write(&world.file("second.pem"));
        symlink("second.pem", world.file("new.pem")).unwrap();
        fs::rename(world.file("new.pem"), world.file("current.pem")).unwrap();
        let expected = second.certificate_der();
        let mut client = world.client(near).await;
        until(&mut client, &server, |asked| asked.certificate == Some(expected.clone())).await;

        watch.write("event").await;
        assert_eq!(piece(&mut body).await, "event", "{near:?} to {far:?}");
        assert_eq!(status(&mut client).await, 200);
        assert_eq!(server.asked().last().unwrap().certificate, Some(expected), "and it stays so");
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_not() {
    let authority = Authority::new();
    let server = Server::start(&authority, Version::Two, |_| async { Response::new(full("hello")) }).await;
    let world = World::with_pace(&authority, &[server.uri()], quick()).await;
    let mut client = world.client(Version::Two).await;
    let first = world.node.certificate_der();
    let second = authority.node();
    for broken in [
        String::new(),
        second.certificate[..second.certificate.len() / 2].to_owned(),
        second.certificate.clone(),
        format!("{}{}", second.certificate, authority.node().key),
    ] {
        replace(&world.file("current.pem"), &broken);
        for _ in 0..50 {
            assert_eq!(status(&mut client).await, 200);
            assert_eq!(server.asked().last().unwrap().certificate, Some(first.clone()));
        }
    }
    second.write(&world.file("current.pem"));
    let expected = second.certificate_der();
    until(&mut client, &server, |asked| asked.certificate == Some(expected.clone())).await;
}

#[tokio::test]
async fn a_token_is_shown_instead_of_a_certificate_and_follows_its_file() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |_| async { Response::new(full("hello")) }).await;
        let world = World::with_token(&authority, &server.uri(), "first\n", quick()).await;
        let mut client = world.client(near).await;
        let request = Request::get("/").header(header::AUTHORIZATION, "Bearer mine").body(empty()).unwrap();
        assert_eq!(soon(client.send(request)).await.unwrap().status(), 200);
        let asked = &server.asked()[0];
        assert_eq!(asked.certificate, None);
        assert_eq!(asked.headers[header::AUTHORIZATION], "Bearer first", "and nobody else's");
        assert_eq!(asked.headers.get_all(header::AUTHORIZATION).iter().count(), 1);
        let mut client = world.client(near).await;
        replace(&world.file("token"), "second");
        until(&mut client, &server, |asked| asked.headers[header::AUTHORIZATION] == "Bearer second").await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_know_us_gets_a_new_connection_and_not_one_for_every_request() {
    let authority = Authority::new();
    let server = Server::start(&authority, Version::Two, |_| async {
        let mut response = Response::new(full("who are you?"));
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        response
    })
    .await;
    let world = World::new(&authority, &[server.uri()]).await;
    world.until_reached().await;
    assert_eq!(server.accepted(), 1);
    let mut client = world.client(Version::Two).await;
    for _ in 0..20 {
        assert_eq!(status(&mut client).await, 401);
    }
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_new_authority_is_believed_when_it_is_there() {
    let (old, new) = (Authority::new(), Authority::new());
    let server = Server::start(&new, Version::Two, |_| async { Response::new(full("hello")) }).await;
    let world = World::with_token(&old, &server.uri(), "token", hasty()).await;
    let Reachable::No { why } = world.until(|now| matches!(now, Reachable::No { .. })).await else {
        unreachable!()
    };
    assert!(why.contains("UnknownIssuer") || why.contains("BadSignature"), "{why}");
    replace(&world.file("ca.crt"), &format!("{}{}", old.pem(), new.pem()));
    world.until_reached().await;
}

#[tokio::test]
async fn a_server_whose_certificate_is_of_the_future_makes_one_look_at_the_clock() {
    let authority = Authority::new();
    let own = Some(authority.server_from(2090));
    let settings = Settings { version: Version::Two, streams: 250, own };
    let server = Server::start_with(&authority, settings, |_| async { Response::new(full("hello")) }).await;
    let world = World::with_pace(&authority, &[server.uri()], hasty()).await;
    let Reachable::No { why } = world.until(|now| matches!(now, Reachable::No { .. })).await else {
        unreachable!()
    };
    assert!(why.contains("is this machine's clock right?"), "{why}");
}

/// Looks at files often, and does nothing else by itself.
fn quick() -> Pace {
    Pace { look: Duration::from_millis(1), ..crate::support::world::calm() }
}
