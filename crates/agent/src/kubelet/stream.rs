//! A watch as it goes to the kubelet: what there is, then what happens, with a bookmark from time to time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::unfold;
use http::{Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use safepoint_machinery::EventType;
use safepoint_machinery::status::{Reason, Status};
use safepoint_relay::{Body, BoxError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::front::{Front, Open, Shelf};
use super::route::{Select, Watch};

/// A client that has heard of nothing for this long is told where it is.
const BOOKMARK: Duration = Duration::from_secs(60);
/// How long a watch lasts, where the client does not say.
const LONGEST: Duration = Duration::from_secs(1800);
/// And where it says too much.
const FAR: Duration = Duration::from_secs(24 * 3600);

struct State {
    front: Arc<Front>,
    shelf: Shelf,
    of: Select,
    bookmarks: bool,
    /// Everything up to here has been said.
    at: u64,
    ready: VecDeque<Bytes>,
    changes: watch::Receiver<u64>,
    next_bookmark: Instant,
    ends: Instant,
    is_over: bool,
    _open: Open,
}

/// The answer to a watch; none where the client comes with a version from which nobody can go on.
pub(super) fn answer(front: &Arc<Front>, shelf: Shelf, of: Select, watch: &Watch) -> Option<Response<Body>> {
    // Before the look, so that nothing falls between.
    let changes = front.changes(shelf);
    let mut ready = VecDeque::new();
    let at = match watch.after.as_deref().filter(|_| !watch.tells_when_complete) {
        Some(after) => {
            let after = after.parse().ok()?;
            front.shelf(shelf, |collection| collection.since(after, &of).map(drop))?;
            after
        }
        None => front.shelf(shelf, |collection| {
            ready.extend(collection.all(&of).map(|json| frame(EventType::Added, json)));
            if watch.tells_when_complete {
                ready.push_back(bookmark(shelf, collection.newest(), true));
            }
            collection.newest()
        }),
    };
    let now = Instant::now();
    let state = State {
        front: Arc::clone(front),
        shelf,
        of,
        bookmarks: watch.bookmarks,
        at,
        ready,
        changes,
        next_bookmark: now + BOOKMARK,
        ends: now + watch.timeout.map_or(LONGEST, Duration::from_secs).min(FAR),
        is_over: false,
        _open: front.opened(shelf),
    };
    let frames = unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(bytes)), state))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Some(response)
}

// === impl State ===

impl State {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.is_over {
                return None;
            }
            self.changes.mark_unchanged();
            if self.catch_up() {
                continue;
            }
            tokio::select! {
                changed = self.changes.changed() => {
                    // The door is being closed: who watches begins anew when it is open again.
                    if changed.is_err() || self.front.is_closed() {
                        return None;
                    }
                }
                () = sleep_until(self.next_bookmark), if self.bookmarks => {
                    self.ready.push_back(bookmark(self.shelf, self.at, false));
                    self.next_bookmark += BOOKMARK;
                }
                () = sleep_until(self.ends) => return None,
            }
        }
    }

    /// Takes up what has happened. Whether there was anything.
    fn catch_up(&mut self) -> bool {
        let (happened, newest) = self
            .front
            .shelf(self.shelf, |collection| (collection.since(self.at, &self.of), collection.newest()));
        match happened {
            Some(happened) => {
                self.ready.extend(happened.iter().map(|event| frame(event.kind, &event.json)));
                self.at = newest;
            }
            None => {
                let gone =
                    Status::new(410, Reason::Expired, "too much has happened since: list again").into_value();
                self.ready.push_back(safepoint_machinery::watch::encode(EventType::Error, &gone).into());
                self.is_over = true;
            }
        }
        if !self.ready.is_empty() {
            self.next_bookmark = Instant::now() + BOOKMARK;
        }
        !self.ready.is_empty()
    }
}

fn frame(kind: EventType, json: &Bytes) -> Bytes {
    let kind = match kind {
        EventType::Added => "ADDED",
        EventType::Modified => "MODIFIED",
        EventType::Deleted => "DELETED",
        EventType::Bookmark => "BOOKMARK",
        EventType::Error => "ERROR",
    };
    let mut frame = Vec::with_capacity(json.len() + 32);
    frame.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
    frame.extend_from_slice(json);
    frame.extend_from_slice(b"}\n");
    frame.into()
}

fn bookmark(shelf: Shelf, version: u64, is_complete: bool) -> Bytes {
    let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
    if is_complete {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object: Value = json!({"kind": shelf.kind(), "apiVersion": "v1", "metadata": metadata});
    safepoint_machinery::watch::encode(EventType::Bookmark, &object).into()
}
