//! When a container is due to be started again.

use super::*;

const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(10),
    most: Duration::from_secs(300),
    reset: Duration::from_secs(600),
};

/// A container whose run, after which `level` is to be waited, lasted so long and ended so long ago.
fn ended(level: Option<u64>, lasted: u64, ago: u64, code: i32, how: How) -> (Unit, Timestamp) {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let at = now - Duration::from_secs(ago);
    let spec = Container { name: "main".into(), ..Container::default() };
    let mut unit = Unit::load(std::path::Path::new("/nonexistent"), &spec, "null".into(), Role::Main);
    let exit = Exit { code, signal: None, at, how, message: None };
    unit.life = Life::Ended(Ended { attempt: 3, started: Some(at - Duration::from_secs(lasted)), exit });
    unit.ran = Some(Ran { entry: "null".into(), backoff: level.map(Duration::from_secs) });
    (unit, now)
}

fn due(level: Option<u64>, lasted: u64, ago: u64) -> Due {
    let (unit, now) = ended(level, lasted, ago, 1, How::Ended);
    unit.due(RestartPolicy::Always, BACKOFF, now)
}

fn now(backoff: u64) -> Due {
    Due::Now { backoff: Some(Duration::from_secs(backoff)) }
}

#[test]
fn the_first_restart_is_immediate_and_each_wait_is_twice_the_last() {
    assert_eq!(due(None, 1, 0), now(10));
    assert_eq!(due(Some(10), 1, 4), Due::In { wait: Duration::from_secs(6), of: Duration::from_secs(10) });
    assert_eq!(due(Some(10), 1, 10), now(20));
    assert_eq!(due(Some(160), 1, 160), now(300));
    assert_eq!(due(Some(300), 1, 300), now(300));
}

#[test]
fn a_good_run_starts_the_waits_anew() {
    assert_eq!(due(Some(300), 601, 0), now(10));
}

#[test]
fn a_clock_that_was_set_back_costs_one_whole_wait_at_most() {
    let (unit, now) = ended(Some(10), 1, 0, 1, How::Ended);
    let earlier = now - Duration::from_secs(86_400);
    let due = unit.due(RestartPolicy::Always, BACKOFF, earlier);
    assert_eq!(due, Due::In { wait: Duration::from_secs(10), of: Duration::from_secs(10) });
}

#[test]
fn policies_decide_whether_at_all() {
    let due = |policy, code, how| {
        let (unit, now) = ended(None, 1, 0, code, how);
        unit.due(policy, BACKOFF, now) != Due::Never
    };
    assert!(due(RestartPolicy::Always, 0, How::Ended));
    assert!(!due(RestartPolicy::OnFailure, 0, How::Ended));
    assert!(due(RestartPolicy::OnFailure, 1, How::Ended));
    assert!(!due(RestartPolicy::Never, 1, How::Ended));
    assert!(!due(RestartPolicy::Never, 137, How::Lost));
    // What was given up before it began has not used up its one run.
    assert!(due(RestartPolicy::Never, 137, How::NeverStarted));
}

#[test]
fn neither_a_reboot_nor_a_change_is_held_against_a_container() {
    let (unit, at) = ended(Some(300), 1, 0, 137, How::Rebooted);
    assert_eq!(unit.due(RestartPolicy::Always, BACKOFF, at), Due::Now { backoff: None });
    let (mut unit, at) = ended(Some(300), 1, 0, 1, How::Ended);
    unit.entry = "true".into();
    assert_eq!(unit.due(RestartPolicy::Always, BACKOFF, at), Due::Now { backoff: None });
}
