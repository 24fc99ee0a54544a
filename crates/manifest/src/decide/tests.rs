//! A machine made of three values (journal, manifest, time), on which power fails between any two of its steps.
//!
//! The steps are those of the driver: what it writes, in which order, after which answer of [`next`].

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{Begin, Next, begin, next};
use crate::journal::{Failure, Journal, Operation, Phase};
use crate::manifest::Digest;
use crate::names::{FileName, PodKey};
use crate::outcome::Cause;
use crate::place::Content;

/// A manifest by a letter.
fn content(letter: char) -> Content {
    Content { uid: 0, gid: 0, ..Content::fresh(&letter.to_string()) }
}

fn journal(old: Option<char>, new: Option<char>, phase: Phase) -> Journal {
    let (key, file) = (PodKey::new("default", "a").unwrap(), FileName::new("a").unwrap());
    let operation = match (old, new) {
        (None, _) => Operation::Install,
        (_, None) => Operation::Uninstall,
        _ => Operation::Upgrade,
    };
    let mut journal =
        Journal::prepare(operation, &key, &file, old.map(content), new.map(content), Timestamp::UNIX_EPOCH);
    journal.phase = phase;
    journal
}

fn failure() -> Failure {
    Failure::new(Cause::CrashLoop, "it crashes")
}

fn decided(phase: Phase, live: Option<char>, seconds: i64) -> Next {
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
    let live = live.map(|it| content(it).digest);
    next(&journal(Some('A'), Some('B'), phase), live.as_ref(), now)
}

#[test]
fn a_prepared_swap_goes_on_while_it_is_meant() {
    assert_eq!(decided(Phase::Prepared, Some('A'), 0), Next::Replace);
    assert_eq!(decided(Phase::Prepared, Some('A'), 600), Next::Replace);
    assert_eq!(decided(Phase::Prepared, Some('A'), 601), Next::End(Phase::Abandoned));
    assert_eq!(decided(Phase::Prepared, Some('A'), -1), Next::End(Phase::Abandoned), "the clock is wrong");
}

#[test]
fn a_replacement_that_happened_but_was_not_written_down_is_verified_however_late() {
    assert_eq!(decided(Phase::Prepared, Some('B'), 0), Next::Verify);
    assert_eq!(decided(Phase::Prepared, Some('B'), 1_000_000), Next::Verify);
    assert_eq!(decided(Phase::Replaced, Some('B'), -5), Next::Verify);
}

#[test]
fn what_was_found_bad_is_put_back_and_not_tried_again() {
    assert_eq!(decided(Phase::Undoing(failure()), Some('B'), 0), Next::Undo(failure()));
    assert_eq!(decided(Phase::Undoing(failure()), Some('A'), 0), Next::VerifyOld(failure()));
    assert_eq!(decided(Phase::Restored(failure()), Some('A'), 0), Next::VerifyOld(failure()));
}

#[test]
fn a_manifest_of_somebody_else_stays_whatever_the_journal_says() {
    for phase in [Phase::Prepared, Phase::Replaced, Phase::Undoing(failure()), Phase::Restored(failure())] {
        for live in [Some('X'), None] {
            assert_eq!(decided(phase.clone(), live, 0), Next::End(Phase::Superseded), "{phase:?} {live:?}");
        }
    }
}

#[test]
fn a_pod_that_takes_the_machine_down_with_it_is_taken_back_after_some_tries() {
    let mut journal = journal(Some('A'), Some('B'), Phase::Replaced);
    let live = content('B').digest;
    journal.tries = 2;
    assert_eq!(next(&journal, Some(&live), Timestamp::UNIX_EPOCH), Next::Verify);
    journal.tries = 3;
    let Next::Undo(why) = next(&journal, Some(&live), Timestamp::UNIX_EPOCH) else { panic!("not undone") };
    assert_eq!(why.cause, Cause::Interrupted);
}

#[test]
fn a_newer_wish_takes_the_place_of_an_unverified_one_and_keeps_what_was_good() {
    let open = journal(Some('A'), Some('B'), Phase::Replaced);
    let wish = |live: Option<char>, wanted: char| {
        begin(Some(&open), live.map(content).as_ref(), Some(&content(wanted).digest))
    };
    assert_eq!(wish(Some('B'), 'C'), Begin::Fresh { old: Some(content('A')) });
    assert_eq!(wish(Some('B'), 'A'), Begin::Fresh { old: Some(content('A')) });
    assert_eq!(wish(Some('B'), 'B'), Begin::Resume);
    assert_eq!(wish(Some('X'), 'C'), Begin::Fresh { old: Some(content('X')) });
    assert_eq!(wish(Some('X'), 'X'), Begin::Same);
    let over = journal(Some('A'), Some('B'), Phase::Verified);
    assert_eq!(begin(Some(&over), Some(&content('B')), Some(&content('B').digest)), Begin::Same);
    assert_eq!(begin(None, None, Some(&content('B').digest)), Begin::Fresh { old: None });
}

/// A machine on which power may fail.
#[derive(Clone, Debug)]
struct Machine {
    journal: Journal,
    live: Option<char>,
    now: i64,
    /// What the new pod turns out to be.
    good: bool,
}

/// What comes in between.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step,
    /// The step is cut off after so many of its writes.
    Cut(u8),
    /// Time passes, or is set back.
    Wait(i64),
    /// Somebody writes the manifest.
    Written(Option<char>),
    /// Somebody wants another manifest.
    Wanted(char),
}

impl Machine {
    fn digest(&self) -> Option<Digest> {
        self.live.map(|it| content(it).digest)
    }

    fn letter(content: Option<&Content>) -> Option<char> {
        content.and_then(|it| it.text.chars().next())
    }

    /// Does what is next, at most so many writes of it. Says whether it is over.
    fn step(&mut self, mut writes: u8) -> bool {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(self.now);
        let mut may = || {
            let left = writes > 0;
            writes = writes.saturating_sub(1);
            left
        };
        match next(&self.journal, self.digest().as_ref(), now) {
            Next::Replace => {
                if may() {
                    self.live = Self::letter(self.journal.new.as_ref());
                }
                if may() {
                    self.journal.phase = Phase::Replaced;
                }
            }
            Next::Verify => {
                if may() {
                    self.journal.phase = Phase::Replaced;
                    self.journal.tries += 1;
                }
                if may() {
                    self.journal.phase = match self.good {
                        true => Phase::Verified,
                        false if self.journal.operation == Operation::Uninstall => Phase::Verified,
                        false => Phase::Undoing(failure()),
                    };
                }
            }
            Next::Undo(why) => {
                if may() {
                    self.journal.phase = Phase::Undoing(why.clone());
                }
                if may() {
                    self.live = Self::letter(self.journal.old.as_ref());
                }
                if may() {
                    self.journal.phase = Phase::Restored(why);
                }
            }
            Next::VerifyOld(failure) => {
                if may() {
                    self.journal.phase = Phase::RolledBack { failure, ready: true };
                }
            }
            Next::End(phase) => {
                self.journal.phase = phase;
                return true;
            }
        }
        false
    }

    fn want(&mut self, letter: char) {
        let live = self.live.map(content);
        let wanted = content(letter);
        let Begin::Fresh { old } = begin(Some(&self.journal), live.as_ref(), Some(&wanted.digest)) else {
            return;
        };
        let mut journal = journal(None, None, Phase::Prepared);
        journal.operation = if old.is_some() { Operation::Upgrade } else { Operation::Install };
        journal.old = old;
        journal.new = Some(wanted);
        journal.from = self.digest();
        journal.prepared = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(self.now);
        self.journal = journal;
    }
}

fn phases() -> impl Strategy<Value = Phase> {
    prop_oneof![
        4 => Just(Phase::Prepared),
        4 => Just(Phase::Replaced),
        2 => Just(Phase::Undoing(failure())),
        2 => Just(Phase::Restored(failure())),
        1 => Just(Phase::Verified),
        1 => Just(Phase::RolledBack { failure: failure(), ready: false }),
        1 => Just(Phase::Superseded),
        1 => Just(Phase::Abandoned),
    ]
}

fn letters() -> impl Strategy<Value = Option<char>> {
    prop_oneof![Just(None), Just(Some('A')), Just(Some('B')), Just(Some('C')), Just(Some('X'))]
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Step),
        4 => (0..3_u8).prop_map(Event::Cut),
        1 => (-1_000..10_000_i64).prop_map(Event::Wait),
        1 => letters().prop_map(Event::Written),
        1 => prop_oneof![Just('A'), Just('B'), Just('C')].prop_map(Event::Wanted),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn from_any_journal_and_any_manifest_it_ends_and_the_manifest_is_one_that_somebody_wanted(
        old in letters(), new in letters(), from in letters(), live in letters(), phase in phases(),
        tries in 0..5_u32, now in -1_000..10_000_i64, good: bool, events in prop::collection::vec(events(), 0..12),
    ) {
        let mut journal = journal(old, new, phase);
        journal.from = from.map(|it| content(it).digest);
        journal.tries = tries;
        let mut machine = Machine { journal, live, now, good };
        // Whoever wrote it last may have wanted it: the two of the journal, and what was there.
        let mut wanted = vec![live, old, new];
        for event in events {
            match event {
                Event::Step => drop(machine.step(u8::MAX)),
                Event::Cut(writes) => drop(machine.step(writes)),
                Event::Wait(seconds) => machine.now += seconds,
                Event::Written(letter) => { machine.live = letter; wanted.push(letter); }
                Event::Wanted(letter) => { machine.want(letter); wanted.push(Some(letter)); }
            }
            prop_assert!(wanted.contains(&machine.live));
        }
        let mut steps = 0;
        while !machine.step(u8::MAX) {
            steps += 1;
            prop_assert!(steps < 12, "it does not end: {machine:?}");
        }
        prop_assert!(machine.journal.phase.is_over());
        prop_assert!(wanted.contains(&machine.live));
        prop_assert!(machine.step(u8::MAX), "what is over stays over");
    }

    #[test]
    fn a_swap_that_nobody_disturbs_ends_with_the_new_one_if_it_is_good_and_with_the_old_one_if_not(
        good: bool, cuts in prop::collection::vec(0..4_u8, 0..3),
    ) {
        let start = journal(Some('A'), Some('B'), Phase::Prepared);
        let mut machine = Machine { journal: start, live: Some('A'), now: 1, good };
        for writes in cuts {
            machine.step(writes);
            prop_assert!(matches!(machine.live, Some('A' | 'B')));
        }
        while !machine.step(u8::MAX) {}
        let expected = if good { 'B' } else { 'A' };
        // Three interrupted verifications of a good pod are the price of being safe from a bad one.
        if machine.journal.tries <= 3 && !matches!(&machine.journal.phase,
            Phase::RolledBack { failure, .. } if failure.cause == Cause::Interrupted) {
            prop_assert_eq!(machine.live, Some(expected));
        }
    }

    #[test]
    fn what_was_good_is_what_is_put_back_however_many_wishes_come_in_between(
        wishes in prop::collection::vec((prop_oneof![Just('B'), Just('C'), Just('D')], 0..4_u8), 1..6),
    ) {
        let mut machine = Machine {
            journal: journal(Some('A'), Some('B'), Phase::Prepared), live: Some('A'), now: 1, good: false,
        };
        for (letter, writes) in wishes {
            machine.want(letter);
            machine.step(writes);
        }
        while !machine.step(u8::MAX) {}
        prop_assert_eq!(machine.live, Some('A'), "{:?}", machine.journal.phase);
    }
}
