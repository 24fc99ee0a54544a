//! What is missing between what is wanted and what is, and doing it.
//!
//! The order of a pod's life is the kubelet's: init containers one after the other, sidecars among them that
//! stay, then the containers at once; at the end the containers first, then the sidecars in reverse.

use std::time::Duration;

use rustix::process::{Signal, pidfd_send_signal};
use tracing::{info, warn};

use super::{
    AGAIN, PodTask,
    memory::Failure,
    unit::{Due, Life, Role},
};
use crate::{
    clock, durable,
    record::{STOP, Stop},
    spec::{RestartPolicy, seconds},
};

/// What is left of the grace for a sidecar, at least: the containers may have used up all of it.
const LAST_MOMENT: Duration = Duration::from_secs(2);

impl PodTask {
    pub(super) async fn act(&mut self) {
        let Some(wanted) = &self.wanted else { return };
        if let Some(grace) = wanted.ending {
            if self.found.is_none() || !self.is_written() {
                return;
            }
            let since = *self.memory.ending.get_or_insert_with(clock::now);
            return self.stop_all(grace, clock::since(since, clock::now()), "the pod shall end").await;
        }
        if self.memory.failure.is_some() || self.memory.finishing {
            let grace = self.pod.grace();
            return self.stop_all(grace, Duration::ZERO, "the pod has finished").await;
        }
        if !self.is_written() {
            return;
        }
        self.check_deadline();
        self.probe();
        self.stop_failed().await;
        self.renew().await;
        self.set_up_volumes().await;
        if self.initialize().await {
            self.keep_main().await;
        }
        self.finish();
    }

    /// Containers whose own entry changed are stopped, to be started anew.
    async fn renew(&mut self) {
        for index in 0..self.units.len() {
            let unit = &self.units[index];
            if unit.is_outdated() && matches!(unit.life, Life::Running { .. }) && unit.role != Role::Init {
                self.stop(index, self.pod.grace(), "the container was changed", true).await;
            }
        }
    }

    /// Stops what its probes gave up, and what a runtime before us had begun to stop.
    async fn stop_failed(&mut self) {
        for index in 0..self.units.len() {
            let unit = &mut self.units[index];
            if !matches!(unit.life, Life::Running { .. }) || unit.stopped.is_some() {
                continue;
            }
            if let Some((grace, reason)) = unit.to_stop.take() {
                unit.probes.clear();
                self.stop(index, grace, &reason, false).await;
            } else if let Some(stop) = unit.begun_stop() {
                self.stop(index, stop.grace, &stop.reason, stop.renew).await;
            }
        }
    }

    /// Runs the init containers, and keeps the sidecars. `true` when the others may run.
    async fn initialize(&mut self) -> bool {
        for index in 0..self.units.len() {
            let unit = &self.units[index];
            match unit.role {
                Role::Main => {}
                Role::Sidecar => {
                    self.keep(index, RestartPolicy::Always).await;
                    let unit = &self.units[index];
                    let is_up = matches!(unit.life, Life::Running { up: true, .. }) && unit.checks.started;
                    if !is_up && !self.memory.initialized {
                        return false;
                    }
                }
                Role::Init if self.memory.initialized => {}
                Role::Init => {
                    let earlier = self.memory.earlier.get(&unit.name).copied();
                    let is_of_earlier_boot = earlier.is_some() && unit.attempt <= earlier;
                    match &unit.life {
                        Life::Ended(ended) if ended.exit.code == 0 && !is_of_earlier_boot => continue,
                        Life::Ended(_) if is_of_earlier_boot => self.start(index, None).await,
                        Life::Ended(ended)
                            if self.pod.spec.restart_policy == RestartPolicy::Never
                                && ended.exit.how != crate::record::How::NeverStarted =>
                        {
                            self.memory.finishing = true;
                        }
                        // An init container has to succeed; what ends well is never run again.
                        Life::Ended(_) | Life::Fresh => self.keep(index, RestartPolicy::OnFailure).await,
                        Life::Starting | Life::Running { .. } => {}
                    }
                    return false;
                }
            }
        }
        self.memory.initialized = true;
        true
    }

    async fn keep_main(&mut self) {
        for index in 0..self.units.len() {
            if self.units[index].role == Role::Main {
                self.keep(index, self.pod.spec.restart_policy).await;
            }
        }
    }

    /// Starts a container if that is due.
    async fn keep(&mut self, index: usize, policy: RestartPolicy) {
        if self.units[index].is_alive() {
            return;
        }
        let unit = &self.units[index];
        if let Some(at) = unit.not_before {
            let wait = at.saturating_duration_since(tokio::time::Instant::now());
            if !wait.is_zero() {
                return self.wake_in(wait);
            }
        }
        match unit.due(policy, self.shared.options.backoff, clock::now()) {
            Due::Never => {}
            Due::Now { backoff } => self.start(index, backoff).await,
            Due::In { wait, of } => {
                let (namespace, name) = self.names();
                let message = format!(
                    "back-off {} restarting failed container={} pod={name}_{namespace}({})",
                    short(of),
                    self.units[index].name,
                    self.uid
                );
                self.units[index].waiting = Some(("CrashLoopBackOff", message));
                self.wake_in(wait);
            }
        }
    }

    /// When every container has ended for good, so has the pod.
    fn finish(&mut self) {
        let policy = self.pod.spec.restart_policy;
        let backoff = self.shared.options.backoff;
        let now = clock::now();
        let mut main = self.units.iter().filter(|unit| unit.role == Role::Main).peekable();
        let is_over = main.peek().is_some()
            && main.all(|unit| unit.ended().is_some() && unit.due(policy, backoff, now) == Due::Never);
        if is_over && self.memory.initialized {
            self.memory.finishing = true;
            // The sidecars are stopped in the next turn.
            self.wake_in(Duration::ZERO);
        }
    }

    fn check_deadline(&mut self) {
        let (Some(limit), Some(start)) = (self.pod.spec.active_deadline_seconds, self.memory.start) else {
            return;
        };
        let left = seconds(limit).saturating_sub(clock::since(start, clock::now()));
        if left.is_zero() {
            self.memory.failure = Some(Failure {
                reason: "DeadlineExceeded".into(),
                message: "Pod was active on the node longer than the specified deadline".into(),
            });
            self.wake_in(Duration::ZERO);
        } else {
            self.wake_in(left);
        }
    }

    /// Ends everything: containers and init containers at once, then the sidecars from the last to the first.
    async fn stop_all(&mut self, grace: Duration, spent: Duration, reason: &str) {
        let mut alive = false;
        for index in 0..self.units.len() {
            let unit = &self.units[index];
            if unit.is_alive() && unit.role != Role::Sidecar {
                alive = true;
                self.stop(index, grace, reason, false).await;
            }
        }
        let left = if grace.is_zero() { grace } else { grace.saturating_sub(spent).max(LAST_MOMENT) };
        for index in (0..self.units.len()).rev() {
            let unit = &self.units[index];
            if !alive && unit.is_alive() && unit.role == Role::Sidecar {
                alive = true;
                // Its first word counts: the grace that is left shrinks while it is waited for.
                let grace = unit.stopped.map_or(left, |told| told.min(grace));
                self.stop(index, grace, reason, false).await;
            }
        }
        if !alive {
            crate::runtime::lock(&self.shared.ports).retain(|_, owner| *owner != self.uid);
        }
    }

    /// Has a container stopped by its shim. Said again, it can only become sooner.
    pub(super) async fn stop(&mut self, index: usize, grace: Duration, reason: &str, renew: bool) {
        let unit = &mut self.units[index];
        let (Some(folder), Some((_, shim))) = (unit.run_folder(), unit.shim.clone()) else {
            return; // It is just starting: when it runs, it is stopped.
        };
        if unit.stopped.is_some_and(|told| told <= grace) {
            return;
        }
        info!(uid = %self.uid, container = %unit.name, ?grace, reason, "stopping container");
        let stop = Stop { grace, reason: reason.to_owned(), renew };
        let written =
            tokio::task::spawn_blocking(move || durable::write_json(&folder.path(STOP), &stop)).await;
        match written {
            Ok(Ok(())) => {
                unit.stopped = Some(grace);
                // A shim that is gone already has left how it ended.
                let _ = pidfd_send_signal(&*shim, Signal::TERM);
            }
            Ok(Err(error)) => {
                warn!(uid = %self.uid, container = %unit.name, %error, "cannot write that a container shall stop; trying again");
                self.wake_in(AGAIN);
            }
            Err(error) => warn!(uid = %self.uid, %error, "stopping a container was given up"),
        }
    }
}

/// `10s`, `1m20s`: as the kubelet's messages have it.
fn short(wait: Duration) -> String {
    match (wait.as_secs() / 60, wait.as_secs() % 60) {
        (0, _) if wait.subsec_millis() != 0 => format!("{wait:?}"),
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}
