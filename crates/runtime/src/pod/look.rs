//! Looking at one container: what its files and processes say, and what follows for its shim.
//!
//! Nothing here starts a container. A shim is sent only into a run that was begun before and that no shim has.

use std::{process::Child, sync::Arc, time::Duration};

use tokio::{io::AsyncReadExt, net::unix::pipe, process::ChildStdout};
use tracing::{info, warn};

use super::{
    AGAIN, Event, PodTask,
    unit::{Ended, Life, Unit},
};
use crate::{
    attempt::{Observed, give_up, observe},
    clock, launch,
    record::{ALIVE, Exit, Process, RUN, RunFolder},
    runtime::lock,
};

/// How often a start that another runtime began is looked at: nobody tells us of it.
const SOON: Duration = Duration::from_millis(100);

impl PodTask {
    /// Brings one container up to date, if anything may have changed.
    pub(super) fn look(&mut self, index: usize) {
        let unit = &mut self.units[index];
        let (true, Some(attempt), Some(folder)) = (unit.stale, unit.attempt, unit.run_folder()) else {
            return;
        };
        unit.stale = false;
        let ours = reap(unit);
        // A shim of ours that has not closed its pipe yet is let be: looking takes the lock it wants.
        let observed = match observe(&folder) {
            Ok(observed) => observed,
            Err(error) => {
                warn!(uid = %self.uid, container = %unit.name, %error, "cannot read the files of a run; trying again");
                unit.stale = true;
                return self.wake_in(AGAIN);
            }
        };
        match observed {
            Observed::Ended { started, exit } => {
                info!(uid = %self.uid, container = %unit.name, attempt, code = exit.code, "container ended");
                if unit.child.is_none() {
                    self.strays.extend(started.as_ref().map(|started| started.shim));
                }
                let started = started.map(|started| started.at);
                unit.life = Life::Ended(Ended { attempt, started, exit });
                unit.probes.clear();
                unit.shim = None;
                lock(&self.shared.pids).remove(&(self.uid.clone(), unit.name.clone()));
            }
            Observed::Running { started, up } => {
                lock(&self.shared.pids).insert((self.uid.clone(), unit.name.clone()), started.process.pid);
                let shim = started.shim;
                unit.life = Life::Running { started, up };
                self.watch(index, shim);
                if !up {
                    self.look_again(index, SOON);
                }
            }
            Observed::Starting => {
                unit.life = Life::Starting;
                self.look_again(index, SOON);
            }
            Observed::Orphaned => {
                warn!(uid = %self.uid, container = %unit.name, attempt, "a container has lost its shim; sending another");
                unit.life = Life::Starting;
                self.send(index, &folder);
            }
            Observed::Idle => self.idle(index, ours, &folder),
        }
    }

    /// A run that was begun and that no shim has.
    fn idle(&mut self, index: usize, ours: Shim, folder: &RunFolder) {
        let (is_wanted, nobody_spoke) = (self.is_wanted(), self.wanted.is_none());
        let unit = &mut self.units[index];
        unit.life = Life::Starting;
        if nobody_spoke {
            // Left as it is: whoever speaks next decides.
            unit.stale = true;
            return;
        }
        let exit = match ours {
            Shim::Lives => return self.look_again(index, SOON),
            Shim::Failed => Exit::cannot_run(clock::now(), launch::last_words(folder)),
            Shim::None if !folder.has(RUN) || !is_wanted || unit.is_outdated() => {
                Exit::never_started(clock::now())
            }
            Shim::None => return self.send(index, folder),
        };
        if let Err(error) = give_up(folder, &exit) {
            warn!(uid = %self.uid, container = %unit.name, %error, "cannot give up a run; trying again");
            return self.look_again(index, AGAIN);
        }
        // Whether that was us or a shim that was sooner, the files know now.
        self.look_again(index, Duration::ZERO);
    }

    /// Sends a shim into the newest run.
    pub(super) fn send(&mut self, index: usize, folder: &RunFolder) {
        match launch::send_shim(&self.shared.options, folder) {
            Ok(child) => self.sent(index, child),
            Err(error) => {
                warn!(uid = %self.uid, %error, "cannot start a shim; trying again");
                self.look_again(index, AGAIN);
            }
        }
    }

    /// Listens for what a shim of ours has to tell: that the container is up, or that the shim is gone.
    pub(super) fn sent(&mut self, index: usize, mut child: Child) {
        let unit = &mut self.units[index];
        let pipe = child.stdout.take().map(ChildStdout::from_std);
        self.leftover.extend(unit.child.replace(child));
        unit.life = Life::Starting;
        let Some(attempt) = unit.attempt else { return };
        let (sender, container) = (self.sender.clone(), unit.name.clone());
        match pipe {
            Some(Ok(mut pipe)) => {
                self.tasks.spawn(async move {
                    // It never says anything; it closes.
                    let _ = pipe.read(&mut [0]).await;
                    let _ = sender.send(Event::Look { container, attempt });
                });
            }
            _ => self.look_again(index, SOON),
        }
    }

    /// Waits for the end of the shim that has the run.
    fn watch(&mut self, index: usize, shim: Process) {
        let unit = &mut self.units[index];
        if unit.shim.as_ref().is_some_and(|(watched, _)| *watched == shim) {
            return;
        }
        let Some(attempt) = unit.attempt else { return };
        let alive =
            unit.run_folder().map(|folder| pipe::OpenOptions::new().open_receiver(folder.path(ALIVE)));
        let (Some(handle), Some(Ok(mut alive))) = (shim.open(), alive) else {
            // It is just ending, or another is just taking its place.
            return self.look_again(index, SOON);
        };
        unit.shim = Some((shim, Arc::new(handle)));
        // What an earlier runtime told the shim is told again, in case it died between writing and telling.
        unit.stopped = None;
        let (sender, container) = (self.sender.clone(), unit.name.clone());
        self.tasks.spawn(async move {
            // Nothing is ever written to it; it ends.
            let _ = alive.read(&mut [0]).await;
            let _ = sender.send(Event::Look { container, attempt });
        });
    }

    /// Takes note of the ends of our shims, so that the system can forget them.
    pub(super) fn reap(&mut self) {
        for unit in &mut self.units {
            if unit.ended().is_some() {
                self.leftover.extend(unit.child.take());
            }
        }
        self.leftover.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        // Those that a runtime before us in this very process sent.
        self.strays.retain(|shim| shim.reap());
        if !self.leftover.is_empty() || !self.strays.is_empty() {
            self.wake_in(SOON);
        }
    }

    fn look_again(&mut self, index: usize, wait: Duration) {
        self.units[index].stale = true;
        self.wake_in(wait);
    }

    /// Someone wants it, and it is not to end.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.ending.is_none())
            && self.memory.failure.is_none()
            && !self.memory.finishing
    }
}

/// The shim that we sent.
#[derive(Clone, Copy)]
enum Shim {
    /// We sent none, or it found that another has the run.
    None,
    Lives,
    Failed,
}

fn reap(unit: &mut Unit) -> Shim {
    let Some(child) = &mut unit.child else { return Shim::None };
    match child.try_wait() {
        Ok(None) => Shim::Lives,
        Ok(Some(status)) => {
            unit.child = None;
            if status.success() { Shim::None } else { Shim::Failed }
        }
        Err(_) => {
            unit.child = None;
            Shim::None
        }
    }
}
