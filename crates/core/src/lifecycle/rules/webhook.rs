//! What a rule's webhook was asked and has said, as data. The driver makes the calls.
//!
//! A webhook that cannot be reached, that says no, or that takes too long stands in the way; it is asked again. An answer
//! to a question that nobody remembers, as after a restart, changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::words::Nanos;
use crate::text::Text;

/// How a webhook is asked again about a task that it has taken on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Polling {
    /// How long between two questions.
    pub interval: Nanos,
    /// How long altogether.
    pub timeout: Nanos,
}

/// A call that is to be made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Call {
    /// Ask about these pods.
    Ask(BTreeSet<Text>),
    /// Ask what has become of this task, not before this time.
    Poll {
        /// The task.
        task: Text,
        /// When.
        at: Nanos,
    },
}

/// What a webhook says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it agrees. Where it has taken on a task, whether that goes well.
    pub success: bool,
    /// Pods that it is done with.
    pub finished: BTreeSet<Text>,
    /// Whether it is done with all of them.
    pub all_finished: bool,
    /// What it says to people.
    pub message: Text,
    /// The task that it is to be asked about, if it has taken on one.
    pub task: Option<Text>,
    /// Whether the task is given up.
    pub stop: bool,
}

/// What is known of the calls of one rule.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Tasks that the webhook has taken on.
    pub tasks: BTreeMap<Text, Task>,
    /// Pods that it agrees to.
    pub agreed: BTreeSet<Text>,
    /// Pods that it did not agree to, and why.
    pub refused: BTreeMap<Text, Text>,
}

/// A task that a webhook has taken on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The pods that it is about.
    pub pods: BTreeSet<Text>,
    /// When it began.
    pub begun: Nanos,
    /// When it was asked about last.
    pub last: Nanos,
}

// === impl Asked ===

impl Asked {
    /// The calls that these pods need.
    #[must_use]
    pub fn calls(&self, pods: &BTreeSet<Text>, polling: Polling) -> Vec<Call> {
        let underway: BTreeSet<&Text> = self.tasks.values().flat_map(|task| &task.pods).collect();
        let fresh: BTreeSet<Text> = pods
            .iter()
            .filter(|pod| !underway.contains(pod) && !self.agreed.contains(*pod))
            .cloned()
            .collect();
        let polls =
            self.tasks.iter().filter(|(_, task)| task.pods.iter().any(|pod| pods.contains(pod))).map(
                |(id, task)| Call::Poll { task: id.clone(), at: Nanos(task.last.0 + polling.interval.0) },
            );
        let ask = (!fresh.is_empty()).then_some(Call::Ask(fresh));
        polls.chain(ask).collect()
    }

    /// The pods that it has not agreed to, and why.
    #[must_use]
    pub fn rejected(&self, pods: &BTreeSet<Text>) -> BTreeMap<Text, Text> {
        let why = |pod: &Text| {
            let refused = self.refused.get(pod).cloned();
            refused.unwrap_or_else(|| "its webhook has not answered yet".into())
        };
        pods.iter().filter(|pod| !self.agreed.contains(*pod)).map(|pod| (pod.clone(), why(pod))).collect()
    }

    /// Forgets everything about pods that no longer ask, so that they are asked about anew when they do.
    pub fn retain(&mut self, asking: &BTreeSet<Text>) {
        self.agreed.retain(|pod| asking.contains(pod));
        self.refused.retain(|pod, _| asking.contains(pod));
        self.tasks.values_mut().for_each(|task| task.pods.retain(|pod| asking.contains(pod)));
        self.tasks.retain(|_, task| !task.pods.is_empty());
    }

    /// Takes in what came of a call: an answer, or why there is none.
    pub fn heard(&mut self, call: &Call, answer: Result<Answer, Text>, polling: Polling, now: Nanos) {
        let pods = match call {
            Call::Ask(pods) => pods.clone(),
            Call::Poll { task, .. } => match self.tasks.get_mut(task) {
                Some(task) => {
                    task.last = now;
                    task.pods.clone()
                }
                None => return,
            },
        };
        match answer {
            Err(error) => self.refuse(&pods, &format!("its webhook cannot be asked: {error}")),
            Ok(answer) => self.weigh(call, &pods, answer, now),
        }
        if let Call::Poll { task: id, .. } = call
            && let Some(task) = self.tasks.get(id)
            && now.since(task.begun) > polling.timeout
        {
            let late = task.pods.clone();
            self.tasks.remove(id);
            self.refuse(&late, "its webhook has taken too long and is asked again");
        }
    }

    fn weigh(&mut self, call: &Call, pods: &BTreeSet<Text>, answer: Answer, now: Nanos) {
        let polled = matches!(call, Call::Poll { .. });
        // A task that goes on is done with those that it names; an answer without a task speaks of all.
        let all = answer.success
            && if polled { answer.all_finished } else { answer.task.is_none() || answer.all_finished };
        let done = |pod: &&Text| all || answer.finished.contains(*pod);
        let agreed: BTreeSet<Text> = pods.iter().filter(done).cloned().collect();
        let rest: BTreeSet<Text> = pods.difference(&agreed).cloned().collect();
        for pod in &agreed {
            self.refused.remove(pod);
        }
        self.agreed.extend(agreed);
        self.refuse(&rest, &answer.message);
        match call {
            Call::Poll { task, .. } if rest.is_empty() || answer.stop => drop(self.tasks.remove(task)),
            Call::Poll { task, .. } => {
                if let Some(task) = self.tasks.get_mut(task) {
                    task.pods = rest;
                }
            }
            Call::Ask(_) => {
                if let Some(id) = answer.task.filter(|_| answer.success && !rest.is_empty()) {
                    self.tasks.insert(id, Task { pods: rest, begun: now, last: now });
                }
            }
        }
    }

    fn refuse(&mut self, pods: &BTreeSet<Text>, why: &str) {
        let refused = pods.iter().filter(|pod| !self.agreed.contains(*pod));
        self.refused.extend(refused.map(|pod| (pod.clone(), Text::from(why))));
    }
}
