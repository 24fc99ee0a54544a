//! The gate as the rest of the agent sees it: a desk to which events are brought, at which one asks, and may look.

use std::sync::Arc;

use safepoint_core::{Answer, Ask, Effect, Event, Gate, Holder, Order, Override, Request, RequestId};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::sight::{self, Sights, Standing};
use crate::journal::{Body, Journal};

/// A look at the gate, between two commits: what it shows is durable.
pub(crate) type Look = Box<dyn FnOnce(&Gate, &Journal) + Send>;

/// What comes to the gate task.
pub(crate) enum Input {
    /// Something happened, and these are the bodies that belong to it.
    Event {
        event: Event,
        bodies: Vec<Body>,
    },
    /// Somebody asks.
    Ask {
        asking: Asking,
        reply: oneshot::Sender<Answer>,
    },
    /// Something of others is to be kept beside the gate's record, or no longer.
    Keep {
        what: Vec<(String, Option<Vec<u8>>)>,
        kept: oneshot::Sender<()>,
    },
    Look(Look),
    /// Somebody looks from now on whenever there is something to see.
    Stand(Standing),
    /// Whoever stands and looks is to look now.
    LookAgain,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) caller: Holder,
    /// What the audit log calls the caller, if not by its name alone.
    pub(crate) known_as: Option<String>,
    pub(crate) order: Option<Order>,
    pub(crate) over: Option<Override>,
    pub(crate) ask: Ask,
    /// Under which name the answer is kept, for who asks again after a crash.
    pub(crate) keep_answer: Option<String>,
}

/// The gate cannot be reached now: it is being started again, or its disk does not take anything. What was asked for may or
/// may not have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the gate is being restarted; ask again")]
pub(crate) struct Unavailable;

/// Where to bring events, ask and look. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Desk {
    inbox: mpsc::Sender<Input>,
    effects: broadcast::Sender<Arc<Effect>>,
    starts: watch::Receiver<u64>,
    changes: watch::Receiver<u64>,
    recorded: watch::Receiver<u64>,
}

// === impl Asking ===

impl Asking {
    pub(super) fn into_event(self, id: RequestId) -> Event {
        let Self { caller, order, over, ask, known_as: _, keep_answer: _ } = self;
        Event::Asked(Request { id, caller, order, overriding: over, ask })
    }
}

// === impl Desk ===

impl Desk {
    pub(crate) fn new(
        inbox: mpsc::Sender<Input>,
        effects: broadcast::Sender<Arc<Effect>>,
        starts: watch::Receiver<u64>,
        changes: watch::Receiver<u64>,
        recorded: watch::Receiver<u64>,
    ) -> Self {
        Self { inbox, effects, starts, changes, recorded }
    }

    /// Brings an event. Waits while the gate has more to do than fits its inbox.
    pub(crate) async fn bring(&self, event: Event, bodies: Vec<Body>) -> Result<(), Unavailable> {
        self.inbox.send(Input::Event { event, bodies }).await.map_err(|_| Unavailable)
    }

    /// Asks, and waits for the answer: it is durable then.
    pub(crate) async fn ask(&self, asking: Asking) -> Result<Answer, Unavailable> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Input::Ask { asking, reply }).await.map_err(|_| Unavailable)?;
        answer.await.map_err(|_| Unavailable)
    }

    /// Keeps something beside the gate's record, or no longer. It is durable when this returns.
    pub(crate) async fn keep(&self, what: Vec<(String, Option<Vec<u8>>)>) -> Result<(), Unavailable> {
        let (kept, is_kept) = oneshot::channel();
        self.inbox.send(Input::Keep { what, kept }).await.map_err(|_| Unavailable)?;
        is_kept.await.map_err(|_| Unavailable)
    }

    /// Looks at the gate.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Gate, &Journal) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (reply, seen) = oneshot::channel();
        let look: Look = Box::new(move |gate, journal| drop(reply.send(look(gate, journal))));
        self.inbox.send(Input::Look(look)).await.map_err(|_| Unavailable)?;
        seen.await.map_err(|_| Unavailable)
    }

    /// Looks at the gate now, and each time that something has become visible, before anybody else hears of it. Ends with
    /// the gate: whoever stands there has to come again after each of its [starts](Self::starts).
    pub(crate) async fn stand<T: Send + 'static>(
        &self,
        look: impl FnMut(&Gate, &Journal) -> T + Send + 'static,
    ) -> Result<Sights<T>, Unavailable> {
        let (standing, sights) = sight::pair(look);
        self.inbox.send(Input::Stand(standing)).await.map_err(|_| Unavailable)?;
        Ok(sights)
    }

    /// Lets those who stand there look now.
    pub(crate) async fn look_again(&self) -> Result<(), Unavailable> {
        self.inbox.send(Input::LookAgain).await.map_err(|_| Unavailable)
    }

    /// What becomes visible from now on.
    pub(crate) fn effects(&self) -> broadcast::Receiver<Arc<Effect>> {
        self.effects.subscribe()
    }

    /// Counts the changes of what is recorded of objects, with an effect or without: a newer version of what is held has none.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        let mut changes = self.changes.clone();
        changes.mark_unchanged();
        changes
    }

    /// Counts the turns that have written into the audit log.
    pub(crate) fn recorded(&self) -> watch::Receiver<u64> {
        let mut recorded = self.recorded.clone();
        recorded.mark_unchanged();
        recorded
    }

    /// Counts the starts of the gate. Whoever begins looks at everything anyway: only starts after this are news.
    pub(crate) fn starts(&self) -> watch::Receiver<u64> {
        let mut starts = self.starts.clone();
        starts.mark_unchanged();
        starts
    }
}
