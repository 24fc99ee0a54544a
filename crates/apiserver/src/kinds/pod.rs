//! `Pod`: containers that run together on one node.
//!
//! Beside what Kubernetes fills in itself, this fills in what its admission plugins would: priority, preemption and the
//! tolerations of a node that is gone for a while. No service account is looked up and no token is mounted.

mod defaults;
mod network;
mod row;
mod spec;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::check::{flag, int, object_at, part, word};
use super::{Rules, items, pod_change, set_default, take_from};
use crate::fault::Problems;
use crate::table::Column;

pub(crate) struct Pods;

impl Rules for Pods {
    fn unreadable(&self, object: &Value) -> Option<String> {
        spec::unreadable(object)
    }

    fn default(&self, object: &mut Value) {
        defaults::fill(object);
    }

    fn begin(&self, object: &mut Value) {
        status::begin(object);
    }

    fn carry(&self, new: &mut Value, old: &Value) {
        take_from(new, old, "status");
        if let Some(spec) = object_at(new, "spec") {
            // These were filled in when the pod was made, and a client may not know them.
            for field in ["priority", "preemptionPolicy"] {
                let before = part(part(old, "spec"), field);
                if !before.is_null() {
                    set_default(spec, field, before.clone());
                }
            }
        }
    }

    fn carry_status(&self, new: &mut Value, old: &Value) {
        status::carry(new, old);
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        spec::check(object, problems);
    }

    fn check_new(&self, object: &Value, problems: &mut Problems) {
        let (spec, at) = (part(object, "spec"), FieldPath::new("spec"));
        if items(spec, "ephemeralContainers").next().is_some() {
            problems.push(FieldError::forbidden(at.child("ephemeralContainers"), "cannot be set on create"));
        }
        if !word(spec, "nodeName").is_empty() && items(spec, "schedulingGates").next().is_some() {
            let why = "cannot be set until all schedulingGates have been cleared";
            problems.push(FieldError::forbidden(at.child("nodeName"), why));
        }
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        pod_change::check(new, old, problems);
    }

    fn check_status(&self, new: &Value, old: &Value, problems: &mut Problems) {
        status::check(new, old, problems);
        pod_change::check_annotations(new, old, problems);
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = if is_prefix { names::as_prefix(name) } else { name.into() };
        names::dns1123_subdomain(&masked)
    }

    fn counted(&self) -> Option<&'static str> {
        Some("spec")
    }

    fn fields(&self) -> &'static [&'static str] {
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ]
    }

    fn field(&self, object: &Value, field: &str) -> Option<String> {
        (field == "spec.hostNetwork").then(|| flag(part(object, "spec"), "hostNetwork").to_string())
    }

    fn grace(&self, object: &Value) -> Option<i64> {
        /// What a pod gets that does not say.
        const DEFAULT: i64 = 30;
        let seconds = int(part(object, "spec"), "terminationGracePeriodSeconds").unwrap_or(DEFAULT);
        Some(if seconds < 0 { 1 } else { seconds })
    }

    fn shows_deleted(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        row::columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        row::cells(object, now)
    }

    fn row_conditions(&self, object: &Value) -> Vec<Value> {
        row::conditions(object)
    }
}
