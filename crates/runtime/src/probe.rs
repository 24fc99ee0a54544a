//! Probes: how a container is asked, and when an answer counts.
//!
//! Each probe of a run is a task that asks at its own period and speaks up only when a threshold is crossed, so a
//! healthy container costs its questions and nothing else.

mod ask;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::spec::Probe;

pub(crate) use ask::Asked;

/// Turns single answers into verdicts.
#[derive(Debug)]
pub(crate) struct Counter {
    successes: u32,
    failures: u32,
    /// What was said last.
    said: Option<bool>,
    /// The last answer, and how many like it came in a row.
    last: Option<bool>,
    run: u32,
}

/// When a probe asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    delay: Duration,
    period: Duration,
    pub(crate) timeout: Duration,
}

// === impl Counter ===

impl Counter {
    /// `said` is the verdict that holds already, from before.
    pub(crate) fn new(probe: &Probe, said: Option<bool>) -> Self {
        Self {
            successes: probe.success_threshold.max(1),
            failures: probe.failure_threshold.max(1),
            said,
            last: None,
            run: 0,
        }
    }

    /// Counts an answer; `Some` if the verdict is a new one.
    pub(crate) fn count(&mut self, is_success: bool) -> Option<bool> {
        if self.last == Some(is_success) {
            self.run = self.run.saturating_add(1);
        } else {
            self.last = Some(is_success);
            self.run = 1;
        }
        let needed = if is_success { self.successes } else { self.failures };
        if self.run < needed || self.said == Some(is_success) {
            return None;
        }
        self.said = Some(is_success);
        Some(is_success)
    }

    /// Lets the same verdict be said again, for a failure that had consequences.
    pub(crate) fn forget(&mut self) {
        self.said = None;
        self.run = 0;
    }
}

// === impl Timing ===

impl Timing {
    /// `age` is how long the container has been running: a delay that has passed is not waited for again.
    pub(crate) fn new(probe: &Probe, age: Duration) -> Self {
        let delay = Duration::from_secs(probe.initial_delay_seconds.into());
        Self {
            delay: delay.saturating_sub(age),
            period: Duration::from_secs(probe.period_seconds.max(1).into()),
            timeout: Duration::from_secs(probe.timeout_seconds.max(1).into()),
        }
    }

    pub(crate) fn ticks(self) -> tokio::time::Interval {
        let mut ticks = interval_at(Instant::now() + self.delay, self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }
}
