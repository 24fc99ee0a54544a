//! One StaticPod: what is wanted of it, what is seen, and what to do about it. Pure: a pass reads and decides, and the writer
//! writes.

mod leaving;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use safepoint_api::names::safepoint::static_pod::{FINALIZER, KEY_INSTALLED, KEY_MANIFEST};
use safepoint_api::static_pod::{StaticPod, StaticPodStatus};
use safepoint_core::rollout::{Phase, Plan, Started, Task, Work, plan};
use safepoint_core::{Revision, Text, Timestamp};

use super::acts::{Acts, Done, Mark, Note, Remove, Start};
use super::manifest::{self, Keeping, MapFacts, Sums, keeping, stamp};
use super::news::Told;
use super::pods::Pods;
use super::stage::{Failures, PUT_OFF_MILLIS, staging};
use super::status::{Said, Stuck, status, stuck};
use super::task::{Kind, Program, TaskFacts};
use super::view::{Sight, View, Whose};
use super::wanted::{Problem, Wanted, sentence};

/// The status is written at most so often.
const STATUS_MILLIS: i64 = 1_000;
/// So many tasks are started, and so many removed, by one pass.
const AT_ONCE: usize = 1_000;
/// What was not as it had been is looked at again so much later, if nothing is heard of it before.
const LATER_MILLIS: i64 = 5_000;

/// The ConfigMaps of one StaticPod by revision.
pub(crate) type Maps = BTreeMap<Revision, MapFacts>;

/// One StaticPod.
pub(crate) struct Set {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// When it was made: of two that claim the same static pod the older one has it.
    pub(crate) made: Timestamp,
    generation: Option<i64>,
    leaving: bool,
    /// Its namespace is being deleted.
    ending: bool,
    held: bool,
    wanted: Result<Arc<Wanted>, Vec<Problem>>,
    /// What the manifests of the wanted revision add up to.
    sums: Sums,
    /// As it was written last, or read where it was not.
    status: StaticPodStatus,
    status_at: Option<Timestamp>,
    view: View,
    started: Started,
    /// Starts that nobody has answered. Neither the watch nor a list need ever tell of one that was not made, so it is asked
    /// again whether it was.
    unanswered: Vec<Start>,
    /// How many lists of pods had been begun at the last start.
    started_in: u64,
    told: Told,
    trouble: Option<String>,
    /// A pass is wanted, whatever time it is.
    pub(crate) dirty: bool,
    /// When time alone wants one.
    pub(crate) again: Option<Timestamp>,
}

/// What a pass goes by beside the set itself.
pub(crate) struct Cluster<'a> {
    pub(crate) sight: Sight<'a>,
    pub(crate) maps: &'a Maps,
    /// Another StaticPod that has the static pod already.
    pub(crate) rival: Option<&'a str>,
    /// What tasks run.
    pub(crate) program: &'a Arc<Program>,
}

// === impl Set ===

impl Set {
    pub(crate) fn new(object: &StaticPod) -> Self {
        let meta = &object.metadata;
        let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
        let observed = object.status.as_ref().and_then(|status| status.observed_generation);
        let mut set = Self {
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
            made: meta.creation_timestamp.as_ref().map_or(Timestamp(0), super::slim::moment),
            generation: None,
            leaving: false,
            ending: false,
            held: false,
            wanted: Err(Vec::new()),
            sums: Sums::default(),
            status: object.status.clone().unwrap_or_default(),
            status_at: None,
            view: View::default(),
            started: Started::default(),
            unanswered: Vec::new(),
            started_in: 0,
            told: Told::new(observed.is_some() && observed == meta.generation),
            trouble: None,
            dirty: true,
            again: None,
        };
        set.update(object);
        set
    }

    /// The object has changed.
    pub(crate) fn update(&mut self, object: &StaticPod) {
        let meta = &object.metadata;
        let leaving = meta.deletion_timestamp.is_some();
        let held = meta.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER);
        if (self.generation, self.leaving) != (meta.generation, leaving) || self.wanted.is_err() {
            self.wanted = Wanted::read(&object.spec).map(Arc::new);
            let wanted = self.wanted.as_ref().ok();
            self.sums = wanted.map(|wanted| Sums::of(&self.namespace, wanted)).unwrap_or_default();
            self.view.touch_all();
            self.dirty = true;
        }
        self.dirty |= self.held != held;
        (self.generation, self.leaving, self.held) = (meta.generation, leaving, held);
        // Somebody who writes the status of another is corrected.
        let found = object.status.clone().unwrap_or_default();
        if self.status != found {
            self.status = found;
            self.dirty = true;
        }
    }

    /// The static pod that it is about.
    pub(crate) fn static_pod(&self) -> Option<&str> {
        self.wanted.as_ref().ok().map(|wanted| wanted.static_pod.as_str())
    }

    /// Something about a node has changed.
    pub(crate) fn touch(&mut self, node: &Text) {
        self.view.touch(node);
        self.dirty = true;
    }

    /// Everything has to be looked at again.
    pub(crate) fn touch_all(&mut self) {
        self.view.touch_all();
        self.dirty = true;
    }

    /// Looks, and decides what to do.
    pub(crate) fn pass(&mut self, cluster: &Cluster<'_>) -> Acts {
        self.dirty = false;
        self.again = None;
        let now = cluster.sight.now;
        if cluster.sight.pods.lists() > self.started_in && !self.started.is_empty() {
            // A list that was begun after the last start is complete: what it does not show is not there.
            self.started.listed();
            self.view.touch_all();
        }
        if self.leaving {
            return self.leave(cluster);
        }
        let wanted = match self.stuck(cluster.rival) {
            Ok(wanted) => wanted,
            Err(problem) => {
                let mut acts = Acts::default();
                acts.news.extend(self.told.trouble(Some(&problem.text), problem.reason));
                let status = stuck(&problem, self.generation, &self.status, now);
                self.tell(&mut acts, status, now);
                return acts;
            }
        };
        let mut acts = Acts { hold: !self.held, ..Acts::default() };
        let whose = Whose { namespace: &self.namespace, uid: &self.uid, wanted: &wanted, leaving: false };
        let seen = self.view.refresh(whose, &cluster.sight, &mut self.started);
        let planned = plan(&wanted.order, seen, now);
        self.again = planned.again;
        self.keep(&wanted, cluster, &mut acts);
        // What tasks bring has to be there before they are.
        let ready = !acts.hold && acts.make.is_none();
        self.ask_again(&planned, ready, &mut acts);
        if ready {
            self.start(&planned, &wanted, cluster, &mut acts);
        }
        self.remove(&planned, cluster.sight.pods, &mut acts);
        self.take_back(cluster.sight.pods, now, &mut acts);
        let unstaged = self.stage(&planned, &wanted, cluster, ready, &mut acts);
        self.mark(&planned, &wanted, cluster.sight.pods, &mut acts);
        acts.news.extend(self.told.trouble(self.trouble.as_deref(), "CannotWrite"));
        acts.news.extend(self.told.compare(&planned, wanted.revision(), self.generation));
        let said = Said { trouble: self.trouble.as_deref(), unstaged: Some(&unstaged) };
        let status = status(&planned, wanted.revision(), self.generation, said, &self.status, now);
        self.tell(&mut acts, status, now);
        acts
    }

    /// Takes in what became of what a pass wanted. Whether something has to be tried again.
    pub(crate) fn done(
        &mut self,
        done: Vec<Done>,
        pods: Option<&mut Pods>,
        maps: &mut Maps,
        now: Timestamp,
    ) -> bool {
        let mut again = false;
        let mut trouble = None;
        let mut none = Pods::default();
        let pods = pods.unwrap_or(&mut none);
        let static_pod = self.static_pod().unwrap_or_default().to_owned();
        // A list that has been begun by now may have been made before what was just written.
        self.started_in = pods.lists();
        for done in done {
            match done {
                Done::Made(revision, map) | Done::Renewed(revision, map) => {
                    maps.insert(revision, map);
                    self.dirty = true;
                }
                Done::Forgotten(revision) => drop(maps.remove(&revision)),
                Done::Started { node, task: Some(task), pod } => {
                    let version = pod.and_then(|pod| pod.metadata.resource_version?.parse().ok());
                    self.started.note(&node, task, version);
                }
                Done::Started { node, task: None, pod } => {
                    let slim =
                        pod.and_then(|pod| serde_json::from_value(serde_json::to_value(pod).ok()?).ok());
                    if let Some(task) = slim.and_then(|slim| TaskFacts::read(&slim, now)) {
                        pods.add(&self.uid, &node, task);
                    }
                }
                Done::Unanswered(start) => {
                    again = true;
                    // Staging is planned by what is seen: what is not there is started again by itself.
                    if start.task.is_some() {
                        self.unanswered.push(start);
                    }
                }
                Done::NotStarted { node, task } => {
                    again = true;
                    if let Some(task) = task {
                        self.started.refused(&node, &task.name);
                        self.view.touch(&node);
                    }
                }
                Done::Removed { node, uid } => {
                    pods.removing(&self.uid, &node, &uid);
                    self.view.touch(&node);
                }
                Done::Marked(mark) => {
                    pods.marked(&static_pod, &mark.node, &mark.uid, mark.revision);
                    self.view.touch(&mark.node);
                }
                Done::Noted(note) => {
                    pods.staged(&static_pod, &note.node, &note.uid, note.revision);
                    self.view.touch(&note.node);
                }
                Done::Told(status) => {
                    self.status = *status;
                    self.status_at = Some(now);
                }
                Done::LetGo => self.held = false,
                Done::Trouble(text) => {
                    again = true;
                    trouble.get_or_insert(text);
                }
                Done::Again => again = true,
                Done::NamespaceEnds => (self.ending, again) = (true, true),
                Done::Later => {
                    let at = Timestamp(now.0.saturating_add(LATER_MILLIS));
                    self.again = Some(self.again.map_or(at, |again| again.min(at)));
                }
            }
        }
        self.dirty |= self.trouble != trouble;
        self.trouble = trouble;
        again
    }

    /// Why nothing can be planned, if so.
    fn stuck(&self, rival: Option<&str>) -> Result<Arc<Wanted>, Stuck> {
        let wanted = match &self.wanted {
            Ok(wanted) => Arc::clone(wanted),
            Err(problems) => return Err(Stuck { reason: "InvalidSpec", text: sentence(problems) }),
        };
        match rival {
            Some(rival) => {
                let text = format!("StaticPod {rival} is about the static pod {} already", wanted.static_pod);
                Err(Stuck { reason: "StaticPodTaken", text })
            }
            None => Ok(wanted),
        }
    }

    /// The ConfigMaps of the revisions.
    fn keep(&self, wanted: &Wanted, cluster: &Cluster<'_>, acts: &mut Acts) {
        let now = cluster.sight.now;
        let in_use = || {
            let mut all = self.view.revisions();
            all.extend(self.status.current_revision.as_deref().map(Revision::from));
            all
        };
        let Keeping { make, renew, forget } =
            keeping(cluster.maps.iter(), wanted.revision(), wanted.history, in_use);
        if make {
            let map = manifest::config_map(&self.namespace, (&self.name, &self.uid), wanted, now);
            acts.make = Some(Box::new(map));
        }
        if let (true, Some(map)) = (renew, cluster.maps.get(wanted.revision())) {
            acts.renew = Some((MapFacts { wanted_at: now, ..map.clone() }, stamp(now)));
        }
        let known = |revision| Some((Revision::clone(revision), cluster.maps.get(revision)?.clone()));
        acts.forget = forget.iter().filter_map(known).collect();
    }

    /// Starts what the plan says, not all of it at once: the next pass goes on, and sees what has changed meanwhile.
    fn start(&mut self, planned: &Plan, wanted: &Arc<Wanted>, cluster: &Cluster<'_>, acts: &mut Acts) {
        for start in planned.start.iter().take(AT_ONCE) {
            let kind = Kind::Work(start.work);
            let mut begun = self.begin(&start.node, kind, start.attempt, wanted, cluster);
            let task = Task {
                name: begun.making(&self.namespace, (&self.name, &self.uid)).name().into(),
                work: start.work,
                revision: wanted.revision().clone(),
                attempt: start.attempt,
                phase: Phase::Waiting,
                removing: false,
            };
            // It counts from now on: whether it is there is known only when it is seen.
            self.started.note(&start.node, task.clone(), None);
            self.view.started(&start.node);
            begun.task = Some(task);
            acts.start.push(begun);
        }
        self.dirty |= planned.start.len() > AT_ONCE;
    }

    /// Asks again what nobody has answered. A start that is made twice finds itself, so that whatever is answered settles it.
    /// Where the task is not wanted any more it is only looked for.
    fn ask_again(&mut self, planned: &Plan, ready: bool, acts: &mut Acts) {
        if self.unanswered.is_empty() {
            return;
        }
        let unwanted: HashSet<&Text> = planned.remove.iter().map(|removal| &removal.task).collect();
        for start in std::mem::take(&mut self.unanswered) {
            let name = start.task.as_ref().map(|task| &task.name);
            match name.filter(|name| self.started.is_uncertain(&start.node, name)) {
                // It was seen, or is not there.
                None => {}
                Some(name) if unwanted.contains(name) => acts.find.push(start),
                Some(_) if ready => acts.start.push(start),
                Some(_) => self.unanswered.push(start),
            }
        }
    }

    fn begin(
        &self,
        node: &Text,
        kind: Kind,
        attempt: u32,
        wanted: &Arc<Wanted>,
        cluster: &Cluster<'_>,
    ) -> Start {
        // What the hub has brought stays known as that, whatever revision it gets.
        let installed =
            cluster.sight.pods.mirror(&wanted.static_pod, node).is_some_and(|mirror| mirror.installed);
        let key = if installed || kind == Kind::Work(Work::Install) { KEY_INSTALLED } else { KEY_MANIFEST };
        let (wanted, program) = (Arc::clone(wanted), Arc::clone(cluster.program));
        let sum = self.sums.get(key).clone();
        Start { node: node.clone(), kind, attempt, key, sum, wanted, program, task: None }
    }

    fn remove(&mut self, planned: &Plan, pods: &Pods, acts: &mut Acts) {
        self.dirty |= planned.remove.len() > AT_ONCE;
        for removal in planned.remove.iter().take(AT_ONCE) {
            let known = pods.tasks(&self.uid, &removal.node).iter().find(|task| task.name == removal.task);
            // One that was started and is not seen yet is removed when it is.
            acts.remove.extend(known.map(|task| removed(&removal.node, task)));
        }
    }

    /// Tasks that were not let are made again after a while: they are taken away, and with them what they say.
    fn take_back(&mut self, pods: &Pods, now: Timestamp, acts: &mut Acts) {
        for (node, task) in pods.all_tasks(&self.uid).filter(|(_, task)| matches!(task.kind, Kind::Work(_))) {
            let Some((_, at)) = task.put_off().filter(|_| !task.removing) else { continue };
            let due = Timestamp(at.0.saturating_add(PUT_OFF_MILLIS));
            if due <= now {
                acts.remove.push(removed(node, task));
            } else {
                self.again = Some(self.again.map_or(due, |again| again.min(due)));
            }
        }
    }

    fn stage(
        &mut self,
        planned: &Plan,
        wanted: &Arc<Wanted>,
        cluster: &Cluster<'_>,
        ready: bool,
        acts: &mut Acts,
    ) -> Failures {
        let pods = cluster.sight.pods;
        let staging = staging(&planned.stage, &self.uid, wanted, pods, cluster.sight.now);
        if let Some(at) = staging.again {
            self.again = Some(self.again.map_or(at, |again| again.min(at)));
        }
        for (node, attempt) in staging.start.iter().filter(|_| ready) {
            acts.start.push(self.begin(node, Kind::Stage, *attempt, wanted, cluster));
        }
        for (node, name) in &staging.remove {
            let known = pods.tasks(&self.uid, node).iter().find(|task| task.name == *name);
            acts.remove.extend(known.map(|task| removed(node, task)));
        }
        for node in staging.note {
            let Some(mirror) = pods.mirror(&wanted.static_pod, &node) else { continue };
            let (name, uid, revision) = (mirror.name.clone(), mirror.uid.clone(), wanted.revision().clone());
            acts.note.push(Note { node, name, uid, revision });
        }
        staging.failed
    }

    fn mark(&self, planned: &Plan, wanted: &Wanted, pods: &Pods, acts: &mut Acts) {
        let told = planned.mark.iter().map(|node| (node, Some(wanted.revision().clone())));
        let untold = planned.unmark.iter().map(|node| (node, None));
        for (node, revision) in told.chain(untold) {
            let Some(mirror) = pods.mirror(&wanted.static_pod, node) else { continue };
            let (name, uid, about) = (mirror.name.clone(), mirror.uid.clone(), wanted.revision().clone());
            acts.mark.push(Mark { node: node.clone(), name, uid, revision, about });
        }
    }

    /// Writes the status if it differs, and not too often.
    fn tell(&mut self, acts: &mut Acts, status: StaticPodStatus, now: Timestamp) {
        if status == self.status {
            return;
        }
        let due = self.status_at.map_or(now, |at| Timestamp(at.0.saturating_add(STATUS_MILLIS)));
        // A clock that was set back keeps nobody waiting.
        if due <= now || due.0 > now.0.saturating_add(STATUS_MILLIS) {
            acts.status = Some(Box::new(status));
        } else {
            self.again = Some(self.again.map_or(due, |again| again.min(due)));
        }
    }
}

fn removed(node: &Text, task: &TaskFacts) -> Remove {
    Remove {
        node: node.clone(),
        name: task.name.clone(),
        uid: task.uid.clone(),
        version: task.version.clone(),
    }
}

#[cfg(test)]
mod tests;
