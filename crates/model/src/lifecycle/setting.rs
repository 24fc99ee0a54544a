//! The bounds of the lifecycle's worlds.

use std::fmt;

use safepoint_core::lifecycle::{Blocked, BlockedBy, RuleStates, StageState};

/// A world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// What it is about.
    pub name: &'static str,
    /// The operations that may begin: id and type.
    pub operations: Vec<(&'static str, &'static str)>,
    /// The cooperation controllers: whether each declares its finalizer.
    pub cooperators: Vec<bool>,
    /// How often what may happen.
    pub budget: Budget,
}

/// How often what may happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Budget {
    /// Operations that begin.
    pub begins: u8,
    /// Cancellations.
    pub undos: u8,
    /// Operations that end before they may act.
    pub early: u8,
    /// Operations that become something else.
    pub retypes: u8,
    /// Writes that the webhook does not see.
    pub misses: u8,
    /// Deaths of the controller between two writes.
    pub crashes: u8,
    /// Rules that change their mind.
    pub rules: u8,
    /// Deletions that are asked for.
    pub deletes: u8,
    /// Deletions that are withdrawn.
    pub withdrawals: u8,
    /// Terminations past every webhook.
    pub terminations: u8,
}

pub(super) fn rules(refusing: bool) -> RuleStates {
    if !refusing {
        return RuleStates::PASSED;
    }
    let no = Blocked { rule: "rule".into(), by: BlockedBy::Rejected("no".into()) };
    RuleStates { pre_check: StageState::Waiting(vec![no]), post_check: StageState::Passed }
}

impl Setting {
    /// The worlds that are explored to their bound.
    #[must_use]
    pub fn small() -> Vec<Self> {
        let none = Budget::default();
        vec![
            Self {
                name: "one operation, everything that can go wrong",
                operations: vec![("a", "update")],
                cooperators: vec![true, false],
                budget: Budget { begins: 2, undos: 1, early: 1, retypes: 1, misses: 1, crashes: 1, ..none },
            },
            Self {
                name: "two operations of two types",
                operations: vec![("a", "update"), ("b", "restart")],
                cooperators: vec![true],
                budget: Budget { begins: 3, undos: 1, early: 1, rules: 2, crashes: 1, ..none },
            },
            Self {
                name: "three operations",
                operations: vec![("a", "update"), ("b", "update"), ("c", "restart")],
                cooperators: vec![false],
                budget: Budget { begins: 3, undos: 1, retypes: 1, rules: 1, ..none },
            },
            Self {
                name: "deletions beside an operation",
                operations: vec![("a", "update")],
                cooperators: vec![true],
                budget: Budget {
                    begins: 1,
                    undos: 1,
                    misses: 1,
                    crashes: 1,
                    deletes: 2,
                    withdrawals: 1,
                    terminations: 1,
                    ..none
                },
            },
        ]
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            (self.begins, "begins"),
            (self.undos, "undos"),
            (self.early, "early ends"),
            (self.retypes, "changes of type"),
            (self.misses, "missed writes"),
            (self.crashes, "crashes"),
            (self.rules, "changes of rules"),
            (self.deletes, "deletions"),
            (self.withdrawals, "withdrawals"),
            (self.terminations, "terminations"),
        ];
        let bounds = bounds.iter().filter(|(bound, _)| *bound > 0);
        let text: Vec<String> = bounds.map(|(bound, name)| format!("{bound} {name}")).collect();
        f.write_str(&text.join(", "))
    }
}
