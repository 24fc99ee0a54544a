//! The frame: watches, calls, and calls again. Everything runs inside of [`Frame::run`]; when that is dropped, nothing goes on.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::future::Either;
use futures::stream::{self, FuturesUnordered};
use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::Api;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource};
use safepoint_api::names::kusionstack::{CONTROL, CONTROL_ON};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::decide::Standing;
use super::employer::SERVICE;
use super::state::{Job, Key, State};
use super::work::{Found, Tools};
use super::{BoxError, Cooperation, Employer, Error};

/// Runs a [`Cooperation`]. See the [module](super) for what it does.
///
/// It needs to `get`, `list`, `watch` and `patch` pods, and Services where those are employers. Run one of it at a time: two would
/// switch against each other.
#[must_use = "a frame does nothing before it is run"]
pub struct Frame<C> {
    client: Client,
    cooperation: C,
    employers: Vec<Employer>,
    controller: Option<String>,
    namespace: Option<String>,
    concurrency: usize,
    backoff: (Duration, Duration),
    patience: Duration,
    declares: bool,
}

/// What came of a look.
enum Done {
    Asked(Result<Found, BoxError>),
    Stands(Standing, Result<(), BoxError>),
    LetGo(Result<(), BoxError>),
    Left(Result<Vec<Employer>, BoxError>),
    Nothing,
}

// === impl Frame ===

impl<C: Cooperation> Frame<C> {
    /// A frame for this implementation. It needs an [employer](Self::employer), or [Services](Self::services).
    pub fn new(client: Client, cooperation: C) -> Self {
        Self {
            client,
            cooperation,
            employers: Vec::new(),
            controller: None,
            namespace: None,
            concurrency: 5,
            backoff: (Duration::from_millis(200), Duration::from_secs(60)),
            patience: Duration::from_secs(60),
            declares: true,
        }
    }

    /// Adds an employer that is there for as long as the frame runs. Its kind is not `Service`: for those there is
    /// [`Frame::services`], and declarations in the name of a Service go when it does not exist.
    pub fn employer(mut self, employer: Employer) -> Self {
        self.employers.push(employer);
        self
    }

    /// Makes every Service with the label `kusionstack.io/control=true` an employer of the pods that it selects. The controller's
    /// name is part of the finalizers.
    ///
    /// ```no_run
    /// # use safepoint_sdk::cooperation::{Cooperation, Error, Frame};
    /// # async fn run(client: kube::Client, balancer: impl Cooperation) -> Result<(), Error> {
    /// let stop = async { drop(tokio::signal::ctrl_c().await) };
    /// Frame::new(client, balancer).services("balancer").namespace("shop").concurrency(8).run(stop).await
    /// # }
    /// ```
    pub fn services(mut self, controller: impl Into<String>) -> Self {
        self.controller = Some(controller.into());
        self
    }

    /// Looks at one namespace only, in which all employers have to be. Otherwise at all of them.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// For how many pods calls may run at the same time: 5 if nothing is said.
    pub const fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = if calls == 0 { 1 } else { calls };
        self
    }

    /// How long is waited after a call that failed, and at most, when it fails again and again: 200 ms and a minute if nothing
    /// is said. A pod that changes is looked at without waiting.
    pub const fn backoff(mut self, first: Duration, most: Duration) -> Self {
        self.backoff = (first, most);
        self
    }

    /// How long a call may take before it counts as failed: a minute if nothing is said.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Does not declare the finalizers on pods. **An operation that begins before the finalizer has come does not wait for it
    /// then**: only for where declarations are made otherwise.
    pub const fn undeclared(mut self) -> Self {
        self.declares = false;
        self
    }

    /// Runs until `stop` is ready, and returns at once then; what was being switched is looked at again by the next run. What goes
    /// wrong on the way is told in the log and tried again.
    ///
    /// # Errors
    ///
    /// When what it was told cannot work.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        self.check()?;
        let state = State::new(self.employers, self.controller.clone(), self.backoff);
        let pods = watched::<Pod>(&self.client, self.namespace.as_deref());
        let services = match self.controller {
            Some(_) => Either::Left(watched::<Service>(&self.client, self.namespace.as_deref())),
            None => Either::Right(stream::pending()),
        };
        let tools = Tools {
            client: self.client,
            cooperation: self.cooperation,
            declares: self.declares,
            patience: self.patience,
            controller: self.controller,
            namespace: self.namespace,
        };
        tokio::select! {
            () = stop => {}
            () = go(tools, state, self.concurrency, pods, services) => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        if self.employers.is_empty() && self.controller.is_none() {
            return Err(Error::NoEmployer);
        }
        if let Some(namespace) = &self.namespace
            && let Some(outside) = self.employers.iter().find(|employer| employer.namespace() != namespace)
        {
            return Err(Error::Namespace { employer: outside.to_string(), namespace: namespace.clone() });
        }
        if let Some(service) = self.employers.iter().find(|employer| employer.kind() == SERVICE) {
            return Err(Error::Service { employer: service.to_string() });
        }
        let of_services = self.controller.as_deref().map(|name| Employer::new(name, SERVICE, "", ""));
        let mut seen: BTreeMap<String, &Employer> = BTreeMap::new();
        for employer in self.employers.iter().chain(&of_services) {
            employer.check()?;
            for word in [employer.to_string(), employer.finalizer().to_owned()] {
                if let Some(other) = seen.insert(word, employer) {
                    return Err(Error::Twice { one: other.to_string(), other: employer.to_string() });
                }
            }
        }
        Ok(())
    }
}

/// The loop. It does not end.
async fn go<C: Cooperation>(
    tools: Tools<C>,
    mut state: State,
    concurrency: usize,
    pods: impl Stream<Item = Event<Pod>>,
    services: impl Stream<Item = Event<Service>>,
) {
    let tools = &tools;
    let mut pods = pin!(pods);
    let mut services = pin!(services);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < concurrency
            && let Some((key, job)) = state.next(Instant::now())
        {
            running.push(async move { (key, look(tools, job).await) });
        }
        let due = state.queue.due().filter(|_| running.len() < concurrency);
        let due = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(event) = pods.next() => state.pod_event(event),
            Some(event) = services.next() => state.service_event(event),
            () = due => {}
            Some((key, done)) = running.next() => settle(&mut state, key, done),
        }
    }
}

async fn look<C: Cooperation>(tools: &Tools<C>, job: Job) -> Done {
    match job {
        Job::Ask(employer, service) => Done::Asked(tools.employer(&employer, service.as_deref()).await),
        Job::LetGo(employer) => Done::LetGo(tools.let_go(&employer).await),
        Job::Left => Done::Left(tools.left().await),
        Job::Member(employer, name, pod, mut standing) => {
            let done = tools.member(&employer, &name, pod, &mut standing).await;
            Done::Stands(standing, done)
        }
        Job::Nothing => Done::Nothing,
    }
}

fn settle(state: &mut State, key: Key, done: Done) {
    let problem = match (&key, done) {
        (Key::Employer(employer), Done::Asked(Ok(found))) => {
            state.asked(employer, found);
            None
        }
        (Key::Member(employer, pod), Done::Stands(standing, done)) => {
            state.stands(employer, pod, standing);
            done.err()
        }
        (Key::Employer(employer), Done::LetGo(Ok(()))) => {
            state.forget(employer);
            None
        }
        (Key::Left, Done::Left(Ok(services))) => {
            state.left(services);
            None
        }
        (_, Done::Asked(Err(problem)) | Done::LetGo(Err(problem)) | Done::Left(Err(problem))) => {
            Some(problem)
        }
        (
            _,
            Done::Asked(Ok(_)) | Done::Stands(..) | Done::LetGo(Ok(())) | Done::Left(Ok(_)) | Done::Nothing,
        ) => None,
    };
    let told = match &key {
        Key::Left => "Services without the label".to_owned(),
        Key::Employer(employer) => employer.clone(),
        Key::Member(employer, pod) => format!("pod {pod} for {employer}"),
    };
    let wait = state.queue.done(key, problem.is_none(), Instant::now());
    if let Some(problem) = problem {
        let wait = wait.unwrap_or_default().as_secs_f32();
        tracing::warn!(error = %problem, "cannot bring {told} in step, trying again in {wait} s");
    }
}

/// What takes part of a kind, as it changes.
fn watched<K>(client: &Client, namespace: Option<&str>) -> impl Stream<Item = Event<K>> + use<K>
where
    K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    K::DynamicType: Default,
{
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let taking_part = Config::default().labels(&format!("{CONTROL}={CONTROL_ON}"));
    watcher(api, taking_part).default_backoff().filter_map(|event| async {
        event
            .inspect_err(|error| tracing::warn!(error = %error, "cannot watch {}, trying again", K::plural(&K::DynamicType::default())))
            .ok()
    })
}

impl<C> std::fmt::Debug for Frame<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("employers", &self.employers).finish_non_exhaustive()
    }
}
