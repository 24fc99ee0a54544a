//! What is promised of a roll-out.
//!
//! Each function says one sentence about a fleet or about one start in it. They compare what the hub does with what it sees
//! and with what the fleet knows to be true, never with what the planner says.
//!
//! | invariant | function |
//! |---|---|
//! | 1 `Budget` | [`invariant_no_more_are_down_by_our_doing_than_the_budget`] |
//! | 2 `Once` | [`invariant_a_machine_has_one_task_at_a_time`] |
//! | 3 `PutOff` | [`invariant_nothing_is_started_where_or_while_nothing_may`] |
//! | 4 `Recall` | [`invariant_nothing_is_left_to_begin_where_nothing_may`] |
//! | 5 `Canary` | [`invariant_nobody_follows_before_the_canaries_are_well`] |
//! | 6 `Stop` | [`invariant_nothing_is_started_after_too_many_failures`] |
//! | 7 `Retry` | [`invariant_no_machine_is_tried_too_early`], [`invariant_no_machine_is_tried_too_often`] |
//! | 8 `Converges` | [`invariant_a_quiet_fleet_comes_to_rest`] |

mod rest;

use safepoint_core::rollout::{Gate, Order, Phase, Pod, Presence, Seen, Start, Task, Wanted, Work};
use serde::{Deserialize, Serialize};

use super::fleet::{Fleet, index_of};
use super::setting::Setting;
pub use rest::invariant_a_quiet_fleet_comes_to_rest;

/// What is promised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Invariant {
    /// No more machines are down by our doing than the budget says.
    Budget,
    /// A machine has one task at a time.
    Once,
    /// Nothing is started on a machine that is put off, or while the order is paused.
    PutOff,
    /// What has not begun is called back where nothing may be started.
    Recall,
    /// Nobody follows before the canaries are well.
    Canary,
    /// Too many failures end it.
    Stop,
    /// A machine that has failed is tried neither too early nor too often.
    Retry,
    /// When the fleet is quiet, it comes to rest, and every machine is upgraded or has failed for a reason on record.
    Converges,
}

/// An invariant that did not hold, and why.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Broken {
    /// Which.
    pub invariant: Invariant,
    /// What was seen.
    pub why: String,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Budget,
        Self::Once,
        Self::PutOff,
        Self::Recall,
        Self::Canary,
        Self::Stop,
        Self::Retry,
        Self::Converges,
    ];

    /// The functions that check it. It is reported under the name of the first.
    #[must_use]
    pub const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Budget => &["invariant_no_more_are_down_by_our_doing_than_the_budget"],
            Self::Once => &["invariant_a_machine_has_one_task_at_a_time"],
            Self::PutOff => &["invariant_nothing_is_started_where_or_while_nothing_may"],
            Self::Recall => &["invariant_nothing_is_left_to_begin_where_nothing_may"],
            Self::Canary => &["invariant_nobody_follows_before_the_canaries_are_well"],
            Self::Stop => &["invariant_nothing_is_started_after_too_many_failures"],
            Self::Retry => {
                &["invariant_no_machine_is_tried_too_early", "invariant_no_machine_is_tried_too_often"]
            }
            Self::Converges => &["invariant_a_quiet_fleet_comes_to_rest"],
        }
    }
}

fn holds(is: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(why()) }
}

/// Everything that is promised of one start, with the view that it was decided on.
pub(super) fn of_a_start(
    fleet: &Fleet,
    order: &Order,
    view: &[Seen],
    start: &Start,
) -> [(Invariant, Result<(), String>); 5] {
    let seen = &view[index_of(&start.node)];
    [
        (Invariant::Once, invariant_a_machine_has_one_task_at_a_time(fleet, start)),
        (Invariant::PutOff, invariant_nothing_is_started_where_or_while_nothing_may(order, seen)),
        (Invariant::Canary, invariant_nobody_follows_before_the_canaries_are_well(fleet, order, view, seen)),
        (Invariant::Stop, invariant_nothing_is_started_after_too_many_failures(order, view)),
        (Invariant::Retry, invariant_no_machine_is_tried_too_early(fleet, order, seen)),
    ]
}

/// Of the machines whose places were never given away, no more are down by our doing than the budget says.
pub fn invariant_no_more_are_down_by_our_doing_than_the_budget(fleet: &Fleet) -> Result<(), String> {
    let down = fleet.machines.iter().filter(|machine| machine.ours && !machine.written_off).count();
    holds(down <= fleet.widest, || format!("{down} are down by our doing, and {} may be", fleet.widest))
}

/// A task is made only where no other one is unfinished, whatever the hub sees.
pub fn invariant_a_machine_has_one_task_at_a_time(fleet: &Fleet, start: &Start) -> Result<(), String> {
    let machine = &fleet.machines[index_of(&start.node)];
    holds(!machine.is_busy(), || format!("{} gets a task beside {:?}", start.node, machine.tasks))
}

/// Nothing is started on a machine that is seen away, frozen or held, and nothing while the order is paused.
pub fn invariant_nothing_is_started_where_or_while_nothing_may(
    order: &Order,
    seen: &Seen,
) -> Result<(), String> {
    holds(!order.paused && is_willing(seen), || format!("{} is started, paused: {}", seen.node, order.paused))
}

fn is_willing(seen: &Seen) -> bool {
    seen.presence == Presence::Ready && matches!(seen.gate, Gate::Open | Gate::Unknown)
}

/// After a plan no task that has not begun is left, unless it is on its way out, on a machine that is put off, for something
/// that is not wanted, or under a pause.
pub fn invariant_nothing_is_left_to_begin_where_nothing_may(
    fleet: &Fleet,
    order: &Order,
) -> Result<(), String> {
    for machine in fleet.machines.iter().filter(|machine| machine.late.is_none()) {
        let willing = machine.presence == Presence::Ready && machine.gate == Gate::Open && !order.paused;
        let left = |task: &&Task| {
            let wanted = match machine.wanted {
                Wanted::No => task.work == Work::Remove,
                Wanted::IfPresent | Wanted::Yes => task.work != Work::Remove && task.revision == order.target,
            };
            task.phase == Phase::Waiting && !task.removing && !(wanted && willing)
        };
        if let Some(task) = machine.tasks.iter().find(left) {
            return Err(format!("{} may still begin", task.name));
        }
    }
    Ok(())
}

/// Whether what is wanted has failed on a machine, and how the last try went.
fn failed<'a>(order: &Order, seen: &'a Seen) -> Option<(&'a Task, i64)> {
    let current = |task: &&Task| match seen.wanted {
        Wanted::No => task.work == Work::Remove,
        Wanted::IfPresent | Wanted::Yes => task.work != Work::Remove && task.revision == order.target,
    };
    let failures = seen.tasks.iter().filter(current).filter_map(|task| match &task.phase {
        Phase::Failed(failure) if order.restarted.is_none_or(|at| failure.at >= at) => {
            Some((task, failure.at.0))
        }
        _ => None,
    });
    failures.max_by_key(|(task, _)| task.attempt)
}

fn has_target(order: &Order, seen: &Seen) -> bool {
    matches!(&seen.pod, Pod::Present { revision: Some(revision), .. } if *revision == order.target)
}

/// A machine that is no canary is started only when some canary has been ready at the revision for long enough, none is seen
/// to have failed, and none is half way.
pub fn invariant_nobody_follows_before_the_canaries_are_well(
    fleet: &Fleet,
    order: &Order,
    view: &[Seen],
    seen: &Seen,
) -> Result<(), String> {
    let Some(canary) = order.canary.filter(|_| !seen.canary && seen.wanted != Wanted::No) else {
        return Ok(());
    };
    let ripe = |seen: &Seen| match seen.pod {
        Pod::Present { ready: Some(since), .. } => {
            has_target(order, seen) && since.0.saturating_add_unsigned(canary.wait.0) <= fleet.now.0
        }
        Pod::Present { ready: None, .. } | Pod::Absent => false,
    };
    let canaries = || view.iter().filter(|seen| seen.canary && seen.wanted != Wanted::No);
    let half = |seen: &Seen| {
        let busy = seen.tasks.iter().any(|task| matches!(task.phase, Phase::Waiting | Phase::Running));
        busy || failed(order, seen).is_some_and(|_| !ripe(seen)) || (has_target(order, seen) && !ripe(seen))
    };
    let (some, none) = (canaries().any(ripe), !canaries().any(half));
    holds(some && none, || format!("{} follows, a canary is well: {some}, none is not: {none}", seen.node))
}

/// Where more than the given share has failed, nothing is started.
pub fn invariant_nothing_is_started_after_too_many_failures(
    order: &Order,
    view: &[Seen],
) -> Result<(), String> {
    let Some(share) = order.stop else { return Ok(()) };
    let is_gone = |seen: &Seen| seen.wanted == Wanted::No && seen.pod == Pod::Absent;
    let stands = |seen: &&Seen| failed(order, seen).is_some() && !has_target(order, seen) && !is_gone(seen);
    let count = view.iter().filter(stands).count();
    let total = view.iter().filter(|seen| seen.pod != Pod::Absent || seen.wanted == Wanted::Yes).count();
    // Rounded up, which is what people would count with.
    holds(count <= share.of(total.max(count)), || format!("{count} of {total} have failed"))
}

/// A machine that is seen to have failed is tried again when its time has come, and not after the last try.
pub fn invariant_no_machine_is_tried_too_early(
    fleet: &Fleet,
    order: &Order,
    seen: &Seen,
) -> Result<(), String> {
    let Some((task, at)) = failed(order, seen) else { return Ok(()) };
    let wait = order.retry.base.0 << (task.attempt - 1).min(20);
    let due = at.saturating_add_unsigned(wait.min(order.retry.cap.0));
    let spent = task.attempt > order.retry.limit;
    holds(due <= fleet.now.0 && !spent, || format!("{} is tried again after {}", seen.node, task.name))
}

/// What is wanted has not failed more often on any machine than the order bears, whatever is on record.
pub fn invariant_no_machine_is_tried_too_often(fleet: &Fleet, setting: &Setting) -> Result<(), String> {
    let limit = setting.order.retry.limit + 1;
    let worst = fleet.machines.iter().map(|machine| u32::from(machine.tries)).max().unwrap_or(0);
    holds(worst <= limit, || format!("a machine has failed {worst} times, {limit} are enough"))
}
