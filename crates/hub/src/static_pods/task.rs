//! Task pods: how one is written, and what is read of one. Pure.
//!
//! A task is bound to its node by name and tolerates everything: the scheduler has no say about a static pod. It sees the
//! node's whole file system, because the kubelet's folder may be anywhere and the journal has to outlive the task. What it
//! brings lies in a ConfigMap that it mounts, so that a node's kubelet may read this one and no other.

use k8s_openapi::api::core::v1::Pod;
use safepoint_api::names::safepoint::{environment, static_pod as words};
use safepoint_core::rollout::{Failure, Phase, Task, Work};
use safepoint_core::{Revision, Text, Timestamp};
use serde_json::json;

use super::names;
use super::slim::{SlimPod, not_long_before};
use super::words::{End, end};

/// How long a task may take in all. Pulling images is part of it.
const DEADLINE_SECONDS: i64 = 30 * 60;
/// How long a task that is told to go may take. One that has swapped the manifest sees the pod ready, or rolls back, first.
const GRACE_SECONDS: i64 = 10 * 60;
/// Where a task finds what it brings, and where it leaves its last words.
const ROOTED_MANIFEST: &str = "$(SAFEPOINT_ROOT)/data/manifest.yaml";
const ROOTED_LAST_WORDS: &str = "$(SAFEPOINT_ROOT)/dev/termination-log";
/// The one container of a task.
pub(crate) const CONTAINER: &str = "task";
/// Whom a task asks the kubelet as.
pub(crate) const SERVICE_ACCOUNT: &str = "safepoint-static-pod-task";

/// What a task is there for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// To change what runs.
    Work(Work),
    /// To put something ready that the node's owner applies.
    Stage,
}

/// What is known of a task pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TaskFacts {
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// For removing only what was looked at.
    pub(crate) version: Text,
    pub(crate) kind: Kind,
    pub(crate) revision: Revision,
    pub(crate) attempt: u32,
    pub(crate) standing: Standing,
    /// When it has ended in the words of its node, whose clock may be wrong.
    said: Option<Timestamp>,
    /// Its removal has been ordered.
    pub(crate) removing: bool,
}

/// How far a task has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Its container has not started.
    Waiting,
    /// It has.
    Running,
    /// It is over.
    Ended(End),
}

/// What a task is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making<'a> {
    pub(crate) namespace: &'a str,
    /// The StaticPod's name and uid.
    pub(crate) object: (&'a str, &'a str),
    pub(crate) static_pod: &'a str,
    /// The manifest's file name without `.yaml`.
    pub(crate) manifest: &'a str,
    pub(crate) node: &'a str,
    pub(crate) kind: Kind,
    pub(crate) revision: &'a str,
    pub(crate) attempt: u32,
    /// Which manifest of the ConfigMap it brings.
    pub(crate) key: &'a str,
    /// What that manifest adds up to.
    pub(crate) sum: &'a str,
    pub(crate) program: &'a Program,
}

/// What tasks run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    pub(crate) image: String,
    /// The words before those that say what is to be done.
    pub(crate) command: Vec<String>,
    /// Pods are processes of the node: a task is whoever its agent is, and sees the node where it is.
    pub(crate) is_process: bool,
}

// === impl Program ===

impl Program {
    /// What an image of Safepoint has.
    pub(crate) fn of_image(image: impl Into<String>) -> Self {
        let command = ["safepoint", "static-pod-upgrade"].map(str::to_owned).into();
        Self { image: image.into(), command, is_process: false }
    }
}

// === impl Kind ===

impl Kind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Work(Work::Upgrade) => "upgrade",
            Self::Work(Work::Install) => "install",
            Self::Work(Work::Remove) => "remove",
            Self::Stage => "stage",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [Self::Work(Work::Upgrade), Self::Work(Work::Install), Self::Work(Work::Remove), Self::Stage]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

// === impl Making ===

impl Making<'_> {
    pub(crate) fn name(&self) -> String {
        let (object, uid) = self.object;
        names::task(uid, object, self.node, self.kind, self.revision, self.attempt)
    }

    /// The pod.
    pub(crate) fn pod(&self) -> Pod {
        let (object, uid) = self.object;
        let Program { image, command, is_process } = self.program;
        let host = if *is_process { "/" } else { "/host" };
        let arguments = [
            "--namespace",
            self.namespace,
            "--name",
            self.static_pod,
            "--manifest",
            self.manifest,
            "--file",
            ROOTED_MANIFEST,
            "--revision",
            self.revision,
            // The revision stands in the manifest itself, where whoever wrote it may have put it.
            "--sha256",
            self.sum,
            "--host",
            host,
            "--data",
            "/var/lib/safepoint",
            "--mode",
            self.kind.word(),
            "--node",
            self.node,
            "--termination-log",
            ROOTED_LAST_WORDS,
        ];
        let command: Vec<&str> = command.iter().map(String::as_str).chain(arguments).collect();
        let security = (!is_process).then(|| json!({"privileged": true, "runAsUser": 0, "runAsGroup": 0}));
        let map = names::config_map(object, self.revision);
        let pod = json!({
            "metadata": {
                "name": self.name(),
                "namespace": self.namespace,
                "labels": {
                    "app.kubernetes.io/managed-by": "safepoint",
                    words::OF: names::label(object),
                    words::REVISION: self.revision,
                    words::WORK: self.kind.word(),
                },
                "annotations": { words::ATTEMPT: self.attempt.to_string() },
                "ownerReferences": [super::owner(object, uid)],
            },
            "spec": {
                "nodeName": self.node,
                "restartPolicy": "Never",
                "activeDeadlineSeconds": DEADLINE_SECONDS,
                "terminationGracePeriodSeconds": GRACE_SECONDS,
                "priorityClassName": "system-node-critical",
                "serviceAccountName": SERVICE_ACCOUNT,
                "enableServiceLinks": false,
                // The kubelet is found among the node's processes, and asked on its loopback.
                "hostPID": true,
                "hostNetwork": true,
                "dnsPolicy": "Default",
                "tolerations": [{"operator": "Exists"}],
                "containers": [{
                    "name": CONTAINER,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": command,
                    // Where pods are processes, that is where mount paths begin; in a container they begin at its root.
                    "env": [{"name": environment::ROOT, "value": ""}],
                    "securityContext": security,
                    "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [
                        // A file system that is mounted on the node while the task runs is seen by it too.
                        {"name": "host", "mountPath": "/host", "mountPropagation": "HostToContainer"},
                        {"name": "manifest", "mountPath": "/data", "readOnly": true},
                    ],
                }],
                "volumes": [
                    {"name": "host", "hostPath": {"path": "/", "type": "Directory"}},
                    {"name": "manifest", "configMap": {"name": map,
                        "items": [{"key": self.key, "path": "manifest.yaml"}]}},
                ],
            },
        });
        serde_json::from_value(pod).expect("a pod that is written here is one")
    }
}

// === impl TaskFacts ===

impl TaskFacts {
    /// Reads a task pod. Nothing if it is none: whose it is, is for the caller to say, by the owner's uid.
    pub(crate) fn read(pod: &SlimPod, now: Timestamp) -> Option<Self> {
        let kind = Kind::read(pod.label(words::WORK)?)?;
        let revision = Revision::from(pod.label(words::REVISION)?);
        let attempt = pod.annotation(words::ATTEMPT).and_then(|text| text.parse().ok()).unwrap_or(1);
        let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
        let mut containers = pod.status.container_statuses.iter().flatten();
        let begun = containers.any(|container| {
            container
                .state
                .as_ref()
                .is_some_and(|state| state.running.is_some() || state.terminated.is_some())
        });
        let standing = match pod.status.phase.as_deref() {
            Some("Succeeded") => Standing::Ended(end(pod, true, now)),
            Some("Failed") => Standing::Ended(end(pod, false, now)),
            // A container that has ended is over for the pod as well, only that nobody has said so yet.
            Some("Running") => Standing::Running,
            _ if begun => Standing::Running,
            _ => Standing::Waiting,
        };
        let said = match &standing {
            Standing::Ended(end) => Some(end.at()),
            Standing::Waiting | Standing::Running => None,
        };
        Some(Self {
            said,
            name: text(&pod.metadata.name),
            uid: text(&pod.metadata.uid),
            version: text(&pod.metadata.resource_version),
            kind,
            revision,
            attempt,
            standing,
            removing: pod.metadata.deletion_timestamp.is_some(),
        })
    }

    /// Counts its end from when it was seen, where its node says that it was long before. What was seen of it before is in
    /// `known`; `seen` is now, if it has ended just now.
    pub(crate) fn dated(mut self, known: Option<&Self>, seen: Option<Timestamp>) -> Self {
        let known = known.filter(|known| known.uid == self.uid && known.said == self.said);
        if let Standing::Ended(end) = &mut self.standing {
            let at = match known.map(|known| &known.standing) {
                Some(Standing::Ended(known)) => known.at(),
                Some(Standing::Waiting | Standing::Running) | None => not_long_before(end.at(), seen),
            };
            end.set_at(at);
        }
        self
    }

    /// The task as the planner sees it. One that was not let is none: nothing was tried.
    pub(crate) fn planned(&self) -> Option<Task> {
        let Kind::Work(work) = self.kind else { return None };
        let phase = match &self.standing {
            Standing::Waiting => Phase::Waiting,
            Standing::Running => Phase::Running,
            Standing::Ended(End::Succeeded { at }) => Phase::Succeeded { at: *at },
            Standing::Ended(End::Failed(failure)) => Phase::Failed(failure.clone()),
            Standing::Ended(End::PutOff { .. }) => return None,
        };
        Some(Task {
            name: self.name.clone(),
            work,
            revision: self.revision.clone(),
            attempt: self.attempt,
            phase,
            removing: self.removing,
        })
    }

    /// Whether the planner is shown it.
    pub(crate) fn is_planned(&self) -> bool {
        matches!(self.kind, Kind::Work(_)) && self.put_off().is_none()
    }

    /// Why it was not let, and when.
    pub(crate) fn put_off(&self) -> Option<(&Text, Timestamp)> {
        match &self.standing {
            Standing::Ended(End::PutOff { why, at }) => Some((why, *at)),
            Standing::Waiting | Standing::Running | Standing::Ended(_) => None,
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.standing {
            Standing::Ended(End::Failed(failure)) => Some(failure),
            Standing::Waiting | Standing::Running | Standing::Ended(_) => None,
        }
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        matches!(self.standing, Standing::Ended(End::Succeeded { .. }))
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        matches!(self.standing, Standing::Waiting | Standing::Running)
    }
}

/// What tasks run in tests.
#[cfg(test)]
pub(crate) fn program() -> &'static std::sync::Arc<Program> {
    static PROGRAM: std::sync::LazyLock<std::sync::Arc<Program>> =
        std::sync::LazyLock::new(|| Program::of_image("safepoint:0.1.0").into());
    &PROGRAM
}

#[cfg(test)]
mod tests;
