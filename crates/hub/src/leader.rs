//! Which of several hubs does what only one may do.
//!
//! Webhooks are answered by every replica; what writes to the cluster by itself is done by the one that has the Lease.
//! [`Election`] keeps or seeks it, [`Led`] lets a module run only while it is there. Two replicas may both believe to lead
//! for a moment, where a machine slept: every write is therefore safe to be done twice.

mod claim;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::clock::Clock;
use crate::webhook::ensure_namespace;
use claim::{Claim, Sight};

/// The name of the Lease.
const LEASE: &str = "safepoint-hub";
/// A Lease that was not renewed for so long is free.
const LENGTH: Duration = Duration::from_secs(15);
/// Whoever could not renew for so long no longer leads: before others may take it.
const RENEWED_WITHIN: Duration = Duration::from_secs(10);
/// How often it is renewed, or looked at.
const EVERY: Duration = Duration::from_secs(2);

/// Whether this process leads. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Leadership(Arc<watch::Sender<bool>>);

/// The election as a module.
pub(crate) struct Election {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Who we are. No two replicas have the same name.
    pub(crate) name: String,
    pub(crate) clock: Clock,
    pub(crate) leadership: Leadership,
    pub(crate) after: Vec<&'static str>,
}

/// A module that runs only while this process leads.
pub(crate) struct Led<M> {
    pub(crate) module: M,
    pub(crate) leadership: Leadership,
}

// === impl Leadership ===

impl Leadership {
    /// Of a process that has nobody beside it.
    pub(crate) fn alone() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }

    /// Of a process that has to be elected.
    pub(crate) fn sought() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn leads(&self) -> bool {
        *self.0.borrow()
    }

    fn set(&self, leads: bool) {
        let changed = self.0.send_if_modified(|led| std::mem::replace(led, leads) != leads);
        if changed {
            tracing::info!(leads, "the leadership has changed");
        }
    }
}

// === impl Led ===

impl<M: Module> Module for Led<M> {
    fn spec(&self) -> Spec {
        self.module.spec()
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut leads, mut lost) = (self.leadership.0.subscribe(), self.leadership.0.subscribe());
        if !self.leadership.leads() {
            ctx.waiting_for("leadership");
            tokio::select! {
                led = leads.wait_for(|leads| *leads) => drop(led.map_err(Fault::transient)?),
                () = ctx.cancelled() => return Ok(()),
            }
            ctx.starting();
        }
        tokio::select! {
            ended = self.module.run(ctx) => ended,
            _ = lost.wait_for(|leads| !*leads) => Err(Fault::dependency("leadership", "another hub leads")),
        }
    }
}

// === impl Election ===

impl Module for Election {
    fn spec(&self) -> Spec {
        Spec::new("leader").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        // Whoever is restarted has to renew before it leads again.
        let guard = Resigned(&self.leadership);
        let mut sight = Sight::default();
        let mut renewed: Option<Instant> = None;
        ctx.ready();
        loop {
            let deadline =
                renewed.map_or(RENEWED_WITHIN, |renewed| RENEWED_WITHIN.saturating_sub(renewed.elapsed()));
            match timeout(deadline, self.seek(&leases, &mut sight)).await {
                Ok(Ok(true)) => {
                    renewed = Some(Instant::now());
                    self.leadership.set(true);
                }
                Ok(Ok(false)) => {
                    renewed = None;
                    self.leadership.set(false);
                }
                // Not knowing is not losing, for a while.
                Ok(Err(error)) => tracing::warn!(%error, "cannot renew or take the lease"),
                Err(_) => tracing::warn!("the lease could not be renewed in time"),
            }
            if renewed.is_none_or(|renewed| renewed.elapsed() >= RENEWED_WITHIN) {
                renewed = None;
                self.leadership.set(false);
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = ctx.cancelled() => break,
            }
        }
        drop(guard);
        if renewed.is_some() {
            self.give_up(&leases).await;
        }
        Ok(())
    }
}

impl Election {
    /// Renews or takes the Lease, if it is ours or free. Whether it is ours now.
    async fn seek(&self, leases: &Api<Lease>, sight: &mut Sight) -> Result<bool, kube::Error> {
        let found = leases.get_opt(LEASE).await?;
        let spec = found.as_ref().and_then(|lease| lease.spec.as_ref());
        let claim = sight.look(spec, &self.name, Instant::now());
        let now = MicroTime(self.clock.now());
        let transitions = spec.and_then(|spec| spec.lease_transitions).unwrap_or_default();
        let acquired = spec.and_then(|spec| spec.acquire_time.clone());
        let (acquire_time, lease_transitions) = match claim {
            Claim::Wait => return Ok(false),
            Claim::Renew => (acquired.unwrap_or_else(|| now.clone()), transitions),
            Claim::Take if found.is_none() => (now.clone(), 0),
            Claim::Take => (now.clone(), transitions.saturating_add(1)),
        };
        let spec = LeaseSpec {
            holder_identity: Some(self.name.clone()),
            lease_duration_seconds: i32::try_from(LENGTH.as_secs()).ok(),
            acquire_time: Some(acquire_time),
            renew_time: Some(now),
            lease_transitions: Some(lease_transitions),
            ..LeaseSpec::default()
        };
        let metadata = ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() };
        let written = match found {
            Some(found) => {
                let lease = Lease { spec: Some(spec), ..found };
                leases.replace(LEASE, &PostParams::default(), &lease).await
            }
            None => leases.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await,
        };
        match written {
            Ok(_) => Ok(true),
            // Somebody was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                if let Err(fault) = ensure_namespace(&self.client, &self.namespace).await {
                    tracing::warn!(
                        ?fault,
                        namespace = self.namespace,
                        "the namespace of the hub is not there"
                    );
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Lets the next one take it at once.
    async fn give_up(&self, leases: &Api<Lease>) {
        let given = async {
            let Some(mut lease) = leases.get_opt(LEASE).await? else { return Ok(()) };
            let Some(spec) = lease.spec.as_mut() else { return Ok(()) };
            if spec.holder_identity.as_deref() != Some(&self.name) {
                return Ok(());
            }
            spec.holder_identity = Some(String::new());
            leases.replace(LEASE, &PostParams::default(), &lease).await.map(drop)
        };
        let given: Result<Result<(), kube::Error>, _> = timeout(Duration::from_secs(1), given).await;
        if !matches!(given, Ok(Ok(()))) {
            tracing::debug!("the lease could not be given up; it ends by itself");
        }
    }
}

/// Ends the leadership with the module, however it ends.
struct Resigned<'a>(&'a Leadership);

impl Drop for Resigned<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
