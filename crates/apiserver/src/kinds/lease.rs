//! `Lease`: who holds something, and until when. Also the heartbeat of a node.

use jiff::Timestamp;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::check::{NEGATIVE, drop_empty, int, object_at, part, word};
use super::texts::{unreadable_moments, write_moments};
use super::{Rules, remove};
use crate::fault::Problems;
use crate::table::{self, Column};

pub(crate) struct Leases;

/// Fields of a feature that is off unless it is asked for: coordinated leader election.
const GATED: [&str; 2] = ["strategy", "preferredHolder"];

/// When it was taken, and when it was last kept.
const MOMENTS: [&str; 2] = ["acquireTime", "renewTime"];

impl Rules for Leases {
    fn unreadable(&self, object: &Value) -> Option<String> {
        unreadable_moments(part(object, "spec"), &MOMENTS)
    }

    fn default(&self, object: &mut Value) {
        let Some(spec) = object_at(object, "spec") else { return };
        for field in
            ["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"]
        {
            if part(spec, field).is_null() {
                drop_empty(spec, field);
            }
        }
        write_moments(spec, &MOMENTS);
    }

    fn begin(&self, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec") {
            GATED.iter().for_each(|field| remove(spec, field));
        }
    }

    fn carry(&self, new: &mut Value, _old: &Value) {
        self.begin(new);
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        let (spec, at) = (part(object, "spec"), FieldPath::new("spec"));
        if let Some(seconds) = int(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
            problems.push(FieldError::invalid(
                at.child("leaseDurationSeconds"),
                seconds,
                "must be greater than 0",
            ));
        }
        if let Some(count) = int(spec, "leaseTransitions").filter(|count| *count < 0) {
            problems.push(FieldError::invalid(at.child("leaseTransitions"), count, NEGATIVE));
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn needs_revision(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::new("Holder", "string", "Who holds it."), Column::age()]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![word(part(object, "spec"), "holderIdentity").into(), table::age(object, now)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_lasts_and_counts_up() {
        let mut problems = Problems::default();
        Leases.check(&json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}), &mut problems);
        let texts: Vec<String> = problems.iter().map(FieldError::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }

    #[test]
    fn a_lease_without_a_word_is_held_by_nobody() {
        let mut lease = json!({"metadata": {"name": "a"}, "spec": {"strategy": "x", "holderIdentity": null}});
        Leases.default(&mut lease);
        Leases.begin(&mut lease);
        assert_eq!(lease, json!({"metadata": {"name": "a"}, "spec": {}}));
        assert_eq!(Leases.cells(&lease, Timestamp::UNIX_EPOCH)[0], "");
    }
}
