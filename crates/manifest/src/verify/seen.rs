//! A pod's status as the kubelet writes it, read for whether the pod is well.

use serde_json::Value;

use safepoint_api::names::kubernetes::CONDITION_READY;
use safepoint_api::names::openyurt::STATIC_POD_HASH;

use super::PodSeen;
use crate::journal::Failure;
use crate::outcome::Cause;

#[cfg(test)]
mod tests;

impl PodSeen {
    /// Reads a pod as the kubelet or the API server shows it: `metadata` and `status` are looked at.
    pub fn of_pod(pod: &Value) -> Self {
        let status = &pod["status"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ready = conditions.iter().any(|it| it["type"] == CONDITION_READY && it["status"] == "True");
        let lists = ["initContainerStatuses", "containerStatuses"];
        let containers: Vec<_> = lists.iter().filter_map(|list| status[list].as_array()).flatten().collect();
        let restarts = containers
            .iter()
            .filter_map(|it| u32::try_from(it["restartCount"].as_u64()?).ok())
            .fold(0_u32, u32::saturating_add);
        let ended = matches!(status["phase"].as_str(), Some("Failed" | "Succeeded")).then(|| {
            let words = [&status["reason"], &status["message"]].map(text).join(" ");
            let words = words.trim();
            Failure::new(
                Cause::Ended,
                if words.is_empty() {
                    "the pod has ended".to_owned()
                } else {
                    format!("the pod has ended: {words}")
                },
            )
        });
        let failure = ended.or_else(|| containers.iter().find_map(|it| failure(it)));
        let notes: Vec<_> = containers.iter().filter_map(|it| note(it)).collect();
        let note = if notes.is_empty() {
            format!("its phase is {}", status["phase"].as_str().unwrap_or("unknown"))
        } else {
            notes.join(", ")
        };
        Self {
            uid: text(&pod["metadata"]["uid"]),
            revision: pod["metadata"]["annotations"][STATIC_POD_HASH].as_str().map(str::to_owned),
            ready: ready && pod["metadata"]["deletionTimestamp"].is_null(),
            restarts,
            failure,
            note,
        }
    }
}

/// Why a container will not run, if the kubelet says so.
fn failure(container: &Value) -> Option<Failure> {
    let waiting = &container["state"]["waiting"];
    let reason = waiting["reason"].as_str()?;
    let cause = match reason {
        "CrashLoopBackOff" => Cause::CrashLoop,
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed" => Cause::ImageUnavailable,
        "CreateContainerConfigError"
        | "CreateContainerError"
        | "RunContainerError"
        | "PostStartHookError"
        | "CreatePodSandboxError" => Cause::CannotStart,
        _ => return None,
    };
    let message = waiting["message"].as_str().unwrap_or_default();
    let name = container["name"].as_str().unwrap_or_default();
    Some(Failure::new(cause, format!("container {name}: {reason} {message}").trim()))
}

/// What a container does that is not ready.
fn note(container: &Value) -> Option<String> {
    if container["ready"] == true {
        return None;
    }
    let name = container["name"].as_str().unwrap_or_default();
    let state = &container["state"];
    let words = if let Some(code) = state["terminated"]["exitCode"].as_i64() {
        format!("has ended with {code}")
    } else if let Some(reason) = state["waiting"]["reason"].as_str() {
        format!("waits: {reason}")
    } else if state["running"].is_object() {
        "runs but is not ready".to_owned()
    } else {
        "has not begun".to_owned()
    };
    Some(format!("{name} {words}"))
}
