//! The wish for a pod's end, as it stands in an annotation on the pod.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A wish is not written anew more often than this: who is put off asks again every few seconds.
const REWRITTEN: SignedDuration = SignedDuration::from_secs(30);

/// Who deletes pods that do not tolerate a taint: in older and newer clusters.
const TAINT_EVICTORS: [&str; 2] = [
    "system:serviceaccount:kube-system:node-controller",
    "system:serviceaccount:kube-system:taint-eviction-controller",
];

/// Who asked for a pod's end, when, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Wish {
    /// When it was last asked for.
    pub(crate) at: Timestamp,
    /// The user name.
    pub(crate) by: String,
    pub(crate) how: How,
    /// The value of the label that asks for the deletion, where that goes through the lifecycle: a label that somebody else puts
    /// on later is not of this wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
}

/// How the end was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum How {
    /// By an eviction, which is asked for again as long as it is wanted.
    Eviction,
    /// By a deletion.
    Delete,
}

/// Who stands behind a wish, weakest first. What a stronger one wished, a weaker one does not replace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Asker {
    /// An eviction, whoever asked for it.
    Evictor,
    /// A part of the control plane.
    Controller,
    /// A person, or a program that we know nothing of.
    Person,
}

// === impl Wish ===

impl Wish {
    /// A wish of this second: nobody reads more of it.
    pub(crate) fn new(now: Timestamp, by: String, how: How) -> Self {
        Self { at: Timestamp::from_second(now.as_second()).unwrap_or(now), by, how, label: None }
    }

    /// The same, for a label with this value.
    pub(crate) fn labelled(self, label: Option<&str>) -> Self {
        Self { label: label.map(str::to_owned), ..self }
    }

    /// Whether a label with this value was put on for it. Older hubs did not say for which.
    pub(crate) fn is_of(&self, label: &str) -> bool {
        self.label.as_deref().is_none_or(|own| own == label)
    }

    /// Reads an annotation. One that a person wrote by hand, in whatever form, is no wish of ours.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of the annotation.
    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).expect("a time and two texts have a JSON text")
    }

    /// Who stands behind it.
    pub(crate) fn asker(&self) -> Asker {
        match self.how {
            How::Eviction => Asker::Evictor,
            How::Delete if is_control_plane(&self.by) => Asker::Controller,
            How::Delete => Asker::Person,
        }
    }

    /// Whether a taint of the node drove the pod out. Where all controllers go by one name nobody can tell.
    pub(crate) fn is_by_taint(&self) -> bool {
        self.how == How::Delete && TAINT_EVICTORS.contains(&&*self.by)
    }

    /// Whether this one is to be written where the other stands already.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        match self.asker().cmp(&other.asker()) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            // A clock that went back makes the other one look young for ever; it is young within the span only.
            std::cmp::Ordering::Equal => self.at.duration_since(other.at).abs() >= REWRITTEN,
        }
    }
}

/// Users that the parts of a control plane go by: each with an account of its own, or all under one name.
fn is_control_plane(user: &str) -> bool {
    user.starts_with("system:serviceaccount:kube-system:")
        || matches!(user, "system:kube-controller-manager" | "system:kube-scheduler")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(by: &str, how: How, seconds: i64) -> Wish {
        Wish { at: Timestamp::from_second(1_794_700_800 + seconds).unwrap(), by: by.into(), how, label: None }
    }

    const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

    #[test]
    fn a_wish_is_read_as_it_was_written() {
        let evicted = wish("jane", How::Eviction, 0);
        assert_eq!(evicted.write(), r#"{"at":"2026-11-15T00:00:00Z","by":"jane","how":"eviction"}"#);
        assert_eq!(Wish::read(&evicted.write()), Some(evicted));
        assert_eq!(Wish::read("yes"), None);
        let labelled = wish("jane", How::Delete, 0).labelled(Some("17"));
        assert_eq!(Wish::read(&labelled.write()), Some(labelled.clone()));
        assert!(labelled.is_of("17") && !labelled.is_of("18"));
        assert!(wish("jane", How::Delete, 0).is_of("18"), "nobody has said of which it is");
    }

    #[test]
    fn a_person_outranks_a_controller_and_a_controller_an_eviction() {
        let (person, controller, eviction) = (
            wish("jane", How::Delete, 0),
            wish(CONTROLLER, How::Delete, 0),
            wish("jane", How::Eviction, 100),
        );
        assert!(person.replaces(&controller) && controller.replaces(&eviction) && person.replaces(&eviction));
        assert!(!eviction.replaces(&controller) && !controller.replaces(&person));
    }

    #[test]
    fn the_same_wish_is_written_anew_only_after_a_while() {
        let first = wish("jane", How::Eviction, 0);
        assert!(!wish("jane", How::Eviction, 29).replaces(&first));
        assert!(wish("jane", How::Eviction, 30).replaces(&first));
        assert!(!first.replaces(&wish("jane", How::Eviction, 29)), "the clock went back a little");
        assert!(first.replaces(&wish("jane", How::Eviction, 90_000)), "it went back a day");
    }

    #[test]
    fn only_the_control_plane_counts_as_a_controller() {
        for (by, asker) in [
            (CONTROLLER, Asker::Controller),
            ("system:kube-controller-manager", Asker::Controller),
            ("system:serviceaccount:argocd:argocd-application-controller", Asker::Person),
            ("jane", Asker::Person),
        ] {
            assert_eq!(wish(by, How::Delete, 0).asker(), asker, "{by}");
        }
    }
}
