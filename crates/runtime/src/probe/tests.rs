//! When answers become a verdict.

use serde_json::json;

use super::*;

fn verdicts(probe: serde_json::Value, answers: &str) -> String {
    let probe: Probe = serde_json::from_value(probe).unwrap();
    let mut counter = Counter::new(&probe, None);
    let verdict = |answer| match counter.count(answer == '+') {
        Some(true) => '+',
        Some(false) => '-',
        None => '.',
    };
    answers.chars().map(verdict).collect()
}

#[test]
fn one_success_and_three_failures_in_a_row_are_a_verdict_unless_said_otherwise() {
    assert_eq!(verdicts(json!({}), "+--+---+++"), "+.....-+..");
}

#[test]
fn thresholds_are_counted_in_a_row() {
    assert_eq!(verdicts(json!({"successThreshold": 2, "failureThreshold": 1}), "+-++-+-++"), ".-.+-...+");
}

#[test]
fn a_delay_that_has_passed_is_not_waited_for_again() {
    let probe: Probe = serde_json::from_value(json!({"initialDelaySeconds": 10})).unwrap();
    assert_eq!(Timing::new(&probe, Duration::from_secs(4)).delay, Duration::from_secs(6));
    assert_eq!(Timing::new(&probe, Duration::from_secs(40)).delay, Duration::ZERO);
}
