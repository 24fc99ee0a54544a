//! What a frame knows: pods and employers as they were seen, what is around each pod, and what is to be looked at. No I/O.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use tokio::time::Instant;

use super::decide::{Standing, concerns, has_finalizer};
use super::queue::Queue;
use super::work::Found;
use super::{Employer, services};
use crate::pods::PodName;

/// What is looked at in one go.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Key {
    /// Services that are employers no more, and are still kept by us.
    Left,
    /// An employer, by its name in declarations.
    Employer(String),
    /// A pod of an employer.
    Member(String, PodName),
}

/// A look that is due.
pub(super) enum Job {
    /// The first one at an employer.
    Ask(Arc<Employer>, Option<Arc<Service>>),
    /// The Service may go, or goes on without us.
    LetGo(Arc<Employer>),
    /// Which Services stopped to be employers while nobody looked.
    Left,
    /// At a pod. None: it is not among those that are watched.
    Member(Arc<Employer>, PodName, Option<Arc<Pod>>, Standing),
    /// It has taken care of itself.
    Nothing,
}

/// What is known of an employer.
struct Known {
    employer: Arc<Employer>,
    /// Where it is one.
    service: Option<Arc<Service>>,
    /// Whether it was looked at for the first time.
    asked: bool,
}

pub(super) struct State {
    /// The controller's name, where Services are employers.
    controller: Option<String>,
    employers: BTreeMap<String, Known>,
    /// Their names, by namespace: a pod is looked at for those of its own.
    employers_of: HashMap<String, BTreeSet<String>>,
    pods: BTreeMap<PodName, Arc<Pod>>,
    /// By the employer's name, and then by pod.
    standings: BTreeMap<(String, PodName), Standing>,
    pub(super) queue: Queue<Key>,
    /// What a list that is being read has had so far. None: there is none, and everything is known.
    pods_listed: Option<BTreeMap<PodName, Arc<Pod>>>,
    services_listed: Option<BTreeMap<String, Arc<Service>>>,
    /// Whether everything has been known once: before that it is not known what is gone.
    complete: (bool, bool),
}

// === impl State ===

impl State {
    pub(super) fn new(
        fixed: impl IntoIterator<Item = Employer>,
        controller: Option<String>,
        backoff: (Duration, Duration),
    ) -> Self {
        let complete = (false, controller.is_none());
        let mut state = Self {
            controller,
            employers: BTreeMap::new(),
            employers_of: HashMap::new(),
            pods: BTreeMap::new(),
            standings: BTreeMap::new(),
            queue: Queue::new(backoff.0, backoff.1),
            pods_listed: None,
            services_listed: None,
            complete,
        };
        if state.controller.is_some() {
            state.queue.add(Key::Left);
        }
        for employer in fixed {
            let known = Known { employer: Arc::new(employer), service: None, asked: false };
            state.meet(known);
        }
        state
    }

    /// The next look, once everything is known that there is.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Key, Job)> {
        if self.complete != (true, true) {
            return None;
        }
        let key = self.queue.take(now)?;
        let job = self.job(&key);
        if let (Key::Member(employer, name), Job::Member(..)) = (&key, &job) {
            // From here on it may be on, whatever was known before: an employer that leaves meanwhile waits for it.
            let standing = self.standings.entry((employer.clone(), name.clone())).or_default();
            if matches!(standing, Standing::Off) {
                *standing = Standing::Unknown;
            }
        }
        Some((key, job))
    }

    fn job(&self, key: &Key) -> Job {
        match key {
            Key::Left => Job::Left,
            Key::Employer(name) => match self.employers.get(name) {
                Some(known) if !known.asked || self.is_unkept(known) => {
                    Job::Ask(Arc::clone(&known.employer), known.service.clone())
                }
                Some(known) if known.employer.is_leaving() && !self.is_employing(&known.employer) => {
                    Job::LetGo(Arc::clone(&known.employer))
                }
                _ => Job::Nothing,
            },
            Key::Member(employer, name) => match self.employers.get(employer) {
                Some(known) => {
                    let standing = self.standings.get(&(employer.clone(), name.clone()));
                    Job::Member(
                        Arc::clone(&known.employer),
                        name.clone(),
                        self.pods.get(name).cloned(),
                        standing.cloned().unwrap_or_default(),
                    )
                }
                None => Job::Nothing,
            },
        }
    }

    /// An employer has been asked what is on for it.
    pub(super) fn asked(&mut self, employer: &str, found: Found) {
        let Some(known) = self.employers.get_mut(employer) else { return };
        known.asked = true;
        for member in found.members {
            let name = PodName { namespace: member.namespace.clone(), name: member.name.clone() };
            let standing = self.standings.entry((employer.to_owned(), name.clone())).or_default();
            if matches!(standing, Standing::Unknown) {
                *standing = Standing::Perhaps(member);
            }
            self.queue.add(Key::Member(employer.to_owned(), name));
        }
        for name in found.strays {
            self.standings.entry((employer.to_owned(), name.clone())).or_default();
            self.queue.add(Key::Member(employer.to_owned(), name));
        }
        self.look_at_all(employer);
    }

    /// Services that are employers no more and carry our finalizer: their pods may as well.
    pub(super) fn left(&mut self, services: Vec<Employer>) {
        for employer in services {
            // One that is known has changed since it was listed, or is leaving as it is.
            if !self.employers.contains_key(&employer.to_string()) {
                self.meet(Known { employer: Arc::new(employer), service: None, asked: false });
            }
        }
    }

    /// A pod has been looked at.
    pub(super) fn stands(&mut self, employer: &str, name: &PodName, standing: Standing) {
        let key = (employer.to_owned(), name.clone());
        let concerned = self
            .employers
            .get(employer)
            .is_some_and(|known| self.pods.get(name).is_some_and(|pod| concerns(pod, &known.employer)));
        if matches!(standing, Standing::Off) && !concerned {
            self.standings.remove(&key);
        } else {
            self.standings.insert(key, standing);
        }
        if self.employers.get(employer).is_some_and(|known| known.employer.is_leaving()) {
            // Looked at after this look has ended: what is being looked at may be on.
            self.queue.add(Key::Employer(employer.to_owned()));
        }
    }

    pub(super) fn pod_event(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.pods_listed = Some(BTreeMap::new()),
            Event::InitApply(pod) => {
                let pod = slim(pod);
                self.pods_listed.get_or_insert_default().insert(PodName::of(&pod), pod);
            }
            Event::InitDone => {
                let listed = self.pods_listed.take().unwrap_or_default();
                let before = std::mem::replace(&mut self.pods, listed);
                let names: BTreeSet<PodName> = before.into_keys().chain(self.pods.keys().cloned()).collect();
                self.complete.0 = true;
                names.iter().for_each(|name| self.look_at(name));
            }
            Event::Apply(pod) => {
                let pod = slim(pod);
                let name = PodName::of(&pod);
                self.pods.insert(name.clone(), pod);
                self.look_at(&name);
            }
            Event::Delete(pod) => {
                let name = PodName::of(&pod);
                // The last state counts: what it carries tells whom it concerns.
                self.pods.insert(name.clone(), slim(pod));
                self.look_at(&name);
                self.pods.remove(&name);
            }
        }
    }

    pub(super) fn service_event(&mut self, event: Event<Service>) {
        match event {
            Event::Init => self.services_listed = Some(BTreeMap::new()),
            Event::InitApply(service) => {
                if let Some(employer) = self.employer_of(&service) {
                    let listed = self.services_listed.get_or_insert_default();
                    listed.insert(employer.to_string(), Arc::new(service));
                }
            }
            Event::InitDone => {
                let listed = self.services_listed.take().unwrap_or_default();
                let gone: Vec<Arc<Service>> = self
                    .employers
                    .iter()
                    .filter(|(name, _)| !listed.contains_key(*name))
                    .filter_map(|(_, known)| known.service.clone())
                    .collect();
                gone.iter().for_each(|service| self.leave(service));
                listed.into_values().for_each(|service| self.meet_service(service));
                self.complete.1 = true;
            }
            Event::Apply(service) => self.meet_service(Arc::new(service)),
            Event::Delete(service) => self.leave(&service),
        }
    }

    /// Whether it is a Service that could go without us.
    fn is_unkept(&self, known: &Known) -> bool {
        let (Some(service), Some(controller)) = (&known.service, &self.controller) else { return false };
        !known.employer.is_leaving() && !service.finalizers().contains(&services::finalizer(controller))
    }

    fn employer_of(&self, service: &Service) -> Option<Employer> {
        self.controller.as_deref().map(|controller| Employer::of_service(controller, service))
    }

    fn meet_service(&mut self, service: Arc<Service>) {
        let (Some(employer), Some(controller)) = (self.employer_of(&service), &self.controller) else {
            return;
        };
        let ours = services::finalizer(controller);
        if employer.is_leaving() && !service.finalizers().contains(&ours) {
            // It goes without us: nothing was ever on for it, or all of it is off.
            return self.leave(&service);
        }
        self.meet(Known { employer: Arc::new(employer), service: Some(service), asked: false });
    }

    /// A Service is gone, or is no employer any more. What is on for it goes off; then it is seen whether it is still kept by us.
    fn leave(&mut self, service: &Service) {
        let Some(mut employer) = self.employer_of(service) else { return };
        employer.leave();
        let name = employer.to_string();
        if let Some(known) = self.employers.get_mut(&name) {
            known.employer = Arc::new(employer);
            known.service = None;
            self.look_at_all(&name);
        }
    }

    fn meet(&mut self, mut known: Known) {
        let name = known.employer.to_string();
        if let Some(before) = self.employers.get(&name) {
            known.asked = before.asked;
        }
        let asked = known.asked;
        let namespace = known.employer.namespace().to_owned();
        self.employers_of.entry(namespace).or_default().insert(name.clone());
        self.employers.insert(name.clone(), known);
        self.queue.add(Key::Employer(name.clone()));
        if asked {
            self.look_at_all(&name);
        }
    }

    /// A Service has been let go. It is removed, if it is still so that it is no employer and nothing is on for it.
    pub(super) fn forget(&mut self, employer: &str) {
        let Some(known) = self.employers.get(employer) else { return };
        if known.employer.is_leaving() && known.service.is_none() && !self.is_employing(&known.employer) {
            if let Some(names) = self.employers_of.get_mut(known.employer.namespace()) {
                names.remove(employer);
            }
            self.employers.remove(employer);
            self.standings.retain(|(of, _), _| of != employer);
        }
    }

    /// Whether anything is on, or may be, or says so, or is yet to be looked at.
    fn is_employing(&self, employer: &Employer) -> bool {
        let name = employer.to_string();
        let due = |key: &Key| matches!(key, Key::Member(of, _) if *of == name);
        self.standings_of(&name).any(|(_, standing)| !matches!(standing, Standing::Off))
            || self.pods_of(employer.namespace()).any(|(_, pod)| has_finalizer(pod, employer))
            || self.queue.any(due)
    }

    fn standings_of(&self, employer: &str) -> impl Iterator<Item = (&PodName, &Standing)> {
        let first = (employer.to_owned(), PodName { namespace: String::new(), name: String::new() });
        let of = self.standings.range(first..).take_while(move |((of, _), _)| of == employer);
        of.map(|((_, name), standing)| (name, standing))
    }

    fn pods_of(&self, namespace: &str) -> impl Iterator<Item = (&PodName, &Arc<Pod>)> {
        let first = PodName { namespace: namespace.to_owned(), name: String::new() };
        self.pods.range(first..).take_while(move |(name, _)| name.namespace == namespace)
    }

    /// Looks at a pod for every employer that it concerns.
    fn look_at(&mut self, name: &PodName) {
        let Some(employers) = self.employers_of.get(&name.namespace) else { return };
        for employer in employers {
            let Some(known) = self.employers.get(employer).filter(|known| known.asked) else {
                // Everything is looked at once it was asked.
                continue;
            };
            let key = (employer.clone(), name.clone());
            let concerned = self.pods.get(name).is_some_and(|pod| concerns(pod, &known.employer));
            if concerned || self.standings.contains_key(&key) {
                self.queue.add(Key::Member(key.0, key.1));
            }
        }
    }

    /// Looks at every pod that concerns an employer.
    fn look_at_all(&mut self, employer: &str) {
        let Some(known) = self.employers.get(employer) else { return };
        let concerned =
            self.pods_of(known.employer.namespace()).filter(|(_, pod)| concerns(pod, &known.employer));
        let stands = self.standings_of(employer).map(|(name, _)| name);
        let names: BTreeSet<PodName> = concerned.map(|(name, _)| name).chain(stands).cloned().collect();
        for name in names {
            self.queue.add(Key::Member(employer.to_owned(), name));
        }
        self.queue.add(Key::Employer(employer.to_owned()));
    }
}

/// A pod without what nobody here reads and everybody would have to keep.
pub(super) fn slim(mut pod: Pod) -> Arc<Pod> {
    pod.metadata.managed_fields = None;
    Arc::new(pod)
}
