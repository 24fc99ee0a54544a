//! The connections to one server that take new streams.
//!
//! A request takes a stream of the fullest connection that has room, so that the others fall idle and go away. If none has
//! room, one connection is opened for all who wait; only where the server does not speak HTTP/2 does everybody open one.
//! A connection that shows an identity of the past is left to its streams.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, STREAMS, Slot};
use super::dial::Dialer;
use super::health::Lesson;
use super::identity::Credentials;
use crate::spawn::Spawn;
use crate::watched::Edition;

/// How many idle connections are kept where each carries one request only.
const SPARE: usize = 2;

pub(super) struct Pool {
    dialer: Arc<Dialer>,
    state: Mutex<State>,
}

struct State {
    connections: Vec<Pooled>,
    /// Somebody opens a connection; the outcome comes here.
    dialling: Option<watch::Receiver<Outcome>>,
    /// Whether the server speaks HTTP/1.1 only.
    is_old: bool,
    /// Every connection lives no longer than this.
    life: CancellationToken,
}

struct Pooled {
    connection: Arc<Connection>,
    idle_since: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Outcome {
    Open,
    Done,
    Failed(Lesson),
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(dialer: Dialer) -> Self {
        let state =
            State { connections: Vec::new(), dialling: None, is_old: false, life: CancellationToken::new() };
        Self { dialer: Arc::new(dialer), state: Mutex::new(state) }
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// A stream of a connection that is there.
    pub(super) fn reserve(&self, identity: &Edition<Credentials>, most: usize) -> Option<Slot> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reserve(identity, most)
    }

    /// A stream, if need be of a new connection. `failed` is told once for every connection that could not be opened,
    /// however many wait for it.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        identity: &Arc<Edition<Credentials>>,
        failed: impl FnOnce(&Lesson) + Send + Clone + 'static,
    ) -> Result<Slot, Lesson> {
        loop {
            let mut opening = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = state.reserve(identity, STREAMS) {
                    return Ok(slot);
                }
                match &state.dialling {
                    _ if state.is_old => None,
                    // An attempt that nobody makes any more would be waited for for ever.
                    Some(opening) if opening.has_changed().is_ok() => Some(opening.clone()),
                    Some(_) | None => {
                        let (tell, opening) = watch::channel(Outcome::Open);
                        state.dialling = Some(opening.clone());
                        self.start(Arc::clone(identity), tell, failed.clone());
                        Some(opening)
                    }
                }
            };
            let Some(opening) = &mut opening else {
                return self.open(identity).await.inspect_err(failed);
            };
            let outcome = opening.wait_for(|outcome| !matches!(outcome, Outcome::Open)).await;
            match outcome.map(|outcome| outcome.clone()) {
                Ok(Outcome::Open | Outcome::Done) => {}
                Ok(Outcome::Failed(lesson)) => return Err(lesson),
                Err(_) => return Err(Lesson::Silent("the attempt to connect was given up".into())),
            }
        }
    }

    /// Opens a connection whoever waits for it: that they have gone by then is no reason to throw it away.
    fn start(
        self: &Arc<Self>,
        identity: Arc<Edition<Credentials>>,
        tell: watch::Sender<Outcome>,
        failed: impl FnOnce(&Lesson) + Send + 'static,
    ) {
        let pool = Arc::clone(self);
        Spawn(CancellationToken::new()).start(async move {
            let opened = pool.open(&identity).await;
            pool.state.lock().unwrap_or_else(PoisonError::into_inner).dialling = None;
            let outcome = match opened {
                Ok(_) => Outcome::Done,
                Err(lesson) => {
                    failed(&lesson);
                    Outcome::Failed(lesson)
                }
            };
            let _ = tell.send(outcome);
        });
    }

    /// Opens a connection, and takes its first stream.
    pub(super) async fn open(&self, identity: &Edition<Credentials>) -> Result<Slot, Lesson> {
        let life = self.state.lock().unwrap_or_else(PoisonError::into_inner).life.child_token();
        // On the heap, and large: a request that finds a connection does not carry this along.
        let connection = Arc::new(Box::pin(self.dialer.dial(identity, life)).await?);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_old = !connection.is_shared();
        let slot = connection.reserve(STREAMS);
        state.connections.push(Pooled { connection, idle_since: None });
        slot.ok_or_else(|| Lesson::Silent("the connection was closed as soon as it was open".into()))
    }

    /// Gives no more streams of this connection.
    pub(super) fn retire(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.connections.retain(|pooled| !Arc::ptr_eq(&pooled.connection, connection));
    }

    /// Ends all connections, those that have left the pool too, and all streams on them.
    pub(super) fn kill(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.connections.clear();
        std::mem::take(&mut state.life).cancel();
    }

    /// Lets go of connections that are over, out of date, or not needed for so long.
    pub(super) fn tidy(&self, identity: &Edition<Credentials>, idle: Duration) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.prune(identity);
        state.fullest_first();
        let mut kept = 0;
        state.connections.retain_mut(|pooled| {
            if pooled.connection.open() > 0 {
                pooled.idle_since = None;
                // One that is in use can take more, unless it is full.
                let has_room = pooled.connection.is_shared() && pooled.connection.open() < STREAMS;
                kept += usize::from(has_room);
                return true;
            }
            let since = *pooled.idle_since.get_or_insert(now);
            let enough = if pooled.connection.is_shared() { 1 } else { SPARE };
            let keep = now - since < idle || kept < enough;
            kept += usize::from(keep);
            keep
        });
    }
}

// === impl State ===

impl State {
    fn reserve(&mut self, identity: &Edition<Credentials>, most: usize) -> Option<Slot> {
        self.prune(identity);
        self.fullest_first();
        self.connections.iter().find_map(|pooled| pooled.connection.reserve(most))
    }

    fn fullest_first(&mut self) {
        self.connections.sort_by_key(|pooled| Reverse(pooled.connection.open()));
    }

    fn prune(&mut self, identity: &Edition<Credentials>) {
        self.connections
            .retain(|pooled| !pooled.connection.is_over() && pooled.connection.identity >= identity.number);
    }
}
