//! The last words of a task, and what they mean for the roll-out. Pure.
//!
//! A task ends with an exit code and leaves an outcome behind as JSON (`safepoint_manifest::Outcome`). It is read here by its
//! words and not by that type: a task may be of a newer image than the hub, and a word that the hub does not know is still a
//! better reason than none.

use safepoint_core::Text;
use safepoint_core::Timestamp;
use safepoint_core::rollout::Failure;
use serde::Deserialize;

use super::slim::{SlimPod, SlimTerminated, moment};

/// Words that say that the node does not want it now: it is put off, and nothing was tried.
///
/// `Busy` is what the manifest door says while somebody else is at work on the manifest. The others are what an agent says
/// that holds it.
const PUT_OFF: [&str; 4] = ["Busy", "Held", "Frozen", "Freezing"];

/// The longest sentence that is kept of a failure.
const LONGEST: usize = 512;

/// How a task has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// As wanted.
    Succeeded {
        /// When.
        at: Timestamp,
    },
    /// Not as wanted.
    Failed(Failure),
    /// It was not let: the node holds, and nothing was touched.
    PutOff {
        /// Why, in its words.
        why: Text,
        /// When.
        at: Timestamp,
    },
}

#[derive(Deserialize)]
struct Outcome {
    code: String,
    #[serde(default)]
    cause: Option<String>,
    #[serde(default)]
    message: String,
}

// === impl End ===

impl End {
    /// When.
    pub(crate) const fn at(&self) -> Timestamp {
        match self {
            Self::Succeeded { at } | Self::Failed(Failure { at, .. }) | Self::PutOff { at, .. } => *at,
        }
    }

    /// The same at another moment.
    pub(crate) const fn set_at(&mut self, moment: Timestamp) {
        match self {
            Self::Succeeded { at } | Self::Failed(Failure { at, .. }) | Self::PutOff { at, .. } => {
                *at = moment;
            }
        }
    }
}

/// How a task pod that has ended, has ended. `now` stands in where nobody has said when.
pub(crate) fn end(pod: &SlimPod, succeeded: bool, now: Timestamp) -> End {
    let said = pod.status.container_statuses.iter().flatten();
    let said = said.filter_map(|container| container.state.as_ref()?.terminated.as_ref()).next();
    let at = said
        .and_then(|said| said.finished_at.as_ref())
        .or_else(|| pod.condition("Ready")?.last_transition_time.as_ref())
        .map_or(now, moment);
    let outcome: Option<Outcome> =
        said.and_then(|said| said.message.as_deref()).and_then(|text| serde_json::from_str(text.trim()).ok());
    match outcome {
        _ if succeeded => End::Succeeded { at },
        Some(outcome) if PUT_OFF.contains(&&*outcome.code) => {
            let why = if outcome.message.is_empty() { outcome.code } else { outcome.message };
            End::PutOff { why: short(&why), at }
        }
        Some(outcome) => {
            let text = match &outcome.cause {
                Some(cause) if !outcome.message.contains(cause.as_str()) => {
                    format!("{cause}: {}", outcome.message)
                }
                Some(_) | None => outcome.message,
            };
            End::Failed(Failure { code: word(&outcome.code).into(), text: short(&text), at })
        }
        None => End::Failed(without_words(pod, said, at)),
    }
}

/// A task that said nothing: the kubelet did not start it, ended it, or it died.
fn without_words(pod: &SlimPod, said: Option<&SlimTerminated>, at: Timestamp) -> Failure {
    let reason = pod.status.reason.as_deref().or_else(|| said?.reason.as_deref());
    let code = word(reason.unwrap_or("TaskFailed"));
    let text = match (&pod.status.message, said) {
        (Some(message), _) if !message.is_empty() => message.clone(),
        (_, Some(said)) => match said.message.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => format!("the task ended with code {} and said: {text}", said.exit_code),
            None => format!("the task ended with code {} and said nothing", said.exit_code),
        },
        _ => "the task has failed and said nothing".to_owned(),
    };
    Failure { code: code.into(), text: short(&text), at }
}

/// A reason is one word: what else somebody writes there stays out of a status.
fn word(text: &str) -> &str {
    let is_word =
        !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_word { text } else { "TaskFailed" }
}

fn short(text: &str) -> Text {
    if text.len() <= LONGEST {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(LONGEST)]).into()
}

#[cfg(test)]
mod tests {
    use safepoint_manifest::{Cause, Code, Outcome as Said};
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_700_800_000);

    fn ended(code: u8, message: &str) -> SlimPod {
        let state = json!({"terminated": {"exitCode": code, "reason": "Error", "message": message,
            "finishedAt": "2026-11-15T00:00:00Z"}});
        let status = json!({"phase": "Failed", "containerStatuses": [{"name": "task", "state": state}]});
        serde_json::from_value(json!({"metadata": {"name": "t"}, "status": status})).unwrap()
    }

    /// OpenYurt's defect 21: nobody was told which node had failed, and why.
    #[test]
    fn what_the_task_said_becomes_the_reason() {
        let mut said = Said::new(Code::RolledBack, "the new pod was not ready within 2m");
        said.cause = Some(Cause::NotReady);
        let End::Failed(failure) = end(&ended(said.exit_code(), &said.termination_message()), false, NOW)
        else {
            panic!("it has failed");
        };
        assert_eq!(&*failure.code, "RolledBack");
        assert_eq!(&*failure.text, "NotReady: the new pod was not ready within 2m");
        assert_eq!(failure.at, moment(&"2026-11-15T00:00:00Z".parse().map(k8s_time).unwrap()));
    }

    fn k8s_time(at: jiff::Timestamp) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
        k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at)
    }

    #[test]
    fn a_node_that_holds_is_put_off_and_has_not_failed() {
        let said = Said::new(Code::Busy, "somebody else is at work on this manifest");
        let end_of = |text: &str| end(&ended(3, text), false, NOW);
        assert!(matches!(end_of(&said.termination_message()), End::PutOff { .. }));
        for code in ["Held", "Frozen", "Freezing"] {
            let end = end_of(&json!({"code": code, "message": "jane holds it"}).to_string());
            assert!(matches!(&end, End::PutOff { why, .. } if &**why == "jane holds it"), "{end:?}");
        }
    }

    #[test]
    fn a_word_that_the_hub_does_not_know_is_still_a_reason() {
        let said = json!({"code": "MoonIsFull", "message": "wait for it", "steps": [], "new": 1}).to_string();
        let End::Failed(failure) = end(&ended(9, &said), false, NOW) else { panic!("it has failed") };
        assert_eq!((&*failure.code, &*failure.text), ("MoonIsFull", "wait for it"));
    }

    #[test]
    fn a_task_without_words_has_failed_for_the_kubelets_reason() {
        let evicted = json!({"metadata": {}, "status": {"phase": "Failed", "reason": "Evicted",
            "message": "The node was low on resource: memory."}});
        let End::Failed(failure) = end(&serde_json::from_value(evicted).unwrap(), false, NOW) else {
            panic!("it has failed");
        };
        assert_eq!((&*failure.code, failure.at), ("Evicted", NOW));
        let End::Failed(failure) = end(&ended(137, "Killed"), false, NOW) else { panic!("it has failed") };
        assert_eq!(&*failure.text, "the task ended with code 137 and said: Killed");
        let long = "é".repeat(5_000);
        let End::Failed(failure) = end(&ended(1, &long), false, NOW) else { panic!("it has failed") };
        assert!(failure.text.len() < 600);
    }
}
