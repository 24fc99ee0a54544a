//! The webhooks: what a write of a pod becomes, what is refused, and what comes of a deletion or an eviction.
//!
//! All decisions are core's; here requests become views and changes become patches. Names, codes and texts are KusionStack's.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Client;
use kube::api::{Api, PostParams};
use safepoint_api::names::kusionstack::webhook::{
    INVALID_LABELS_PREFIX, MUTATING_POD, PATH_MUTATING, PATH_VALIDATING, VALIDATING_POD,
};
use safepoint_core::lifecycle::{self, CONTROL, CONTROL_ON, Kind, Lifecycle, Refusal, Writer, check};
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::deletion::Deletions;
use super::features::Features;
use super::known::Known;
use super::patch::operations;
use super::words::nanos;
use crate::clock::Clock;
use crate::source::How;
use crate::webhook::{
    Answer, Denial, Entry, Flavour, Hook, NOTING, PATIENCE, Request, Reviewing, Rule, SideEffects,
};

/// The pods that take part.
const TAKES_PART: &[(&str, &str)] = &[(CONTROL, CONTROL_ON)];
/// A pod that slips through is never gated, or ends in the middle of its service: a busy machine is waited for.
const LONG: Duration = Duration::from_secs(10);
/// The group of all kubelets.
const NODES: &str = "system:nodes";
/// What they write is not asked about.
const NOT_OF_A_NODE: (&str, &str) =
    ("not-of-a-node", "!request.userInfo.groups.exists(group, group == 'system:nodes')");
/// Evictions do not carry the labels of their pod, so they are asked about by a webhook of their own.
const EVICTIONS: &str = "validating-eviction.apps.kusionstack.io";

/// Who the hub is to the API server: its own writes may grant what nobody else's may.
pub(crate) struct Own {
    client: Client,
    name: OnceCell<String>,
}

/// The mutating webhook: the machine's steps.
pub(crate) struct Admit {
    pub(crate) own: Arc<Own>,
    pub(crate) clock: Clock,
}

/// The validating webhook: labels that contradict each other, and deletions where that is switched on.
pub(crate) struct Check {
    pub(crate) features: Features,
    pub(crate) deletions: Arc<Deletions>,
}

/// The validating webhook for evictions.
pub(crate) struct Evict {
    pub(crate) deletions: Arc<Deletions>,
}

// === impl Own ===

impl Own {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, name: OnceCell::new() }
    }

    /// Whose a write is. While nobody can tell who the hub is, nobody is trusted: what the hub itself grants then is taken back, and
    /// granted again later.
    async fn writer(&self, user: &str) -> Writer {
        let asked = self.name.get_or_try_init(|| async {
            let api: Api<SelfSubjectReview> = Api::all(self.client.clone());
            let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
            let name = review.status.and_then(|status| status.user_info?.username);
            let nameless = || kube::Error::Service("the API server does not say who asks".into());
            name.filter(|name| !name.is_empty()).ok_or_else(nameless)
        });
        match asked.await {
            Ok(name) if name == user => Writer::Lifecycle,
            Ok(_) => Writer::Other,
            Err(error) => {
                tracing::warn!(%error, "cannot tell who this hub is to the API server; no grant stands until it can");
                Writer::Other
            }
        }
    }
}

// === impl Admit ===

impl Hook for Admit {
    fn entry(&self) -> Entry {
        Entry {
            name: MUTATING_POD,
            path: PATH_MUTATING,
            flavour: Flavour::Mutating,
            rules: vec![
                Rule::core("pods", &["CREATE", "UPDATE"]),
                Rule::core("pods/status", &["CREATE", "UPDATE"]),
            ],
            labels: TAKES_PART,
            condition: Some(NOT_OF_A_NODE),
            side_effects: SideEffects::None,
            patience: LONG,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(self.admit(request))
    }
}

impl Admit {
    async fn admit(&self, request: &Request) -> Answer {
        let Some(known) = Known::read(&request.object) else { return Answer::Allow };
        // An API server that does not know conditions asks all the same.
        let of_a_node = request.user_info.groups.iter().any(|group| group == NODES);
        if request.dry_run || of_a_node {
            return Answer::Allow;
        }
        let old = Known::read(&request.old_object).map(|old| old.view());
        let kind = match (&*request.operation, &*request.sub_resource) {
            ("CREATE", _) => Kind::Create,
            (_, "status") => Kind::Status,
            _ => Kind::Update,
        };
        let writer = self.own.writer(&request.user_info.username).await;
        let asked = lifecycle::Request { kind, writer, dry_run: false };
        let view = known.view();
        match Lifecycle::default().admit(&view, old.as_ref(), asked, nanos(self.clock.now())) {
            Ok(changes) => match operations(&request.object, &known, &view, &changes) {
                none if none.is_empty() => Answer::Allow,
                operations => Answer::Patch(operations),
            },
            Err(refusal) => refused(request, &refusal),
        }
    }
}

// === impl Check ===

impl Hook for Check {
    fn entry(&self) -> Entry {
        let operations: &[&str] =
            if self.features.grace_delete { &["CREATE", "UPDATE", "DELETE"] } else { &["CREATE", "UPDATE"] };
        Entry {
            name: VALIDATING_POD,
            path: PATH_VALIDATING,
            flavour: Flavour::Validating,
            rules: vec![Rule::core("pods", operations)],
            labels: TAKES_PART,
            condition: None,
            side_effects: SideEffects::NoneOnDryRun,
            patience: LONG,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move {
            if request.operation == "DELETE" {
                let (dry_run, deadline) = (request.dry_run, Instant::now() + NOTING);
                return self
                    .deletions
                    .ask(request, How::Delete, &request.old_object, dry_run, deadline)
                    .await;
            }
            let Some(view) = Known::read(&request.object).map(|known| known.view()) else {
                return Answer::Allow;
            };
            let old = Known::read(&request.old_object).map(|old| old.view());
            match check(&view, old.as_ref()) {
                Ok(()) => Answer::Allow,
                Err(refusal) => refused(request, &refusal),
            }
        })
    }
}

// === impl Evict ===

impl Hook for Evict {
    fn entry(&self) -> Entry {
        Entry {
            name: EVICTIONS,
            path: "/validating-eviction",
            flavour: Flavour::Validating,
            rules: vec![Rule::core("pods/eviction", &["CREATE"])],
            labels: &[],
            condition: None,
            side_effects: SideEffects::NoneOnDryRun,
            patience: PATIENCE,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move {
            let deadline = Instant::now() + NOTING;
            let inside = &request.object["deleteOptions"]["dryRun"];
            let dry_run = request.dry_run || inside.as_array().is_some_and(|all| !all.is_empty());
            match self.deletions.fetch(&request.namespace, &request.name).await {
                Ok(Some(pod)) => self.deletions.ask(request, How::Eviction, &pod, dry_run, deadline).await,
                Ok(None) => Answer::Allow,
                Err(error) => {
                    tracing::warn!(%error, "cannot look at a pod that is evicted; its eviction passes");
                    Answer::Warn("Safepoint could not tell whether this pod has a lifecycle".to_owned())
                }
            }
        })
    }
}

fn refused(request: &Request, refusal: &Refusal) -> Answer {
    Answer::Deny(Box::new(Denial {
        code: 403,
        reason: "Forbidden",
        message: format!("{INVALID_LABELS_PREFIX}{refusal}"),
        details: json!({"kind": "pods", "name": request.name}),
    }))
}

#[cfg(test)]
mod tests {
    use http::Response;
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    /// A hub to which the API server answers this when it asks who it is.
    fn own(code: u16, answer: &'static str) -> Own {
        let service = service_fn(move |_| async move {
            let answer = Response::builder().status(code).body(Body::from(answer.as_bytes().to_vec()));
            Ok::<_, std::convert::Infallible>(answer.unwrap())
        });
        Own::new(Client::new(service, "default"))
    }

    #[tokio::test]
    async fn a_hub_knows_its_own_writes_and_trusts_nobody_while_it_does_not_know_who_it_is() {
        let known = own(
            201,
            r#"{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {},
                "status": {"userInfo": {"username": "hub"}}}"#,
        );
        assert_eq!(known.writer("hub").await, Writer::Lifecycle);
        assert_eq!(known.writer("jane").await, Writer::Other);
        let nameless =
            r#"{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}"#;
        for (code, answer) in [(201, nameless), (500, "{}"), (404, "{}")] {
            assert_eq!(own(code, answer).writer("jane").await, Writer::Other, "{code}");
            assert_eq!(own(code, answer).writer("").await, Writer::Other, "{code}");
        }
    }
}
