//! What is to be done about one static pod: what the gate has admitted, compared with what lies in the kubelet's folder. Pure.
//!
//! The gate decides whether; this only sees whether it has been done. What tells a manifest that is yet to be put in place
//! from one that somebody has changed is what was last known to be in place, and that is on disk.

use safepoint_api::local::StaticPodOutcome;
use safepoint_core::Digest;
use serde::{Deserialize, Serialize};

/// What is kept of one static pod, beside the gate's record.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The manifest that was last known to be in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_place: Option<Digest>,
    /// What became of the last swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<StaticPodOutcome>,
}

/// What is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// This manifest is being put in place.
    Put(Digest),
    /// The manifest is being taken away.
    Remove,
    /// What was interrupted goes on; it is for this manifest, or for none.
    Resume(Option<Digest>),
}

/// What the gate has admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told<'a> {
    Nothing,
    Manifest(&'a Digest),
    End,
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Nothing: there is nothing, or it is under way.
    Nothing,
    /// Tell the gate that what was admitted is in place.
    Report,
    /// Tell the gate that something else is in place.
    Find,
    /// Tell the gate that it is gone.
    End,
    /// Put it in place.
    Put,
    /// Take it away.
    Remove,
    /// What is under way is not what was admitted last.
    Stop,
}

/// What is due.
pub(super) fn due(told: Told<'_>, live: Option<&Digest>, row: &Row, work: Option<&Work>) -> Due {
    let wanted = match told {
        Told::Nothing | Told::End => None,
        Told::Manifest(digest) => Some(digest),
    };
    if let Some(work) = work {
        let is_it = match work {
            Work::Put(digest) => wanted == Some(digest),
            Work::Remove => told == Told::End,
            // Whoever began it, it is finished, unless the gate has asked for something since.
            Work::Resume(digest) => digest.as_ref() == wanted || row.in_place.as_ref() == wanted,
        };
        // A gate that knows nothing yet has not asked for anything else.
        return if is_it || told == Told::Nothing { Due::Nothing } else { Due::Stop };
    }
    match (told, live) {
        (Told::Nothing, None) => Due::Nothing,
        (Told::Nothing, Some(_)) => Due::Find,
        (Told::End, None) => Due::End,
        (Told::End, Some(_)) => Due::Remove,
        (Told::Manifest(told), Some(live)) if told == live => Due::Report,
        (Told::Manifest(told), live) if row.in_place.as_ref() == Some(told) => match live {
            Some(_) => Due::Find,
            None => Due::End,
        },
        (Told::Manifest(_), _) => Due::Put,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::from(text)
    }

    fn in_place(text: &str) -> Row {
        Row { in_place: Some(digest(text)), last: None }
    }

    #[test]
    fn what_was_admitted_and_is_not_there_is_put_in_place() {
        let (a, b) = (digest("a"), digest("b"));
        assert_eq!(due(Told::Manifest(&b), Some(&a), &in_place("a"), None), Due::Put);
        assert_eq!(due(Told::Manifest(&b), None, &Row::default(), None), Due::Put);
        assert_eq!(due(Told::Manifest(&b), Some(&b), &in_place("a"), None), Due::Report);
    }

    #[test]
    fn what_was_in_place_and_is_not_any_more_was_changed_by_somebody() {
        let (a, b) = (digest("a"), digest("b"));
        assert_eq!(due(Told::Manifest(&a), Some(&b), &in_place("a"), None), Due::Find);
        assert_eq!(due(Told::Manifest(&a), None, &in_place("a"), None), Due::End);
        assert_eq!(due(Told::Nothing, Some(&a), &Row::default(), None), Due::Find);
        assert_eq!(due(Told::Nothing, None, &in_place("a"), None), Due::Nothing);
    }

    #[test]
    fn an_end_that_was_admitted_takes_the_manifest_away() {
        let a = digest("a");
        assert_eq!(due(Told::End, Some(&a), &in_place("a"), None), Due::Remove);
        assert_eq!(due(Told::End, None, &in_place("a"), None), Due::End);
    }

    #[test]
    fn what_is_under_way_goes_on_unless_something_newer_was_admitted() {
        let (a, b, c) = (digest("a"), digest("b"), digest("c"));
        let work = Work::Put(b.clone());
        for live in [&a, &b] {
            assert_eq!(due(Told::Manifest(&b), Some(live), &in_place("a"), Some(&work)), Due::Nothing);
            assert_eq!(due(Told::Manifest(&c), Some(live), &in_place("a"), Some(&work)), Due::Stop);
        }
        assert_eq!(due(Told::End, Some(&b), &in_place("a"), Some(&work)), Due::Stop);
        assert_eq!(due(Told::End, None, &in_place("a"), Some(&Work::Remove)), Due::Nothing);
    }

    #[test]
    fn what_was_interrupted_goes_on_also_where_the_gate_has_lost_its_record() {
        let (a, b) = (digest("a"), digest("b"));
        let resumes = Work::Resume(Some(b.clone()));
        assert_eq!(due(Told::Manifest(&b), Some(&a), &in_place("a"), Some(&resumes)), Due::Nothing);
        assert_eq!(due(Told::Nothing, Some(&b), &Row::default(), Some(&resumes)), Due::Nothing);
        assert_eq!(due(Told::Manifest(&a), Some(&b), &in_place("a"), Some(&resumes)), Due::Nothing);
        assert_eq!(due(Told::Manifest(&digest("c")), Some(&b), &in_place("a"), Some(&resumes)), Due::Stop);
        assert_eq!(due(Told::End, Some(&a), &in_place("a"), Some(&Work::Resume(None))), Due::Nothing);
    }
}
