//! One node by itself: what there is to do on it, what stands against it, and whether it takes a place in the window.

use super::order::{Cordoned, Order, Strategy};
use super::outcome::{Deferral, Progress, RemovalReason, State, Then, Wait};
use super::rule::{Rule, Rules};
use super::seen::{Failure, Gate, Phase, Presence, Seen, Task, Wanted, Work};
use crate::time::{Span, Timestamp};

/// A moment that lies further ahead than this was written by a clock that is wrong. To wait for it could mean to wait for
/// years, and one node's clock would stop the others, so it counts as long ago.
const SKEW: Span = Span::from_mins(5);

/// The code of a task that says it is done while the pod says it is not.
const NOT_SEEN: &str = "NotSeen";

/// What one node is to the order.
pub(super) struct Look<'a> {
    pub(super) seen: &'a Seen,
    /// It belongs to the set.
    pub(super) managed: bool,
    /// It has what is wanted, and no failure speaks against it.
    pub(super) reached: bool,
    /// It is ready, and its pod has been for long enough.
    pub(super) well: bool,
    /// It is ready, and its pod is old and not ready: an upgrade takes nothing away from anybody.
    pub(super) sick: bool,
    /// A task is unfinished, whatever for.
    pub(super) unfinished: bool,
    /// A task has ended, and the pod does not show it yet.
    unseen: bool,
    /// A failure that a restart has forgotten is still there under the name that the next task would get.
    forgotten: bool,
    /// How often what is wanted has been tried.
    pub(super) attempts: u32,
    /// How the last try that ended has failed.
    pub(super) failure: Option<(Failure, u32)>,
    /// It has failed at this revision, and has not come around since.
    pub(super) failed: bool,
    /// What stands against a start on this node alone.
    pub(super) deferral: Option<Deferral>,
    /// It takes a place in the window.
    pub(super) taken: bool,
    /// It takes it by our doing.
    pub(super) ours: bool,
    /// It has been away for so long that nobody waits for it.
    lost: bool,
    /// When time alone may change any of this.
    pub(super) again: Option<Timestamp>,
}

/// What there is to say about a node before the others are looked at.
pub(super) enum Standing {
    /// Where it stands.
    Settled(State),
    /// It may be started, if it is its turn.
    Candidate,
}

/// The moment at which a span is over, while it is not.
pub(super) fn due(at: Timestamp, span: Span, now: Timestamp) -> Option<Timestamp> {
    let end = Timestamp(at.0.saturating_add_unsigned(span.0));
    let believed = at.0 <= now.0.saturating_add_unsigned(SKEW.0);
    Some(end).filter(|end| believed && *end > now)
}

/// The earlier of two moments that may not come.
pub(super) fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

// === impl Look ===

impl<'a> Look<'a> {
    pub(super) fn new(order: &Order, seen: &'a Seen, now: Timestamp, rules: Rules) -> Self {
        let is_ready = seen.presence == Presence::Ready;
        let at_goal = match seen.wanted {
            Wanted::No => !seen.pod.is_present(),
            Wanted::IfPresent | Wanted::Yes => seen.pod.has(&order.target),
        };
        let mut again = None;
        let mut until = |at, span| {
            let due = due(at, span, now);
            again = earlier(again, due);
            due.is_some()
        };

        let well = is_ready && seen.pod.ready_since().is_some_and(|since| !until(since, order.min_ready));
        let unseen = seen.tasks.iter().any(|task| {
            rules.keep(Rule::CountUnseen)
                && outcome_is_missing(seen, task)
                && task.ended().is_some_and(|at| until(at, order.report_within))
        });

        let forgets =
            |task: &Task| order.restarted.is_some_and(|at| task.ended().is_some_and(|end| end < at));
        let mine = |task: &&Task| is_current(order, seen, task) && (at_goal || !forgets(task));
        let remembered = |task: &&Task| {
            mine(task) || (!rules.keep(Rule::ForgetOldFailures) && matches!(task.phase, Phase::Failed(_)))
        };
        let last = seen
            .tasks
            .iter()
            .filter(remembered)
            .filter(|task| task.is_finished())
            .max_by_key(|task| task.attempt);
        let failure = last.and_then(|task| {
            let failure = match &task.phase {
                Phase::Failed(failure) => failure.clone(),
                Phase::Succeeded { at } if !at_goal && !until(*at, order.report_within) => {
                    not_seen(*at, order)
                }
                Phase::Succeeded { .. } | Phase::Waiting | Phase::Running => return None,
            };
            Some((failure, task.attempt))
        });
        // The pod of a failed task may show the new revision for a moment, before what is rolled back shows: taken for
        // success, the failure would be forgotten and the node tried without end. A pod that is gone is gone.
        let doubted = failure.as_ref().is_some_and(|(failure, _)| {
            let lingers = !well || until(failure.at, order.report_within);
            rules.keep(Rule::KeepFailures) && lingers && seen.wanted != Wanted::No
        });
        let reached = at_goal && !doubted;
        let failure = failure.filter(|_| !reached);

        let unfinished = seen.tasks.iter().any(|task| !task.is_finished());
        let lost = match seen.presence {
            Presence::Ready => false,
            Presence::Away { since } => !until(since, order.lost_after),
        };
        let on_record = |task: &Task| !task.is_finished() || (seen.wanted != Wanted::No && mine(&task));
        let managed = seen.pod.is_present()
            || seen.wanted == Wanted::Yes
            || seen.tasks.iter().any(|task| on_record(task) || unseen);
        // A node that goes away with a pod that our task has left unready is still down by our doing when it returns.
        let blame = is_ready || !seen.tasks.is_empty();
        let down = blame
            && seen.pod.is_present()
            && !seen_well(well, is_ready, seen)
            && rules.keep(Rule::CountUnready);
        let busy = seen.tasks.iter().any(|task| is_counted(order, seen, task, rules)) || unseen;
        let blamed = failure.is_some() && !rules.keep(Rule::FailuresDoNotBlock);
        let taken = !lost && (busy || down || blamed);
        let lost_halfway =
            |task: &Task| lost && task.phase == Phase::Running && is_current(order, seen, task);
        let retried = |task: &Task| !task.is_finished() && task.attempt > 1 && is_current(order, seen, task);
        Self {
            managed,
            reached,
            well,
            sick: is_ready && seen.pod.is_present() && seen.pod.ready_since().is_none() && !at_goal,
            unfinished,
            unseen,
            forgotten: !at_goal
                && seen.tasks.iter().any(|task| is_current(order, seen, task) && forgets(task)),
            attempts: seen.tasks.iter().filter(mine).map(|task| task.attempt).max().unwrap_or(0),
            failed: !reached
                && (failure.is_some() || seen.tasks.iter().any(|task| retried(task) || lost_halfway(task))),
            failure,
            deferral: deferral(order, seen).filter(|_| rules.keep(Rule::Defer)),
            lost,
            taken,
            ours: taken && (busy || at_goal || !seen.tasks.is_empty()),
            again,
            seen,
        }
    }

    /// Where the node stands, as far as that does not depend on others.
    pub(super) fn standing(&self, order: &Order, now: Timestamp, rules: Rules) -> Standing {
        let settled = Standing::Settled;
        if self.unfinished && rules.keep(Rule::OneTaskEach) {
            let begun = self.seen.tasks.iter().find(|task| task.phase == Phase::Running);
            let progress = match begun {
                // Whatever becomes of it there, it is known when the node returns.
                Some(_) if self.lost && rules.keep(Rule::DeferTheLost) => {
                    return settled(State::Deferred(Deferral::NotReady));
                }
                Some(task) if is_current(order, self.seen, task) => Progress::Running,
                Some(_) => Progress::FinishingEarlier,
                None => Progress::Starting,
            };
            return settled(State::Upgrading(progress));
        }
        if self.reached {
            let settles = self.seen.presence == Presence::Ready && !self.well;
            return settled(if settles { State::Upgrading(Progress::Settling) } else { State::Upgraded });
        }
        if let Some(then) = self.then(order, now, rules) {
            return settled(State::Failed(then));
        }
        // What a failure has left behind need not be waited for where the next try is due: that one sees for itself.
        if self.unseen && self.failure.is_none() {
            return settled(State::Upgrading(Progress::Unseen));
        }
        match &self.deferral {
            Some(deferral) => settled(State::Deferred(deferral.clone())),
            None if self.forgotten => settled(State::Waiting(Wait::Removal)),
            None => Standing::Candidate,
        }
    }

    /// What follows the failure, until the next try is due.
    fn then(&self, order: &Order, now: Timestamp, rules: Rules) -> Option<Then> {
        let (failure, attempt) = self.failure.as_ref()?;
        if order.strategy == Strategy::Ota {
            return Some(Then::Owner);
        }
        if self.is_given_up(order, rules) {
            return Some(Then::GivenUp);
        }
        let wait = if rules.keep(Rule::BackOff) { order.retry.after(*attempt) } else { Span::ZERO };
        due(failure.at, wait, now).map(Then::RetryAt)
    }

    /// Whether it has failed as often as the order bears.
    pub(super) fn is_given_up(&self, order: &Order, rules: Rules) -> bool {
        let spent = |(_, attempt): &(Failure, u32)| *attempt > order.retry.limit;
        self.failure.as_ref().is_some_and(spent) && rules.keep(Rule::GiveUp)
    }

    /// What is to be done here.
    pub(super) const fn work(&self) -> Work {
        match (self.seen.wanted, self.seen.pod.is_present()) {
            (Wanted::No, _) => Work::Remove,
            (Wanted::Yes, false) => Work::Install,
            (Wanted::Yes, true) | (Wanted::IfPresent, _) => Work::Upgrade,
        }
    }

    /// Whether and why a finished task has served its time.
    pub(super) fn is_over(
        &self,
        order: &Order,
        task: &Task,
        now: Timestamp,
        rules: Rules,
    ) -> Option<RemovalReason> {
        let recent = task.ended().is_some_and(|at| due(at, order.report_within, now).is_some());
        let kept = rules.keep(Rule::KeepFailures) || !matches!(task.phase, Phase::Failed(_));
        if outcome_is_missing(self.seen, task) && recent && self.managed && kept {
            return None;
        }
        // Of several tries the last one goes last: without it, an earlier one would speak for the node again.
        if self.seen.tasks.iter().any(|earlier| outdoes(task, earlier)) {
            return None;
        }
        // The record of what we have done stays until the pod is ready or the node is lost: it is what keeps the node's place
        // if it goes away now.
        let healed = self.lost || !self.seen.pod.is_present() || self.seen.pod.ready_since().is_some();
        if !is_current(order, self.seen, task) {
            return Some(RemovalReason::Superseded).filter(|_| healed && rules.keep(Rule::ForgetOldFailures));
        }
        if self.reached {
            return (self.well || !self.managed).then_some(RemovalReason::Finished);
        }
        if order.restarted.is_some_and(|at| task.ended().is_some_and(|end| end < at)) {
            let is_ready = self.seen.presence == Presence::Ready;
            return Some(RemovalReason::Superseded).filter(|_| healed || is_ready);
        }
        // A failure stays while the next try is under way: should that be recalled, it would not be known that there was one.
        self.seen.tasks.iter().any(|later| outdoes(later, task)).then_some(RemovalReason::Finished)
    }
}

/// Whether a pod is well, as far as that can be said of a node that is away.
fn seen_well(well: bool, is_ready: bool, seen: &Seen) -> bool {
    well || (!is_ready && seen.pod.ready_since().is_some())
}

/// Whether a task is for what is wanted now.
pub(super) fn is_current(order: &Order, seen: &Seen, task: &Task) -> bool {
    match (seen.wanted, task.work) {
        (Wanted::No, work) => work == Work::Remove,
        (Wanted::IfPresent | Wanted::Yes, Work::Remove) => false,
        (Wanted::IfPresent | Wanted::Yes, Work::Upgrade | Work::Install) => task.revision == order.target,
    }
}

/// Whether a task keeps a place from others.
fn is_counted(order: &Order, seen: &Seen, task: &Task, rules: Rules) -> bool {
    let current = is_current(order, seen, task);
    !task.is_finished()
        && rules.keep(if current { Rule::CountTasks } else { Rule::CountSuperseded })
        && (!task.removing || rules.keep(Rule::CountRemoved))
}

/// Whether one task is a later try at the same as another, and both have ended: how the later one ended is what counts.
fn outdoes(later: &Task, earlier: &Task) -> bool {
    later.is_finished()
        && earlier.is_finished()
        && later.attempt > earlier.attempt
        && later.revision == earlier.revision
        && (later.work == Work::Remove) == (earlier.work == Work::Remove)
}

/// Whether a task has ended and the pod is not what it has to be after that.
fn outcome_is_missing(seen: &Seen, task: &Task) -> bool {
    match (&task.phase, task.work) {
        _ if seen.tasks.iter().any(|later| outdoes(later, task)) => false,
        (Phase::Waiting | Phase::Running, _) => false,
        (Phase::Succeeded { .. }, Work::Remove) => seen.pod.is_present(),
        (Phase::Succeeded { .. }, Work::Upgrade | Work::Install) => !seen.pod.has(&task.revision),
        // What was rolled back is on its way back. Where there was nothing before, nothing has to come.
        (Phase::Failed(_), Work::Upgrade) => !seen.pod.is_present() || seen.pod.has(&task.revision),
        (Phase::Failed(_), Work::Install) => seen.pod.has(&task.revision),
        (Phase::Failed(_), Work::Remove) => false,
    }
}

fn not_seen(ended: Timestamp, order: &Order) -> Failure {
    Failure {
        code: NOT_SEEN.into(),
        text: format!(
            "the upgrade was reported as done, and {} later the pod is another",
            order.report_within
        )
        .into(),
        at: Timestamp(ended.0.saturating_add_unsigned(order.report_within.0)),
    }
}

/// The first thing that stands against a start on this node.
fn deferral(order: &Order, seen: &Seen) -> Option<Deferral> {
    if matches!(seen.presence, Presence::Away { .. }) {
        return Some(Deferral::NotReady);
    }
    match &seen.gate {
        Gate::Frozen => return Some(Deferral::Frozen),
        Gate::Freezing => return Some(Deferral::Freezing),
        Gate::Held { by } => return Some(Deferral::Held { by: by.clone() }),
        Gate::Unknown | Gate::Open => {}
    }
    (seen.cordoned && order.cordoned == Cordoned::Defer).then_some(Deferral::Cordoned)
}
