//! Good, bad, or not yet: what a series of looks means. Pure; the time is given.

use std::collections::{BTreeSet, btree_set};
use std::time::Duration;

use super::{Blind, PodSeen, Rules};
use crate::journal::Failure;
use crate::outcome::Cause;

#[cfg(test)]
mod tests;

/// What is hoped for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A pod that is ready and stays so.
    Ready {
        /// Of this revision, or of none.
        revision: Option<String>,
        /// None of these.
        others: BTreeSet<String>,
        /// Whether it has never run before, so that each of its restarts counts.
        is_new: bool,
    },
    /// No pod.
    Gone,
}

/// What is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Wait,
    Good,
    Bad(Failure),
}

/// Remembers what matters of earlier looks.
#[derive(Debug)]
pub(crate) struct Judge {
    target: Target,
    rules: Rules,
    /// Since when it has been ready.
    since: Option<Duration>,
    counted: Option<Counted>,
    /// What to say of a pod that is not ready in time.
    last: (Cause, String),
    judged: BTreeSet<String>,
}

/// What is known of a pod's restarts.
///
/// A pod whose manifest was here before comes back with the uid that it had, and the kubelet goes on counting: its start is a
/// restart. So where a pod may have run before, restarts count only from when it was seen ready; and since what was seen may
/// have been its former life, that may happen once more.
#[derive(Debug)]
struct Counted {
    uid: String,
    /// Restarts that do not count.
    before: u32,
    /// Whether those that come now do.
    counts: bool,
    /// Whether it may begin again.
    may_begin: bool,
}

// === impl Judge ===

impl Judge {
    pub(crate) fn new(target: Target, rules: Rules) -> Self {
        let last = (Cause::NotSeen, "nothing was seen of it".to_owned());
        Self { target, rules, since: None, counted: None, last, judged: BTreeSet::new() }
    }

    /// The uids of the pods that were taken for the one hoped for.
    pub(crate) fn take_judged(&mut self) -> btree_set::IntoIter<String> {
        std::mem::take(&mut self.judged).into_iter()
    }

    /// What a look at this time means.
    pub(crate) fn look(&mut self, seen: Result<&[PodSeen], &Blind>, at: Duration) -> Verdict {
        let pods = match seen {
            Ok(pods) => pods,
            Err(blind) => {
                // Restarts are counted while nobody looks: a pod that was ready and is seen ready again was so all along.
                if self.since.is_none() {
                    self.last = (Cause::NotSeen, blind.0.clone());
                }
                return self.late(at, self.rules.within.saturating_add(self.rules.stretch));
            }
        };
        let Target::Ready { revision, others, is_new } = &self.target else {
            return match pods.first() {
                None => Verdict::Good,
                Some(pod) => {
                    self.last = (Cause::Ended, format!("pod {} is still there", pod.uid));
                    self.late(at, self.rules.within)
                }
            };
        };
        let found = pods.iter().rev().find(|pod| pod.revision == *revision && !others.contains(&pod.uid));
        let Some(pod) = found else {
            self.since = None;
            let others = match pods {
                [] => "no pod of this name is there".to_owned(),
                [pod, ..] => format!("the pod that is there is another one (revision {})", shown(pod)),
            };
            self.last = (Cause::NotSeen, others);
            return self.late(at, self.rules.within);
        };
        self.judged.insert(pod.uid.clone());
        let is_new = *is_new;
        if self.counted.as_ref().is_none_or(|it| it.uid != pod.uid) {
            let before = if is_new { 0 } else { pod.restarts };
            let (uid, counts, may_begin) = (pod.uid.clone(), is_new, !is_new);
            self.counted = Some(Counted { uid, before, counts, may_begin });
        }
        if let Some(failure) = &pod.failure {
            return Verdict::Bad(failure.clone());
        }
        let before = self.counted.as_ref().map(|it| it.before);
        if let Some(times) = self.counted.as_mut().and_then(|it| it.too_often(pod, self.rules.restarts)) {
            let detail = format!("its containers were restarted {times} times; {}", pod.note);
            return Verdict::Bad(Failure::new(Cause::Restarted, detail.trim_end_matches("; ")));
        }
        if before != self.counted.as_ref().map(|it| it.before) {
            self.since = None;
        }
        if !pod.ready {
            self.since = None;
            self.last = (Cause::NotReady, pod.note.clone());
            return self.late(at, self.rules.within);
        }
        let since = *self.since.get_or_insert(at);
        if at.saturating_sub(since) >= self.rules.stretch { Verdict::Good } else { Verdict::Wait }
    }

    fn late(&self, at: Duration, limit: Duration) -> Verdict {
        if at < limit {
            return Verdict::Wait;
        }
        let (cause, note) = &self.last;
        let detail = format!("it was not so within {} s: {note}", limit.as_secs());
        Verdict::Bad(Failure::new(*cause, detail))
    }
}

// === impl Counted ===

impl Counted {
    /// How often it was restarted, if that is more than is allowed.
    fn too_often(&mut self, pod: &PodSeen, allowed: u32) -> Option<u32> {
        let times = pod.restarts.saturating_sub(self.before);
        if self.counts && times > allowed {
            if !self.may_begin {
                return Some(times);
            }
            self.may_begin = false;
            self.counts = false;
        }
        if !self.counts {
            self.before = pod.restarts;
            self.counts = pod.ready;
        }
        None
    }
}

fn shown(pod: &PodSeen) -> &str {
    pod.revision.as_deref().unwrap_or("unknown")
}
