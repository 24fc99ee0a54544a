//! What may happen next, and what comes of it.

use std::collections::BTreeSet;

use safepoint_core::lifecycle::{
    Changes, DELETE_ID, Deletion, DeletionKind, DeletionVerdict, Kind, Label, LabelKey, Lifecycle, Mark,
    NextDeletion, Operation, OperationId, Request, View, Wish, Writer, check,
};

use super::judge::Promise;
use super::setting::Setting;
use super::{Action, NOW, Truth, World, finalizer};

const UPDATE: Request = Request { kind: Kind::Update, writer: Writer::Lifecycle, dry_run: false };
/// What an operation becomes that becomes something else.
const OTHER: &str = "scale-in";

impl World {
    /// Everything that may happen next.
    pub(crate) fn options(&self, setting: &Setting, machine: Lifecycle) -> Vec<Action> {
        let Some(pod) = &self.pod else { return Vec::new() };
        let mut options = self.due(setting, machine);
        let left = &self.left;
        for (number, (id, _)) in setting.operations.iter().enumerate() {
            let operation = pod.operations.get(&OperationId::from(*id));
            let has = |label| operation.is_some_and(|operation| operation.has(label));
            let operating = has(Label::Operating);
            if left.begins > 0 && !operating && !pod.deleting {
                options.push(Action::Begin(number, false));
            }
            if left.undos > 0 && operation.is_some_and(Operation::is_alive) {
                options.push(Action::Undo(number, false));
            }
            if left.early > 0 && operating && !has(Label::Operate) {
                options.push(Action::FinishEarly(number));
            }
            if left.retypes > 0 && operating {
                options.push(Action::Retype(number));
            }
        }
        if left.misses > 0 {
            let missed: Vec<Action> = options.iter().filter_map(|action| action.missed()).collect();
            options.extend(missed);
        }
        if left.crashes > 0 && self.look(machine).gate.is_some() {
            options.push(Action::Look(true));
        }
        if left.rules > 0 {
            options.push(Action::Rules);
        }
        if left.deletes > 0 && !pod.deleting {
            options.extend([Action::Delete(false), Action::Delete(true)]);
        }
        if left.withdrawals > 0 && pod.is_wished_gone() && !pod.deleting {
            options.push(Action::Withdraw);
        }
        if left.terminations > 0 && !pod.deleting {
            options.push(Action::Terminate);
        }
        options
    }

    /// What happens by itself, sooner or later, when everybody is well.
    pub(super) fn due(&self, setting: &Setting, machine: Lifecycle) -> Vec<Action> {
        let Some(pod) = &self.pod else { return Vec::new() };
        let mut due = Vec::new();
        for (number, (id, _)) in setting.operations.iter().enumerate() {
            let operation = pod.operations.get(&OperationId::from(*id));
            let acts = |label| operation.is_some_and(|operation| operation.has(label));
            if acts(Label::Operating) && acts(Label::Operate) {
                due.push(Action::Finish(number, false));
            }
        }
        if machine.delete_step(pod, Wish::Stands, NOW) != NextDeletion::Nothing {
            due.push(Action::DeleteStep);
        }
        if !self.look(machine).is_empty() {
            due.push(Action::Look(false));
        }
        if pod.ready != is_ready(pod) {
            due.push(Action::Kubelet(false));
        }
        for (number, cooperator) in self.cooperators.iter().enumerate() {
            if cooperator.seen != is_on(pod) {
                due.push(Action::See(number));
            }
            if cooperator.on != cooperator.seen {
                due.push(Action::Switch(number));
            }
            // Written on an old view it would be refused.
            if cooperator.seen == is_on(pod)
                && cooperator.on == cooperator.seen
                && signed(pod, number) != cooperator.on
            {
                due.push(Action::Sign(number, false));
            }
        }
        if pod.deleting && pod.protections().next().is_none() {
            due.push(Action::Die);
        }
        due
    }

    fn look(&self, machine: Lifecycle) -> Changes {
        let pod = self.pod.as_ref().expect("there is a pod to look at");
        machine.reconcile(pod, &self.rules(), &BTreeSet::new(), NOW)
    }

    /// What comes of an action. What is promised about steps is checked on the way.
    pub(crate) fn after(&self, setting: &Setting, machine: Lifecycle, action: Action) -> Self {
        let mut world = self.clone();
        world.spend(action);
        let kind = |number: usize| setting.operations[number].1;
        let id = |number: usize| setting.operations[number].0;
        match action {
            Action::Begin(number, missed) => {
                let operation =
                    |pod: &View| pod.operations.get(&id(number).into()).is_some_and(Operation::is_alive);
                let again = self.pod.as_ref().is_some_and(operation);
                world.truths[number] = Truth { unseen: missed && again, ..Truth::default() };
                world.write(machine, missed, |pod| pod.begin(id(number), kind(number), NOW));
            }
            Action::Retype(number) => {
                world.truths[number] = Truth::default();
                let key = LabelKey::Operation(id(number).into(), Label::OperationType);
                let other = move |pod: &View| {
                    if pod.get(&key).is_some_and(|is| &**is == OTHER) { "update" } else { OTHER }
                };
                world.write(machine, false, |pod| pod.begin(id(number), other(pod), NOW));
            }
            Action::Finish(number, missed) => world.write(machine, missed, |pod| pod.finish(id(number))),
            Action::FinishEarly(number) => world.write(machine, false, |pod| pod.finish(id(number))),
            Action::Undo(number, missed) => {
                world.truths[number].checked = true;
                world.write(machine, missed, |pod| pod.undo(id(number), kind(number)));
            }
            Action::Look(crash) => {
                let changes = self.look(machine);
                for (number, truth) in world.truths.iter_mut().enumerate() {
                    let set = |label| {
                        let key = LabelKey::Operation(id(number).into(), label);
                        changes.labels.get(&key).is_some_and(Option::is_some)
                    };
                    let was = |label| {
                        let key = LabelKey::Operation(id(number).into(), label);
                        self.pod.as_ref().is_some_and(|pod| pod.get(&key).is_some())
                    };
                    truth.permitted |= set(Label::PreChecked) && was(Label::PreCheck) && !self.refusing;
                    // All that follows may be done in the same write, so the label itself need not be seen.
                    truth.checked |= was(Label::PostCheck);
                }
                let key = LabelKey::Operation(DELETE_ID.into(), Label::PreChecked);
                world.agreed |= changes.labels.get(&key).is_some_and(Option::is_some) && !self.refusing;
                let changes = if crash { changes.without_gate() } else { changes };
                world.write(machine, false, |pod| pod.apply(&changes));
            }
            Action::Kubelet(missed) => world.write(machine, missed, |pod| pod.ready = is_ready(pod)),
            Action::See(number) => world.cooperators[number].seen = world.pod.as_ref().is_some_and(is_on),
            Action::Switch(number) => world.cooperators[number].on = world.cooperators[number].seen,
            Action::Sign(number, missed) => {
                let on = world.cooperators[number].on;
                world.write(machine, missed, |pod| match on {
                    true => pod.finalizers.push(finalizer(number).into()),
                    false => pod.finalizers.retain(|other| **other != *finalizer(number)),
                });
            }
            Action::Rules => world.refusing = !world.refusing,
            Action::Delete(dry) => world.ask(machine, dry),
            Action::DeleteStep => {
                let pod = world.pod.as_ref().expect("there is a pod to delete");
                match machine.delete_step(pod, Wish::Stands, NOW) {
                    NextDeletion::Nothing => {}
                    NextDeletion::Write(changes) => {
                        world.agreed = false;
                        world.write(machine, false, |pod| pod.apply(&changes));
                    }
                    NextDeletion::Delete => world.ask(machine, false),
                }
            }
            Action::Withdraw => {
                world.wished = false;
                world.write(machine, false, |pod| {
                    pod.set(&LabelKey::Mark(Mark::ToDelete), None);
                });
            }
            Action::Terminate => {
                world.wished = true;
                world.write(machine, true, |pod| pod.deleting = true);
            }
            Action::Die => {
                let pod = world.pod.as_ref().expect("there is a pod to die");
                let last = Deletion { kind: DeletionKind::Delete, dry_run: false };
                match machine.grace_delete(pod, last, NOW) {
                    DeletionVerdict::Pass => world.pod = None,
                    DeletionVerdict::PutOff(_) => {
                        world.fail(Promise::Returns, "a pod that has terminated cannot go");
                    }
                }
            }
        }
        world.judge(setting, self);
        world
    }

    /// Somebody deletes the pod.
    fn ask(&mut self, machine: Lifecycle, dry: bool) {
        let Some(pod) = self.pod.clone() else { return };
        let asked = Deletion { kind: DeletionKind::Delete, dry_run: dry };
        match machine.grace_delete(&pod, asked, NOW) {
            DeletionVerdict::Pass if dry => {}
            DeletionVerdict::Pass => {
                let on = self.cooperators.iter().any(|cooperator| cooperator.on && cooperator.declares);
                if on || pod.protections().next().is_some() {
                    self.fail(Promise::Protected, "it is deleted with something on");
                }
                // No operation of these worlds is begun as one that ends in deletion.
                if !self.agreed {
                    self.fail(Promise::Asked, "it is deleted and the rules were not asked about that");
                }
                self.wished = true;
                self.write(machine, true, |pod| pod.deleting = true);
            }
            DeletionVerdict::PutOff(taken) => {
                if dry && !taken.changes.is_empty() {
                    self.fail(Promise::Dry, "a dry run was written down");
                }
                self.wished |= !dry;
                self.write(machine, false, |pod| pod.apply(&taken.changes));
            }
        }
    }

    /// A write on the pod, which the webhook may miss.
    pub(super) fn write(&mut self, machine: Lifecycle, missed: bool, change: impl FnOnce(&mut View)) {
        let Some(pod) = &mut self.pod else { return };
        let old = pod.clone();
        change(pod);
        if missed {
            return;
        }
        match machine.admit(pod, Some(&old), UPDATE, NOW) {
            Ok(changes) => pod.apply(&changes),
            Err(refusal) => return self.fail(Promise::Valid, &refusal.to_string()),
        }
        if let Err(refusal) = check(pod, Some(&old)) {
            self.fail(Promise::Valid, &refusal.to_string());
        }
    }

    fn spend(&mut self, action: Action) {
        let left = &mut self.left;
        match action {
            Action::Begin(..) => left.begins -= 1,
            Action::Retype(_) => left.retypes -= 1,
            Action::FinishEarly(_) => left.early -= 1,
            Action::Undo(..) => left.undos = left.undos.saturating_sub(1),
            Action::Look(true) => left.crashes -= 1,
            Action::Rules => left.rules -= 1,
            Action::Delete(_) => left.deletes -= 1,
            Action::Withdraw => left.withdrawals -= 1,
            Action::Terminate => left.terminations -= 1,
            _ => {}
        }
        if action.is_missed() {
            self.left.misses -= 1;
        }
    }
}

impl Action {
    const fn missed(self) -> Option<Self> {
        match self {
            Self::Begin(number, false) => Some(Self::Begin(number, true)),
            Self::Finish(number, false) => Some(Self::Finish(number, true)),
            Self::Undo(number, false) => Some(Self::Undo(number, true)),
            Self::Kubelet(false) => Some(Self::Kubelet(true)),
            Self::Sign(number, false) => Some(Self::Sign(number, true)),
            _ => None,
        }
    }

    const fn is_missed(self) -> bool {
        matches!(
            self,
            Self::Begin(_, true)
                | Self::Finish(_, true)
                | Self::Undo(_, true)
                | Self::Kubelet(true)
                | Self::Sign(_, true)
        )
    }
}

/// What the kubelet says: the containers are always well.
fn is_ready(pod: &View) -> bool {
    pod.gate.condition == Some(true) && !pod.deleting
}

/// Whether a cooperation controller that sees the pod as it is switches on.
fn is_on(pod: &View) -> bool {
    pod.ready && pod.gate.condition != Some(false) && !pod.deleting
}

fn signed(pod: &View, number: usize) -> bool {
    pod.finalizers.iter().any(|other| **other == *finalizer(number))
}
