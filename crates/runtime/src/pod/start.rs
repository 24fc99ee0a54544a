//! Starting one container: everything is worked out first, then its folder is written, then a shim is sent.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::{
    AGAIN, PodTask,
    memory::Checks,
    unit::{Life, Ran},
};
use crate::{
    attempt, clock, env,
    env::Who,
    launch::{self, Launch},
    message,
    record::{Exit, Run},
    spec::{Handler, PortRef},
    volume,
};

impl PodTask {
    /// Begins the next run of a container. `backoff` is the wait that follows if it ends too soon.
    pub(super) async fn start(&mut self, index: usize, backoff: Option<Duration>) {
        if let Err(message) = &self.volumes {
            let waiting = Some(("ContainerCreating", message.clone()));
            self.units[index].waiting = waiting;
            return; // A new order, or the retry of the volumes, comes back here.
        }
        let attempt = self.units[index].attempt.map_or(0, |attempt| attempt.saturating_add(1));
        let launch = match self.prepare(index, attempt, backoff) {
            Ok(launch) => launch,
            Err(message) => {
                self.units[index].waiting = Some(("CreateContainerConfigError", message));
                return self.wake_in(AGAIN);
            }
        };
        let ran = Ran { entry: launch.run.entry.clone(), backoff };
        let shared = self.shared.clone();
        let written = async move {
            let turns = shared.clone();
            let _turn = turns.starts.acquire().await;
            tokio::task::spawn_blocking(move || {
                let written = launch.write()?;
                let folder = launch.folder;
                Ok::<_, std::io::Error>(match written {
                    Ok(()) => launch::send_shim(&shared.options, &folder).map_err(|error| {
                        let message = format!("cannot start the shim {:?}: {error}", shared.options.shim);
                        (folder, message)
                    }),
                    Err(message) => Err((folder, message)),
                })
            })
            .await
        };
        let outcome = written.await;
        let unit = &mut self.units[index];
        match outcome {
            Ok(Ok(sent)) => {
                unit.before = unit.ended().cloned();
                self.memory.start.get_or_insert_with(clock::now);
                unit.attempt = Some(attempt);
                unit.ran = Some(ran);
                unit.waiting = None;
                unit.not_before = None;
                unit.stopped = None;
                unit.is_ours = true;
                unit.to_stop = None;
                unit.shim = None;
                unit.stale = false;
                unit.life = Life::Starting;
                let probed = unit.spec.startup_probe.is_some();
                unit.checks = Checks { attempt, started: !probed, ready: false };
                // Two runs are kept: this one, and the one that `lastState` is about.
                self.tidy(index, attempt);
                match sent {
                    Ok(child) => {
                        info!(uid = %self.uid, container = %self.units[index].name, attempt, "starting container");
                        self.sent(index, child);
                    }
                    Err((folder, message)) => {
                        let exit = Exit::cannot_run(clock::now(), message);
                        if let Err(error) = attempt::give_up(&folder, &exit) {
                            warn!(uid = %self.uid, %error, "cannot give up a run; trying again");
                        }
                        self.units[index].stale = true;
                        self.wake_in(Duration::ZERO);
                    }
                }
            }
            Ok(Err(error)) => {
                unit.waiting =
                    Some(("CreateContainerError", format!("cannot write the folder of the run: {error}")));
                unit.not_before = Some(Instant::now() + AGAIN);
                self.wake_in(AGAIN);
            }
            Err(error) => warn!(uid = %self.uid, %error, "starting a container was given up"),
        }
    }

    fn prepare(&self, index: usize, attempt: u32, backoff: Option<Duration>) -> Result<Launch, String> {
        let unit = &self.units[index];
        let container = &unit.spec;
        let wanted = self.wanted.as_ref().ok_or("nobody wants the pod")?;
        let folder = unit.folder_of(attempt);
        let who = Who {
            namespace: &wanted.namespace,
            name: &wanted.name,
            uid: &self.uid,
            address: self.shared.options.address,
            pod: &self.pod,
        };
        let env = env::variables(who, container, &wanted.configs, &folder.root())?;
        let mounts = volume::mounts(&self.pod, container, &self.folder, &env)?;
        let pod = &self.pod.spec.security_context;
        let own = &container.security_context;
        let run = Run {
            argv: env::argv(container, &env),
            cwd: volume::working_dir(&container.working_dir, &folder.root(), &mounts),
            env: env::complete(env, who),
            user: own
                .run_as_user
                .or(pod.run_as_user)
                .filter(|user| *user != rustix::process::getuid().as_raw()),
            group: own
                .run_as_group
                .or(pod.run_as_group)
                .filter(|group| *group != rustix::process::getgid().as_raw()),
            logs: self.shared.options.logs,
            grace: self.pod.grace(),
            stop_signal: container.lifecycle.stop_signal.clone(),
            pre_stop: container.lifecycle.pre_stop.as_ref().map(|hook| resolve(hook, container)),
            post_start: container.lifecycle.post_start.as_ref().map(|hook| resolve(hook, container)),
            entry: unit.entry.clone(),
            backoff,
            message: message::path(&container.termination_message_path),
        };
        let link = self.shared.log_link(&wanted.namespace, &wanted.name, &unit.name);
        Ok(Launch { folder, run, mounts, link })
    }

    fn tidy(&self, index: usize, attempt: u32) {
        let unit = &self.units[index];
        let Ok(attempts) = attempt::attempts(&self.folder.join(&unit.name)) else { return };
        for old in attempts.into_iter().filter(|old| old.saturating_add(1) < attempt) {
            let _ = std::fs::remove_dir_all(unit.folder_of(old).as_path());
        }
    }
}

/// The hook with its port as a number: the shim knows nothing of names.
fn resolve(hook: &Handler, container: &crate::spec::Container) -> Handler {
    let mut hook = hook.clone();
    if let Some(get) = &mut hook.http_get {
        get.port = PortRef::Number(container.port(&get.port).unwrap_or(0));
    }
    hook
}
