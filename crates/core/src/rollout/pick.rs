//! All nodes together: the canaries, the stop, the window, and whose turn it is.

use super::look::{Look, Standing, due, earlier, is_current};
use super::order::{Canary, Order, Strategy};
use super::outcome::{
    Counts, Node, Plan, Progress, Promotion, Removal, RemovalReason, Start, State, Then, Wait,
};
use super::rule::{Rule, Rules};
use super::seen::{Gate, Phase, Presence, Seen, Wanted};
use super::verdict;
use crate::time::Timestamp;

pub(super) fn plan(order: &Order, seen: &[Seen], now: Timestamp, rules: Rules) -> Plan {
    // A restart is one when its moment has come. Before that everything would have failed before it: each failure would be
    // forgotten as soon as it is seen, and tried again without a pause or an end.
    let ahead = order.restarted.filter(|at| *at > now);
    let unstarted = ahead.map(|_| Order { restarted: None, ..order.clone() });
    let order = unstarted.as_ref().unwrap_or(order);
    let mut seen: Vec<&Seen> = seen.iter().collect();
    seen.sort_by(|one, other| one.node.cmp(&other.node));
    let looks: Vec<Look> = seen.into_iter().map(|seen| Look::new(order, seen, now, rules)).collect();
    let managed = || looks.iter().filter(|look| look.managed);

    let total = managed().count();
    let promotion = promotion(order, &looks, now, rules);
    let too_many = |share| share_is_exceeded(share, &looks, total) && rules.keep(Rule::StopAtShare);
    let halt = if order.strategy == Strategy::Ota {
        Some(Wait::Owner)
    } else if order.paused && rules.keep(Rule::Pause) {
        Some(Wait::Pause)
    } else {
        order.stop.is_some_and(too_many).then_some(Wait::Stop)
    };
    let promoted = matches!(promotion, Promotion::NoCanaries | Promotion::Passed);
    // What stands against a start on a node for the sake of the others.
    // Canaries try a revision; to take the pod away needs no trial.
    let barred = |look: &Look| {
        let follows = !look.seen.canary && look.seen.wanted != Wanted::No && rules.keep(Rule::CanariesFirst);
        halt.or_else(|| (!promoted && follows).then_some(Wait::Canaries))
    };

    let mut states: Vec<Option<State>> = Vec::with_capacity(looks.len());
    let mut remove = Vec::new();
    let mut candidates = Vec::new();
    for (index, look) in looks.iter().enumerate() {
        let recalled = removals(order, look, barred(look).is_some(), now, rules, &mut remove);
        states.push(if !look.managed {
            None
        } else {
            match look.standing(order, now, rules) {
                Standing::Settled(State::Upgrading(Progress::Starting)) if recalled => {
                    Some(without_its_task(look, barred(look)))
                }
                Standing::Settled(state) => Some(state),
                Standing::Candidate => Some(State::Waiting(barred(look).unwrap_or_else(|| {
                    candidates.push(index);
                    Wait::Window
                }))),
            }
        });
    }

    // The sort keeps the order of names among equals.
    candidates.sort_by_key(|index| {
        let look = &looks[*index];
        (!look.seen.canary, look.failure.is_some(), !look.sick)
    });
    let places = order.budget.of(total);
    let mut taken = managed().filter(|look| look.taken).count();
    let mut ours = managed().filter(|look| look.ours).count();
    let mut start = Vec::new();
    for index in candidates {
        let look = &looks[index];
        let more = usize::from(!look.taken);
        let mine = usize::from(!look.ours);
        let bounded = ours + mine <= places || !rules.keep(Rule::BoundTheSick);
        let fits = if look.sick { bounded } else { ours + mine <= places && taken + more <= places };
        if fits {
            taken += more;
            ours += mine;
            states[index] = Some(State::Upgrading(Progress::Starting));
            start.push(Start { node: look.seen.node.clone(), work: look.work(), attempt: look.attempts + 1 });
        }
    }

    let mut plan = Plan {
        start,
        remove,
        mark: Vec::new(),
        unmark: Vec::new(),
        stage: Vec::new(),
        nodes: Vec::with_capacity(total),
        counts: Counts { total, places, taken, ..Counts::default() },
        verdict: super::Verdict::Success,
        why: String::new(),
        again: match &promotion {
            Promotion::Watching { until } => earlier(ahead, Some(*until)),
            _ => ahead,
        },
        promotion,
    };
    for (look, state) in looks.iter().zip(states) {
        plan.again = earlier(plan.again, look.again);
        if let Some(state) = state {
            tell_the_owner(order, look, &mut plan);
            report(look, state, &mut plan);
        }
    }
    verdict::judge(order, &mut plan, halt == Some(Wait::Stop));
    plan
}

fn share_is_exceeded(share: super::Share, looks: &[Look], total: usize) -> bool {
    share.is_exceeded_by(looks.iter().filter(|look| look.managed && look.failed).count(), total)
}

/// How far the canaries are. One that is put off before anything was tried on it is not waited for; one that went away
/// *with* the new revision is, because the new revision may be why.
fn promotion(order: &Order, looks: &[Look], now: Timestamp, rules: Rules) -> Promotion {
    let Some(Canary { wait }) = order.canary else { return Promotion::NoCanaries };
    let (mut well, mut under_way, mut until) = (0, false, None);
    for look in looks.iter().filter(|look| look.managed && look.seen.canary && look.seen.wanted != Wanted::No)
    {
        let ready = look.seen.pod.ready_since().filter(|_| look.seen.presence == Presence::Ready);
        if look.is_given_up(order, rules) && !look.unfinished {
            return Promotion::Failed { node: look.seen.node.clone() };
        }
        if look.reached && !look.unfinished {
            match ready.map(|since| due(since, wait.max(order.min_ready), now)) {
                Some(None) => well += 1,
                Some(end) => until = until.max(end),
                None => under_way = true,
            }
        } else if look.unfinished || look.failure.is_some() || look.deferral.is_none() {
            under_way = true;
        }
    }
    match until {
        _ if under_way => Promotion::Upgrading,
        Some(until) => Promotion::Watching { until },
        None if well == 0 => Promotion::Absent,
        None => Promotion::Passed,
    }
}

/// Finds the tasks of a node that have to go. Returns whether one is among them that has not begun.
fn removals(
    order: &Order,
    look: &Look,
    barred: bool,
    now: Timestamp,
    rules: Rules,
    remove: &mut Vec<Removal>,
) -> bool {
    let seen = look.seen;
    // Of several tasks that would do the same, which two drivers at once might make, one is enough.
    let rival = |name: &str| {
        let mut others = seen.tasks.iter().filter(|task| &*task.name != name && !task.is_finished());
        others.any(|task| task.phase == Phase::Running || (&*task.name < name && !task.removing))
    };
    let stays = look.deferral.is_none() && !barred && !look.reached;
    let mut recalled = false;
    for task in &seen.tasks {
        let reason = match task.phase {
            Phase::Running => None,
            Phase::Waiting if !rules.keep(Rule::Recall) => None,
            Phase::Waiting if !is_current(order, seen, task) => Some(RemovalReason::Superseded),
            Phase::Waiting if !stays || rival(&task.name) => Some(RemovalReason::Recalled),
            Phase::Waiting => None,
            Phase::Succeeded { .. } | Phase::Failed(_) => look.is_over(order, task, now, rules),
        };
        recalled |= task.phase == Phase::Waiting && (task.removing || reason.is_some());
        if let (Some(reason), false) = (reason, task.removing) {
            remove.push(Removal { node: seen.node.clone(), task: task.name.clone(), reason });
        }
    }
    recalled
}

/// Where a node stands whose task is called back before it has begun.
fn without_its_task(look: &Look, barred: Option<Wait>) -> State {
    match (&look.deferral, barred) {
        _ if look.reached => State::Upgraded,
        (Some(deferral), _) => State::Deferred(deferral.clone()),
        (None, barred) => State::Waiting(barred.unwrap_or(Wait::Removal)),
    }
}

/// What a node's owner is to be told, and given beforehand.
fn tell_the_owner(order: &Order, look: &Look, plan: &mut Plan) {
    let seen = look.seen;
    let lacks = order.strategy == Strategy::Ota && !look.reached && seen.wanted != Wanted::No;
    let told = seen.marked.as_ref();
    if lacks && seen.pod.is_present() {
        if told != Some(&order.target) && !order.paused {
            plan.mark.push(seen.node.clone());
        }
    } else if told.is_some() {
        plan.unmark.push(seen.node.clone());
    }
    // A hold is about what runs, and what is staged does not run. A freeze is about the whole machine, its disk and its
    // network included.
    let quiet = matches!(seen.gate, Gate::Frozen | Gate::Freezing);
    let staged = seen.staged.as_ref() == Some(&order.target);
    if lacks && seen.presence == Presence::Ready && !quiet && !staged && !order.paused {
        plan.stage.push(seen.node.clone());
    }
}

/// Counts a node, and says how it stands.
fn report(look: &Look, state: State, plan: &mut Plan) {
    let counts = &mut plan.counts;
    let ready = look.seen.presence == Presence::Ready && look.seen.pod.ready_since().is_some();
    counts.ready += usize::from(ready);
    match &state {
        State::Upgraded => counts.upgraded += 1,
        State::Upgrading(_) => counts.upgrading += 1,
        State::Waiting(_) => counts.waiting += 1,
        State::Deferred(_) => counts.deferred += 1,
        State::Failed(then) => {
            counts.failed += 1;
            if let Then::RetryAt(at) = then {
                counts.retrying += 1;
                plan.again = earlier(plan.again, Some(*at));
            }
        }
    }
    let failure = look.failure.as_ref().map(|(failure, _)| failure.clone());
    plan.nodes.push(Node { name: look.seen.node.clone(), state, attempts: look.attempts, failure });
}
