//! What the API server is told: when to ask which hook, where, and whom to trust. Kept as it should be, whoever changes it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
    ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::hook::{Entry, Flavour, Hook};
use super::keeper::{Certificate, Certificates};
use crate::backoff::Backoff;

/// The name of both configurations.
pub(crate) const CONFIGURATION: &str = "safepoint";

/// The label that every namespace has, with its own name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Somebody else may want a configuration to look different and be as stubborn as we are: what comes back within a minute is
/// mended later and later.
const QUIET: Duration = Duration::from_secs(60);

/// How the API server reaches the hub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Endpoint {
    /// By this URL, to which the path of a hook is added.
    Url(String),
    /// By a Service.
    Service { namespace: String, name: String, port: u16 },
}

/// The registration as a module.
pub(crate) struct Registration {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    /// The hub's own namespace, which no hook is asked about.
    pub(crate) namespace: String,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) certificates: Certificates,
    pub(crate) after: Vec<&'static str>,
}

// === impl Registration ===

impl Registration {
    /// The name of the module.
    pub(crate) const NAME: &str = "registration";

    fn desired(
        &self,
        certificate: &Certificate,
    ) -> (MutatingWebhookConfiguration, ValidatingWebhookConfiguration) {
        let entries = || self.hooks.iter().map(|hook| hook.entry());
        let of = |flavour: Flavour| entries().filter(move |entry| entry.flavour == flavour);
        let metadata = ObjectMeta {
            name: Some(CONFIGURATION.to_owned()),
            labels: Some(BTreeMap::from([(
                "app.kubernetes.io/managed-by".to_owned(),
                "safepoint".to_owned(),
            )])),
            ..ObjectMeta::default()
        };
        let mutating = of(Flavour::Mutating).map(|entry| MutatingWebhook {
            // Another webhook may make the pod what ours looks for.
            reinvocation_policy: Some("IfNeeded".to_owned()),
            ..self.webhook(&entry, certificate)
        });
        let validating = of(Flavour::Validating).map(|entry| validating(self.webhook(&entry, certificate)));
        (
            MutatingWebhookConfiguration {
                metadata: metadata.clone(),
                webhooks: Some(mutating.collect()).filter(|all: &Vec<_>| !all.is_empty()),
            },
            ValidatingWebhookConfiguration {
                metadata,
                webhooks: Some(validating.collect()).filter(|all: &Vec<_>| !all.is_empty()),
            },
        )
    }

    /// Every field is given, also those with a default: only so can it be compared with what the server has.
    fn webhook(&self, entry: &Entry, certificate: &Certificate) -> MutatingWebhook {
        let path = format!("/{}{}", certificate.token, entry.path);
        let (url, service) = match &self.endpoint {
            Endpoint::Url(base) => (Some(format!("{}{path}", base.trim_end_matches('/'))), None),
            Endpoint::Service { namespace, name, port } => {
                let service = ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path),
                    port: Some(i32::from(*port)),
                };
                (None, Some(service))
            }
        };
        let rules = entry.rules.iter().map(|rule| RuleWithOperations {
            api_groups: Some(vec![rule.group.to_owned()]),
            api_versions: Some(vec![rule.version.to_owned()]),
            operations: Some(rule.operations.iter().map(|one| (*one).to_owned()).collect()),
            resources: Some(vec![rule.resource.to_owned()]),
            scope: Some("Namespaced".to_owned()),
        });
        let elsewhere = LabelSelectorRequirement {
            key: NAMESPACE_NAME.to_owned(),
            operator: "NotIn".to_owned(),
            values: Some(vec![self.namespace.clone()]),
        };
        let namespaces =
            LabelSelector { match_expressions: Some(vec![elsewhere]), ..LabelSelector::default() };
        let labels = entry.labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let labels = Some(labels.collect()).filter(|labels: &BTreeMap<String, String>| !labels.is_empty());
        let objects = LabelSelector { match_labels: labels, ..LabelSelector::default() };
        let conditions = entry.condition.map(|(name, expression)| {
            vec![MatchCondition { name: name.to_owned(), expression: expression.to_owned() }]
        });
        MutatingWebhook {
            name: entry.name.to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: WebhookClientConfig {
                ca_bundle: Some(ByteString(certificate.bundle.as_bytes().to_vec())),
                service,
                url,
            },
            failure_policy: Some("Ignore".to_owned()),
            match_conditions: conditions,
            match_policy: Some("Equivalent".to_owned()),
            namespace_selector: Some(namespaces),
            object_selector: Some(objects),
            reinvocation_policy: None,
            rules: Some(rules.collect()),
            side_effects: entry.side_effects.word().to_owned(),
            timeout_seconds: i32::try_from(entry.patience.as_secs()).ok(),
        }
    }
}

impl Module for Registration {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let mut certificates = self.certificates.watch();
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let only = watcher::Config::default().fields(&format!("metadata.name={CONFIGURATION}"));
        // Every event counts, also a list that shows nothing: then somebody has deleted it before it was ever seen.
        let ours = watcher(mutating.clone(), only.clone()).default_backoff();
        let others = watcher(validating.clone(), only).default_backoff();
        let mut changes = std::pin::pin!(futures::stream::select(
            ours.map(|change| change.map(drop)),
            others.map(|change| change.map(drop)),
        ));
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(300));
        let mut last_mended: Option<Instant> = None;
        loop {
            let known = certificates.borrow_and_update().clone();
            let mut again = Duration::MAX;
            if let Some(certificate) = known {
                let (one, other) = self.desired(&certificate);
                let mended = async {
                    Ok::<bool, kube::Error>(put(&mutating, one).await? | put(&validating, other).await?)
                };
                match mended.await {
                    Ok(mended) => {
                        ctx.ready();
                        if last_mended.is_some_and(|last| last.elapsed() >= QUIET) {
                            backoff.reset();
                        }
                        if mended {
                            last_mended = Some(Instant::now());
                            tokio::select! {
                                () = tokio::time::sleep(backoff.next()) => {}
                                () = ctx.cancelled() => return Ok(()),
                            }
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot register the webhooks; it is tried again");
                        again = backoff.next();
                    }
                }
            }
            tokio::select! {
                changed = certificates.changed() => changed.map_err(Fault::transient)?,
                change = changes.next() => match change {
                    Some(Ok(())) => {}
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                () = tokio::time::sleep(again) => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

/// A validating webhook has the fields of a mutating one but for how often it is asked.
fn validating(webhook: MutatingWebhook) -> ValidatingWebhook {
    ValidatingWebhook {
        name: webhook.name,
        admission_review_versions: webhook.admission_review_versions,
        client_config: webhook.client_config,
        failure_policy: webhook.failure_policy,
        match_conditions: webhook.match_conditions,
        match_policy: webhook.match_policy,
        namespace_selector: webhook.namespace_selector,
        object_selector: webhook.object_selector,
        rules: webhook.rules,
        side_effects: webhook.side_effects,
        timeout_seconds: webhook.timeout_seconds,
    }
}

/// What there is of a configuration beside its metadata.
trait Configuration:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + PartialEq
{
    fn same(&self, other: &Self) -> bool;
}

impl Configuration for MutatingWebhookConfiguration {
    fn same(&self, other: &Self) -> bool {
        self.webhooks == other.webhooks
    }
}

impl Configuration for ValidatingWebhookConfiguration {
    fn same(&self, other: &Self) -> bool {
        self.webhooks == other.webhooks
    }
}

/// Makes the configuration what it should be. Whether anything had to be done. A conflict is somebody else's change, which is
/// watched, so it is looked at again.
async fn put<K: Configuration>(api: &Api<K>, mut desired: K) -> Result<bool, kube::Error> {
    let written = match api.get_opt(CONFIGURATION).await? {
        Some(found) if found.same(&desired) => return Ok(false),
        Some(found) => {
            *desired.meta_mut() = found.meta().clone();
            desired.meta_mut().managed_fields = None;
            api.replace(CONFIGURATION, &PostParams::default(), &desired).await
        }
        None => api.create(&PostParams::default(), &desired).await,
    };
    match written {
        Ok(_) => {
            tracing::info!(kind = %K::kind(&()), "registered the webhooks");
            Ok(true)
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(true),
        Err(error) => Err(error),
    }
}
