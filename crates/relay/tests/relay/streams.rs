//! Streams: piece by piece, ended and broken off by either side.

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_relay::{Body, empty};
use tokio::sync::{mpsc, oneshot};

use crate::support::{Authority, Pipe, Server, WAYS, World, piece, pipe, rest, soon};

/// A server whose answers are written by the test.
async fn watched(
    authority: &Authority,
    far: crate::support::Version,
) -> (Server, mpsc::UnboundedReceiver<Pipe>) {
    let (tell, told) = mpsc::unbounded_channel();
    let server = Server::start(authority, far, move |_| {
        let (pipe, body) = pipe();
        tell.send(pipe).unwrap();
        async { Response::new(body) }
    })
    .await;
    (server, told)
}

#[tokio::test]
async fn the_head_comes_before_the_first_event_and_each_event_when_it_happens() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (server, mut watches) = watched(&authority, far).await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let response = soon(client.get("/api/v1/pods?watch=true")).await.unwrap();
        let watch = soon(watches.recv()).await.unwrap();
        let mut body = response.into_body();
        // The next one is written only when the one before has arrived: whatever is kept back would stop this.
        for number in 0..200 {
            let event = format!("{{\"type\":\"MODIFIED\",\"object\":{number}}}\n");
            assert!(watch.write(event.clone()).await);
            let mut got = Vec::new();
            while got.len() < event.len() {
                got.extend_from_slice(&piece(&mut body).await);
            }
            assert_eq!(got, event.as_bytes(), "{near:?} to {far:?}");
        }
        drop(watch);
        assert_eq!(rest(body).await, "", "the end is an end");
    }
}

#[tokio::test]
async fn a_client_that_goes_cancels_the_request_at_the_server() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (server, mut watches) = watched(&authority, far).await;
        let world = World::new(&authority, &[server.uri()]).await;

        let mut client = world.client(near).await;
        let response = soon(client.get("/watch")).await.unwrap();
        let watch = soon(watches.recv()).await.unwrap();
        drop(response);
        if near == crate::support::Version::One {
            drop(client);
        }
        soon(watch.abandoned()).await;

        let mut client = world.client(near).await;
        let response = soon(client.get("/watch")).await.unwrap();
        let watch = soon(watches.recv()).await.unwrap();
        watch.write("one").await;
        drop(client);
        soon(watch.abandoned()).await;
        drop(response);
    }
}

#[tokio::test]
async fn a_client_that_goes_before_the_answer_cancels_the_request_too() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (tell, mut told) = mpsc::unbounded_channel();
        let server = Server::start(&authority, far, move |_| {
            let (alive, gone) = oneshot::channel::<()>();
            tell.send(gone).unwrap();
            async move {
                let _alive = alive;
                std::future::pending::<Response<Body>>().await
            }
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let gone = tokio::select! {
            _ = client.get("/slow") => panic!("nobody answers"),
            gone = soon(told.recv()) => gone.unwrap(),
        };
        drop(client);
        soon(gone).await.unwrap_err();
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_does_not_look_complete() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (server, mut watches) = watched(&authority, far).await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let response = soon(client.get("/watch")).await.unwrap();
        let watch = soon(watches.recv()).await.unwrap();
        watch.write("half").await;
        let mut body = response.into_body();
        assert_eq!(piece(&mut body).await, "half");
        watch.break_off().await;
        soon(body.frame()).await.expect("not the end").expect_err("but an error");
    }
}

#[tokio::test]
async fn a_request_that_breaks_off_does_not_look_complete() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let (tell, mut told) = mpsc::unbounded_channel();
        let server = Server::start(&authority, far, move |request: Request<Incoming>| {
            let tell = tell.clone();
            async move {
                let mut body = request.into_body();
                while let Some(frame) = body.frame().await {
                    tell.send(frame.map(drop).is_ok()).unwrap();
                }
                drop(tell);
                Response::new(empty())
            }
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let (pipe, body) = pipe();
        let request = Request::post("/").body(body).unwrap();
        let break_off = async {
            pipe.write("half").await;
            assert_eq!(soon(told.recv()).await, Some(true));
            pipe.break_off().await;
        };
        let (answer, ()) = soon(async { tokio::join!(client.send(request), break_off) }).await;
        assert!(answer.is_err() || answer.unwrap().status().is_server_error());
        // Either the server is told of the error, or its request ends with it.
        assert_ne!(told.try_recv(), Ok(true), "{near:?} to {far:?}");
        assert!(server.asked().len() == 1, "and nobody tried again");
    }
}

#[tokio::test]
async fn requests_and_answers_flow_at_the_same_time() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |request: Request<Incoming>| async {
            Response::new(request.into_body().map_err(Into::into).boxed_unsync())
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let (pipe, body) = pipe();
        let request = Request::post("/").body(body).unwrap();
        let first = pipe.write("first");
        let (response, wrote) = soon(async { tokio::join!(client.send(request), first) }).await;
        assert!(wrote);
        let mut body = response.unwrap().into_body();
        assert_eq!(piece(&mut body).await, "first");
        assert!(pipe.write("second").await);
        assert_eq!(piece(&mut body).await, "second");
        drop(pipe);
        assert_eq!(rest(body).await, "");
    }
}
