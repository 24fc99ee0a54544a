//! Writes wishes on pods, after whoever wished has been answered.
//!
//! A ReplicaSet that has too many pods and may not delete the one it chose tries again with another one, and another one. Each
//! would carry a wish in the end, and all would go at once when they are released: so as many wishes are written as it has
//! pods too many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use safepoint_api::names::safepoint::END_WISHED;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::surplus::{Asks, Surplus};
use super::wish::Wish;
use crate::backoff::Backoff;
use crate::facts::{Count, Facts};
use crate::pod::Owner;

/// Notes that may wait. A node that is drained has a hundred pods.
const QUEUE: usize = 4_096;
/// So many are written at once.
const AT_ONCE: usize = 8;
/// So often a note is tried; whoever still wants the end asks again.
const ATTEMPTS: usize = 6;

/// A wish for one pod's end.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) wish: Wish,
    /// The wish that the pod carries already.
    pub(crate) known: Option<Wish>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The pod's controller.
    pub(crate) owner: Option<Owner>,
    /// Annotations that have to be there before the node reads the wish: one that did not hold the pod would end it.
    pub(crate) arming: Option<Value>,
}

/// Where wishes are left.
pub(crate) struct Wishes {
    queue: mpsc::Sender<Note>,
    notes: AsyncMutex<mpsc::Receiver<Note>>,
    /// Wishes on their way to their pod.
    under_way: Mutex<HashMap<String, Wish>>,
}

/// The writer as a module.
pub(crate) struct WishWriter {
    pub(crate) client: Client,
    pub(crate) surplus: Arc<Surplus>,
    pub(crate) wishes: Arc<Wishes>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) after: Vec<&'static str>,
}

// === impl Wishes ===

impl Wishes {
    pub(crate) fn new() -> Self {
        let (queue, notes) = mpsc::channel(QUEUE);
        Self { queue, notes: AsyncMutex::new(notes), under_way: Mutex::default() }
    }

    /// Leaves a wish to be written, unless the pod carries one that will do.
    pub(crate) fn note(&self, note: Note) {
        let mut under_way = self.under_way();
        let known = under_way.get(&note.uid).or(note.known.as_ref());
        if known.is_some_and(|known| !note.wish.replaces(known)) && note.arming.is_none() {
            return;
        }
        let (uid, wish) = (note.uid.clone(), note.wish.clone());
        match self.queue.try_send(note) {
            Ok(()) => drop(under_way.insert(uid, wish)),
            Err(error) => tracing::warn!(%error, "a wish is lost; whoever still has it asks again"),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, Wish>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WishWriter ===

impl Module for WishWriter {
    fn spec(&self) -> Spec {
        Spec::new("wishes").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let mut notes = self.wishes.notes.lock().await;
        // What a run before this one had begun is not under way any more.
        self.wishes.under_way().clear();
        ctx.ready();
        let mut writing = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = writing.next(), if !writing.is_empty() => {}
                note = notes.recv(), if writing.len() < AT_ONCE => match note {
                    Some(note) => writing.push(self.write(note)),
                    None => return Err(Fault::transient("nobody can leave wishes any more")),
                },
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl WishWriter {
    async fn write(&self, note: Note) {
        let uid = note.uid.clone();
        let by = &*note.wish.by;
        let asks = Asks { namespace: &note.namespace, uid: &note.uid, owner: note.owner.as_ref(), by };
        if note.known.is_some() {
            self.put(note).await;
        } else if let Some(_turn) = self.surplus.leave(asks).await {
            self.put(note).await;
        } else {
            tracing::debug!(pod = note.name, "as many pods of the ReplicaSet carry a wish as are to go");
        }
        self.wishes.under_way().remove(&uid);
    }

    async fn put(&self, note: Note) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &note.namespace);
        let mut annotations = note.arming.unwrap_or_else(|| json!({}));
        annotations[END_WISHED] = note.wish.write().into();
        let change = Patch::Merge(json!({"metadata": {"uid": note.uid, "annotations": annotations}}));
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));
        for attempt in 1..=ATTEMPTS {
            match pods.patch_metadata(&note.name, &PatchParams::default(), &change).await {
                Ok(_) => {
                    let (namespace, pod, by) = (&note.namespace, &note.name, &note.wish.by);
                    tracing::info!(namespace, pod, by, how = ?note.wish.how, "noted the wish for a pod's end");
                    self.facts.count(Count::WishesNoted);
                    break;
                }
                // It is gone, or another one has its name: there is nothing to end any more.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422) => break,
                Err(error) if attempt == ATTEMPTS => {
                    tracing::warn!(%error, pod = note.name, "cannot note a wish; whoever still has it asks again");
                    self.facts.count(Count::WishesLost);
                }
                Err(_) => tokio::time::sleep(backoff.next()).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::wish::How;
    use super::*;

    fn note(by: &str, how: How, seconds: i64, known: Option<Wish>) -> Note {
        let at = Timestamp::from_second(1_794_700_800 + seconds).unwrap();
        Note {
            wish: Wish { at, by: by.into(), how, label: None },
            known,
            namespace: "shop".into(),
            name: "web-1".into(),
            uid: "u1".into(),
            owner: None,
            arming: None,
        }
    }

    fn waiting(wishes: &Wishes) -> usize {
        QUEUE - wishes.queue.capacity()
    }

    #[test]
    fn a_wish_that_is_asked_for_again_and_again_is_left_once() {
        let wishes = Wishes::new();
        for seconds in 0..20 {
            wishes.note(note("drain", How::Eviction, seconds, None));
        }
        assert_eq!(waiting(&wishes), 1);
        wishes.note(note("drain", How::Eviction, 30, None));
        assert_eq!(waiting(&wishes), 2);
    }

    #[test]
    fn a_wish_that_the_pod_carries_is_not_left_again_and_one_that_was_withdrawn_is() {
        let wishes = Wishes::new();
        let first = note("jane", How::Delete, 0, None).wish;
        wishes.note(note("jane", How::Delete, 5, Some(first)));
        assert_eq!(waiting(&wishes), 0);
        wishes.note(note("jane", How::Delete, 6, None));
        assert_eq!(waiting(&wishes), 1);
    }

    #[test]
    fn a_queue_that_is_full_loses_a_wish_and_blocks_nobody() {
        let wishes = Wishes::new();
        for number in 0..=QUEUE {
            let mut note = note("jane", How::Delete, 0, None);
            note.uid = format!("u{number}");
            wishes.note(note);
        }
        assert_eq!(waiting(&wishes), QUEUE);
        assert!(!wishes.under_way().contains_key(&format!("u{QUEUE}")));
    }
}
