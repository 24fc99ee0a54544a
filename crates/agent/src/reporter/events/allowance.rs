//! How much of the audit log is told to the cluster: a program that takes and drops a hold all day must not fill it. Pure.

use safepoint_core::Timestamp;

/// So many at once.
const MOST: u32 = 25;
/// And one more each time that so much has passed, in milliseconds.
const ONE_MORE: i64 = 10_000;

/// What may still be told.
#[derive(Debug)]
pub(super) struct Allowance {
    left: u32,
    /// Up to when it has been filled up.
    filled: Timestamp,
    /// What was not told since something was.
    left_out: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: MOST, filled: Timestamp(0), left_out: 0 }
    }
}

impl Allowance {
    /// Takes one, if it may be told: then with how many before it were not.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<u64> {
        // A clock that was set back does not say how long it was.
        self.filled = self.filled.min(now);
        let more = now.0.saturating_sub(self.filled.0) / ONE_MORE;
        if more >= i64::from(MOST - self.left) {
            (self.left, self.filled) = (MOST, now);
        } else {
            self.left += u32::try_from(more).unwrap_or_default();
            self.filled.0 += more * ONE_MORE;
        }
        if self.left == 0 {
            self.left_out += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_700_800_000;

    #[test]
    fn many_at_once_are_told_and_then_one_at_a_time_with_how_many_were_not() {
        let mut allowance = Allowance::default();
        for _ in 0..MOST {
            assert_eq!(allowance.take(Timestamp(NOW)), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(allowance.take(Timestamp(NOW + 1)), None);
        }
        assert_eq!(allowance.take(Timestamp(NOW + ONE_MORE)), Some(7));
        assert_eq!(allowance.take(Timestamp(NOW + ONE_MORE)), None);
    }

    #[test]
    fn after_a_quiet_time_all_of_it_is_there_again_and_no_more() {
        let mut allowance = Allowance::default();
        while allowance.take(Timestamp(NOW)).is_some() {}
        let later = Timestamp(NOW + 24 * 3_600_000);
        assert_eq!(std::iter::from_fn(|| allowance.take(later)).count(), MOST as usize);
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing_for_good() {
        let mut allowance = Allowance::default();
        while allowance.take(Timestamp(NOW)).is_some() {}
        assert_eq!(allowance.take(Timestamp(NOW - 1_000_000_000)), None);
        assert!(allowance.take(Timestamp(NOW - 1_000_000_000 + ONE_MORE)).is_some());
    }
}
