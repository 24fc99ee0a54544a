//! Time as the gate knows it: it comes in with every event and is never read here.
//!
//! Deadlines are kept on the gate's own [`Age`], which grows with the machine's monotonic clock, across restarts of the
//! agent. The wall clock is shown to people and is used for one thing only: to count the time the machine itself was off,
//! and then only when it was trusted both before and after. A wall clock that jumps can therefore never end a hold.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

/// Wall clock time: milliseconds since 1970 in UTC. For people; see the module's documentation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// How long this gate has been counting time, in milliseconds. It survives restarts and never goes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Age(pub u64);

/// What the driver's clocks say when it delivers an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Now {
    /// A clock that only goes forward, counted from the machine's boot, sleep included.
    pub monotonic: Span,
    /// Which boot that was: any number that differs from boot to boot.
    pub boot: u64,
    /// The wall clock.
    pub wall: Timestamp,
    /// Whether the wall clock is known to be right (synchronised and plausible). When in doubt: false.
    pub trusted: bool,
}

/// When something happened: for deadlines and durations by age, for people by the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Stamp {
    /// The gate's age then.
    pub age: Age,
    /// The wall clock then, right or wrong.
    pub at: Timestamp,
}

/// How far the two clocks may drift apart between two readings before that is a jump: time servers slew by less.
const TOLERANCE: Span = Span::from_secs(5);

/// Turns the readings that come with events into the gate's age.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Clock {
    age: Age,
    last: Now,
    /// Whether a wall clock that was trusted has jumped since the machine was switched on. Nobody can tell which of its
    /// two times was right.
    doubted: bool,
}

// === impl Span ===

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// A span of whole minutes.
    #[must_use]
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes.saturating_mul(60))
    }
}

impl fmt::Display for Span {
    /// Two units at most, as people say it: `2d 3h`, `12m`, `45s`, `300ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        match (days, hours, minutes, seconds % 60) {
            (0, 0, 0, 0) => write!(f, "{}ms", self.0),
            (0, 0, 0, s) => write!(f, "{s}s"),
            (0, 0, m, 0) => write!(f, "{m}m"),
            (0, 0, m, s) => write!(f, "{m}m {s}s"),
            (0, h, 0, _) => write!(f, "{h}h"),
            (0, h, m, _) => write!(f, "{h}h {m}m"),
            (d, 0, _, _) => write!(f, "{d}d"),
            (d, h, _, _) => write!(f, "{d}d {h}h"),
        }
    }
}

// === impl Timestamp ===

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, whole seconds. Written out here because a date library would bring a clock into this crate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1000);
        let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Days are counted from 1 March of year 0, so that the leap day is the last day of a year; an era is 400 years.
        let shifted = day + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        write!(f, "{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
    }
}

// === impl Age ===

impl Age {
    /// This age plus a span; a span without end stays without end.
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long ago an earlier age was.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

// === impl Clock ===

impl Clock {
    /// A clock that starts to count now.
    #[must_use]
    pub const fn start(now: Now) -> Self {
        Self { age: Age(0), last: now, doubted: false }
    }

    /// Goes on counting after a restart, and says whether all the time in between could be counted.
    ///
    /// A restart of the agent alone is counted by the monotonic clock. Of a restart of the machine, the time in between
    /// counts only when the wall clock was trusted at both ends: otherwise a machine whose battery clock was reset would
    /// find all its leases expired. Too little counted is the safe side for a hold, which then lasts longer.
    #[must_use]
    pub fn resume(saved: Self, now: Now) -> (Self, bool) {
        if saved.last.boot == now.boot {
            let mut clock = saved;
            clock.advance(now);
            return (clock, true);
        }
        let gap = u64::try_from(now.wall.0.saturating_sub(saved.last.wall.0));
        match gap {
            Ok(off) if saved.last.trusted && now.trusted => {
                (Self { age: saved.age.after(Span(off)), last: now, doubted: false }, true)
            }
            Ok(_) | Err(_) => (Self { age: saved.age, last: now, doubted: false }, false),
        }
    }

    /// Takes a new reading. A monotonic clock that seems to go back counts as standing still.
    ///
    /// Returns whether the wall clock jumped, which has to be on record before the machine can be switched off: the time
    /// off would be counted from the wrong moment. If it jumped although it was trusted, it is not trusted again before
    /// the next boot, whatever the driver thinks of it.
    pub fn advance(&mut self, now: Now) -> bool {
        let passed = now.monotonic.0.saturating_sub(self.last.monotonic.0);
        let shown = now.wall.0.saturating_sub(self.last.wall.0);
        let drift = shown.saturating_sub_unsigned(passed).unsigned_abs();
        let jumped = drift > TOLERANCE.0;
        self.doubted |= jumped && self.last.trusted && now.trusted;
        self.age = self.age.after(Span(passed));
        self.last = Now { trusted: now.trusted && !self.doubted, ..now };
        jumped
    }

    /// The gate's age at the last reading.
    #[must_use]
    pub const fn age(&self) -> Age {
        self.age
    }

    /// The last reading itself.
    #[must_use]
    pub const fn last(&self) -> Now {
        self.last
    }

    /// A stamp for something that happens now.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        Stamp { age: self.age, at: self.last.wall }
    }

    /// The same clock with the age that the wall clock alone would give. It exists for the mutant that trusts it.
    #[cfg(feature = "mutants")]
    pub(crate) fn advance_by_wall(&mut self, now: Now) {
        let jump = u64::try_from(now.wall.0.saturating_sub(self.last.wall.0)).unwrap_or(0);
        let _ = self.advance(now);
        self.age = self.age.after(Span(jump));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(monotonic: u64, wall: i64, trusted: bool) -> Now {
        Now { monotonic: Span(monotonic), boot: 1, wall: Timestamp(wall), trusted }
    }

    fn after_reboot(wall: i64, trusted: bool) -> Now {
        Now { boot: 2, ..reading(0, wall, trusted) }
    }

    #[test]
    fn a_jump_of_the_wall_clock_does_not_age_the_gate() {
        let mut clock = Clock::start(reading(0, 0, true));
        assert!(clock.advance(reading(5, 365 * 86_400_000, true)));
        assert_eq!(clock.age(), Age(5));
        assert!(clock.advance(reading(6, -365 * 86_400_000, true)));
        assert_eq!(clock.age(), Age(6));
    }

    #[test]
    fn a_trusted_wall_clock_that_jumped_is_not_trusted_again_before_the_next_boot() {
        let year = 365 * 86_400_000;
        for jump in [year, -year] {
            let mut clock = Clock::start(reading(0, 0, true));
            assert!(clock.advance(reading(5, jump, true)));
            assert!(!clock.advance(reading(6, jump + 1, true)));
            let (clock, counted) = Clock::resume(clock, after_reboot(year + 9000, true));
            assert_eq!((clock.age(), counted), (Age(6), false));
            assert!(clock.last().trusted);
        }
    }

    #[test]
    fn a_clock_that_is_set_right_for_the_first_time_is_trusted_from_then_on() {
        let mut clock = Clock::start(reading(0, 0, false));
        assert!(clock.advance(reading(5, 86_400_000, true)));
        assert_eq!(Clock::resume(clock, after_reboot(86_403_000, true)).0.age(), Age(3005));
    }

    #[test]
    fn a_restart_of_the_agent_alone_is_counted_without_the_wall_clock() {
        let before = Clock::start(reading(70, 1000, false));
        let (clock, counted) = Clock::resume(before, reading(100, 86_400_000, true));
        assert_eq!((clock.age(), counted), (Age(30), true));
    }

    #[test]
    fn time_switched_off_counts_only_when_the_clock_was_trusted_at_both_ends() {
        let resumed = |before, now| {
            let (clock, counted) = Clock::resume(before, now);
            (clock.age().0, counted)
        };
        let before = Clock::start(reading(70, 1000, true));
        assert_eq!(resumed(before, after_reboot(4000, true)), (3000, true));
        assert_eq!(resumed(before, after_reboot(4000, false)), (0, false));
        assert_eq!(resumed(before, after_reboot(500, true)), (0, false));
        let doubtful = Clock::start(reading(70, 1000, false));
        assert_eq!(resumed(doubtful, after_reboot(4000, true)), (0, false));
    }

    #[test]
    fn timestamps_read_as_rfc_3339() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_794_700_799_999, "2026-11-14T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
        }
    }

    #[test]
    fn spans_read_as_people_say_them() {
        for (span, text) in [
            (Span(300), "300ms"),
            (Span::from_secs(45), "45s"),
            (Span::from_secs(750), "12m 30s"),
            (Span::from_mins(60), "1h"),
            (Span::from_mins(60 * 24 * 2 + 200), "2d 3h"),
        ] {
            assert_eq!(span.to_string(), text);
        }
    }
}
