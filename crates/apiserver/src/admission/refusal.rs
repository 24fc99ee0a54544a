//! What the user is told when a hook says no, or when nobody knows what it would have said.

use safepoint_machinery::status::{Reason, Status};
use serde_json::Value;

use super::review::Explanation;

/// The hook said no. Its own code and reason stand, as far as they are those of a refusal.
pub(crate) fn denied(hook: &str, explanation: Option<Explanation>) -> Status {
    let Explanation { message, reason, code, details } = explanation.unwrap_or_default();
    let (message, reason) = (message.unwrap_or_default(), reason.unwrap_or_default());
    let denied = format!("admission webhook {hook:?} denied the request");
    let text = match (message.as_str(), reason.as_str()) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let code = match code.unwrap_or_default() {
        ..400 => 400,
        // What is no HTTP status code cannot be sent as one.
        code => u16::try_from(code).ok().filter(|code| *code < 1000).unwrap_or(500),
    };
    let reason: Reason = serde_json::from_value(Value::String(reason)).unwrap_or_default();
    let status = Status::new(code, reason, text);
    match details.and_then(|details| serde_json::from_value(details).ok()) {
        Some(details) => status.about(details),
        None => status,
    }
}

/// The hook was not asked, because asking it would not be without effect.
pub(crate) fn no_dry_run(hook: &str) -> Status {
    Status::bad_request(format!("admission webhook {hook:?} does not support dry run"))
}

/// The hook could not be asked, or its answer could not be used.
pub(crate) fn unanswered(hook: &str, why: &str) -> String {
    format!("failed calling webhook {hook:?}: {why}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: Value) -> (u16, String) {
        let explanation = serde_json::from_value(status).unwrap();
        let status = denied("foo", explanation);
        (status.code, status.message)
    }

    #[test]
    fn a_refusal_says_who_refused_and_why() {
        let by = "admission webhook \"foo\" denied the request";
        let pass = || format!("{by}: you shall not pass");
        assert_eq!(refused(json!(null)), (400, format!("{by} without explanation")));
        assert_eq!(refused(json!({})), (400, format!("{by} without explanation")));
        assert_eq!(refused(json!({"message": "you shall not pass"})), (400, pass()));
        assert_eq!(refused(json!({"reason": "Forbidden"})), (400, format!("{by}: Forbidden")));
        assert_eq!(refused(json!({"message": "you shall not pass", "reason": "Forbidden"})), (400, pass()));
    }

    #[test]
    fn only_the_code_of_a_refusal_is_taken_over() {
        let code = |code: i64| refused(json!({"code": code})).0;
        assert_eq!([401, 500, 200, 300, 399, -1, 70_000].map(code), [401, 500, 400, 400, 400, 400, 500]);
    }

    #[test]
    fn reason_and_details_are_passed_on() {
        let explanation = Explanation {
            reason: Some("Invalid".into()),
            code: Some(422),
            details: Some(json!({"causes": [{"field": "spec.x", "message": "too blue"}]})),
            ..Explanation::default()
        };
        let status = denied("foo", Some(explanation)).to_value();
        assert_eq!(status["reason"], "Invalid");
        assert_eq!(status["details"]["causes"][0]["field"], "spec.x");
        assert_eq!(status["status"], "Failure");
    }
}
