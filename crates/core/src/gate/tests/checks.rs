//! What must be true of a node after every step of every story.

use std::collections::BTreeMap;

use crate::gate::index::Index;
use crate::gate::{Gate, Turn};
use crate::hold::Hold;
use crate::object::{Key, Slot};
use crate::text::HoldId;
use crate::time::{Now, Span};

use super::node::Node;

/// How much of a lease a power cut may cost.
const TEN_SECONDS: Span = Span::from_secs(10);

impl Node {
    /// What must be true after every step.
    pub(super) fn check(&self) {
        self.check_that_a_crash_now_loses_nothing();
        self.check_that_a_power_cut_now_loses_nothing();
        self.check_that_the_age_is_saved_often_enough();
        self.check_that_the_index_is_true();
        self.check_that_the_step_ran_to_its_end();
        assert_ne!(self.gate.wake_after(), Some(Span::ZERO), "a driver would spin");
    }

    fn check_that_a_crash_now_loses_nothing(&self) {
        let (now, then) = (&self.gate, self.recovered(self.now));
        self.check_that_it_knows_the_same(&then);
        assert_eq!(then.holds(), now.holds());
    }

    /// A machine that does not know how long it was off ends every override; nothing else is lost.
    fn check_that_a_power_cut_now_loses_nothing(&self) {
        let then = self.recovered(Now {
            boot: self.now.boot + 1,
            monotonic: Span::ZERO,
            trusted: false,
            ..self.now
        });
        self.check_that_it_knows_the_same(&then);
        assert_eq!(without_overrides(&then), without_overrides(&self.gate));
    }

    /// Counted from when the agent started: what had been counted before is written with the first row after that.
    fn check_that_the_age_is_saved_often_enough(&self) {
        let lag = self.gate.age().since(self.gate.saved);
        assert!(lag < TEN_SECONDS || !self.gate.counts_down(), "{lag} would be lost");
    }

    fn check_that_it_knows_the_same(&self, then: &Gate) {
        let durable = |gate: &Gate| -> BTreeMap<Key, Slot> {
            gate.slots().iter().map(|(key, slot)| (key.clone(), slot.durable())).collect()
        };
        let now = &self.gate;
        assert_eq!(durable(then), durable(now));
        assert_eq!((then.mode(), then.phase(), &then.thaw), (now.mode(), now.phase(), &now.thaw));
        assert_eq!((then.grants(), then.is_sealed()), (now.grants(), now.is_sealed()));
        assert_eq!(
            (&then.replacements, &then.decided, then.order),
            (&now.replacements, &now.decided, now.order)
        );
        assert_eq!((&then.buried, &then.installed), (&now.buried, &now.installed));
    }

    fn check_that_the_index_is_true(&self) {
        let mut rebuilt = Index::default();
        self.gate.slots().iter().for_each(|(key, slot)| rebuilt.add(key, slot));
        assert_eq!(rebuilt, self.gate.index);
    }

    fn check_that_the_step_ran_to_its_end(&self) {
        let mut turn = Turn::default();
        let mut again = self.gate.clone();
        turn.todo.extend(again.index.pending.iter().cloned());
        turn.workloads.extend(again.grants.keys().cloned());
        again.run_to_rest(&mut turn);
        assert_eq!(turn.effects, [], "something was left undecided");
    }
}

fn without_overrides(gate: &Gate) -> BTreeMap<HoldId, Hold> {
    let bare = |(id, hold): (&HoldId, &Hold)| (id.clone(), Hold { suspended: None, ..hold.clone() });
    gate.holds().iter().map(bare).collect()
}
