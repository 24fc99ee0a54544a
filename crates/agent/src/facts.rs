//! Numbers about the gate, kept up to date by the gate task and read by whoever scrapes metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use safepoint_core::{Answer, ChangeKind, Effect, Gate, HeldBy, Mode, Timestamp};
use safepoint_supervisor::{Health, Page};

use crate::link::LinkState;

/// Upper bounds of the journal's latency, in seconds. A write is one fsync: a millisecond on flash, a second on a bad card.
const BOUNDS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// The numbers.
#[derive(Debug, Default)]
pub(crate) struct Facts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    mode: Option<Mode>,
    held: u64,
    oldest: Option<Timestamp>,
    holds: u64,
    orphaned: u64,
    grants: u64,
    released: u64,
    refused: u64,
    admitted: BTreeMap<&'static str, u64>,
    alarms: u64,
    commits: [u64; BOUNDS.len() + 1],
    commit_seconds: f64,
}

// === impl Facts ===

impl Facts {
    /// Takes the gate as it is after a commit, and what became visible with it.
    pub(crate) fn take(&self, gate: &Gate, effects: &[Effect]) {
        let mut facts = self.lock();
        facts.mode = Some(gate.mode());
        let held = gate.pending().filter_map(|key| gate.slots().get(key)?.held);
        let held: Vec<_> = held.filter(|held| held.by != HeldBy::Predecessor).collect();
        facts.held = held.len() as u64;
        facts.oldest = held.iter().map(|held| held.since.at).min();
        facts.holds = gate.holds().len() as u64;
        facts.orphaned = gate.holds().values().filter(|hold| hold.orphaned.is_some()).count() as u64;
        facts.grants = gate.grants().len() as u64;
        for effect in effects {
            match effect {
                Effect::Answer(_, Answer::Released { workloads, .. }) => {
                    facts.released += workloads.len() as u64;
                }
                Effect::Answer(_, Answer::Refused(_)) => facts.refused += 1,
                Effect::Admit(change) => {
                    let kind = match change.kind {
                        ChangeKind::Stop => "stop",
                        ChangeKind::Update => "update",
                        ChangeKind::Start => "start",
                    };
                    *facts.admitted.entry(kind).or_default() += 1;
                }
                Effect::Alarm(_) => facts.alarms += 1,
                _ => {}
            }
        }
    }

    pub(crate) fn committed(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        let mut facts = self.lock();
        facts.commits[bucket] += 1;
        facts.commit_seconds += seconds;
    }

    /// Everything in the text form of OpenMetrics.
    pub(crate) fn metrics(&self, now: Timestamp, link: &LinkState, health: Option<&Health>) -> String {
        let facts = self.lock();
        let mut page = Page::default();
        page.gauge("safepoint_held_changes", "Changes that wait on this node.", facts.held as f64);
        let age = facts.oldest.map_or(0.0, |oldest| (now.0.saturating_sub(oldest.0)).max(0) as f64 / 1000.0);
        page.gauge("safepoint_held_oldest_age_seconds", "How long the oldest of them has waited.", age);
        page.gauge("safepoint_holds", "Holds on record.", facts.holds as f64);
        page.gauge(
            "safepoint_holds_orphaned",
            "Holds whose holder is gone; somebody must look.",
            facts.orphaned as f64,
        );
        page.gauge(
            "safepoint_releases_open",
            "Releases that have not run their course.",
            facts.grants as f64,
        );
        page.head("safepoint_mode", "gauge", "What the gate does: one of these is 1.");
        for (name, mode) in [
            ("open", Mode::Open),
            ("freezing", Mode::Freezing),
            ("frozen", Mode::Frozen),
            ("thawing", Mode::Thawing),
        ] {
            page.line(
                "safepoint_mode",
                &format!("mode=\"{name}\""),
                f64::from(u8::from(facts.mode == Some(mode))),
            );
        }
        page.head("safepoint_changes_admitted", "counter", "Changes that the machine was shown.");
        for kind in ["start", "update", "stop"] {
            let count = facts.admitted.get(kind).copied().unwrap_or_default();
            page.line("safepoint_changes_admitted_total", &format!("change=\"{kind}\""), count as f64);
        }
        page.counter("safepoint_releases", "Workloads that were released.", facts.released);
        page.counter("safepoint_refusals", "Requests that the gate refused.", facts.refused);
        page.counter("safepoint_alarms", "Alarms raised.", facts.alarms);
        page.head(
            "safepoint_journal_commit_seconds",
            "histogram",
            "How long the journal took to be on disk.",
        );
        let mut below = 0;
        for (bucket, count) in facts.commits.iter().enumerate() {
            below += count;
            let bound = BOUNDS.get(bucket).map_or_else(|| "+Inf".to_owned(), ToString::to_string);
            page.line("safepoint_journal_commit_seconds_bucket", &format!("le=\"{bound}\""), below as f64);
        }
        page.line("safepoint_journal_commit_seconds_sum", "", facts.commit_seconds);
        page.line("safepoint_journal_commit_seconds_count", "", below as f64);
        page.gauge(
            "safepoint_uplink_connected",
            "Whether the cluster can be reached.",
            f64::from(u8::from(link.connected)),
        );
        page.modules(health);
        page.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Numbers are right or a little old, never half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use safepoint_supervisor::{ModuleHealth, Policy, Profile, State};

    use super::*;

    #[test]
    fn the_page_of_numbers_is_what_was_reviewed() {
        let uplink = ModuleHealth {
            state: State::Ready,
            critical: false,
            restarts: 1,
            consecutive_failures: 0,
            failures: Arc::default(),
            policy: Arc::new(Policy::default()),
        };
        let modules = BTreeMap::from([("uplink".to_owned(), uplink)]);
        let health =
            Health { live: true, ready: true, profile: Profile::default(), module_restart: true, modules };
        let facts = Facts::default();
        facts.committed(Duration::from_millis(2));
        insta::assert_snapshot!("metrics", facts.metrics(Timestamp(0), &LinkState::default(), Some(&health)));
    }
}
