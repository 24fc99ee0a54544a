//! Where the rest of the agent meets the manifest door: wishes go in, and what is known can be looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use safepoint_api::local::{Failure, PutMode, reason};
use safepoint_core::Key;
use safepoint_manifest::{Class, Code, Door, FileName, Outcome, PodKey, StagedRecord};
use tokio::sync::{mpsc, oneshot};

use super::due::Row;
use super::read::Read;

/// What somebody wants of a static pod. The gate decides about it like about any other change.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// This manifest.
    Put { pod: PodKey, file: Option<FileName>, text: String, mode: PutMode },
    /// What is not wanted at present: what is staged and has failed before, or what the cluster has for it.
    TakeUp { pod: PodKey },
    /// An earlier manifest; it waits for a release.
    RollBack { pod: PodKey, revision: Option<String> },
    /// None; unless it may wait like any other change, it waits for a release.
    Remove { pod: PodKey, may_wait: bool },
    /// What waits is not wanted any more. What lies ready may stay.
    Withdraw { pod: PodKey, keeps_staged: bool },
}

/// What became of a wish: it was brought to the gate, or why it was not.
pub(crate) type Granted = Result<(), Box<Failure>>;

/// A wish and who waits for an answer.
pub(super) type Wished = (Wish, oneshot::Sender<Granted>);

/// What the door knows beside the gate's record.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known {
    /// Why it does nothing, if it does nothing.
    pub(crate) problem: Option<String>,
    pub(crate) door: Option<Door>,
    /// What lies in the kubelet's folder.
    pub(crate) live: BTreeMap<Key, Read>,
    pub(crate) staged: BTreeMap<Key, StagedRecord>,
    pub(crate) rows: BTreeMap<Key, Row>,
}

/// The meeting place.
#[derive(Debug)]
pub(crate) struct Board {
    wishes: mpsc::Sender<Wished>,
    known: Mutex<Arc<Known>>,
}

// === impl Board ===

impl Board {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Wished>) {
        let (wishes, wished) = mpsc::channel(16);
        (Arc::new(Self { wishes, known: Mutex::default() }), wished)
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn publish(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Wishes for something, and waits until the gate has heard of it.
    pub(crate) async fn wish(&self, wish: Wish) -> Granted {
        let (reply, granted) = oneshot::channel();
        let gone = || {
            let message = "the manifest door is being restarted; nothing was changed, ask again in a moment";
            Box::new(Failure::new(503, reason::UNAVAILABLE, message))
        };
        self.wishes.send((wish, reply)).await.map_err(|_| gone())?;
        granted.await.map_err(|_| gone())?
    }
}

/// An outcome as a refusal.
pub(crate) fn refused(outcome: &Outcome) -> Box<Failure> {
    let code = match (outcome.code, outcome.code.class()) {
        (Code::ManifestMissing, _) => 404,
        (Code::ManifestInvalid | Code::RevisionMissing | Code::OtherPod, _) => 400,
        (_, Class::Failed) => 500,
        _ => 409,
    };
    Box::new(Failure::new(code, &format!("{:?}", outcome.code), outcome.message.clone()))
}
