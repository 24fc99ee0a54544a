//! Ages as kubectl writes them: two figures at most, and less exact the older something is.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_machinery::age::human;

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
    at(time, now())
}

/// How old something is at a moment.
pub(crate) fn at(time: &Time, now: Timestamp) -> String {
    age(now.as_second() - time.0.as_second())
}

/// How long something still takes at a moment; nothing if it is over.
pub(crate) fn left(time: &Time, now: Timestamp) -> Option<String> {
    let left = time.0.as_second() - now.as_second();
    (left > 0).then(|| age(left))
}

/// A number of seconds. Two clocks may differ by a little, and nothing that is shown here lies ahead.
pub(crate) fn age(seconds: i64) -> String {
    human(seconds.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_clock_puts_into_the_future_happens_now() {
        assert_eq!([age(-5), age(0), age(125)], ["0s", "0s", "2m5s"]);
    }
}
