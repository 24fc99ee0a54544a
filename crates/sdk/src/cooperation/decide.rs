//! What is to be done about one pod for one employer. Pure.

use k8s_openapi::api::core::v1::Pod;
use safepoint_api::names::kusionstack::SERVICE_READY;
use serde_json::{Value, json};

use super::declaration::{self, ANNOTATION, Becomes};
use super::{Employer, Member};
use crate::pods::{condition, is_terminating};

/// What is known of what is around a pod.
#[derive(Clone, Default, Debug)]
pub(super) enum Standing {
    /// Nothing: we have just started, or a call has failed.
    #[default]
    Unknown,
    /// Unknown, of this one: it may be on.
    Perhaps(Member),
    /// It is on for this pod, with these addresses.
    On(Member, Vec<String>),
    /// It is off.
    Off,
}

/// One step. After each the pod is looked at again.
#[derive(Debug)]
pub(super) enum Step {
    /// All is in step.
    Rest,
    /// Goes into the metadata of the pod.
    Write(Value),
    /// Switch on.
    TurnOn,
    /// Switch off for this one.
    TurnOff(Member),
}

/// Whether the pod is in service for this employer, or is coming into it: then what is around it is to be on.
///
/// The lifecycle's gate counts as soon as it is closed: whoever waits for the kubelet to say that the pod is not ready
/// only waits longer.
pub(super) fn is_wanted_on(pod: &Pod, employer: &Employer) -> bool {
    employer.employs(pod)
        && !is_terminating(pod)
        && condition(pod, "Ready") == Some(true)
        && condition(pod, SERVICE_READY) != Some(false)
}

/// Whether there is anything to do with this pod, now or later. A pod of another namespace is nobody's here, also where its template
/// was copied with the declaration: what is around may know pods by their names alone.
pub(super) fn concerns(pod: &Pod, employer: &Employer) -> bool {
    pod.metadata.namespace.as_deref() == Some(employer.namespace())
        && (employer.employs(pod)
            || has_finalizer(pod, employer)
            || matches!(declaration::declare(pod, employer, false), Becomes::New(_)))
}

/// The next step for a pod. `member` is what `turn_off` is told of it.
pub(super) fn step(
    pod: &Pod,
    member: Member,
    employer: &Employer,
    declares: bool,
    standing: &Standing,
) -> Step {
    let uid = pod.metadata.uid.as_deref();
    match standing {
        // Another pod had this name before. It goes first: what is around may know pods by their names.
        Standing::On(before, _) | Standing::Perhaps(before)
            if before.uid.is_some() && before.uid.as_deref() != uid =>
        {
            return Step::TurnOff(before.clone());
        }
        _ => {}
    }
    // Declared before it is on: otherwise an operation could begin between the two and not wait for us.
    let annotation = match declaration::declare(pod, employer, employer.employs(pod)) {
        Becomes::New(value) if declares && !is_terminating(pod) => Some(value),
        Becomes::New(_) | Becomes::Same | Becomes::Unreadable => None,
    };
    let has = has_finalizer(pod, employer);
    if is_wanted_on(pod, employer) {
        if let Some(annotation) = annotation {
            return Step::Write(json!({"annotations": {ANNOTATION: annotation}}));
        }
        match standing {
            Standing::On(_, addresses) if *addresses == addresses_of(pod) => {}
            _ => return Step::TurnOn,
        }
        return if has { Step::Rest } else { Step::Write(json!({"finalizers": with(pod, employer)})) };
    }
    if has || !matches!(standing, Standing::Off) {
        if !matches!(standing, Standing::Off) {
            return Step::TurnOff(member);
        }
        let mut metadata = json!({"finalizers": without(pod, employer)});
        if let Some(annotation) = annotation {
            metadata["annotations"] = json!({ANNOTATION: annotation});
        }
        return Step::Write(metadata);
    }
    annotation.map_or(Step::Rest, |value| Step::Write(json!({"annotations": {ANNOTATION: value}})))
}

/// The addresses of a pod.
pub(super) fn addresses_of(pod: &Pod) -> Vec<String> {
    let addresses = pod.status.as_ref().and_then(|status| status.pod_ips.as_ref());
    addresses.into_iter().flatten().map(|address| address.ip.clone()).collect()
}

pub(super) fn has_finalizer(pod: &Pod, employer: &Employer) -> bool {
    finalizers(pod).any(|finalizer| finalizer == employer.finalizer())
}

fn finalizers(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.metadata.finalizers.iter().flatten().map(String::as_str)
}

/// All finalizers of the pod, in their order, and ours.
fn with<'a>(pod: &'a Pod, employer: &'a Employer) -> Vec<&'a str> {
    finalizers(pod).chain([employer.finalizer()]).collect()
}

/// All finalizers of the pod, in their order, but ours.
fn without<'a>(pod: &'a Pod, employer: &Employer) -> Vec<&'a str> {
    finalizers(pod).filter(|finalizer| *finalizer != employer.finalizer()).collect()
}
