//! The pieces of a page as they change, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream};
use http::Uri;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::App;
use super::look::Look;
use crate::live::Shown;
use crate::people::Person;
use crate::refusal::Refusal;

/// Whatever changes within this time is sent together.
const PACE: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
pub(crate) struct Asked {
    page: String,
    /// How often anything had changed when the page was made.
    #[serde(default)]
    seen: Option<u64>,
}

/// Somebody who looks.
struct Looker {
    app: App,
    person: Person,
    look: Look,
    shown: Shown,
    changes: watch::Receiver<u64>,
    mark: Option<u64>,
    /// What is to be sent before anything else is looked at.
    waiting: VecDeque<Event>,
    over: bool,
    _place: OwnedSemaphorePermit,
}

pub(crate) async fn stream(
    State(app): State<App>,
    person: Person,
    Query(asked): Query<Asked>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let bad = || Refusal::Bad("That is no page.".to_owned());
    let uri: Uri = asked.page.parse().map_err(|_| bad())?;
    let look = Look::parse(&uri).map_err(|_| bad())?;
    let place = std::sync::Arc::clone(&app.streams).try_acquire_owned().map_err(|_| Refusal::TooMany)?;
    let stop = app.stop.clone();
    let changes = app.known.changes();
    let mut looker = Looker {
        app,
        person,
        look,
        shown: Shown::default(),
        changes,
        mark: None,
        waiting: VecDeque::new(),
        over: false,
        _place: place,
    };
    let is_new = asked.seen != Some(looker.app.known.version());
    looker.look(is_new).await?;
    let events = stream::unfold(looker, |mut looker| async move {
        let event = looker.next().await?;
        Some((Ok(event), looker))
    });
    Ok(Sse::new(events.take_until(stop.cancelled_owned())).keep_alive(KeepAlive::default()))
}

impl Looker {
    /// Looks at the page again, and has sent what has changed since.
    async fn look(&mut self, send: bool) -> Result<(), Refusal> {
        let version = *self.changes.borrow_and_update();
        let mark = self.app.known.look(|world| self.look.mark(world, version));
        if self.mark.replace(mark) == Some(mark) {
            return Ok(());
        }
        // The token may have ended, and rights may have been taken away.
        self.person = self.app.people.by(&self.person.token).await?;
        let pieces = self.look.pieces(&self.app, &self.person).await?;
        let changed = self.shown.update(&pieces);
        if send {
            self.waiting.extend(changed.into_iter().map(|html| Event::default().event("piece").data(html)));
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.over || self.changes.changed().await.is_err() {
                return None;
            }
            tokio::time::sleep(PACE).await;
            match self.look(true).await {
                Ok(()) => {}
                // The cluster is away: what is shown may be old, and is looked at again when something is heard.
                Err(Refusal::Cluster(why)) => {
                    tracing::debug!(why, "a page cannot be made anew");
                    self.mark = None;
                }
                Err(_) => {
                    self.over = true;
                    return Some(Event::default().event("reload").data(""));
                }
            }
        }
    }
}
