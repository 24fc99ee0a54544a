//! What the lifecycle promises, judged by what the world knows.

use safepoint_core::lifecycle::{Label, LabelKey, Mark, Operation, OperationId, Phase, phase};

use super::setting::{Budget, Setting};
use super::{Action, SmallWorld, World};

/// How long a world may take to come to rest: three operations and a deletion, one after the other, with room.
const RESTS_WITHIN: usize = 200;

/// A promise that was not kept.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Broken {
    /// Which.
    pub promise: Promise,
    /// How.
    pub why: String,
}

/// What is promised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Promise {
    /// No operation is allowed to act while a finalizer stands, nor while something that was declared is really on.
    Protected,
    /// The gate is closed while any operation may act, and the pod is not called available.
    Closed,
    /// Every operation is asked about before it acts, and before the pod comes back; so is every deletion.
    Asked,
    /// No write of somebody who keeps to the protocol is refused.
    Valid,
    /// A dry run changes nothing.
    Dry,
    /// From everywhere the pod comes back into service with nothing left over, or goes if that is wanted; the more so
    /// after everything is cancelled.
    Returns,
}

impl Promise {
    /// Every promise.
    pub const ALL: [Self; 6] =
        [Self::Protected, Self::Closed, Self::Asked, Self::Valid, Self::Dry, Self::Returns];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protected => "no operation acts while something is on",
            Self::Closed => "the gate is closed while an operation may act",
            Self::Asked => "every operation is asked about before and after it acts",
            Self::Valid => "no write that keeps to the protocol is refused",
            Self::Dry => "a dry run changes nothing",
            Self::Returns => "the pod comes back, or goes if that is wanted",
        }
    }
}

// === impl World ===

impl World {
    pub(super) fn fail(&mut self, promise: Promise, why: &str) {
        self.broken.get_or_insert(Broken { promise, why: why.to_owned() });
    }

    /// Checks what is promised about a step.
    pub(super) fn judge(&mut self, setting: &Setting, before: &Self) {
        let Some(pod) = self.pod.clone() else { return };
        let may_act =
            |operation: &Operation| operation.has(Label::Operating) && operation.has(Label::Operate);
        let on = self.cooperators.iter().any(|cooperator| cooperator.on && cooperator.declares);
        let acting = pod.operations.values().any(may_act);
        if acting && on {
            self.fail(Promise::Protected, "something that was declared is on while an operation may act");
        }
        if acting && pod.gate.condition != Some(false) {
            self.fail(Promise::Closed, "the gate is not closed while an operation may act");
        }
        let out = pod.operations.values().any(Operation::keeps_out_of_service);
        if out
            && pod.has(Mark::ServiceAvailable)
            && before.pod.as_ref().is_some_and(|pod| !pod.has(Mark::ServiceAvailable))
        {
            self.fail(Promise::Closed, "it is called available while it is out of service");
        }
        for (number, (id, _)) in setting.operations.iter().enumerate() {
            let get = |pod: Option<&safepoint_core::lifecycle::View>| {
                pod.and_then(|pod| pod.operations.get(&OperationId::from(*id))).cloned().unwrap_or_default()
            };
            let (was, is) = (get(before.pod.as_ref()), get(Some(&pod)));
            let truth = self.truths[number];
            if is.has(Label::Operate) && !was.has(Label::Operate) && pod.protections().next().is_some() {
                self.fail(Promise::Protected, "an operation may act while a finalizer stands");
            }
            if may_act(&is) && !truth.permitted && !truth.unseen {
                self.fail(Promise::Asked, "an operation may act that was never asked about");
            }
            // A cancellation that the webhook missed is carried out with the next write, whatever that is.
            let cancelled = was.has(Label::UndoOperationType);
            if was.has(Label::Operated) && !is.is_alive() && !truth.checked && !truth.unseen && !cancelled {
                self.fail(Promise::Asked, "the pod comes back from an operation unasked");
            }
        }
    }
}

// === impl SmallWorld ===

impl SmallWorld {
    /// Lets everybody do what is due until nothing is, and looks at what has come of it; then the same after all
    /// operations have been cancelled. Where the rules say no, first with that.
    pub(super) fn comes_to_rest(&self, world: &World) -> Result<(), Broken> {
        let mut quiet = world.clone();
        quiet.left = Budget::default();
        if quiet.refusing {
            self.rest(quiet.clone())?;
            quiet.refusing = false;
        }
        self.rest(quiet.clone())?;
        for (number, (id, _)) in self.setting.operations.iter().enumerate() {
            let key = LabelKey::Operation((*id).into(), Label::UndoOperationType);
            let alive = quiet.pod.as_ref().is_some_and(|pod| {
                pod.operations.get(&OperationId::from(*id)).is_some_and(Operation::is_alive)
                    && pod.get(&key).is_none()
            });
            if alive {
                quiet = quiet.after(&self.setting, self.machine, Action::Undo(number, false));
            }
        }
        self.rest(quiet)
    }

    fn rest(&self, mut world: World) -> Result<(), Broken> {
        let mut seen = Vec::new();
        for _ in 0..RESTS_WITHIN {
            if let Some(broken) = world.broken {
                return Err(broken);
            }
            if self.known().contains(&world) {
                self.known().extend(seen);
                return Ok(());
            }
            let Some(action) = world.due(&self.setting, self.machine).first().copied() else {
                is_at_rest(&world)?;
                seen.push(world);
                self.known().extend(seen);
                return Ok(());
            };
            let next = world.after(&self.setting, self.machine, action);
            seen.push(world);
            world = next;
        }
        Err(Broken { promise: Promise::Returns, why: "it never comes to rest".into() })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, std::collections::HashSet<World>> {
        self.known.lock().expect("nobody panics while holding it")
    }
}

/// Whether a world in which nothing is due is as it should be.
fn is_at_rest(world: &World) -> Result<(), Broken> {
    let fail = |why: String| Err(Broken { promise: Promise::Returns, why });
    let Some(pod) = &world.pod else {
        return if world.wished { Ok(()) } else { fail("it is gone and nobody wanted that".into()) };
    };
    // What the rules do not let begin waits, and keeps nobody from anything.
    let waits =
        |id: &OperationId| world.refusing && pod.operations.get(id).is_some_and(Operation::is_waiting);
    let left: Vec<String> = pod
        .labels()
        .filter(|(key, _)| match key {
            LabelKey::Operation(id, _) => !waits(id),
            LabelKey::Mark(mark) => *mark != Mark::ServiceAvailable && !world.refusing,
            LabelKey::Permission(_) => true,
        })
        .map(|(key, _)| key.to_string())
        .collect();
    let serves = match phase(pod) {
        Phase::PreCheck => world.refusing && pod.has(Mark::ServiceAvailable),
        phase => phase == Phase::ServiceAvailable,
    };
    if !serves || !left.is_empty() {
        return fail(format!("nothing is due and it is in {} with {left:?}", phase(pod)));
    }
    if world.cooperators.iter().any(|cooperator| !cooperator.on) {
        return fail("it is in service and something is off".into());
    }
    Ok(())
}
