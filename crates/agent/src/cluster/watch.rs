//! An open watch.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use safepoint_machinery::watch::{Decoder, WatchEvent};
use tokio::time::{Instant, timeout_at};

use super::path::WATCH_SECONDS;
use super::{BoxError, CallError, with_causes};

/// A server that does not end a watch when it should is not there any more.
const GRACE: Duration = Duration::from_secs(30);

/// Events as they come.
pub(crate) struct Watch {
    body: UnsyncBoxBody<Bytes, BoxError>,
    decoder: Decoder,
    begun: Instant,
}

// === impl Watch ===

impl Watch {
    pub(super) fn new(body: UnsyncBoxBody<Bytes, BoxError>) -> Self {
        Self { body, decoder: Decoder::default(), begun: Instant::now() }
    }

    /// How long it has been open.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The next event; none when the server has ended the watch in order. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Option<WatchEvent>, CallError> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return event.map(Some).map_err(|error| CallError::Garbled(error.to_string()));
            }
            let ends = self.begun + Duration::from_secs(WATCH_SECONDS) + GRACE;
            let frame = timeout_at(ends, self.body.frame()).await;
            match frame.map_err(|_| CallError::Unreachable("the watch is not answered any more".into()))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(CallError::Unreachable(with_causes(&*error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.decoder.push(&data);
                    }
                }
            }
        }
    }
}
