//! One look at one thing: steps are decided, done, and decided again, until there is nothing to do or something fails.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use safepoint_api::names::kusionstack::{CONTROL, CONTROL_ON};

use super::decide::{Standing, Step, addresses_of, step};
use super::state::slim;
use super::{BoxError, Cooperation, Employer, Member, services};
use crate::pods::{self, Missed, PodName};

/// More steps than a pod needs that others leave in peace.
const STEPS: usize = 10;
/// So many are listed at a time.
pub(super) const PAGE: u32 = 500;

/// What every look needs.
pub(super) struct Tools<C> {
    pub(super) client: Client,
    pub(super) cooperation: C,
    pub(super) declares: bool,
    /// How long one call of the implementation may take.
    pub(super) patience: Duration,
    /// The controller's name, where Services are employers.
    pub(super) controller: Option<String>,
    /// The only one that is looked at, if there is one.
    pub(super) namespace: Option<String>,
}

/// What a look at an employer finds.
#[derive(Default)]
pub(super) struct Found {
    /// Those for which it says that it is on.
    pub(super) members: Vec<Member>,
    /// Pods that carry its finalizer and do not take part any more.
    pub(super) strays: Vec<PodName>,
}

// === impl Tools ===

impl<C: Cooperation> Tools<C> {
    /// Brings one pod in step, as far as it goes. What is known afterwards is in `standing`, however it ends.
    pub(super) async fn member(
        &self,
        employer: &Employer,
        name: &PodName,
        mut pod: Option<Arc<Pod>>,
        standing: &mut Standing,
    ) -> Result<(), BoxError> {
        // Whether it is as new as all that we have seen of it: what is watched may come later than what was read or written.
        let mut fresh = pod.is_none();
        if pod.is_none() {
            // It has left what is watched. That may be its end, or somebody has taken a label off.
            pod = self.look(name).await?;
        }
        for _ in 0..STEPS {
            let Some(seen) = pod.clone() else {
                return self.gone(employer, name, standing).await;
            };
            let member = Member::of(&seen);
            match step(&seen, member.clone(), employer, self.declares, standing) {
                Step::Rest => return Ok(()),
                // An old pod may be one from before an operation, which is under way now.
                Step::TurnOn if !fresh => {
                    pod = self.look(name).await?;
                    fresh = true;
                }
                Step::TurnOn => {
                    *standing = Standing::Perhaps(member.clone());
                    self.limited("turn_on", self.cooperation.turn_on(employer, &seen)).await?;
                    tracing::info!(pod = %name, employer = %employer, "turned on");
                    *standing = Standing::On(member, addresses_of(&seen));
                }
                Step::TurnOff(leaving) => {
                    let is_this = leaving.uid == seen.metadata.uid;
                    *standing = Standing::Perhaps(leaving.clone());
                    self.limited("turn_off", self.cooperation.turn_off(employer, &leaving)).await?;
                    tracing::info!(pod = %name, employer = %employer, "turned off");
                    *standing = if is_this { Standing::Off } else { Standing::Unknown };
                }
                Step::Write(metadata) => {
                    match pods::write(&self.client, &seen, metadata).await {
                        Ok(written) => pod = Some(slim(written)),
                        Err(Missed::Changed) => pod = self.look(name).await?,
                        Err(Missed::Gone) => pod = None,
                        Err(Missed::Passing(error) | Missed::Refused(error)) => return Err(error.into()),
                    }
                    fresh = true;
                }
            }
        }
        Err("the pod is changed by others all the time".into())
    }

    /// The pod is no more. What was on for it is not to stay.
    async fn gone(
        &self,
        employer: &Employer,
        name: &PodName,
        standing: &mut Standing,
    ) -> Result<(), BoxError> {
        if let Standing::On(member, _) | Standing::Perhaps(member) = &*standing {
            let member = member.clone();
            self.limited("turn_off", self.cooperation.turn_off(employer, &member)).await?;
            tracing::info!(pod = %name, employer = %employer, "turned off, the pod is gone");
        }
        *standing = Standing::Off;
        Ok(())
    }

    /// Looks at an employer for the first time.
    pub(super) async fn employer(
        &self,
        employer: &Employer,
        service: Option<&Service>,
    ) -> Result<Found, BoxError> {
        if let (Some(service), Some(controller)) = (service, &self.controller)
            && !employer.is_leaving()
        {
            services::keep(&self.client, service, &services::finalizer(controller), true)
                .await
                .map_err(told)?;
        }
        let members = self.limited("members", self.cooperation.members(employer)).await?;
        Ok(Found { members, strays: self.strays(employer).await? })
    }

    /// Lets a Service go whose pods are all off.
    pub(super) async fn let_go(&self, employer: &Employer) -> Result<(), BoxError> {
        let Some(controller) = &self.controller else { return Ok(()) };
        services::let_go(&self.client, employer, &services::finalizer(controller)).await.map_err(told)
    }

    /// Services that stopped to be employers while nobody looked.
    pub(super) async fn left(&self) -> Result<Vec<Employer>, BoxError> {
        let Some(controller) = &self.controller else { return Ok(Vec::new()) };
        let finalizer = services::finalizer(controller);
        let left = services::left(&self.client, self.namespace.as_deref(), &finalizer).await?;
        let of =
            |(namespace, name): (String, String)| Employer::of_former_service(controller, &namespace, &name);
        Ok(left.into_iter().map(of).collect())
    }

    /// Pods that stopped to take part while nobody looked, with the finalizer on them: they could never go.
    async fn strays(&self, employer: &Employer) -> Result<Vec<PodName>, BoxError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), employer.namespace());
        let mut asked = ListParams::default().labels(&format!("{CONTROL}!={CONTROL_ON}")).limit(PAGE);
        let mut strays = Vec::new();
        loop {
            let page = pods.list_metadata(&asked).await?;
            let ours = page
                .items
                .iter()
                .filter(|pod| pod.finalizers().iter().any(|finalizer| finalizer == employer.finalizer()));
            strays.extend(
                ours.map(|pod| PodName { namespace: employer.namespace().into(), name: pod.name_any() }),
            );
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => asked = asked.continue_token(&token),
                None => return Ok(strays),
            }
        }
    }

    async fn look(&self, name: &PodName) -> Result<Option<Arc<Pod>>, BoxError> {
        match pods::read(&self.client, name, None).await {
            Ok(pod) => Ok(Some(slim(pod))),
            Err(Missed::Gone) => Ok(None),
            Err(missed) => Err(told(missed)),
        }
    }

    async fn limited<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, BoxError> {
        match tokio::time::timeout(self.patience, call).await {
            Ok(done) => done,
            Err(_) => Err(format!("{what} did not end within {} seconds", self.patience.as_secs()).into()),
        }
    }
}

fn told(missed: Missed) -> BoxError {
    match missed {
        Missed::Changed => "it was changed by somebody else".into(),
        Missed::Gone => "it is gone".into(),
        Missed::Passing(error) | Missed::Refused(error) => error.into(),
    }
}
