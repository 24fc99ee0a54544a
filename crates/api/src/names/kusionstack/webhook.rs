//! The webhooks' names and texts. They show up in what kubectl prints, and scripts wait for them.

/// Name of the webhook that moves the lifecycle.
pub const MUTATING_POD: &str = "mutating-pod.apps.kusionstack.io";

/// Name of the webhook that checks labels and catches deletions.
pub const VALIDATING_POD: &str = "validating-pod.apps.kusionstack.io";

/// Path of [`MUTATING_POD`].
pub const PATH_MUTATING: &str = "/mutating-generic";

/// Path of [`VALIDATING_POD`].
pub const PATH_VALIDATING: &str = "/validating-generic";

/// Feature gate: deletions of controlled pods go through the lifecycle.
pub const GRACE_DELETE_GATE: &str = "GraceDeleteWebhook";

/// 403: the labels contradict each other; how follows.
pub const INVALID_LABELS_PREFIX: &str = "failed to validate PodOpsLifecycleWebhook, ";

/// 403, and the beginning of what is meant: the deletion was taken on and will happen through the lifecycle.
pub const DELETION_UNDERWAY: &str = "failed to validate GraceDeleteWebhook, pod deletion process is underway and being managed by PodOpsLifecycle";

/// The refusal of a deletion that the lifecycle has taken on, with the finalizers that it waits for.
#[must_use]
pub fn deletion_underway(finalizers: &[&str]) -> String {
    if finalizers.is_empty() {
        return DELETION_UNDERWAY.to_owned();
    }
    format!("{DELETION_UNDERWAY} with finalizers: [{}]", finalizers.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_that_waits_for_nobody_is_refused_with_the_plain_text() {
        assert_eq!(deletion_underway(&[]), DELETION_UNDERWAY);
    }

    #[test]
    fn a_deletion_that_waits_for_finalizers_names_them_as_go_prints_a_slice() {
        let text = deletion_underway(&["a/1", "b/2"]);
        assert!(text.ends_with("managed by PodOpsLifecycle with finalizers: [a/1 b/2]"), "{text}");
    }
}
