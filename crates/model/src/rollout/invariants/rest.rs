//! The end of every run: whatever has happened, a fleet that is left alone comes to rest.

use safepoint_core::rollout::{Gate, Presence, Promotion, Rule, State, Then, Verdict, Wait, Wanted};

use super::super::fleet::{Action, Fleet};
use super::super::setting::Setting;
use super::{Broken, Invariant};

/// How many rounds a fleet may take. A machine takes five for itself, with its retries more.
const ROUNDS: usize = 40;

/// When every machine is back and let go, nobody pushes, and every task ends well, the hub comes to have nothing to do; then
/// every machine runs what is wanted and is ready, unless it was given up, a canary has failed or the order has stopped; and
/// the verdict says which. The other invariants hold on the way.
pub fn invariant_a_quiet_fleet_comes_to_rest(
    fleet: &Fleet,
    setting: &Setting,
    off: Option<Rule>,
) -> Result<(), Broken> {
    let restless = |why| Broken { invariant: Invariant::Converges, why };
    let mut fleet = fleet.clone();
    fleet.paused = false;
    for machine in &mut fleet.machines {
        (machine.presence, machine.gate, machine.late) = (Presence::Ready, Gate::Open, None);
    }
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
            return is_right(&fleet, &plan).map_err(restless);
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

fn is_right(fleet: &Fleet, plan: &safepoint_core::rollout::Plan) -> Result<(), String> {
    // Where no canary has the pod nobody can go first, and a person has to choose another.
    let leaderless = plan.promotion == Promotion::Absent;
    let mut excused = false;
    for node in &plan.nodes {
        match &node.state {
            State::Upgraded => {}
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
    for machine in &fleet.machines {
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
