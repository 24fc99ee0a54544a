//! What must hold for an event, in the core form.

use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::Value;

use super::super::check::{each, has, int, part, word};
use crate::fault::Problems;

/// What holds for every event, in the core form. An event with a time is a new one and says who reports it.
pub(super) fn check_event(event: &Value, reporter: &str, problems: &mut Problems) {
    let namespace = meta::namespace(event).unwrap_or_default();
    let about = word(part(event, "involvedObject"), "namespace");
    let is_new = has(event, "eventTime");
    let fits = match (is_new, about) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, _) => namespace == about,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        let at = FieldPath::new("involvedObject").child("namespace");
        problems.push(FieldError::invalid(&at, about, "does not match event.namespace"));
    }
    if is_new {
        check_reporter(event, reporter, problems);
    }
    each(problems, &FieldPath::new("namespace"), namespace, names::dns1123_subdomain(namespace));
}

fn check_reporter(event: &Value, reporter: &str, problems: &mut Problems) {
    const MOST: usize = 128;
    const MOST_OF_MESSAGE: usize = 1024;
    let controller = word(event, "reportingComponent");
    if controller.is_empty() {
        problems.push(FieldError::required(FieldPath::new(reporter), ""));
    }
    each(problems, &FieldPath::new(reporter), controller, names::qualified_name(controller));
    for field in ["reportingInstance", "action", "reason"] {
        let at = FieldPath::new(field);
        match word(event, field).len() {
            0 => problems.push(FieldError::required(&at, "")),
            length if length > MOST => {
                problems.push(FieldError::invalid(&at, "", format!("can have at most {MOST} characters")));
            }
            _ => {}
        }
    }
    if word(event, "message").len() > MOST_OF_MESSAGE {
        let why = format!("can have at most {MOST_OF_MESSAGE} characters");
        problems.push(FieldError::invalid(FieldPath::new("message"), "", why));
    }
}

pub(super) fn check_series(event: &Value, problems: &mut Problems) {
    let Some(series) = event.get("series").filter(|series| !series.is_null()) else { return };
    if int(series, "count").unwrap_or_default() < 2 {
        problems.push(FieldError::invalid(FieldPath::new("series.count"), "", "should be at least 2"));
    }
    if !has(series, "lastObservedTime") {
        problems.push(FieldError::required(FieldPath::new("series.lastObservedTime"), ""));
    }
}
