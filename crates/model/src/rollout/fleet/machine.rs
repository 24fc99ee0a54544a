//! One machine: its pod as the cluster shows it, its tasks, and what is true of it whatever is shown.

use safepoint_core::Timestamp;
use safepoint_core::rollout::{Failure, Gate, Phase, Pod, Presence, Seen, Task, Wanted, Work};

use super::{number, revision};

/// One machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// Whether it is there.
    pub presence: Presence,
    /// What its gate says.
    pub gate: Gate,
    /// Whether it shall have the pod.
    pub wanted: Wanted,
    /// The revision that its pod shows, and since when it is ready.
    pub pod: Option<(u8, Option<Timestamp>)>,
    /// What its pod will show once the outcome of the last task does.
    pub coming: Option<Option<u8>>,
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// Its pod is down by our doing: a task has begun, and the pod has not been ready since it ended.
    pub ours: bool,
    /// It was away for so long that its place may have been given to another.
    pub written_off: bool,
    /// How often what is wanted has failed on it.
    pub tries: u8,
    /// What the hub sees of it, and as of which version, where that is not what is.
    pub late: Option<(Box<Seen>, u64)>,
}

// === impl Machine ===

impl Default for Machine {
    fn default() -> Self {
        Self {
            presence: Presence::Ready,
            gate: Gate::Open,
            wanted: Wanted::IfPresent,
            pod: Some((0, Some(Timestamp(-1_000_000)))),
            coming: None,
            tasks: Vec::new(),
            ours: false,
            written_off: false,
            tries: 0,
            late: None,
        }
    }
}

impl Machine {
    /// The task that is in this phase.
    pub(super) fn task(&self, phase: &Phase) -> Option<usize> {
        self.tasks.iter().position(|task| task.phase == *phase)
    }

    /// Whether a task is there that has not ended.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task.phase, Phase::Waiting | Phase::Running))
    }

    /// Notes that its place may be given to another from here on, if it has one.
    pub(super) fn write_off(&mut self) {
        self.written_off |= self.ours || self.is_busy();
    }

    /// A task whose removal the hub has ordered may begin all the same: the machine has not heard of it yet.
    pub(super) fn begin(&mut self) {
        if let Some(task) = self.task(&Phase::Waiting) {
            self.tasks[task].phase = Phase::Running;
            self.ours = true;
        }
    }

    pub(super) fn gone(&mut self) {
        self.tasks.retain(|task| !(task.removing && task.phase == Phase::Waiting));
        self.written_off &= self.ours || self.is_busy();
    }

    pub(super) fn end(&mut self, well: bool, now: Timestamp, target: u8) {
        let Some(index) = self.task(&Phase::Running) else { return };
        let Task { work, removing, .. } = self.tasks[index];
        let brought = number(&self.tasks[index].revision);
        let had = self.pod.map(|(revision, _)| revision);
        self.coming = match (work, well) {
            (Work::Remove, true) => Some(None),
            (Work::Upgrade | Work::Install, true) => Some(Some(brought)),
            // A new pod that crashes after it was ready still shows so when it is given up; what is rolled back has to start.
            (Work::Remove | Work::Upgrade | Work::Install, false) => {
                self.pod =
                    had.map(|had| if work == Work::Remove { (had, None) } else { (brought, Some(now)) });
                had.map(Some)
            }
        };
        self.ours &= self.coming.is_some();
        let removes = work == Work::Remove;
        let current = if self.wanted == Wanted::No { removes } else { !removes && brought == target };
        self.tries += u8::from(!well && current);
        let failure = Failure { code: "RolledBack".into(), text: "it was not ready in time".into(), at: now };
        self.tasks[index].phase = if well { Phase::Succeeded { at: now } } else { Phase::Failed(failure) };
        if removing {
            // Told to go while it runs, a task goes when the pod is ready again, which it verifies anyway: nobody would know
            // of it otherwise.
            self.tasks.remove(index);
            self.tries -= u8::from(!well && current);
            self.show();
            self.get_ready(now);
        }
    }

    pub(super) fn show(&mut self) {
        if let Some(coming) = self.coming.take() {
            self.pod = coming.map(|revision| (revision, None));
            if coming.is_none() {
                (self.ours, self.written_off) = (false, false);
            }
        }
    }

    pub(super) fn get_ready(&mut self, now: Timestamp) {
        if let Some((_, ready)) = &mut self.pod {
            *ready = Some(now);
            (self.ours, self.written_off) = (false, self.is_busy() && self.written_off);
        }
    }

    pub(super) fn sicken(&mut self) {
        if let Some((_, ready)) = &mut self.pod {
            *ready = None;
        }
    }

    /// The machine as it is, as a hub with a current view sees it.
    pub(super) fn seen(&self, node: &str, canary: bool) -> Seen {
        Seen {
            presence: self.presence,
            gate: self.gate.clone(),
            canary,
            wanted: self.wanted,
            pod: self.pod.map_or(Pod::Absent, |(number, ready)| Pod::Present {
                revision: Some(revision(number)),
                ready,
            }),
            tasks: self.tasks.clone(),
            ..Seen::running(node, revision(0))
        }
    }
}
