//! Watch: what changes, as it changes.
//!
//! A watch never holds a writer up. Its events wait in a bounded queue of the store; a client that is too slow for it is
//! told 410 and lists again, as Kubernetes clients do anyway.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use safepoint_machinery::status::{FieldError, Status};
use safepoint_store::{Event, EventKind, Object, RevisionError, Start, Watch, WatchEnded};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use super::pages;
use super::select::Selection;
use super::{Call, list};
use crate::fault::{self, Problems, at};
use crate::http::{Form, Query};
use crate::table::{self, Include};

/// How often a watch that wants bookmarks is told how far it is, when nothing else happens.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A last bookmark comes this long before the end, so that the client goes on from there.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Where the client does not say how long it wants to watch.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// How a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// After a revision that the client has seen.
    After(u64),
    /// With everything that is there, as `ADDED`, and a bookmark that says that this was it.
    WithState { must_have: u64 },
    /// With what happens from now on.
    Now { must_have: u64 },
}

/// Begins to answer a watch.
pub(crate) async fn watch(call: Call) -> Result<Response, Status> {
    let begin = Begin::parse(&call.query)?;
    let selection = Selection::of(&call)?;
    let include = if call.accept.form == Form::Table { list::include(&call)? } else { Include::None };
    let store = call.api.0.store.clone();
    let frames = Frames {
        headings: true,
        include,
        selection,
        bookmarks: call.query.is_on("allowWatchBookmarks"),
        call,
    };
    let mut first = VecDeque::new();
    let from = match begin {
        Begin::After(revision) => Start::After(revision),
        Begin::Now { must_have } | Begin::WithState { must_have } if must_have > store.revision() => {
            first.push_back(First::Frame(error_frame(&pages::too_large(must_have, store.revision()))));
            return Ok(stream_of(Running {
                frames,
                first,
                watch: None,
                end: Instant::now(),
                bookmark: Instant::now(),
            }));
        }
        Begin::Now { .. } => Start::Now,
        Begin::WithState { .. } => Start::Listing,
    };
    let watch = match store.watch(frames.selection.scope.clone(), from) {
        Ok(watch) => Some(watch),
        Err(RevisionError::Compacted { oldest }) => {
            let wanted = if let Begin::After(revision) = begin { revision } else { 0 };
            first.push_back(First::Frame(error_frame(&fault::expired(format!(
                "too old resource version: {wanted} ({oldest})"
            )))));
            None
        }
        // Kubernetes is silent until that revision comes, and so is everything that this client would want to see.
        Err(RevisionError::Future { .. }) => {
            frames.call.api.0.store.watch(frames.selection.scope.clone(), Start::Now).ok()
        }
    };
    let mut watch = watch;
    if let Some(listing) = watch.as_mut().and_then(Watch::take_listing) {
        for object in &listing.objects {
            if frames.selection.matches(object) {
                first.push_back(First::Object(Arc::clone(object)));
            }
        }
        if frames.bookmarks {
            first.push_back(First::Mark(listing.revision));
        }
    }
    let now = Instant::now();
    let end = now + frames.time_allowed()?;
    let state = Running { frames, first, watch, end, bookmark: next_bookmark(now, end) };
    Ok(stream_of(state))
}

fn stream_of(state: Running) -> Response {
    let body = Body::from_stream(stream::unfold(state, |mut state| async move {
        let frame = state.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(frame), state))
    }));
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Something that a watch begins with.
enum First {
    Object(Arc<Object>),
    /// The bookmark after the last object.
    Mark(u64),
    Frame(Bytes),
}

struct Running {
    frames: Frames,
    /// What is to be sent before anything that the store says. Objects are shared with the store until they are sent.
    first: VecDeque<First>,
    /// `None` when it is over.
    watch: Option<Watch>,
    end: Instant,
    bookmark: Instant,
}

impl Running {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.first.pop_front() {
                None => {}
                Some(First::Frame(frame)) => return Some(frame),
                Some(First::Mark(revision)) => return Some(self.frames.bookmark(revision, true)),
                Some(First::Object(object)) => match self.frames.object_frame("ADDED", &object) {
                    Ok(frame) => return Some(frame),
                    Err(status) => {
                        (self.watch, self.first) = (None, VecDeque::new());
                        return Some(error_frame(&status));
                    }
                },
            }
            let watch = self.watch.as_mut()?;
            let bookmark: Sleep = sleep_until(self.bookmark);
            tokio::select! {
                // Events first: a watch whose time is up still gets what had happened before.
                biased;
                event = watch.next() => match event {
                    Ok(event) => match self.frames.event_frame(&event) {
                        Ok(Some(frame)) => return Some(frame),
                        Ok(None) => {}
                        Err(status) => { self.watch = None; return Some(error_frame(&status)); }
                    },
                    Err(WatchEnded::Lagged) => {
                        self.watch = None;
                        let text = "too old resource version: the client was too slow and events were dropped; list again";
                        return Some(error_frame(&fault::expired(text)));
                    }
                    Err(WatchEnded::Closed) => return None,
                },
                () = sleep_until(self.end) => return None,
                () = bookmark => {
                    self.bookmark = next_bookmark(Instant::now(), self.end);
                    if self.frames.bookmarks && let Some(revision) = watch.progress() {
                        return Some(self.frames.bookmark(revision, false));
                    }
                }
            }
        }
    }
}

fn next_bookmark(now: Instant, end: Instant) -> Instant {
    let last =
        end.checked_sub(BOOKMARK_BEFORE_END).filter(|last| *last > now).unwrap_or(end + BOOKMARK_EVERY);
    last.min(now + BOOKMARK_EVERY)
}

/// Turns events of the store into what the client sees.
struct Frames {
    call: Call,
    selection: Selection,
    include: Include,
    bookmarks: bool,
    /// Whether the columns of a table are still to be sent.
    headings: bool,
}

impl Frames {
    /// What an event is to this watch: an object may enter or leave a selection without being created or deleted.
    fn event_frame(&mut self, event: &Event) -> Result<Option<Bytes>, Status> {
        let was = event.previous.as_ref().is_some_and(|previous| self.selection.matches(previous));
        let is = event.kind == EventKind::Put && self.selection.matches(&event.object);
        Ok(Some(match (was, is) {
            (false, true) => self.object_frame("ADDED", &event.object)?,
            (true, true) => self.object_frame("MODIFIED", &event.object)?,
            (true, false) if event.kind == EventKind::Delete => {
                self.object_frame("DELETED", &event.object)?
            }
            (true, false) => {
                // It left: the client sees the object as it last was in the selection, at the revision of its leaving.
                let previous = event.previous.as_ref().unwrap_or(&event.object);
                let mut object = list::parse(&self.call.resource, previous)?;
                object["metadata"]["resourceVersion"] = event.revision.to_string().into();
                self.value_frame("DELETED", object)
            }
            (false, false) => return Ok(None),
        }))
    }

    fn object_frame(&mut self, kind: &str, object: &Object) -> Result<Bytes, Status> {
        if self.call.accept.form == Form::Plain && self.call.resource.serves_as_stored(object) {
            let head = self.call.resource.text_head();
            let rest =
                if head.is_empty() { &object.json[..] } else { object.json.get(1..).unwrap_or_default() };
            let mut frame = Vec::with_capacity(object.json.len() + head.len() + 40);
            frame.extend_from_slice(b"{\"type\":\"");
            frame.extend_from_slice(kind.as_bytes());
            frame.extend_from_slice(b"\",\"object\":");
            frame.extend_from_slice(head.as_bytes());
            frame.extend_from_slice(rest);
            frame.extend_from_slice(b"}\n");
            return Ok(Bytes::from(frame));
        }
        Ok(self.value_frame(kind, list::parse(&self.call.resource, object)?))
    }

    fn value_frame(&mut self, kind: &str, object: Value) -> Bytes {
        let object = match self.call.accept.form {
            Form::Plain => object,
            Form::Metadata | Form::MetadataList => table::partial(object, "PartialObjectMetadata"),
            Form::Table => {
                let metadata = json!({ "resourceVersion": object.pointer("/metadata/resourceVersion") });
                let headings = std::mem::take(&mut self.headings);
                let now = self.call.api.0.clock.now();
                table::render(&self.call.resource, vec![object], &metadata, self.include, now, headings)
            }
        };
        frame(kind, &object)
    }

    fn bookmark(&mut self, revision: u64, initial_events_end: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if initial_events_end {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object = match self.call.accept.form {
            Form::Plain => json!({
                "kind": &*self.call.resource.kind, "apiVersion": self.call.resource.api_version(), "metadata": metadata,
            }),
            Form::Metadata | Form::MetadataList => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
            }
            Form::Table => {
                let now = self.call.api.0.clock.now();
                let headings = std::mem::take(&mut self.headings);
                table::render(&self.call.resource, Vec::new(), &metadata, Include::None, now, headings)
            }
        };
        frame("BOOKMARK", &object)
    }

    fn time_allowed(&self) -> Result<Duration, Status> {
        match self.call.query.get("timeoutSeconds") {
            None => Ok(LONGEST),
            Some(text) => match text.parse::<i64>() {
                Ok(seconds) if seconds > 0 => {
                    Ok(Duration::from_secs(seconds.unsigned_abs().min(24 * 60 * 60)))
                }
                Ok(_) => Ok(LONGEST),
                Err(_) => Err(fault::bad_request(format!(
                    "unable to parse timeoutSeconds {text:?}: it is no number"
                ))),
            },
        }
    }
}

impl Begin {
    fn parse(query: &Query) -> Result<Begin, Status> {
        let revision = pages::revision_or_500(query.get("resourceVersion"))?;
        let how = query.get("resourceVersionMatch");
        let initial = query.get("sendInitialEvents").map(|_| query.is_on("sendInitialEvents"));
        let mut problems = Problems::new();
        let field = "resourceVersionMatch";
        match (initial, how) {
            (None, Some(_)) => problems.push(FieldError::forbidden(
                at(field),
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            (Some(_), None) => problems.push(FieldError::forbidden(
                at(field),
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(_), Some("NotOlderThan")) | (None, None) => {}
            (Some(_), Some(other)) => {
                problems.push(FieldError::forbidden(
                    at(field),
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
                problems.push(FieldError::not_supported(at(field), other, &["NotOlderThan"]));
            }
        }
        if query.get("continue").is_some() {
            problems.push(FieldError::forbidden(at("continue"), "continue is forbidden for watch"));
        }
        if !problems.is_empty() {
            return Err(pages::list_options(&problems));
        }
        let must_have = revision.unwrap_or(0);
        Ok(match (initial, revision) {
            (Some(true), _) => Begin::WithState { must_have },
            (Some(false), None | Some(0)) => Begin::Now { must_have },
            (None, None | Some(0)) => Begin::WithState { must_have },
            (_, Some(revision)) => Begin::After(revision),
        })
    }
}

fn frame(kind: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
}

fn error_frame(status: &Status) -> Bytes {
    frame("ERROR", &status.to_value())
}
