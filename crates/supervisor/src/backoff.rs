//! How long to wait before the next start, and when to stop waiting and escalate.
//!
//! Pure arithmetic: the chance in it is a seeded generator that the caller owns.

use std::{collections::VecDeque, time::Duration};

use crate::policy::{Intensity, Policy};

/// A small generator (splitmix64) for jitter. It spreads restarts; it guards nothing, so it needs no
/// cryptography, and a seed makes the waits of a test repeatable.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    state: u64,
}

/// The failures of one module that are still inside the sliding window.
#[derive(Debug, Default)]
pub(crate) struct RecentFailures {
    times: VecDeque<Duration>,
}

/// What the sliding window says after one more failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressure {
    Bearable,
    TooMuch,
}

/// The wait after the failure number `attempt` (the first is 1) in a row, without jitter.
///
/// A first wait above the limit stays what it is: the limit bounds growth, and a user who asks for 60 s wants
/// at least 60 s. (KubeEdge cuts it down to the limit from the second wait on, so that waits get *shorter*.)
pub(crate) fn wait(policy: &Policy, attempt: u32) -> Duration {
    let first = Duration::from_secs(policy.interval_second.into());
    let limit = policy.restart_interval_limit.max(first);
    let growth = policy.interval_time_growth_rate.max(1.0);
    // Exponents beyond this are past every limit that makes sense, and `powi` takes an `i32`.
    let steps = attempt.saturating_sub(1).min(1_000) as i32;
    let grown = first.as_secs_f64() * growth.powi(steps);
    // An overflow to infinity is longer than any limit, too.
    Duration::try_from_secs_f64(grown).map_or(limit, |wait| wait.min(limit))
}

// === impl Jitter ===

impl Jitter {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Makes a wait longer or shorter by at most `share` of it.
    pub(crate) fn spread(&mut self, wait: Duration, share: f64) -> Duration {
        let factor = 1.0 + share * self.next_signed();
        Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(wait)
    }

    /// Uniform in -1 ..= 1.
    fn next_signed(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        bits as f64 / u64::MAX as f64 * 2.0 - 1.0
    }
}

// === impl RecentFailures ===

impl RecentFailures {
    pub(crate) fn add(&mut self, now: Duration, limit: Intensity) -> Pressure {
        self.times.push_back(now);
        while self.times.front().is_some_and(|time| now - *time >= limit.window) {
            self.times.pop_front();
        }
        // Never keep more than decides the question, whatever the window is.
        while self.times.len() > limit.failures as usize {
            self.times.pop_front();
        }
        if self.times.len() >= limit.failures as usize { Pressure::TooMuch } else { Pressure::Bearable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(policy: &Policy, n: u32) -> Vec<u64> {
        (1..=n).map(|attempt| wait(policy, attempt).as_secs()).collect()
    }

    #[test]
    fn the_default_waits_are_those_of_kubeedge() {
        assert_eq!(waits(&Policy::default(), 8), [1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[test]
    fn a_growth_rate_of_one_or_less_keeps_the_first_wait() {
        for interval_time_growth_rate in [1.0, 0.5, 0.0, -2.0] {
            let policy = Policy { interval_time_growth_rate, ..Policy::default() };
            assert_eq!(waits(&policy, 3), [1, 1, 1]);
        }
    }

    #[test]
    fn a_first_wait_above_the_limit_is_never_shortened() {
        let policy = Policy { interval_second: 60, ..Policy::default() };
        assert_eq!(waits(&policy, 4), [60, 60, 60, 60]);
    }

    #[test]
    fn the_millionth_wait_is_still_the_longest_one() {
        assert_eq!(wait(&Policy::default(), u32::MAX), Duration::from_secs(30));
    }

    #[test]
    fn jitter_stays_within_its_share_and_uses_all_of_it() {
        let mut jitter = Jitter::seeded(7);
        let base = Duration::from_secs(10);
        let spread: Vec<f64> = (0..10_000).map(|_| jitter.spread(base, 0.2).as_secs_f64()).collect();
        assert!(spread.iter().all(|wait| (8.0..=12.0).contains(wait)));
        assert!(spread.iter().any(|wait| *wait < 8.1) && spread.iter().any(|wait| *wait > 11.9));
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let draw = |seed| {
            let mut jitter = Jitter::seeded(seed);
            (0..8).map(|_| jitter.spread(Duration::from_secs(1), 0.5)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn failures_are_too_many_only_if_they_fall_into_one_window() {
        let limit = Intensity { failures: 3, window: Duration::from_secs(60) };
        let mut recent = RecentFailures::default();
        let pressures: Vec<Pressure> =
            [0, 30, 60, 89].map(|second| recent.add(Duration::from_secs(second), limit)).into();
        // At 60 s the first one has just left the window; at 89 s there are three in it: 30, 60 and 89.
        use Pressure::{Bearable, TooMuch};
        assert_eq!(pressures, [Bearable, Bearable, Bearable, TooMuch]);
    }
}
