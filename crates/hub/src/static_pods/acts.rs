//! What one pass over a StaticPod wants done, and what became of it.
//!
//! A pass decides and does nothing; this is what it hands to the writer, in the order in which it is to be done: what tasks
//! need before the tasks, a retry before the failure that it is counted from is removed, the word about it all last.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use safepoint_api::static_pod::StaticPodStatus;
use safepoint_core::rollout::Task;
use safepoint_core::{Revision, Text};

use super::manifest::MapFacts;
use super::news::News;
use super::task::{Kind, Making, Program};
use super::wanted::Wanted;

/// What is to be done.
#[derive(Default, Debug)]
pub(crate) struct Acts {
    /// Put the finalizer on.
    pub(crate) hold: bool,
    /// The ConfigMap of the wanted revision.
    pub(crate) make: Option<Box<ConfigMap>>,
    /// The ConfigMap of the wanted revision is the newest again, since this moment.
    pub(crate) renew: Option<(MapFacts, String)>,
    /// Tasks of which nobody knows whether they are there, and which are not wanted any more: they are looked for.
    pub(crate) find: Vec<Start>,
    pub(crate) start: Vec<Start>,
    pub(crate) remove: Vec<Remove>,
    pub(crate) mark: Vec<Mark>,
    pub(crate) note: Vec<Note>,
    /// ConfigMaps that are kept no longer.
    pub(crate) forget: Vec<(Revision, MapFacts)>,
    /// Take the finalizer off, once everything above is done.
    pub(crate) let_go: bool,
    pub(crate) status: Option<Box<StaticPodStatus>>,
    pub(crate) news: Vec<News>,
}

/// A task to start. The pod is written when it is sent: a pass may want a thousand of them.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) node: Text,
    pub(crate) kind: Kind,
    pub(crate) attempt: u32,
    /// Which manifest of the ConfigMap it brings.
    pub(crate) key: &'static str,
    /// What that manifest adds up to.
    pub(crate) sum: Text,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) program: Arc<Program>,
    /// As the planner knows it; nothing for staging.
    pub(crate) task: Option<Task>,
}

/// A task to remove.
#[derive(Debug)]
pub(crate) struct Remove {
    pub(crate) node: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// Only what was looked at: a task that has begun since then is not removed.
    pub(crate) version: Text,
}

/// A mirror pod whose owner is to be told.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) node: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// The revision; nothing if there is none to upgrade to.
    pub(crate) revision: Option<Revision>,
    /// The revision that it runs or shall run, for the message.
    pub(crate) about: Revision,
}

/// A mirror pod on which is to be written what lies ready.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) node: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
    pub(crate) revision: Revision,
}

/// What became of one act.
#[derive(Debug)]
pub(crate) enum Done {
    Made(Revision, MapFacts),
    Renewed(Revision, MapFacts),
    Forgotten(Revision),
    /// A task is there, in this version if that is known.
    Started {
        node: Text,
        task: Option<Task>,
        pod: Option<Box<Pod>>,
    },
    /// Nobody has answered: whether the task is there is not known.
    Unanswered(Start),
    /// A task was not made, or is not there.
    NotStarted {
        node: Text,
        task: Option<Task>,
    },
    Removed {
        node: Text,
        uid: Text,
    },
    Marked(Mark),
    Noted(Note),
    Told(Box<StaticPodStatus>),
    LetGo,
    /// Something could not be done: this is what the operator is told, and it is tried again.
    Trouble(String),
    /// The namespace is being deleted, and takes nothing new.
    NamespaceEnds,
    /// Something could not be done now, and is tried again without a word.
    Again,
    /// Something was not as it was when it was looked at. Most likely a watch tells so next; if not, it is looked at again.
    Later,
}

// === impl Start ===

impl Start {
    /// What the task of this StaticPod is made from.
    pub(crate) fn making<'a>(&'a self, namespace: &'a str, object: (&'a str, &'a str)) -> Making<'a> {
        Making {
            namespace,
            object,
            static_pod: &self.wanted.static_pod,
            manifest: &self.wanted.manifest,
            node: &self.node,
            kind: self.kind,
            revision: self.wanted.revision().as_str(),
            attempt: self.attempt,
            key: self.key,
            sum: &self.sum,
            program: &self.program,
        }
    }
}

// === impl Acts ===

impl Acts {
    pub(crate) fn is_empty(&self) -> bool {
        let Self { hold, make, renew, find, start, remove, mark, note, forget, let_go, status, news } = self;
        !hold
            && !let_go
            && make.is_none()
            && renew.is_none()
            && find.is_empty()
            && start.is_empty()
            && remove.is_empty()
            && mark.is_empty()
            && note.is_empty()
            && forget.is_empty()
            && status.is_none()
            && news.is_empty()
    }
}
