//! Staging: what puts an upgrade ready on nodes whose owners decide. Pure.
//!
//! It changes nothing that runs, so it takes no place in the window; but it pulls images, so not every node does it at once.
//! That something lies ready is written on the mirror pod: the task goes, and the word stays for as long as it is true.

use std::collections::{HashMap, HashSet};

use safepoint_core::{Revision, Text, Timestamp};

use super::pods::Pods;
use super::task::{Kind, Standing, TaskFacts};
use super::wanted::Wanted;

/// So many nodes put something ready at once.
const AT_ONCE: usize = 100;
/// A task that was not let is made again so much later.
pub(crate) const PUT_OFF_MILLIS: i64 = 60_000;

/// What is to be done about staging.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Staging {
    /// Tasks to start: the node and the how manieth try.
    pub(crate) start: Vec<(Text, u32)>,
    /// Nodes on whose mirror pod is to be written that it lies ready.
    pub(crate) note: Vec<Text>,
    /// Tasks to remove, by node and name.
    pub(crate) remove: Vec<(Text, Text)>,
    /// Why the last try has failed, as a sentence by node.
    pub(crate) failed: Failures,
    /// When to look again although nothing has happened.
    pub(crate) again: Option<Timestamp>,
}

/// What people are told about nodes on which nothing could be put ready.
pub(crate) type Failures = HashMap<Text, String>;

/// Decides about staging. `wished` are the nodes where the planner wants the wanted revision to lie ready and it does not.
pub(crate) fn staging(wished: &[Text], uid: &str, wanted: &Wanted, pods: &Pods, now: Timestamp) -> Staging {
    let mut staging = Staging::default();
    let names: HashSet<&Text> = wished.iter().collect();
    let mut unfinished = 0;
    for (node, task) in pods.all_tasks(uid).filter(|(_, task)| task.kind == Kind::Stage) {
        unfinished += usize::from(task.is_unfinished());
        if is_over(task, names.contains(node), wanted.revision(), pods, (uid, node, &wanted.static_pod)) {
            staging.remove.push((node.clone(), task.name.clone()));
        }
    }
    for node in wished {
        let tasks = pods.tasks(uid, node).iter();
        let mine = tasks.filter(|task| task.kind == Kind::Stage && task.revision == *wanted.revision());
        let failed = mine.clone().filter_map(|task| Some((task.attempt, task.failure()?)));
        if let Some((attempt, failure)) = failed.max_by_key(|(attempt, _)| *attempt) {
            let text = format!("attempt {attempt} to put it ready failed: {}", failure.text);
            staging.failed.insert(node.clone(), text);
        }
        let last = mine.max_by_key(|task| task.attempt);
        let attempt = match last {
            None => 1,
            Some(task) if task.has_succeeded() => {
                staging.note.push(node.clone());
                continue;
            }
            Some(task) => match due(task, wanted) {
                // It is removed first, and made again when it is gone.
                Some(at) if at <= now && task.put_off().is_some() => {
                    staging.remove.push((node.clone(), task.name.clone()));
                    continue;
                }
                Some(at) if at <= now => task.attempt + 1,
                Some(at) => {
                    staging.again = Some(staging.again.map_or(at, |again| again.min(at)));
                    continue;
                }
                None => continue,
            },
        };
        if unfinished < AT_ONCE {
            unfinished += 1;
            staging.start.push((node.clone(), attempt));
        }
    }
    staging.remove.sort();
    staging.remove.dedup();
    staging
}

/// When a staging that has failed is tried again. It goes on without an end: it takes nothing away from anybody, and a registry
/// that was away is back some day.
fn due(task: &TaskFacts, wanted: &Wanted) -> Option<Timestamp> {
    if let Some((_, at)) = task.put_off() {
        return Some(Timestamp(at.0.saturating_add(PUT_OFF_MILLIS)));
    }
    let failure = task.failure()?;
    Some(wanted.retry_at(task.attempt, failure.at))
}

/// Whether a staging task has served its time.
fn is_over(
    task: &TaskFacts,
    wished: bool,
    revision: &Revision,
    pods: &Pods,
    (uid, node, static_pod): (&str, &str, &str),
) -> bool {
    let current = task.revision == *revision;
    if task.removing {
        return false;
    }
    match &task.standing {
        Standing::Running => false,
        // Nobody waits for it any more, or the node may not be disturbed now.
        Standing::Waiting => !wished || !current,
        Standing::Ended(_) if !current => true,
        Standing::Ended(_) if task.has_succeeded() => {
            // What it has done is written elsewhere, or the pod has been upgraded since.
            pods.mirror(static_pod, node).is_some_and(|mirror| {
                mirror.staged.as_ref() == Some(revision) || mirror.revision() == Some(revision)
            })
        }
        Standing::Ended(_) => {
            let outdone = |other: &TaskFacts| {
                other.kind == Kind::Stage
                    && other.revision == *revision
                    && other.attempt > task.attempt
                    && !other.is_unfinished()
            };
            pods.tasks(uid, node).iter().any(outdone)
        }
    }
}

#[cfg(test)]
mod tests;
