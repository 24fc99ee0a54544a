//! What to do next, given what is written down, what is there and what time it is. Pure; the driver does it and asks again.
//!
//! One function for a swap that begins and for one that was interrupted: a resumed run is an ordinary one that begins in the
//! middle. Whoever is killed between two steps leaves a journal and a manifest, and from every such pair there is a way on.

use std::time::Duration;

use jiff::Timestamp;

use crate::journal::{Failure, Journal, Operation, Phase};
use crate::manifest::Digest;
use crate::outcome::Cause;
use crate::place::Content;

#[cfg(test)]
mod tests;

/// How long after it was prepared a swap that has not touched anything yet is still meant. Whoever wanted it may be gone.
const MEANT: Duration = Duration::from_secs(10 * 60);
/// How often a verification may be interrupted. A pod that takes the machine down with it must not do so for ever.
const TRIES: u32 = 3;

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Put the new manifest in place.
    Replace,
    /// Look at the new pod.
    Verify,
    /// Put the old manifest back.
    Undo(Failure),
    /// Look at the old pod.
    VerifyOld(Failure),
    /// Nothing: it is over, and this is how.
    End(Phase),
}

/// How a wish meets what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// It is fulfilled.
    Same,
    /// Somebody has begun to fulfil it: go on with that.
    Resume,
    /// Replace what is there. This is what to put back if the new one is no good.
    Fresh { old: Option<Content> },
}

/// What to do next in a swap.
pub(crate) fn next(journal: &Journal, live: Option<&Digest>, now: Timestamp) -> Next {
    let is_old = live == journal.old_digest();
    let is_new = live == journal.new_digest();
    let is_from = live == journal.from.as_ref();
    match &journal.phase {
        Phase::Prepared if is_new => verify(journal),
        Phase::Prepared if is_from && is_meant(journal, now) => Next::Replace,
        // Nothing was touched: what is there was there before. But that is an end only if it was good.
        Phase::Prepared if is_from && is_old => Next::End(Phase::Abandoned),
        Phase::Prepared if is_from => Next::Undo(interrupted("it was interrupted too long ago to go on")),
        Phase::Replaced if is_new => verify(journal),
        Phase::Replaced if is_old => {
            Next::VerifyOld(Failure::new(Cause::PutBack, "somebody has put the old manifest back"))
        }
        Phase::Undoing(why) | Phase::Restored(why) if is_old => Next::VerifyOld(why.clone()),
        Phase::Undoing(why) if is_new || is_from => Next::Undo(why.clone()),
        Phase::Prepared | Phase::Replaced | Phase::Undoing(_) | Phase::Restored(_) => {
            Next::End(Phase::Superseded)
        }
        over @ (Phase::Verified | Phase::RolledBack { .. } | Phase::Superseded | Phase::Abandoned) => {
            Next::End(over.clone())
        }
    }
}

/// How to begin, where an earlier swap may not be over.
pub(crate) fn begin(open: Option<&Journal>, live: Option<&Content>, wanted: Option<&Digest>) -> Begin {
    let digest = live.map(|it| &it.digest);
    let open = open.filter(|journal| {
        let known = [journal.old_digest(), journal.new_digest(), journal.from.as_ref()];
        // Somebody else has written the manifest: what was begun is of no concern any more.
        !journal.phase.is_over() && known.contains(&digest)
    });
    match open {
        None if digest == wanted => Begin::Same,
        None => Begin::Fresh { old: live.cloned() },
        Some(journal) if journal.new_digest() == wanted => Begin::Resume,
        // The unverified one that an interrupted swap has left is replaced, but what was good before stays what is put back.
        Some(journal) => Begin::Fresh { old: journal.old.clone() },
    }
}

fn verify(journal: &Journal) -> Next {
    if journal.tries >= TRIES && journal.operation != Operation::Uninstall {
        return Next::Undo(interrupted(&format!("its verification was interrupted {TRIES} times")));
    }
    Next::Verify
}

fn interrupted(why: &str) -> Failure {
    Failure::new(Cause::Interrupted, why)
}

/// A clock that stands before the beginning says nothing, so the swap is not meant any more.
fn is_meant(journal: &Journal, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(journal.prepared)).is_ok_and(|age| age <= MEANT)
}
