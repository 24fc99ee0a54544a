//! What a node is told to do, and the questions that a story asks about it.

use crate::event::{Alarm, Answer, Change, Effect};
use crate::grant::GrantEnd;
use crate::text::Uid;
use crate::workload::Workload;

/// What one or several steps asked for, in order.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Told(pub(super) Vec<Effect>);

// === impl Told ===

impl Told {
    fn each<'a, T: 'a>(&'a self, pick: impl Fn(&'a Effect) -> Option<T> + 'a) -> Vec<T> {
        self.0.iter().filter_map(pick).collect()
    }

    pub(super) fn admitted(&self) -> Vec<Change> {
        self.each(|effect| if let Effect::Admit(change) = effect { Some(change.clone()) } else { None })
    }

    pub(super) fn alarms(&self) -> Vec<Alarm> {
        self.each(|effect| if let Effect::Alarm(alarm) = effect { Some(alarm.clone()) } else { None })
    }

    pub(super) fn discarded(&self) -> Vec<Uid> {
        self.each(|effect| if let Effect::Discard { uid, .. } = effect { Some(uid.clone()) } else { None })
    }

    pub(super) fn closed(&self) -> Vec<(Workload, GrantEnd)> {
        self.each(|effect| match effect {
            Effect::GrantClosed(workload, end) => Some((workload.clone(), *end)),
            _ => None,
        })
    }

    /// Every answer with the number of its request, the first being 1.
    pub(super) fn answers(&self) -> Vec<(u64, Answer)> {
        self.each(|effect| match effect {
            Effect::Answer(id, answer) => Some((id.0, answer.clone())),
            _ => None,
        })
    }

    /// The one answer that was given.
    pub(super) fn answer(&self) -> Answer {
        match &*self.answers() {
            [(_, answer)] => answer.clone(),
            other => panic!("expected one answer, found {other:?}"),
        }
    }
}
