//! The driver of a swap: asks what is next, does it, writes it down, and asks again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Door;
use super::log::Log;
use crate::clock;
use crate::decide::{Next, next};
use crate::faults::point;
use crate::history;
use crate::journal::{Failure, Journal, Operation, Phase};
use crate::manifest::{Digest, Manifest};
use crate::outcome::{Code, Outcome};
use crate::place::{Content, Place, Unplaced};
use crate::slot::Slot;
use crate::stop::Stop;
use crate::verify::{Rules, Source, Target, Wanted, verify};

/// A swap that is under way. The pod's lock is held by whoever has it.
pub(super) struct Run<'a> {
    pub(super) door: &'a Door,
    pub(super) slot: Slot,
    pub(super) place: Place,
    pub(super) journal: Journal,
    /// Somebody wants it now. Otherwise it is found, and counts for as long as whoever wanted it may still mean it.
    pub(super) is_asked: bool,
    pub(super) log: &'a mut Log,
}

// === impl Run ===

impl Run<'_> {
    pub(super) async fn finish(mut self, source: &mut dyn Source) -> Result<Outcome, Stop> {
        loop {
            let live = self.place.read()?.map(|it| it.digest);
            // What is asked for now is as young as on its first day, and a clock that is set back meanwhile changes nothing.
            let now = if self.is_asked { self.journal.prepared } else { clock::now() };
            match next(&self.journal, live.as_ref(), now) {
                Next::Replace => self.replace(live.as_ref())?,
                Next::Verify => self.verify(source).await?,
                Next::Undo(why) => self.undo(live.as_ref(), why)?,
                Next::VerifyOld(why) => self.verify_old(source, why).await?,
                Next::End(phase) => return self.end(phase),
            }
        }
    }

    /// Writes down how far it is. What this announces may happen once it returns.
    fn turn(&mut self, phase: Phase) -> Result<(), Stop> {
        self.journal.phase = phase;
        self.journal.save(&self.slot.journal())
    }

    fn put(&self, expected: Option<&Digest>, content: Option<&Content>) -> Result<bool, Stop> {
        match self.place.replace(expected, content) {
            Ok(()) => Ok(true),
            // Somebody else was quicker: the next look says what that means.
            Err(Unplaced::Changed) => Ok(false),
            Err(Unplaced::Stop(stop)) => Err(stop),
        }
    }

    fn replace(&mut self, live: Option<&Digest>) -> Result<(), Stop> {
        if !self.put(live, self.journal.new.as_ref())? {
            return Ok(());
        }
        let what = match self.journal.new {
            Some(_) => "put the new manifest in place",
            None => "took the manifest away",
        };
        self.log.say(format!("{what}: {}", self.place.path().display()));
        self.turn(Phase::Replaced)
    }

    async fn verify(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        let is_back = self.journal.new_digest().is_some_and(|it| self.journal.ran.contains(it));
        let is_new = self.journal.tries == 0 && !is_back;
        self.journal.tries += 1;
        self.turn(Phase::Replaced)?;
        self.log.say(format!("looking at the new pod with {}", source.name()));
        let others = self.journal.before.clone();
        let (wanted, target) = self.target(self.journal.new.as_ref(), others, is_new);
        let rules = self.rules(self.journal.old.as_ref());
        let mut judged = BTreeSet::new();
        let verdict = verify(source, &wanted, target, rules, &mut judged).await;
        point("the new pod was judged");
        self.journal.after.extend(judged);
        match verdict {
            Ok(()) => self.keep(),
            Err(failure) if self.journal.operation == Operation::Uninstall => {
                self.log.say(format!("the pod has not ended: {}", failure.detail));
                self.turn(Phase::RolledBack { failure, ready: false })
            }
            Err(failure) => {
                self.log.say(format!("the new pod is no good: {}", failure.detail));
                self.turn(Phase::Undoing(failure))
            }
        }
    }

    /// The new manifest stays.
    fn keep(&mut self) -> Result<(), Stop> {
        let now = clock::now();
        for content in self.journal.old.iter().chain(&self.journal.new) {
            let revision =
                Manifest::parse(content.text.as_str()).ok().and_then(|it| it.revision().map(str::to_owned));
            history::push(&self.slot, &content.text, revision.as_deref(), self.door.keep, now)?;
        }
        self.turn(Phase::Verified)
    }

    fn undo(&mut self, live: Option<&Digest>, why: Failure) -> Result<(), Stop> {
        if self.journal.phase != Phase::Undoing(why.clone()) {
            self.turn(Phase::Undoing(why.clone()))?;
        }
        if !self.put(live, self.journal.old.as_ref())? {
            return Ok(());
        }
        let what = match self.journal.old {
            Some(_) => "put the old manifest back",
            None => "took the new manifest away again",
        };
        self.log.say(format!("{what}: {}", self.place.path().display()));
        self.turn(Phase::Restored(why))
    }

    async fn verify_old(&mut self, source: &mut dyn Source, failure: Failure) -> Result<(), Stop> {
        self.log.say(format!("looking at the old pod with {}", source.name()));
        let others = self.journal.after.clone();
        let (wanted, target) = self.target(self.journal.old.as_ref(), others, false);
        let rules = self.rules(self.journal.new.as_ref());
        let verdict = verify(source, &wanted, target, rules, &mut BTreeSet::new()).await;
        point("the old pod was judged");
        if let Err(why) = &verdict {
            self.log.say(format!("the old pod is no good either: {}", why.detail));
        }
        self.turn(Phase::RolledBack { failure, ready: verdict.is_ok() })
    }

    /// What to look for when a manifest is in place.
    fn target(&self, content: Option<&Content>, others: BTreeSet<String>, is_new: bool) -> (Wanted, Target) {
        let manifest = content.and_then(|it| Manifest::parse(it.text.as_str()).ok());
        let containers = manifest.as_ref().map(|it| it.containers().to_vec()).unwrap_or_default();
        let wanted = Wanted { key: self.journal.key.clone(), node: self.door.node.clone(), containers };
        let target = match (content, manifest) {
            (None, _) => Target::Gone,
            (Some(_), manifest) => {
                let revision = manifest.as_ref().and_then(|it| it.revision().map(str::to_owned));
                // Where the manifest pins the uid, all versions share it.
                let is_pinned = manifest.is_some_and(|it| it.uid().is_some());
                let others = if is_pinned { BTreeSet::new() } else { others };
                Target::Ready { revision, others, is_new: is_new && !is_pinned }
            }
        };
        (wanted, target)
    }

    /// The rules, with the time that the pod before may take to end.
    fn rules(&self, before: Option<&Content>) -> Rules {
        let grace = before
            .and_then(|it| Manifest::parse(it.text.as_str()).ok())
            .map_or(Duration::ZERO, |it| it.grace());
        Rules { within: self.door.rules.within.saturating_add(grace), ..self.door.rules }
    }

    /// Says how it ended.
    fn end(mut self, phase: Phase) -> Result<Outcome, Stop> {
        if self.journal.phase != phase {
            self.turn(phase.clone())?;
        }
        let key = &self.journal.key;
        let revision = |content: Option<&Content>| {
            let manifest = content.and_then(|it| Manifest::parse(it.text.as_str()).ok());
            manifest.and_then(|it| it.revision().map(str::to_owned))
        };
        let (old, new) = (revision(self.journal.old.as_ref()), revision(self.journal.new.as_ref()));
        let stretch = self.door.rules.stretch.as_secs();
        let mut outcome = match phase {
            Phase::Verified => {
                self.door.forget_staged(&self.slot, key, self.journal.new_digest())?;
                let (code, message) = match self.journal.operation {
                    Operation::Upgrade | Operation::Rollback => {
                        (Code::Upgraded, format!("{key} has its new manifest and was ready for {stretch} s"))
                    }
                    Operation::Install => {
                        (Code::Installed, format!("{key} is installed and was ready for {stretch} s"))
                    }
                    Operation::Uninstall => (Code::Uninstalled, format!("{key} is uninstalled")),
                };
                Outcome { revision: new, ..Outcome::new(code, message) }
            }
            Phase::RolledBack { failure, .. } if self.journal.operation == Operation::Uninstall => {
                let message =
                    format!("the manifest of {key} is gone, but its pod is not: {}", failure.detail);
                Outcome { cause: Some(failure.cause), ..Outcome::new(Code::StillRunning, message) }
            }
            Phase::RolledBack { failure, ready } => {
                let (code, tail) = match ready {
                    true => (Code::RolledBack, "the old manifest is in place again and its pod is well"),
                    false => (
                        Code::RolledBackNotReady,
                        "the old manifest is in place again, but its pod was not seen well: somebody has to look",
                    ),
                };
                let tail =
                    if self.journal.old.is_some() { tail } else { "its manifest was taken away again" };
                let message = format!("the new manifest of {key} is no good: {}; {tail}", failure.detail);
                Outcome { cause: Some(failure.cause), revision: old, ..Outcome::new(code, message) }
            }
            Phase::Superseded => Outcome::new(
                Code::Superseded,
                format!("somebody else has changed the manifest of {key}: theirs stays"),
            ),
            Phase::Abandoned => {
                let message = format!(
                    "the upgrade of {key} was interrupted before anything had changed, too long ago to go on"
                );
                Outcome { revision: old, ..Outcome::new(Code::Abandoned, message) }
            }
            Phase::Prepared | Phase::Replaced | Phase::Undoing(_) | Phase::Restored(_) => {
                Outcome::new(Code::Failed, format!("the swap of {key} is not over"))
            }
        };
        outcome.message.truncate(outcome.message.floor_char_boundary(2_000));
        Ok(outcome)
    }
}
