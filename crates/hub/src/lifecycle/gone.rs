//! Which declarers of finalizers are gone: Services that do not exist any more, or do not select the pod any more.
//!
//! They are asked for only where a declared finalizer is missing, and an answer is good for a few seconds. Nothing is known of
//! declarers of other kinds, and what cannot be asked for is not gone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::Client;
use kube::api::Api;
use safepoint_core::lifecycle::View;
use safepoint_core::{Labels, Text};
use tokio::time::Instant;

/// How long an answer is good.
pub(super) const FRESH: Duration = Duration::from_secs(5);
/// So many answers are kept.
const MOST: usize = 1_000;

/// The selector of a Service; nothing if there is no such Service.
type Selector = Option<BTreeMap<String, String>>;

/// Asks for Services.
pub(super) struct Services {
    client: Client,
    answers: Mutex<HashMap<Text, (Instant, Selector)>>,
}

// === impl Services ===

impl Services {
    pub(super) fn new(client: Client) -> Self {
        Self { client, answers: Mutex::default() }
    }

    /// The Services that have declared a finalizer which is missing, and are gone.
    pub(super) async fn gone(&self, labels: &Labels, view: &View) -> BTreeSet<Text> {
        let mut gone = BTreeSet::new();
        for who in asked(view) {
            match self.selector(&who).await {
                Ok(selector) if selects(selector.as_ref(), labels) => {}
                Ok(_) => drop(gone.insert(who)),
                Err(error) => tracing::debug!(%error, who = &*who, "cannot tell whether a Service is gone"),
            }
        }
        gone
    }

    async fn selector(&self, who: &Text) -> Result<Selector, kube::Error> {
        let now = Instant::now();
        let known = self.answers().get(who).filter(|(at, _)| now.duration_since(*at) < FRESH).cloned();
        if let Some((_, selector)) = known {
            return Ok(selector);
        }
        let mut parts = who.splitn(3, '/').skip(1);
        let (namespace, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let found = services.get_opt(name).await?;
        let selector = found.map(|service| service.spec.and_then(|spec| spec.selector).unwrap_or_default());
        let mut answers = self.answers();
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(who.clone(), (now, selector.clone()));
        Ok(selector)
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, HashMap<Text, (Instant, Selector)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Services that are worth asking for.
pub(super) fn asked(view: &View) -> Vec<Text> {
    let missing = view.missing().map(|(who, _)| who.clone());
    missing.filter(|who| who.starts_with("Service/") && who.split('/').count() == 3).collect()
}

/// A Service without a selector speaks for pods that somebody else chooses.
fn selects(selector: Option<&BTreeMap<String, String>>, labels: &Labels) -> bool {
    let has =
        |(key, value): (&String, &String)| labels.get(key.as_str()).is_some_and(|label| **label == **value);
    selector.is_some_and(|selector| selector.iter().all(has))
}
