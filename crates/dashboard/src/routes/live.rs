//! The pieces of a page as they change, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream};
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::App;
use super::look::Look;
use crate::known::World;
use crate::live::{Piece, Shown};
use crate::people::Person;
use crate::places::Place;
use crate::refusal::Refusal;
use crate::view::layout::lost;

/// Between two looks. What changes after a rest is looked at at once, and whatever changes within this time is sent together.
const PACE: Duration = Duration::from_millis(500);
/// How long the cluster may take to answer what a look asks it.
const PATIENCE: Duration = Duration::from_secs(10);
/// When the cluster is asked again after it has not answered.
const AGAIN: Duration = Duration::from_secs(5);
/// What a browser says when it comes back by itself: it has had a piece.
const HAD: &str = "last-event-id";

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
    pace: Pace,
    /// Since when the cluster has not answered; it is asked again.
    unanswered: Option<Timestamp>,
    /// What is to be sent before anything else is looked at.
    waiting: VecDeque<Event>,
    over: bool,
    _place: Place,
}

/// When was looked last.
struct Pace(Instant);

pub(crate) async fn stream(
    State(app): State<App>,
    person: Person,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let bad = || Refusal::Bad("That is no page.".to_owned());
    let uri: Uri = asked.page.parse().map_err(|_| bad())?;
    let look = Look::parse(&uri).ok().filter(Look::is_live).ok_or_else(bad)?;
    let place = app.places.take(&person.name).ok_or(Refusal::TooMany)?;
    let stop = app.stop.clone();
    let changes = app.known.changes();
    let mut looker = Looker {
        app,
        person,
        look,
        shown: Shown::default(),
        changes,
        mark: None,
        pace: Pace(Instant::now()),
        unanswered: None,
        waiting: VecDeque::new(),
        over: false,
        _place: place,
    };
    // Who was here before may have been told that the cluster does not answer.
    let is_new = asked.seen != Some(looker.app.known.version()) || headers.contains_key(HAD);
    looker.look(is_new).await?;
    let events = stream::unfold(looker, |mut looker| async move {
        let event = looker.next().await?;
        Some((Ok(event), looker))
    });
    Ok(Sse::new(events.take_until(stop.cancelled_owned())).keep_alive(KeepAlive::default()))
}

// === impl Looker ===

impl Looker {
    /// Looks at the page again, and has sent what has changed since.
    async fn look(&mut self, send: bool) -> Result<(), Refusal> {
        let late = |_| Err(Refusal::Cluster("The cluster does not answer in time.".to_owned()));
        let looked = timeout(PATIENCE, self.look_now(send)).await.unwrap_or_else(late);
        self.pace = Pace(Instant::now());
        match looked {
            Err(Refusal::Cluster(_)) => drop(self.unanswered.get_or_insert_with(self.app.clock)),
            _ => self.unanswered = None,
        }
        looked
    }

    async fn look_now(&mut self, send: bool) -> Result<(), Refusal> {
        let version = *self.changes.borrow_and_update();
        let mark = self.app.known.look(|world| self.look.mark(world, version));
        if self.mark.replace(mark) == Some(mark) {
            return Ok(());
        }
        // The token may have ended, and rights may have been taken away.
        self.person = self.app.people.by(&self.person.token).await?;
        let pieces = self.look.pieces(&self.app, &self.person).await?;
        self.show(&pieces, send);
        Ok(())
    }

    /// Has sent what of these is not shown as it is.
    fn show(&mut self, pieces: &[Piece], send: bool) {
        let changed = self.shown.update(pieces);
        if send {
            let piece = |html: &str| Event::default().event("piece").data(html).id("piece");
            self.waiting.extend(changed.into_iter().map(piece));
        }
    }

    /// Waits until there may be something new. False: there never will be.
    async fn wait(&mut self) -> bool {
        let changed = match self.unanswered {
            Some(_) => timeout(AGAIN, self.changes.changed()).await.unwrap_or(Ok(())),
            None => self.changes.changed().await,
        };
        self.pace.rest().await;
        changed.is_ok()
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.over || !self.wait().await {
                return None;
            }
            match self.look(true).await {
                Ok(()) => {}
                // What is shown may be old, and whoever looks is told so.
                Err(Refusal::Cluster(why)) => {
                    tracing::debug!(why, "a page cannot be made anew");
                    self.mark = None;
                    let since = self.app.known.look(World::lost_since);
                    self.show(&[lost(since.or(self.unanswered))], true);
                }
                Err(_) => {
                    self.over = true;
                    return Some(Event::default().event("reload").data(""));
                }
            }
        }
    }
}

// === impl Pace ===

impl Pace {
    /// Waits for the rest of the time between two looks, if any is left.
    async fn rest(&self) {
        sleep_until(self.0 + PACE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_changes_after_a_rest_is_looked_at_at_once_and_what_follows_waits() {
        let pace = Pace(Instant::now());
        tokio::time::advance(PACE * 2).await;
        let changed = Instant::now();
        pace.rest().await;
        assert_eq!(changed.elapsed(), Duration::ZERO);

        let pace = Pace(Instant::now());
        pace.rest().await;
        assert!(changed.elapsed() >= PACE);
    }
}
