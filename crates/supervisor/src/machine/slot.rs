//! One module as the machine sees it.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    backoff::{Pressure, RecentFailures},
    clock::Moment,
    ctx::Report,
    failure::{Failure, FailureKind, Ring},
    module::{Kind, Spec},
    panics::Panic,
    policy::Policy,
};

pub(super) struct Slot {
    pub(super) spec: Spec,
    pub(super) phase: Phase,
    /// Has to be stopped as soon as those that depend on it are.
    pub(super) doomed: bool,
    /// It ended for the lack of this, and has not been of use since: it is started only to look again, and
    /// until it finds it nothing changes for those who watch.
    pub(super) looks_for: Option<String>,
    /// Failures since it was last healthy.
    pub(super) attempt: u32,
    pub(super) recent: RecentFailures,
    pub(super) failures: Ring,
    pub(super) restarts: u64,
    started_before: bool,
}

pub(super) enum Phase {
    /// It has no tasks (or such that nobody can end, see [`Rest::Failed`]).
    Resting(Rest),
    Running(Running),
    /// Its tasks are being ended.
    Ending {
        then: Rest,
    },
}

/// What a module without tasks waits for.
pub(super) enum Rest {
    /// For what it needs.
    Stopped,
    /// For a while, after a failure.
    Backoff { until: Moment, cause: String },
    /// For something outside, after it had ended for the lack of it.
    Waiting { retry_at: Duration },
    /// For somebody to ask. `stuck`: old tasks are still there and block their threads.
    Failed { cause: String, stuck: bool },
    /// For nothing.
    Completed,
}

pub(super) struct Running {
    pub(super) report: Report,
    /// When the report was first of this kind.
    pub(super) since: Moment,
    last_beat: Duration,
}

/// What a running module should have done by now.
pub(super) enum Overdue {
    Nothing,
    Ready,
    Heartbeat(Duration),
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Restart,
    /// It fails too often, but others can live without it: leave it alone for one window of its intensity.
    Pause,
    GiveUp,
    Escalate,
}

/// A failure before it is known what follows from it.
pub(super) struct Trouble {
    pub(super) kind: FailureKind,
    cause: String,
    task: Option<&'static str>,
    panic: Option<Panic>,
}

// === impl Slot ===

impl Slot {
    pub(super) fn new(spec: Spec, failures: Ring) -> Self {
        let phase = Phase::Resting(Rest::Stopped);
        let recent = RecentFailures::default();
        Self {
            spec,
            phase,
            doomed: false,
            looks_for: None,
            attempt: 0,
            recent,
            failures,
            restarts: 0,
            started_before: false,
        }
    }

    /// It has tasks that are expected to go away.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.phase, Phase::Resting(_))
    }

    /// It is alive, but not for long.
    pub(super) fn is_going(&self) -> bool {
        self.doomed || matches!(self.phase, Phase::Ending { .. })
    }

    /// Those that depend on it can work with it.
    pub(super) fn is_serving(&self) -> bool {
        match &self.phase {
            // A one-shot module is of use to others when it is done, not when it has got going.
            Phase::Running(_) if self.doomed || self.spec.kind == Kind::OneShot => false,
            Phase::Running(running) => matches!(running.report, Report::Ready | Report::Degraded(_)),
            Phase::Resting(rest) => matches!(rest, Rest::Completed),
            Phase::Ending { .. } => false,
        }
    }

    /// It runs, or will do so by itself. (Whoever only waits for another module has
    /// the future of that module.)
    pub(super) fn has_a_future(&self) -> bool {
        match &self.phase {
            Phase::Running(_) | Phase::Ending { .. } => true,
            Phase::Resting(Rest::Backoff { .. } | Rest::Waiting { .. }) => true,
            Phase::Resting(Rest::Stopped | Rest::Failed { .. } | Rest::Completed) => false,
        }
    }

    pub(super) fn failed(&self) -> Option<(&'static str, &str)> {
        match &self.phase {
            Phase::Resting(Rest::Failed { cause, .. }) => Some((self.spec.name, cause)),
            _ => None,
        }
    }

    /// A wait that is over is one no longer: what keeps the module from starting now, if
    /// anything, is what it needs.
    pub(super) fn end_wait(&mut self, now: Duration) {
        if let Phase::Resting(rest) = &mut self.phase
            && match rest {
                Rest::Backoff { until, .. } => until.at <= now,
                Rest::Waiting { retry_at } => *retry_at <= now,
                Rest::Stopped | Rest::Failed { .. } | Rest::Completed => false,
            }
        {
            *rest = Rest::Stopped;
        }
    }

    pub(super) fn start(&mut self, now: Moment) {
        if self.started_before && self.looks_for.is_none() {
            self.restarts += 1;
        }
        self.started_before = true;
        self.phase = Phase::Running(Running { report: Report::Starting, since: now, last_beat: now.at });
    }

    pub(super) fn hear(&mut self, report: Option<Report>, last_beat: Duration, now: Moment) {
        let Phase::Running(running) = &mut self.phase else { return };
        running.last_beat = running.last_beat.max(last_beat);
        let Some(report) = report else { return };
        if matches!(report, Report::Ready | Report::Degraded(_)) {
            self.looks_for = None;
        }
        // Another reason to be degraded neither prolongs a deadline nor breaks a healthy window.
        if std::mem::discriminant(&report) != std::mem::discriminant(&running.report) {
            running.since = now;
        }
        running.report = report;
    }

    pub(super) fn doom(&mut self) {
        self.doomed = matches!(self.phase, Phase::Running(_));
    }

    /// Forgets earlier failures once the module has been ready for long enough.
    pub(super) fn credit_health(&mut self, policy: &Policy, now: Duration) {
        if let Phase::Running(Running { report: Report::Ready, since, .. }) = &self.phase
            && since.at.saturating_add(policy.healthy_window) <= now
        {
            self.attempt = 0;
        }
    }

    pub(super) fn overdue(&self, policy: &Policy, now: Duration) -> Overdue {
        let Phase::Running(Running { report, since, last_beat }) = &self.phase else {
            return Overdue::Nothing;
        };
        match (report, policy.heartbeat_deadline) {
            (Report::Starting, _) if since.at.saturating_add(policy.start_deadline) <= now => Overdue::Ready,
            (Report::Ready | Report::Degraded(_), Some(beat)) if last_beat.saturating_add(beat) <= now => {
                Overdue::Heartbeat(beat)
            }
            _ => Overdue::Nothing,
        }
    }

    /// The next time at which something changes for this module even if nothing happens.
    pub(super) fn deadline(&self, policy: &Policy) -> Option<Duration> {
        match &self.phase {
            Phase::Resting(Rest::Backoff { until, .. }) => Some(until.at),
            Phase::Resting(Rest::Waiting { retry_at }) => Some(*retry_at),
            Phase::Resting(Rest::Stopped | Rest::Failed { .. } | Rest::Completed) | Phase::Ending { .. } => {
                None
            }
            Phase::Running(Running { report, since, last_beat }) => {
                let beat = policy.heartbeat_deadline.map(|deadline| last_beat.saturating_add(deadline));
                match report {
                    Report::Starting => Some(since.at.saturating_add(policy.start_deadline)),
                    Report::WaitingFor(_) => None,
                    Report::Ready if self.attempt > 0 => {
                        let healthy = since.at.saturating_add(policy.healthy_window);
                        Some(beat.map_or(healthy, |beat| beat.min(healthy)))
                    }
                    Report::Ready | Report::Degraded(_) => beat,
                }
            }
        }
    }

    pub(super) fn verdict(
        &self,
        kind: FailureKind,
        pressure: Pressure,
        policy: &Policy,
        gate: bool,
    ) -> Verdict {
        let give_up = if self.spec.critical { Verdict::Escalate } else { Verdict::GiveUp };
        match kind {
            // A fresh process would read the same configuration, and nobody could ask
            // it what is wrong meanwhile.
            FailureKind::Permanent => Verdict::GiveUp,
            // Its threads cannot be freed from within.
            FailureKind::Stuck => give_up,
            FailureKind::Panic if policy.exit_on_panic => Verdict::Escalate,
            FailureKind::Panic
            | FailureKind::Transient
            | FailureKind::UnexpectedReturn
            | FailureKind::StartDeadline
            | FailureKind::Hang => match pressure {
                _ if !gate => give_up,
                _ if policy.retries > 0 && self.attempt > policy.retries => give_up,
                Pressure::Bearable => Verdict::Restart,
                Pressure::TooMuch if self.spec.critical => Verdict::Escalate,
                Pressure::TooMuch => Verdict::Pause,
            },
        }
    }
}

// === impl Trouble ===

impl Trouble {
    pub(super) fn fault(kind: FailureKind, task: &'static str, cause: String) -> Self {
        Self { kind, cause, task: Some(task), panic: None }
    }

    pub(super) fn panic(task: &'static str, panic: Panic) -> Self {
        Self { kind: FailureKind::Panic, cause: panic.message.clone(), task: Some(task), panic: Some(panic) }
    }

    pub(super) fn unexpected_return() -> Self {
        Self::seen(FailureKind::UnexpectedReturn, "returned, although it is declared as long-running".into())
    }

    pub(super) fn not_ready(deadline: Duration) -> Self {
        Self::seen(FailureKind::StartDeadline, format!("not ready within {deadline:?}"))
    }

    pub(super) fn hang(deadline: Duration) -> Self {
        Self::seen(FailureKind::Hang, format!("no heartbeat for {deadline:?}"))
    }

    pub(super) fn stuck(tasks: &[&str]) -> Self {
        let tasks = tasks.join(", ");
        Self::seen(FailureKind::Stuck, format!("tasks that block their thread could not be ended: {tasks}"))
    }

    fn seen(kind: FailureKind, cause: String) -> Self {
        Self { kind, cause, task: None, panic: None }
    }

    pub(super) fn into_failure(self, at: Timestamp, attempt: u32, next_wait: Option<Duration>) -> Failure {
        let (location, backtrace) = self
            .panic
            .and_then(|panic| panic.site)
            .map_or((None, None), |site| (Some(site.location), site.backtrace));
        let task = self.task.map(Into::into);
        Failure { at, kind: self.kind, cause: self.cause, task, location, backtrace, attempt, next_wait }
            .shortened()
    }
}
