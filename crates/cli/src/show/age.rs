//! Ages as kubectl writes them: two figures at most, and less exact the older something is.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// What time it is, for ages. Read once per command, so that a table is of one moment.
#[expect(
    clippy::disallowed_methods,
    reason = "a person reads ages by the machine's clock; nothing is decided by them"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// How long ago something was.
pub(crate) fn since(time: &Time) -> String {
    age(now().as_second() - time.0.as_second())
}

/// How long something still takes; nothing if it is over.
pub(crate) fn until(time: &Time) -> Option<String> {
    let left = time.0.as_second() - now().as_second();
    (left > 0).then(|| age(left))
}

/// A number of seconds.
pub(crate) fn age(seconds: i64) -> String {
    let two = |big: i64, sign: char, small: i64, little: char| match small {
        0 => format!("{big}{sign}"),
        _ => format!("{big}{sign}{small}{little}"),
    };
    match seconds {
        // Two clocks may differ by a little.
        ..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, 'y', seconds % YEAR / DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_written_as_kubectl_writes_it() {
        for (seconds, written) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_072_000 + DAY, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(age(seconds), written, "{seconds}");
        }
    }
}
