//! A client that follows what happens.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::routes::router;
use crate::testing::{TestNode, rights};

struct Client {
    body: Body,
}

impl Client {
    async fn follow(node: &TestNode, stop: &CancellationToken, last: Option<&str>) -> Self {
        let mut request = Request::builder().uri("/v1/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let router = router(node.clone(), rights(), stop.clone());
        let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body() }
    }

    /// The next piece, as it comes.
    async fn next(&mut self) -> Option<String> {
        let frame = self.body.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }
}

#[tokio::test]
async fn each_event_has_its_kind_a_number_and_the_notice() {
    let (node, stop) = (TestNode::new(), CancellationToken::new());
    let mut client = Client::follow(&node, &stop, None).await;
    node.tells("pod robot/cam");
    node.tells("pod robot/nav");
    let first = client.next().await.unwrap();
    assert!(first.contains("id: 1\n") && first.contains("event: Held\n"), "{first}");
    assert!(
        first.contains(r#"data: {"at":"2026-11-15T08:00:00Z","kind":"Held","subject":"pod robot/cam""#),
        "{first}"
    );
    assert!(client.next().await.unwrap().contains("id: 2\n"));
}

#[tokio::test]
async fn a_client_that_is_too_slow_is_told_what_it_missed_and_goes_on() {
    let (node, stop) = (TestNode::new(), CancellationToken::new());
    let mut client = Client::follow(&node, &stop, None).await;
    for number in 0..10 {
        node.tells(&format!("pod robot/{number}"));
    }
    let lagged = client.next().await.unwrap();
    assert!(lagged.contains("event: lagged\n") && lagged.contains(r#"data: {"missed":6}"#), "{lagged}");
    assert!(client.next().await.unwrap().contains("robot/6"));
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_that_it_was_away() {
    let (node, stop) = (TestNode::new(), CancellationToken::new());
    let mut client = Client::follow(&node, &stop, Some("17")).await;
    let first = client.next().await.unwrap();
    assert!(first.contains("event: lagged\n") && first.contains(r#"data: {"missed":null}"#), "{first}");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_that_it_is_alive() {
    let (node, stop) = (TestNode::new(), CancellationToken::new());
    let mut client = Client::follow(&node, &stop, None).await;
    assert_eq!(client.next().await.unwrap(), ": alive\n\n");
}

#[tokio::test]
async fn the_stream_ends_when_the_agent_does_and_leaves_nothing_behind() {
    let (node, stop) = (TestNode::new(), CancellationToken::new());
    let mut client = Client::follow(&node, &stop, None).await;
    assert_eq!(node.listeners(), 1);
    stop.cancel();
    assert_eq!(client.next().await, None);
    drop(client);
    assert_eq!(node.listeners(), 0);
}
