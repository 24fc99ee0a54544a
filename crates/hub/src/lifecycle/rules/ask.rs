//! What a webhook of a rule is asked, and what its answer means. Pure.
//!
//! The protocol is KusionStack's: a question is posted with the pods that ask, and answered at once or with a task that is
//! asked about until it is done.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use safepoint_api::names::kusionstack::{STAGE_POST_CHECK, STAGE_PRE_CHECK};
use safepoint_api::pod_transition_rule::Parameter;
use safepoint_core::Text;
use safepoint_core::lifecycle::Stage;
use safepoint_core::lifecycle::rules::webhook::Answer;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::read::{Hook, PollAt};

/// The longest message of a webhook that is told to people.
const LONGEST: usize = 512;

/// The answer to a question, as it is sent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
    success: bool,
    finished_names: Option<Vec<String>>,
    message: Option<String>,
    poll: bool,
    /// What `poll` was called once.
    r#async: bool,
    task_id: Option<String>,
    /// What `taskId` was called once.
    trace_id: Option<String>,
}

/// The answer to a question about a task, as it is sent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Polled {
    success: bool,
    finished_names: Option<Vec<String>>,
    message: Option<String>,
    finished: bool,
    stop: bool,
}

/// The word for a stage.
pub(crate) const fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCheck => STAGE_PRE_CHECK,
        Stage::PostCheck => STAGE_POST_CHECK,
    }
}

/// Whether something of the pods has to be looked up for the question.
pub(crate) fn needs_pods(hook: &Hook) -> bool {
    hook.parameters.iter().any(|parameter| field(parameter).is_some())
}

/// The question about pods, each with its JSON as far as it is needed.
pub(crate) fn question(hook: &Hook, trace: &str, pods: &[(Text, Value)]) -> Value {
    let resource = |(name, pod): &(Text, Value)| {
        let parameters: Map<String, Value> = hook
            .parameters
            .iter()
            .map(|parameter| (parameter.key.clone(), Value::from(value(parameter, pod))))
            .collect();
        json!({"apiVersion": "core/v1", "kind": "Pod", "name": &**name, "parameters": parameters})
    };
    let resources: Vec<Value> = pods.iter().map(resource).collect();
    json!({"traceId": trace, "ruleName": &*hook.rule, "stage": stage_word(hook.stage), "resources": resources})
}

/// The address at which a task is asked about.
pub(crate) fn poll_url(poll: &PollAt, task: &str) -> String {
    let url = poll.url.split('#').next().unwrap_or_default();
    let join = if url.contains('?') { '&' } else { '?' };
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    format!("{url}{join}{}={}", encode(&poll.key), encode(task))
}

/// What may stand in a query as it is.
const UNRESERVED: &percent_encoding::AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Reads the answer to a question. `can_poll`: the rule says where tasks are asked about.
pub(crate) fn asked(body: &[u8], can_poll: bool) -> Result<Answer, Text> {
    let answer: Asked = json(body)?;
    let polls = answer.poll || answer.r#async;
    let ids = [answer.task_id, answer.trace_id].into_iter().flatten();
    let task = ids.into_iter().find(|id| polls && !id.is_empty());
    if answer.success && polls && task.is_none() {
        return Err("it has taken on a task and does not say which (taskId)".into());
    }
    if answer.success && polls && !can_poll {
        return Err(
            "it has taken on a task, and the rule does not say where to ask (clientConfig.poll)".into()
        );
    }
    let usual = match &task {
        Some(task) if answer.success => format!("its webhook is at it (task {})", short(task)),
        _ => "its webhook says no".to_owned(),
    };
    Ok(Answer {
        success: answer.success,
        finished: names(answer.finished_names),
        all_finished: false,
        message: message(answer.message, &usual),
        task: task.map(Text::from),
        stop: false,
    })
}

/// Reads the answer to a question about a task.
pub(crate) fn polled(body: &[u8]) -> Result<Answer, Text> {
    let answer: Polled = json(body)?;
    let usual = if answer.stop { "its webhook has given up" } else { "its webhook is still at it" };
    Ok(Answer {
        success: answer.success,
        finished: names(answer.finished_names),
        all_finished: answer.finished,
        message: message(answer.message, usual),
        task: None,
        stop: answer.stop,
    })
}

/// An answer may come from somewhere that it should not: nothing of what cannot be read is told to people.
fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Text> {
    serde_json::from_slice(body).map_err(|error| {
        let what = if error.is_data() { "has another form than it should" } else { "is no JSON" };
        format!("its answer {what} (line {}, column {})", error.line(), error.column()).into()
    })
}

fn names(names: Option<Vec<String>>) -> std::collections::BTreeSet<Text> {
    names.into_iter().flatten().map(Text::from).collect()
}

fn message(message: Option<String>, usual: &str) -> Text {
    let message = message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    short(message.as_deref().unwrap_or(usual)).into()
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST.min(text.len()))]
}

fn field(parameter: &Parameter) -> Option<&str> {
    if !parameter.value.is_empty() {
        return None;
    }
    parameter.value_from.as_ref()?.field_ref.as_ref().map(|field| field.field_path.as_str())
}

/// The value of a parameter for a pod. What is not there is an empty text.
fn value(parameter: &Parameter, pod: &Value) -> String {
    field(parameter).map_or_else(|| parameter.value.clone(), |path| of_pod(pod, path))
}

fn of_pod(pod: &Value, path: &str) -> String {
    if let Some((path, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        return text(at(pod, path).and_then(|map| map.get(key)));
    }
    match (path, at(pod, path)) {
        // As the downward API writes them.
        ("metadata.labels" | "metadata.annotations", Some(Value::Object(map))) => {
            let mut lines = String::new();
            for (key, value) in map {
                let line = if lines.is_empty() { "" } else { "\n" };
                let _ = write!(lines, "{line}{key}={value}");
            }
            lines
        }
        (_, found) => text(found),
    }
}

fn at<'a>(pod: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(pod, |value, field| value.get(field))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use safepoint_core::lifecycle::Nanos;
    use safepoint_core::lifecycle::rules::webhook::Polling;

    use super::*;

    fn hook(parameters: Value) -> Hook {
        Hook {
            rule: "ask".into(),
            stage: Stage::PostCheck,
            url: "https://a.example/ask".parse().unwrap(),
            ca: None,
            poll: None,
            polling: Polling { interval: Nanos(1), timeout: Nanos(1) },
            parameters: serde_json::from_value(parameters).unwrap(),
        }
    }

    #[test]
    fn a_question_has_the_form_that_kusionstacks_webhooks_know() {
        let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let hook = hook(json!([
            {"key": "site", "value": "north"}, {"key": "nothing"},
            {"key": "ip", "valueFrom": field("status.podIP")},
            {"key": "app", "valueFrom": field("metadata.labels['app.io/name']")},
            {"key": "labels", "valueFrom": field("metadata.labels")},
            {"key": "gone", "valueFrom": field("spec.some.thing")},
            {"key": "ports", "valueFrom": field("spec.ports")},
        ]));
        assert!(needs_pods(&hook));
        let pod = json!({"metadata": {"labels": {"app.io/name": "web", "b": "c"}}, "spec": {"ports": [80]}, "status": {"podIP": "10.0.0.7"}});
        assert_eq!(
            question(&hook, "t1", &[("web-0".into(), pod)]),
            json!({"traceId": "t1", "ruleName": "ask", "stage": "PostCheck", "resources": [
                {"apiVersion": "core/v1", "kind": "Pod", "name": "web-0", "parameters": {
                    "site": "north", "nothing": "", "ip": "10.0.0.7", "app": "web", "gone": "", "ports": "[80]",
                    "labels": "app.io/name=\"web\"\nb=\"c\""}}]})
        );
    }

    #[test]
    fn a_task_is_asked_about_in_the_query() {
        let poll = |url: &str, key: &str| PollAt { url: url.into(), key: key.into(), ca: None };
        assert_eq!(poll_url(&poll("http://a/poll", "task-id"), "7-a_b"), "http://a/poll?task-id=7-a_b");
        assert_eq!(
            poll_url(&poll("http://a/poll?x=1", "run"), "a&b=c d"),
            "http://a/poll?x=1&run=a%26b%3Dc%20d"
        );
    }

    #[test]
    fn answers_are_read() {
        let plain = asked(br#"{"success":true,"message":""}"#, false).unwrap();
        assert!(plain.success && plain.task.is_none());
        let task =
            asked(br#"{"success":true,"poll":true,"taskId":"7","finishedNames":["a"]}"#, true).unwrap();
        assert_eq!((task.task.as_deref(), task.finished.len()), (Some("7"), 1));
        let old = asked(br#"{"success":true,"async":true,"traceId":"8"}"#, true).unwrap();
        assert_eq!(old.task.as_deref(), Some("8"));
        let no = asked(br#"{"success":false,"message":" not today "}"#, true).unwrap();
        assert_eq!(&*no.message, "not today");
        let done = polled(br#"{"success":true,"finished":true,"finishedNames":null}"#).unwrap();
        assert!(done.all_finished && !done.stop);
        assert_eq!(&*polled(br#"{"stop":true}"#).unwrap().message, "its webhook has given up");
    }

    #[test]
    fn what_is_no_answer_says_so_and_repeats_nothing_of_it() {
        for body in ["<html>secret</html>", "", r#"{"success":"secret"}"#, "null"] {
            let error = asked(body.as_bytes(), true).unwrap_err();
            assert!(error.starts_with("its answer ") && !error.contains("secret"), "{body}: {error}");
        }
        assert!(asked(br#"{"success":true,"poll":true}"#, true).unwrap_err().contains("taskId"));
        assert!(
            asked(br#"{"success":true,"poll":true,"taskId":"7"}"#, false)
                .unwrap_err()
                .contains("clientConfig.poll")
        );
    }
}
