//! A world for one test: authorities, servers, a line that can be cut or go dead, the relay, and a client.

pub(crate) mod client;
pub(crate) mod line;
pub(crate) mod pki;
pub(crate) mod server;
pub(crate) mod world;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use safepoint_relay::{Body, BoxError};
use tokio::sync::mpsc;

pub(crate) use client::{Client, Version};
pub(crate) use line::Line;
pub(crate) use pki::{Authority, Pair};
pub(crate) use server::{Asked, Server};
pub(crate) use world::{World, hasty};

/// All four ways in which two hops can speak HTTP.
pub(crate) const WAYS: [(Version, Version); 4] = [
    (Version::One, Version::One),
    (Version::One, Version::Two),
    (Version::Two, Version::One),
    (Version::Two, Version::Two),
];

/// Tries something in all four ways, at once: for what waits more than it works.
pub(crate) async fn each_way(test: impl AsyncFn(Version, Version)) {
    futures::future::join_all(WAYS.map(|(near, far)| test(near, far))).await;
}

/// What never comes would make a test wait for ever. Nothing here takes anything near as long.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it takes too long")
}

/// A body that is written as one goes. It ends when the sender is dropped, and breaks if the sender says so.
pub(crate) fn pipe() -> (Pipe, Body) {
    let (sender, receiver) = mpsc::channel(1);
    let frames = stream::unfold(receiver, |mut receiver| async move {
        let frame: Result<Frame<Bytes>, BoxError> = receiver.recv().await?;
        Some((frame, receiver))
    });
    (Pipe(sender), StreamBody::new(frames).boxed_unsync())
}

/// The writing end of a body.
pub(crate) struct Pipe(mpsc::Sender<Result<Frame<Bytes>, BoxError>>);

impl Pipe {
    /// Whether somebody still reads.
    pub(crate) async fn write(&self, data: impl Into<Bytes>) -> bool {
        self.0.send(Ok(Frame::data(data.into()))).await.is_ok()
    }

    pub(crate) async fn trailers(&self, trailers: http::HeaderMap) {
        self.0.send(Ok(Frame::trailers(trailers))).await.expect("somebody reads");
    }

    pub(crate) async fn break_off(self) {
        let _ = self.0.send(Err("broken on purpose".into())).await;
    }

    /// Returns when nobody reads any more.
    pub(crate) async fn abandoned(&self) {
        self.0.closed().await;
    }
}

/// The next piece of a body.
pub(crate) async fn piece<B>(body: &mut B) -> Bytes
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    let frame = soon(body.frame()).await.expect("there is more").expect("it is not broken");
    frame.into_data().expect("no trailers yet")
}

/// All that is left of a body, which is complete.
pub(crate) async fn rest<B>(body: B) -> Bytes
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    soon(body.collect()).await.expect("it is not broken").to_bytes()
}

/// Bytes that look like nothing in particular, the same for the same seed.
pub(crate) fn noise(seed: u64, length: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect::<Vec<_>>().into()
}
