//! A server in this process stands in for any server, and shows what a case gets to see of it.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::Server;
use crate::{call::Call, transcript::Transcript};

/// A server that answers every request with its own path, method and token.
fn echo() -> Server {
    let service = service_fn(|request: Request<Body>| async move {
        let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let said =
            json!({"path": request.uri().to_string(), "method": request.method().as_str(), "token": token});
        let status = if token.is_some() { 200 } else { 401 };
        Response::builder().status(status).body(Full::new(Bytes::from(said.to_string())))
    });
    Server::in_process("echo", service, "secret")
}

#[tokio::test]
async fn a_service_in_this_process_is_asked_like_any_server() {
    let call = Call::get("/api/v1/pods?limit=1");
    let reply = echo().send(&call, &Transcript::default()).await.unwrap().code(200).unwrap();
    reply.at("/path", "/api/v1/pods?limit=1").unwrap().at("/token", "Bearer secret").unwrap();
    let reply = echo().send(&call.anonymous(), &Transcript::default()).await.unwrap();
    reply.code(401).unwrap();
}

#[tokio::test]
async fn a_claim_that_does_not_hold_shows_request_expectation_and_answer() {
    let call = Call::post("/api", &json!({"kind": "Pod"}));
    let reply = echo().send(&call, &Transcript::default()).await.unwrap();
    let wrong = reply.at("/path", "/apis").unwrap_err().to_string();
    for part in ["POST /api", r#"{"kind":"Pod"}"#, r#"/path to be "/apis", not "/api""#, r#""method":"POST""#]
    {
        assert!(wrong.contains(part), "{part} is not in {wrong}");
    }
    let wrong = reply.code(404).unwrap_err().to_string();
    assert!(wrong.contains("code 404") && wrong.contains("200"), "{wrong}");
}

/// A server whose watches consist of these pieces.
fn streaming(pieces: &'static [&'static str]) -> Server {
    let service = service_fn(move |_: Request<Body>| async move {
        let frames =
            pieces.iter().map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece.as_bytes()))));
        Response::builder().body(StreamBody::new(stream::iter(frames)))
    });
    Server::in_process("stream", service, "secret")
}

#[tokio::test]
async fn events_do_not_care_how_they_are_cut_into_pieces() {
    let server = streaming(&[
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
        "\n{\"type\":\"BOOKMARK\",\"object\":{}}\n{\"type\":\"DELETED\",",
        "\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
    ]);
    let mut watch = server.watch(&Call::get("/"), &Transcript::default()).await.unwrap();
    watch.expect("ADDED", "a").await.unwrap();
    watch.expect("DELETED", "a").await.unwrap();
    watch.ends().await.unwrap();
}

#[tokio::test]
async fn a_stream_that_ends_within_an_event_is_broken() {
    let server = streaming(&[r#"{"type":"ADDED","#]);
    let mut watch = server.watch(&Call::get("/"), &Transcript::default()).await.unwrap();
    assert!(watch.next().await.is_err());
}
