//! Small fleets: how many machines, which order, and how often each thing may happen.

use std::fmt;

use safepoint_core::rollout::{Canary, Order, Retry, Share};
use safepoint_core::{Revision, Span};
use serde::{Deserialize, Serialize};

/// How often each thing may happen in one run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Chances {
    /// New templates.
    pub pushes: u8,
    /// Tasks that fail.
    pub failures: u8,
    /// Freezes and holds.
    pub freezes: u8,
    /// Machines that go away.
    pub losses: u8,
    /// Pods that go unready by themselves.
    pub sick: u8,
    /// Views of a machine that stop being current for a while.
    pub lags: u8,
    /// Deaths of the hub amid what it does.
    pub crashes: u8,
    /// Pauses.
    pub pauses: u8,
    /// Restarts of the order, which forget failures.
    pub restarts: u8,
    /// Changes of whether a machine shall have the pod.
    pub wishes: u8,
    /// Steps of time that no deadline survives.
    pub ages: u8,
}

/// A small fleet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// How many machines.
    pub machines: usize,
    /// How many of them are canaries: the last ones, so that names alone would put them last.
    pub canaries: usize,
    /// What is wanted, apart from the revision.
    pub order: Order,
    /// Its bound.
    pub chances: Chances,
}

// === impl Setting ===

impl Setting {
    /// The fleets that are explored in every test run: each holds one corner of the rules, together all of them.
    #[must_use]
    pub fn small() -> Vec<Self> {
        let none = Chances::default();
        let order = |budget, limit| Order {
            budget: Share::Number(budget),
            retry: Retry { limit, base: Span::from_secs(30), cap: Span::from_mins(5) },
            ..Order::new(Revision::from(""))
        };
        let fleet = |name: &str, machines, order: Order, chances| Self {
            name: name.into(),
            machines,
            canaries: usize::from(order.canary.is_some()),
            order,
            chances,
        };
        vec![
            fleet(
                "three machines, one at a time, and a template that is replaced",
                3,
                order(1, 0),
                Chances { pushes: 1, failures: 1, ages: 1, ..none },
            ),
            fleet(
                "three machines, two at a time, and pods that are down by themselves",
                3,
                order(2, 0),
                Chances { failures: 1, sick: 3, ages: 1, ..none },
            ),
            fleet(
                "four machines, one at a time, and failures that are tried again",
                4,
                order(1, 1),
                Chances { failures: 3, ages: 2, ..none },
            ),
            fleet(
                "three machines that freeze, and a pause",
                3,
                order(1, 0),
                Chances { freezes: 2, pauses: 1, pushes: 1, ..none },
            ),
            fleet(
                "three machines that go away half way",
                3,
                order(1, 1),
                Chances { losses: 2, failures: 1, ages: 1, ..none },
            ),
            fleet(
                "three machines, and a hub that sees late and dies",
                3,
                order(2, 0),
                Chances { lags: 2, crashes: 1, ..none },
            ),
            fleet(
                "three machines, one of them a canary",
                3,
                Order { canary: Some(Canary { wait: Span::from_mins(10) }), ..order(2, 0) },
                Chances { failures: 1, losses: 1, pushes: 1, ages: 2, ..none },
            ),
            fleet(
                "three machines, and a stop after the first failure",
                3,
                Order { stop: Some(Share::Percent(25)), ..order(2, 0) },
                Chances { failures: 2, restarts: 1, ..none },
            ),
            fleet(
                "three machines that get the pod and lose it",
                3,
                order(1, 0),
                Chances { wishes: 2, failures: 1, freezes: 1, ..none },
            ),
        ]
    }

    /// The same fleets with a wider bound.
    #[must_use]
    pub fn deep() -> Vec<Self> {
        let mut fleets = Self::small();
        for fleet in &mut fleets {
            fleet.chances.pushes += 1;
            fleet.chances.lags += 1;
        }
        fleets
    }

    /// A fleet too large to explore, for random walks.
    #[must_use]
    pub fn large(machines: usize, canaries: usize, order: Order) -> Self {
        let many = u8::MAX;
        Self {
            name: format!("{machines} machines, as long as it takes"),
            machines,
            canaries,
            order,
            chances: Chances {
                pushes: many,
                failures: many,
                freezes: many,
                losses: many,
                sick: many,
                lags: many,
                crashes: many,
                pauses: many,
                restarts: many,
                wishes: many,
                ages: many,
            },
        }
    }
}

impl fmt::Display for Chances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            (self.pushes, "pushes"),
            (self.failures, "failures"),
            (self.freezes, "freezes"),
            (self.losses, "losses"),
            (self.sick, "sick pods"),
            (self.lags, "late views"),
            (self.crashes, "crashes"),
            (self.pauses, "pauses"),
            (self.restarts, "restarts"),
            (self.wishes, "wishes"),
            (self.ages, "ages"),
        ];
        let bounds = bounds.iter().filter(|(bound, _)| *bound > 0);
        let text: Vec<String> = bounds.map(|(bound, name)| format!("{bound} {name}")).collect();
        f.write_str(&text.join(", "))
    }
}
