//! People, as the cluster knows them by their tokens, and what it lets them do.
//!
//! The cluster is asked with the person's own token. Its answers are kept for a moment, so that a page that is sent again every
//! second does not ask again every second; what is written is judged by the cluster itself, every time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::client::Body;
use kube::{Api, Client};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How long an answer is taken for true. A right that was taken away is seen for so long at most.
const KEPT: Duration = Duration::from_secs(15);
/// So many answers are kept at most.
const MOST: usize = 10_000;
/// So many are asked about at once: whoever sends tokens of nobody does not keep the cluster busy with them.
const AT_ONCE: usize = 32;
/// What the name of an object may have at most.
const LONGEST_NAME: usize = 253;

/// Everybody who may come.
pub(crate) struct People {
    /// The cluster, as nobody.
    door: Client,
    answers: Mutex<HashMap<(Digest, Question), (Instant, Answer)>>,
    turns: Semaphore,
}

/// Somebody whom the cluster knows.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) name: String,
    /// The cluster, as this person.
    pub(crate) client: Client,
    pub(crate) token: Arc<str>,
    people: Arc<People>,
}

/// What a person sees of what was watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sight {
    pub(crate) gates: bool,
    pub(crate) nodes: bool,
    pub(crate) static_pods: bool,
}

/// What can be asked of the cluster about a person.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    Who,
    May { verb: &'static str, group: &'static str, resource: &'static str, namespace: String, name: String },
}

#[derive(Clone)]
enum Answer {
    Name(String),
    May(bool),
}

type Digest = [u8; 32];

// === impl People ===

impl People {
    pub(crate) fn new(door: Client) -> Arc<Self> {
        Arc::new(Self { door, answers: Mutex::default(), turns: Semaphore::new(AT_ONCE) })
    }

    /// The person who has this token.
    ///
    /// # Errors
    ///
    /// What the cluster says; 401 if it knows nobody by it.
    pub(crate) async fn by(self: &Arc<Self>, token: &str) -> Result<Person, kube::Error> {
        let mut person = Person {
            name: String::new(),
            client: client_of(&self.door, token),
            token: token.into(),
            people: Arc::clone(self),
        };
        let key = (digest_of(token), Question::Who);
        person.name = match self.kept(&key) {
            Some(Answer::Name(name)) => name,
            _ => {
                let _turn = self.turns.acquire().await;
                let review = Api::<SelfSubjectReview>::all(person.client.clone())
                    .create(&PostParams::default(), &SelfSubjectReview::default())
                    .await?;
                let user = review.status.and_then(|status| status.user_info);
                let name = user.and_then(|user| user.username).unwrap_or_default();
                self.keep(key, Answer::Name(name.clone()));
                name
            }
        };
        Ok(person)
    }

    fn kept(&self, key: &(Digest, Question)) -> Option<Answer> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(key).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, answer)| answer.clone())
    }

    fn keep(&self, key: (Digest, Question), answer: Answer) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST {
            answers.retain(|_, (at, _)| at.elapsed() < KEPT);
        }
        if answers.len() < MOST {
            answers.insert(key, (Instant::now(), answer));
        }
    }
}

// === impl Person ===

impl Person {
    /// Whether the cluster lets this person do this. Doubt is no.
    pub(crate) async fn may(&self, question: Question) -> bool {
        self.ask(question).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the cluster does not say whether somebody may");
            false
        })
    }

    /// The same for whoever has to know that the cluster does not answer.
    async fn ask(&self, question: Question) -> Result<bool, kube::Error> {
        let Question::May { verb, group, resource, namespace, name } = &question else { return Ok(false) };
        // What is no name is nobody's, and is not remembered.
        if !is_name(namespace) || !is_name(name) {
            return Ok(false);
        }
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let key = (digest_of(&self.token), question.clone());
        if let Some(Answer::May(may)) = self.people.kept(&key) {
            return Ok(may);
        }
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: text(verb),
                    group: text(group),
                    resource: text(resource),
                    namespace: text(namespace),
                    name: text(name),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let asked = Api::all(self.client.clone()).create(&PostParams::default(), &review).await;
        let may = match asked {
            Ok(answer) => answer.status.is_some_and(|status| status.allowed),
            // Not even that may be asked.
            Err(kube::Error::Api(status)) if status.is_forbidden() => false,
            Err(error) => return Err(error),
        };
        self.people.keep(key, Answer::May(may));
        Ok(may)
    }

    /// What this person sees.
    ///
    /// # Errors
    ///
    /// If the cluster does not say: somebody is not told that they may not when nobody knows.
    pub(crate) async fn sight(&self) -> Result<Sight, kube::Error> {
        let list = |group, resource| self.ask(Question::may("list", group, resource, "", ""));
        let (gates, nodes, static_pods) = tokio::try_join!(
            list(safepoint_api::names::safepoint::GROUP, "nodegates"),
            list("", "nodes"),
            list(safepoint_api::names::safepoint::GROUP, "staticpods"),
        )?;
        Ok(Sight { gates, nodes, static_pods })
    }

    /// Whether this person may order a node something.
    pub(crate) async fn may_order(&self, node: &str) -> bool {
        self.may(Question::may("patch", safepoint_api::names::safepoint::GROUP, "nodegates", "", node)).await
    }

    /// Whether this person may steer a static pod.
    pub(crate) async fn may_steer(&self, namespace: &str, name: &str) -> bool {
        let group = safepoint_api::names::safepoint::GROUP;
        self.may(Question::may("patch", group, "staticpods", namespace, name)).await
    }

    /// Whether this person may bring a static pod back to an earlier revision, which replaces the object.
    pub(crate) async fn may_roll_back(&self, namespace: &str, name: &str) -> bool {
        let group = safepoint_api::names::safepoint::GROUP;
        let (update, list) = tokio::join!(
            self.may(Question::may("update", group, "staticpods", namespace, name)),
            self.may(Question::may("list", "", "configmaps", namespace, "")),
        );
        update && list
    }
}

// === impl Question ===

impl Question {
    pub(crate) fn may(
        verb: &'static str,
        group: &'static str,
        resource: &'static str,
        namespace: &str,
        name: &str,
    ) -> Self {
        Self::May { verb, group, resource, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// The cluster as whoever has the token: every call goes through the door of nobody, with the token in its hand.
fn client_of(door: &Client, token: &str) -> Client {
    let door = door.clone();
    let mut bearer = HeaderValue::try_from(format!("Bearer {token}")).ok();
    if let Some(bearer) = &mut bearer {
        bearer.set_sensitive(true);
    }
    let call = move |mut request: Request<Body>| {
        let (door, bearer) = (door.clone(), bearer.clone());
        async move {
            if let Some(bearer) = bearer {
                request.headers_mut().insert(AUTHORIZATION, bearer);
            }
            door.send(request).await
        }
    };
    Client::new(tower::service_fn(call), "default")
}

/// Whether a text can be the name of an object that is asked about; none is one, too.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    text.len() <= LONGEST_NAME && text.bytes().all(is_part)
}

/// Tokens themselves are not kept longer than a request takes.
fn digest_of(token: &str) -> Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}
