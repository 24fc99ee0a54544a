//! Last words.

use jiff::Timestamp;

use super::{Cause, Class, Code, LONGEST_MESSAGE, Outcome, Step};

#[test]
fn the_hub_reads_what_a_task_leaves_behind() {
    let mut outcome = Outcome::new(Code::RolledBack, "the new pod crashed");
    outcome.cause = Some(Cause::CrashLoop);
    outcome.revision = Some("abc".into());
    outcome.steps.push(Step { at: Timestamp::UNIX_EPOCH, what: "kept the old manifest".into() });
    let text = outcome.termination_message();
    assert_eq!(Outcome::parse(&text), Some(outcome));
    assert!(
        text.starts_with(r#"{"code":"RolledBack","cause":"CrashLoop","message":"the new pod crashed""#),
        "{text}"
    );
    assert_eq!(Outcome::parse("Error: segfault"), None);
}

#[test]
fn a_message_is_never_longer_than_the_kubelet_keeps() {
    let mut outcome = Outcome::new(Code::Failed, "ü\"".repeat(20_000));
    outcome.revision = Some("x".repeat(10_000));
    for number in 0..500 {
        outcome.steps.push(Step { at: Timestamp::UNIX_EPOCH, what: format!("step {number}") });
    }
    let text = outcome.termination_message();
    assert!(text.len() <= LONGEST_MESSAGE);
    assert_eq!(Outcome::parse(&text).unwrap().code, Code::Failed);
    outcome.message = "short".into();
    outcome.revision = None;
    let steps = Outcome::parse(&outcome.termination_message()).unwrap().steps;
    assert_eq!(steps.last().unwrap().what, "step 499", "the last steps are those that matter");
}

#[test]
fn exit_codes_say_what_kind_of_end_it_was() {
    assert_eq!(Outcome::new(Code::Unchanged, "").exit_code(), 0);
    assert_eq!(Outcome::new(Code::Failed, "").exit_code(), 1);
    assert_eq!(Outcome::new(Code::Busy, "").exit_code(), 3);
    assert_eq!(Code::RolledBackNotReady.class(), Class::NeedsHelp);
    assert!(Code::Busy.may_be_tried_again() && !Code::OtherPod.may_be_tried_again());
}
