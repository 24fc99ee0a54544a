//! The end of every run: whatever has happened, a fleet that is left alone comes to rest.

use safepoint_core::rollout::{
    Deferral, Gate, Presence, Promotion, Rule, State, Then, Verdict, Wait, Wanted,
};

use super::super::fleet::{Action, Fleet, Machine, index_of};
use super::super::setting::Setting;
use super::{Broken, Invariant};

/// How many rounds a fleet may take. A machine takes five for itself, with its retries more.
const ROUNDS: usize = 40;

/// When every machine is back and let go, nobody pushes, and every task ends well, the hub comes to have nothing to do; then
/// every machine runs what is wanted and is ready, unless it was given up, a canary has failed or the order has stopped; and
/// the verdict says which. The other invariants hold on the way.
///
/// Those that are away may never return: the same is true of the others then, and these are put off.
pub fn invariant_a_quiet_fleet_comes_to_rest(
    fleet: &Fleet,
    setting: &Setting,
    off: Option<Rule>,
) -> Result<(), Broken> {
    let mut quiet = fleet.clone();
    quiet.paused = false;
    for machine in &mut quiet.machines {
        (machine.gate, machine.late) = (Gate::Open, None);
    }
    if quiet.machines.iter().any(is_away) {
        rests(quiet.clone(), setting, off)?;
    }
    for machine in &mut quiet.machines {
        machine.presence = Presence::Ready;
    }
    rests(quiet, setting, off)
}

fn is_away(machine: &Machine) -> bool {
    matches!(machine.presence, Presence::Away { .. })
}

fn rests(mut fleet: Fleet, setting: &Setting, off: Option<Rule>) -> Result<(), Broken> {
    let restless = |why| Broken { invariant: Invariant::Converges, why };
    let mut idle = 0;
    for _ in 0..ROUNDS + 10 * fleet.machines.len() {
        let (before, now) = (fleet.clone(), fleet.now);
        let plan = fleet.plan(setting, off, false);
        for number in 0..fleet.machines.len() {
            let moves = fleet.machines[number].moves(number);
            if let Some(action) = moves.into_iter().find(|action| !matches!(action, Action::End(_, false))) {
                fleet = fleet.after(setting, off, action);
            }
        }
        if let Some(broken) = &fleet.broken {
            return Err(broken.clone());
        }
        fleet.now = before.now;
        idle = if fleet.machines == before.machines { idle + 1 } else { 0 };
        if idle == 2 {
            return is_right(&fleet, setting, &plan).map_err(restless);
        }
        if idle == 1 {
            // Only time is left to bring something.
            if let Some(again) = plan.again.filter(|again| *again <= now) {
                return Err(restless(format!("the hub is told to look again at {again}, which is over")));
            }
            fleet = fleet.after(setting, off, Action::Age);
        }
    }
    Err(restless(format!("no rest: {:?}", fleet.machines)))
}

fn is_right(fleet: &Fleet, setting: &Setting, plan: &safepoint_core::rollout::Plan) -> Result<(), String> {
    // Where no canary has the pod nobody can go first, and a person has to choose another. So it is where one has gone away
    // with the new revision, or half way to it.
    let canaries = &fleet.machines[setting.machines - setting.canaries..];
    let leaderless = plan.promotion == Promotion::Absent
        || (plan.promotion == Promotion::Upgrading && canaries.iter().any(is_away));
    // Of a fleet that is put off altogether nobody would say that it is upgraded.
    let mut excused = plan.counts.total > 0 && plan.counts.upgraded == 0;
    for node in &plan.nodes {
        match &node.state {
            State::Upgraded => {}
            State::Deferred(Deferral::NotReady) if is_away(&fleet.machines[index_of(&node.name)]) => {}
            State::Failed(Then::GivenUp) if node.failure.is_some() => excused = true,
            State::Waiting(_) | State::Failed(_) if plan.verdict != Verdict::Upgrading => excused = true,
            State::Waiting(Wait::Canaries) if leaderless => excused = true,
            state => return Err(format!("{} is left {state:?}, {}", node.name, plan.why)),
        }
    }
    let well = |verdict| if excused { verdict != Verdict::Success } else { verdict == Verdict::Success };
    if !well(plan.verdict) {
        return Err(format!("the verdict is {:?}: {}", plan.verdict, plan.why));
    }
    for machine in fleet.machines.iter().filter(|machine| !is_away(machine)) {
        let right = match (machine.wanted, machine.pod) {
            (Wanted::No, pod) => pod.is_none(),
            (Wanted::IfPresent, None) => true,
            (Wanted::Yes, None) => false,
            (Wanted::IfPresent | Wanted::Yes, Some((revision, ready))) => {
                revision == fleet.target && ready.is_some()
            }
        };
        if !(right && machine.tasks.is_empty() || excused) {
            return Err(format!("left as {machine:?}"));
        }
    }
    Ok(())
}
