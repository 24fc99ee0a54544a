//! The phase of a pod, as the kubelet computes it.

use super::Scene;
use crate::{
    pod::{
        Memory,
        unit::{Life, Role},
    },
    spec::RestartPolicy,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Running => "Running",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
        }
    }
}

pub(super) fn phase(scene: &Scene<'_>, memory: &Memory) -> Phase {
    if memory.failure.is_some() {
        return Phase::Failed;
    }
    let policy = scene.pod.spec.restart_policy;
    // A pod that is over is judged by how its containers ended, whatever might have been tried again.
    let is_over = scene.ended || memory.finishing && scene.is_gone;
    if !memory.initialized && !is_over {
        return if memory.finishing { Phase::Failed } else { Phase::Pending };
    }
    let (mut running, mut waiting, mut stopped, mut succeeded) = (0, 0, 0, 0);
    for unit in scene.units.iter().filter(|unit| unit.role == Role::Main) {
        match &unit.life {
            Life::Running { .. } => running += 1,
            Life::Ended(ended) => {
                stopped += 1;
                succeeded += usize::from(ended.exit.code == 0);
            }
            // On its way again after an end, it counts as stopped.
            Life::Starting if unit.before.is_some() => stopped += 1,
            Life::Fresh | Life::Starting => waiting += 1,
        }
    }
    if is_over {
        return if stopped > 0 && stopped == succeeded && waiting == 0 {
            Phase::Succeeded
        } else {
            Phase::Failed
        };
    }
    if waiting > 0 {
        Phase::Pending
    } else if running > 0 {
        Phase::Running
    } else if stopped == 0 {
        Phase::Pending
    } else if policy == RestartPolicy::Always {
        Phase::Running
    } else if stopped == succeeded {
        Phase::Succeeded
    } else if policy == RestartPolicy::Never {
        Phase::Failed
    } else {
        Phase::Running
    }
}
