//! The six invariants of the gate.
//!
//! Each function says one sentence about a world or about one step in it, and compares what the gate did with the
//! world's own history. They are called after every action of every exhaustive and every random run.
//!
//! | invariant | functions |
//! |---|---|
//! | 1 `Frozen` | [`invariant_nothing_is_admitted_while_frozen`], [`invariant_a_freeze_ends_only_when_told`] |
//! | 2 `Held` | [`invariant_nothing_held_is_admitted_unreleased`] |
//! | 3 `Crash` | [`invariant_no_promise_is_lost`], [`invariant_a_restart_changes_nothing_else`] |
//! | 4 `Converges` | [`invariant_applied_becomes_wanted`], [`invariant_ends_come_before_starts`] |
//! | 5 `Dead` | [`invariant_the_dead_never_start`] |
//! | 6 `Settled` | [`invariant_a_freeze_is_acknowledged_only_when_settled`] |

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::{Answer, Change, ChangeKind, Effect, Guard, Key, Mode, Refusal, Subject};
use serde::{Deserialize, Serialize};

use crate::history::{Release, workload_of};
use crate::setting::{Setting, Style};
use crate::world::cluster::number;
use crate::world::{Action, Crash, Input, World};

/// The six invariants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Invariant {
    /// Between *frozen acknowledged* and *thaw accepted* nothing is admitted.
    Frozen,
    /// Nothing that a hold covers is admitted without a release that came after the hold.
    Held,
    /// A crash at any point loses no hold, no freeze and no release that was acknowledged, and touches nothing else.
    Crash,
    /// When all holds are gone and the cluster is quiet, applied equals wanted; ends come before starts.
    Converges,
    /// A uid that was superseded or deleted while it was held is never started.
    Dead,
    /// A freeze is acknowledged only when settled; if it is refused, the reasons name every blocker.
    Settled,
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
    /// All six, in the order of the design.
    pub const ALL: [Self; 6] =
        [Self::Frozen, Self::Held, Self::Crash, Self::Converges, Self::Dead, Self::Settled];

    /// The name under which it is reported, which is that of its first function.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.functions()[0]
    }

    /// The functions that check it.
    #[must_use]
    pub const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Frozen => {
                &["invariant_nothing_is_admitted_while_frozen", "invariant_a_freeze_ends_only_when_told"]
            }
            Self::Held => &["invariant_nothing_held_is_admitted_unreleased"],
            Self::Crash => &["invariant_no_promise_is_lost", "invariant_a_restart_changes_nothing_else"],
            Self::Converges => &["invariant_applied_becomes_wanted", "invariant_ends_come_before_starts"],
            Self::Dead => &["invariant_the_dead_never_start"],
            Self::Settled => &["invariant_a_freeze_is_acknowledged_only_when_settled"],
        }
    }
}

fn broken(why: impl FnOnce() -> String) -> Result<(), String> {
    Err(why())
}

/// Nothing is admitted between the acknowledgement of a freeze and its end, nor after that before everything was listed
/// anew; and while the barrier is up, only what was in flight when it went up.
pub fn invariant_nothing_is_admitted_while_frozen(world: &World, change: &Change) -> Result<(), String> {
    let history = &world.history;
    if history.frozen {
        return broken(|| format!("{change:?} was admitted while the node is frozen"));
    }
    if history.resyncing {
        return broken(|| format!("{change:?} was admitted after the thaw, before everything was listed"));
    }
    let in_flight = |flight: &BTreeSet<usize>| match workload_of(&change.key) {
        Some(workload) => flight.contains(&workload),
        None => !flight.is_empty(),
    };
    match &history.barrier {
        Some(flight) if !in_flight(flight) => {
            broken(|| format!("{change:?} passed the barrier and was not in flight"))
        }
        _ => Ok(()),
    }
}

/// The node stays frozen until somebody ends the freeze, or until a lease that was to end it is up.
pub fn invariant_a_freeze_ends_only_when_told(
    before: &World,
    after: &World,
    setting: &Setting,
    input: &Input,
) -> Result<(), String> {
    if !before.history.frozen || !after.history.frozen || after.gate.mode() == Mode::Frozen {
        return Ok(());
    }
    let leased = setting.leased && after.history.lease_up;
    broken(|| format!("the node is {:?} after {input:?}, lease up: {leased}", after.gate.mode()))
}

/// A change that a holder's hold covers, or that belongs to an annotated workload, passes only under a release that came
/// later and that is for this revision.
pub fn invariant_nothing_held_is_admitted_unreleased(
    world: &World,
    setting: &Setting,
    change: &Change,
) -> Result<(), String> {
    let (history, machine) = (&world.history, &world.machine);
    let covered = match workload_of(&change.key) {
        Some(workload) => BTreeSet::from([workload]),
        None => history.changed_users(setting, machine, change.kind),
    };
    let released = |workload: &usize| {
        history.releases.get(workload).filter(|release| is_released(world, release, change))
    };
    for (id, scope) in &history.holds {
        let mine = |workload: &&usize| scope.is_none_or(|held| held == **workload);
        let overridden = |workload: &usize| {
            released(workload).is_some_and(|release| !release.expired && release.overridden.contains(id))
        };
        if covered.iter().filter(mine).any(|workload| !overridden(workload)) {
            return broken(|| format!("{change:?} was admitted under hold {id}"));
        }
    }
    for workload in &covered {
        let armed = history.is_armed(machine, *workload, &change.key, &change.uid);
        if armed && released(workload).is_none() {
            return broken(|| format!("{change:?} was admitted, w{workload} is annotated and not released"));
        }
    }
    Ok(())
}

fn is_released(world: &World, release: &Release, change: &Change) -> bool {
    if release.expired && change.kind != ChangeKind::Start {
        return false;
    }
    if workload_of(&change.key).is_none() {
        let told = (change.kind != ChangeKind::Stop).then_some(&change.digest);
        return release.config.as_ref() == told;
    }
    let bound = release.bound;
    match change.kind {
        ChangeKind::Start | ChangeKind::Update => bound == Some(number(change.digest.as_str())),
        ChangeKind::Stop => {
            let running = world.machine.view.get(&change.key).map(|shown| number(shown.digest.as_str()));
            release.stops.contains(&change.uid) || (bound.is_some() && bound != running)
        }
    }
}

/// Whatever was acknowledged is still there: every hold, the freeze, every release.
pub fn invariant_no_promise_is_lost(world: &World) -> Result<(), String> {
    let (history, gate) = (&world.history, &world.gate);
    if let Some((id, _)) = history.holds.iter().find(|(id, _)| !gate.holds().contains_key(*id)) {
        return broken(|| format!("hold {id} was acknowledged and is lost"));
    }
    if history.frozen && gate.mode() != Mode::Frozen {
        return broken(|| format!("the freeze was acknowledged and the node is {:?}", gate.mode()));
    }
    let granted: BTreeSet<usize> =
        gate.grants().keys().map(|workload| usize::from(number(&workload.name))).collect();
    let lost = history
        .releases
        .iter()
        .find(|(workload, release)| release.acknowledged && !granted.contains(workload));
    match lost {
        Some((workload, _)) => broken(|| format!("the release of w{workload} was acknowledged and is lost")),
        None => Ok(()),
    }
}

/// After a restart the machine sees what the interrupted step had admitted, and nothing else.
pub fn invariant_a_restart_changes_nothing_else(
    difference: &[Change],
    interrupted: &[Effect],
) -> Result<(), String> {
    let admitted = |change: &Change| {
        interrupted.iter().any(|effect| match effect {
            Effect::Admit(admitted) => {
                (admitted.kind, &admitted.key, &admitted.uid) == (change.kind, &change.key, &change.uid)
            }
            _ => false,
        })
    };
    match difference.iter().find(|change| !admitted(change)) {
        Some(change) => broken(|| format!("the restart alone caused {change:?}")),
        None => Ok(()),
    }
}

/// Nothing starts while something of the same name is there, while something of the same workload is ending, or while
/// something that is gone from the API is; and what can only be there once does not start while its predecessor is on its
/// way out.
pub fn invariant_ends_come_before_starts(
    world: &World,
    setting: &Setting,
    change: &Change,
) -> Result<(), String> {
    if change.kind != ChangeKind::Start || !change.key.kind.runs() {
        return Ok(());
    }
    let view = &world.machine.view;
    if view.contains_key(&change.key) {
        return broken(|| format!("{change:?} while one of that name is there"));
    }
    let workload = workload_of(&change.key);
    let single = workload.is_some_and(|workload| {
        matches!(setting.plans[workload].style, Style::SameName | Style::NewName | Style::InPlace)
    });
    let is_gone = |key: &Key| world.history.known.get(key).is_none_or(|known| known.uid != view[key].uid);
    let is_deleting = |key: &Key| world.history.known.get(key).is_some_and(|known| known.deleting);
    let leaving = |key: &Key| view[key].ending || (single && (is_gone(key) || is_deleting(key)));
    if let Some(key) = view.keys().find(|key| workload_of(key) == workload && leaving(key)) {
        return broken(|| format!("{change:?} while {key} of the same workload has not ended"));
    }
    // The scheduler has given the room of a pod that is gone from the API to somebody, and cannot be asked to whom.
    match view.keys().find(|key| key.kind.runs() && view[*key].ending && is_gone(key)) {
        Some(key) => broken(|| format!("{change:?} while {key}, which is gone from the API, has not ended")),
        None => Ok(()),
    }
}

/// What was superseded or deleted before it started does not start.
pub fn invariant_the_dead_never_start(world: &World, change: &Change) -> Result<(), String> {
    match change.kind == ChangeKind::Start && world.history.dead.contains(&change.uid) {
        true => broken(|| format!("{change:?} although it was superseded or deleted")),
        false => Ok(()),
    }
}

/// A freeze is acknowledged only when nothing is half done, and a refusal names everything that is.
pub fn invariant_a_freeze_is_acknowledged_only_when_settled(
    world: &World,
    answer: &Answer,
) -> Result<(), String> {
    let unsettled: BTreeSet<&Key> = world
        .machine
        .view
        .iter()
        .filter(|(_, shown)| shown.ending || !shown.ready)
        .map(|(key, _)| key)
        .collect();
    let owed = world.history.owed.iter().find(|(_, owed)| **owed > 0);
    match answer {
        Answer::Frozen { .. } if !unsettled.is_empty() => {
            broken(|| format!("frozen while {unsettled:?} is not settled"))
        }
        Answer::Frozen { .. } if owed.is_some() => {
            broken(|| format!("frozen while a successor is missing: {owed:?}"))
        }
        Answer::Refused(Refusal::Unsettled { blockers, .. }) => {
            let named: BTreeSet<&Key> = blockers
                .iter()
                .filter_map(|blocker| match &blocker.subject {
                    Subject::Object(key) => Some(key),
                    Subject::Workload(_) | Subject::Part(_) => None,
                })
                .collect();
            match unsettled.difference(&named).next() {
                Some(key) => broken(|| format!("a freeze was refused and {key} was not named")),
                None if blockers.is_empty() => broken(|| "a freeze was refused for no reason".into()),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// From here, with every hold dropped, everything released and the cluster quiet, the machine ends up with exactly what
/// the cluster wants, and is shown each object once.
pub fn invariant_applied_becomes_wanted(
    world: &World,
    setting: &Setting,
    off: Option<Guard>,
) -> Result<(), Broken> {
    let mut world = world.clone();
    let mut shown: BTreeMap<Key, u8> = BTreeMap::new();
    world.left.releases = u8::MAX;
    let mut tell = |world: &mut World, input: Input| {
        let before = world.machine.view.clone();
        *world = world.after(setting, off, &Action::Tell(input, Crash::No));
        for (key, now) in &world.machine.view {
            let was = before.get(key).map(|was| (&was.uid, &was.digest));
            *shown.entry(key.clone()).or_default() += u8::from(was != Some((&now.uid, &now.digest)));
        }
    };
    // A quiet cluster has been seen by the gate before anything opens.
    tell(&mut world, Input::Relist);
    while world.gate.holds().values().any(|hold| !hold.is_freeze()) {
        tell(&mut world, Input::Drop);
    }
    tell(&mut world, Input::Thaw);
    tell(&mut world, Input::Age);
    tell(&mut world, Input::Thaw);
    for _ in 0..=2 * setting.plans.len() {
        tell(&mut world, Input::Relist);
        for workload in 0..setting.plans.len() {
            tell(&mut world, Input::Release(workload));
        }
        for (key, shown) in world.machine.view.clone() {
            tell(&mut world, if shown.ending { Input::Ended(key) } else { Input::Ready(key) });
        }
        tell(&mut world, Input::Age);
    }
    if let Some(Broken { invariant, why }) = world.broken {
        return Err(Broken { invariant, why: format!("on the way to rest: {why}") });
    }
    let broken = |why: String| Err(Broken { invariant: Invariant::Converges, why });
    let wanted: BTreeMap<Key, _> = world
        .cluster
        .versions(setting)
        .into_iter()
        .map(|(key, version)| (key, (version.uid, version.digest)))
        .collect();
    let applied: BTreeMap<Key, _> = world
        .machine
        .view
        .iter()
        .map(|(key, now)| (key.clone(), (now.uid.clone(), now.digest.clone())))
        .collect();
    if wanted != applied {
        return broken(format!("at rest the machine has {applied:?} and the cluster wants {wanted:?}"));
    }
    match shown.iter().find(|(_, times)| **times > 1) {
        Some((key, times)) => broken(format!("{key} was shown {times} times on the way to rest")),
        None => Ok(()),
    }
}
