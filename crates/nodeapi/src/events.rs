//! `GET /v1/events`: what happens, as server-sent events.
//!
//! Each event is named after the kind of its [`Notice`] and numbered within its stream. Nothing is kept for a client that
//! is away: one that was too slow, or comes back with a `Last-Event-ID`, is told `event: lagged` and goes on from now. It
//! then reads `GET /v1/status`, which is always whole; what was decided meanwhile is in `GET /v1/log`.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::stream::{self, Stream};
use safepoint_api::local::Notice;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::node::Node;
use crate::routes::Shared;

/// How often a quiet stream says that it is alive: more often than proxies and NATs forget a connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One client's stream.
struct Following {
    notices: Receiver<Notice>,
    stop: CancellationToken,
    /// The number of the next event.
    number: u64,
    /// The client was here before and may have missed something.
    back: bool,
}

pub(crate) async fn follow<N: Node>(
    State(shared): State<Shared<N>>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let back = headers.contains_key("last-event-id");
    let following = Following { notices: shared.node.notices(), stop: shared.stop, number: 1, back };
    let stream = stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("alive"))
}

// === impl Following ===

impl Following {
    async fn next(&mut self) -> Option<Event> {
        let number = self.number;
        self.number += 1;
        let event = Event::default().id(number.to_string());
        if std::mem::take(&mut self.back) {
            return Some(lagged(event, None));
        }
        let received = tokio::select! {
            () = self.stop.cancelled() => return None,
            received = self.notices.recv() => received,
        };
        match received {
            Ok(notice) => {
                let event = event.event(format!("{:?}", notice.kind));
                Some(event.json_data(notice).expect("a notice is made of texts and a time"))
            }
            Err(RecvError::Lagged(missed)) => Some(lagged(event, Some(missed))),
            Err(RecvError::Closed) => None,
        }
    }
}

/// Tells how many events were missed, where that is known.
fn lagged(event: Event, missed: Option<u64>) -> Event {
    let missed = missed.map_or_else(|| "null".to_owned(), |missed| missed.to_string());
    event.event("lagged").data(format!(r#"{{"missed":{missed}}}"#))
}
