//! Small worlds: which workloads there are and how often each thing may happen.
//!
//! Exhaustive search is only as good as its bound, so the bound is data that can be printed next to the result.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a workload is upgraded, which is how its controller goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Style {
    /// The pod is patched where it is.
    InPlace,
    /// Deleted, then created anew under the same name: a StatefulSet's ordinal.
    SameName,
    /// Deleted, then created anew under another name: a DaemonSet.
    NewName,
    /// Created beside the old one, which goes when the new one is ready: a Deployment.
    Surge,
}

/// One workload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// How it is upgraded.
    pub style: Style,
    /// Whether its pods carry the hold annotation.
    pub annotated: bool,
    /// Whether its pods use the ConfigMap.
    pub configured: bool,
}

/// How often each thing may happen in one run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Budget {
    /// New revisions, over all workloads.
    pub pushes: u8,
    /// New versions of the ConfigMap.
    pub config_pushes: u8,
    /// Times that the ConfigMap goes or comes back.
    pub config_moves: u8,
    /// Objects taken out of the API by force while they are terminating.
    pub force_deletes: u8,
    /// Annotations put on or taken off without any other change.
    pub rearms: u8,
    /// Sightings of something that was superseded long ago.
    pub stale: u8,
    /// Plain holds taken.
    pub holds: u8,
    /// Freezes asked for.
    pub freezes: u8,
    /// Releases asked for.
    pub releases: u8,
    /// Overrides.
    pub overrides: u8,
    /// Steps of time that no deadline survives.
    pub ages: u8,
    /// Steps of time that every deadline survives.
    pub ticks: u8,
    /// Reports about a version that has been replaced.
    pub late: u8,
    /// Jumps of the wall clock by a year.
    pub jumps: u8,
    /// Crashes.
    pub crashes: u8,
}

/// A small world.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its workloads.
    pub plans: Vec<Plan>,
    /// Its bound.
    pub budget: Budget,
    /// Whether freezes are asked for with a lease that ends them when it is up.
    pub leased: bool,
    /// Whether freezes keep their barrier when they are refused.
    pub keep_barrier: bool,
}

const fn plan(style: Style, annotated: bool) -> Plan {
    Plan { style, annotated, configured: false }
}

impl Setting {
    /// The worlds that are explored in every test run: each holds one corner of the design, together all of it.
    #[must_use]
    pub fn small() -> Vec<Self> {
        let none = Budget::default();
        let world = |name: &str, plans: &[Plan], budget| Self {
            name: name.into(),
            plans: plans.to_vec(),
            budget,
            leased: false,
            keep_barrier: false,
        };
        let configured = Plan { style: Style::InPlace, annotated: true, configured: true };
        let reader = Plan { style: Style::SameName, annotated: false, configured: true };
        vec![
            world(
                "an annotated stateful set beside a daemon set",
                &[plan(Style::SameName, true), plan(Style::NewName, false)],
                Budget { pushes: 2, releases: 2, crashes: 1, force_deletes: 1, ..none },
            ),
            world(
                "an annotated daemon set that is pushed twice",
                &[plan(Style::NewName, true)],
                Budget { pushes: 2, releases: 2, crashes: 1, force_deletes: 1, stale: 1, ages: 1, ..none },
            ),
            world(
                "an annotated deployment that surges, under a freeze",
                &[plan(Style::Surge, true)],
                Budget { pushes: 2, releases: 1, freezes: 1, crashes: 1, ages: 1, ..none },
            ),
            world(
                "configuration of an annotated and of a plain workload",
                &[configured, reader],
                Budget { pushes: 1, config_pushes: 1, releases: 1, freezes: 1, crashes: 1, ..none },
            ),
            world(
                "configuration that goes and comes back",
                &[configured, reader],
                Budget { pushes: 1, config_moves: 2, releases: 1, freezes: 1, crashes: 1, ..none },
            ),
            world(
                "a freeze that races with two upgrades",
                &[plan(Style::NewName, false), plan(Style::InPlace, false)],
                Budget { pushes: 2, freezes: 2, crashes: 1, late: 1, ..none },
            ),
            Self {
                keep_barrier: true,
                ..world(
                    "a freeze that keeps its barrier",
                    &[plan(Style::NewName, true), plan(Style::SameName, false)],
                    Budget { pushes: 2, freezes: 1, releases: 1, crashes: 1, ..none },
                )
            },
            Self {
                leased: true,
                ..world(
                    "a leased freeze and a clock that jumps",
                    &[plan(Style::InPlace, false)],
                    Budget { pushes: 1, freezes: 2, ticks: 1, ages: 1, jumps: 1, crashes: 1, ..none },
                )
            },
            world(
                "a holder, stale lists and names that come back",
                &[plan(Style::SameName, false), plan(Style::InPlace, true)],
                Budget { pushes: 2, holds: 1, stale: 1, releases: 1, crashes: 1, force_deletes: 1, ..none },
            ),
            world(
                "an override against a holder",
                &[plan(Style::NewName, true)],
                Budget { pushes: 2, holds: 1, freezes: 1, overrides: 1, ages: 1, crashes: 1, ..none },
            ),
            world(
                "annotations that come and go",
                &[plan(Style::SameName, true)],
                Budget { pushes: 2, rearms: 2, releases: 2, crashes: 2, force_deletes: 1, ..none },
            ),
        ]
    }

    /// The same worlds with a wider bound: one more revision, and one more crash at any point.
    #[must_use]
    pub fn deep() -> Vec<Self> {
        let mut worlds = Self::small();
        for world in &mut worlds {
            world.budget.crashes += 1;
            world.budget.pushes += 1;
        }
        worlds
    }

    /// A world too large to explore, for random walks.
    #[must_use]
    pub fn large() -> Self {
        let plans = [
            Plan { style: Style::Surge, annotated: true, configured: true },
            Plan { style: Style::SameName, annotated: true, configured: false },
            Plan { style: Style::NewName, annotated: false, configured: true },
            Plan { style: Style::InPlace, annotated: true, configured: true },
            Plan { style: Style::NewName, annotated: true, configured: false },
            Plan { style: Style::InPlace, annotated: false, configured: false },
        ];
        let many = u8::MAX;
        Self {
            name: "six workloads, as long as it takes".into(),
            plans: plans.to_vec(),
            budget: Budget {
                pushes: many,
                config_pushes: many,
                config_moves: many,
                force_deletes: many,
                rearms: many,
                stale: many,
                holds: many,
                freezes: many,
                releases: many,
                overrides: many,
                ages: many,
                ticks: many,
                late: many,
                jumps: many,
                crashes: many,
            },
            leased: false,
            keep_barrier: false,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            (self.pushes, "pushes"),
            (self.config_pushes, "config pushes"),
            (self.config_moves, "config moves"),
            (self.force_deletes, "forced deletes"),
            (self.rearms, "annotations"),
            (self.stale, "stale sightings"),
            (self.holds, "holds"),
            (self.freezes, "freezes"),
            (self.releases, "releases"),
            (self.overrides, "overrides"),
            (self.ages, "ages"),
            (self.ticks, "ticks"),
            (self.late, "late reports"),
            (self.jumps, "clock jumps"),
            (self.crashes, "crashes"),
        ];
        let bounds = bounds.iter().filter(|(bound, _)| *bound > 0);
        let text: Vec<String> = bounds.map(|(bound, name)| format!("{bound} {name}")).collect();
        f.write_str(&text.join(", "))
    }
}
