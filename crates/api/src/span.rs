//! A length of time as people write it in a manifest: `45s`, `30m`, `1h30m`.
//!
//! Kubernetes has no one form for this. This is the part of Go's notation that people use by hand: whole hours, minutes
//! and seconds, largest first, each at most once. CEL's `duration()` reads it too, so the API server enforces the same
//! limits that [`Span::from_str`] does.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The longest span, one year. Whoever means longer means a hold without a lease.
const LONGEST: u32 = 8760 * 3600;

/// A length of time: whole seconds, more than none, at most a year.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span {
    seconds: u32,
}

/// Why a text or a duration is not a [`Span`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSpan {
    /// The text is not written as a span.
    #[error(
        "cannot read {0:?} as a length of time: write hours, minutes and seconds, such as 45s, 30m or 1h30m"
    )]
    Unreadable(String),
    /// It is no time at all, or more than a year.
    #[error("{0} is not between 1s and a year (8760h)")]
    OutOfRange(String),
}

// === impl Span ===

impl TryFrom<Duration> for Span {
    type Error = BadSpan;

    /// Takes the whole seconds; a manifest has no use for less.
    fn try_from(duration: Duration) -> Result<Self, BadSpan> {
        match u32::try_from(duration.as_secs()) {
            Ok(seconds @ 1..=LONGEST) => Ok(Self { seconds }),
            _ => Err(BadSpan::OutOfRange(format!("{duration:?}"))),
        }
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_secs(span.seconds.into())
    }
}

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let unreadable = || BadSpan::Unreadable(text.to_owned());
        let (mut rest, mut seconds) = (text, 0_u64);
        for (unit, length) in [('h', 3600), ('m', 60), ('s', 1)] {
            let Some((number, after)) = rest.split_once(unit) else { continue };
            // `parse` alone would let a sign through.
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number: u32 = number.parse().ok().filter(|_| digits).ok_or_else(unreadable)?;
            seconds += u64::from(number) * length;
            rest = after;
        }
        if text.is_empty() || !rest.is_empty() {
            return Err(unreadable());
        }
        Self::try_from(Duration::from_secs(seconds)).map_err(|_| BadSpan::OutOfRange(text.to_owned()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, unit) in
            [(self.seconds / 3600, 'h'), (self.seconds / 60 % 60, 'm'), (self.seconds % 60, 's')]
        {
            if number > 0 {
                write!(f, "{number}{unit}")?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Span {
    type Error = BadSpan;

    fn try_from(text: String) -> Result<Self, BadSpan> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": 20,
            "pattern": "^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$",
            "x-kubernetes-validations": [{
                "rule": "duration(self) >= duration('1s') && duration(self) <= duration('8760h')",
                "message": "must be between 1s and a year (8760h)",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_written_back_in_its_shortest_form() {
        for (text, seconds, shortest) in [
            ("45s", 45, "45s"),
            ("30m", 1800, "30m"),
            ("1h30m", 5400, "1h30m"),
            ("90m", 5400, "1h30m"),
            ("1h0m5s", 3605, "1h5s"),
            ("8760h", LONGEST, "8760h"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(Duration::from(span).as_secs(), u64::from(seconds), "{text}");
            assert_eq!(span.to_string(), shortest);
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_as_unreadable() {
        for text in ["", "30", "m", "-5m", "+5m", "1.5h", "5s3h", "5m5m", "1d", " 5m", "5m ", "forever"] {
            assert_eq!(text.parse::<Span>(), Err(BadSpan::Unreadable(text.into())), "{text}");
        }
    }

    #[test]
    fn nothing_and_more_than_a_year_are_refused_as_out_of_range() {
        for text in ["0s", "0h0m0s", "8761h", "8760h1s", "4294967295h"] {
            assert_eq!(text.parse::<Span>(), Err(BadSpan::OutOfRange(text.into())), "{text}");
        }
        assert!(Span::try_from(Duration::from_millis(999)).is_err());
    }
}
