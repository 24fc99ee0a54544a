//! What a request does. [`answer`] is the way in; each verb has a file.

mod collection;
mod create;
mod delete;
mod list;
mod metadata;
mod pages;
mod patch;
mod reviews;
mod scale;
pub(crate) mod select;
mod shape;
mod subs;
mod update;
mod watch;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::response::Response;
use http::header::ACCEPT;
use http::{Method, StatusCode};
use safepoint_machinery::status::{Details, Grouped, Reason, Status};

use crate::api::Api;
use crate::discovery;
use crate::fault;
use crate::http::{Accept, Content, Form, Query, Reply, Target, reply};
use crate::identity::{self, Attributes, Decision, ImpersonationError, User};
use crate::resource::{Resource, Sub};

pub(crate) use create::create_as_server;
pub(crate) use delete::{Deletion, FOREGROUND, ORPHAN, delete_as_server};
pub(crate) use metadata::{of as metadata_of, tidy as tidy_metadata};
pub(crate) use write::change_as_server;

/// Everything that is known about a request when a verb begins.
pub(crate) struct Call {
    pub(crate) api: Api,
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
    pub(crate) sub: Option<Sub>,
    pub(crate) query: Query,
    pub(crate) accept: Accept,
    pub(crate) notes: Notes,
}

/// More warnings than anybody reads, and fewer headers than clients take.
const MOST_NOTES: usize = 64;

/// What the client is told beside the answer. It is there before the answer is known and outlives a refusal.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

/// Answers a request from outside: whoever it is has to show a token.
pub(crate) async fn answer(api: Api, request: Request) -> Response {
    // Load balancers and supervisors ask without a token whether somebody is there.
    if matches!(request.uri().path(), "/healthz" | "/livez" | "/readyz") {
        return health(&api);
    }
    match api.0.identity.authenticate(request.headers(), &api.facts(), api.0.clock.now()) {
        Ok(user) => answer_as(api, user, request).await,
        Err(_) => reply::refuse(&Status::unauthorized("Unauthorized"), Accept::JSON),
    }
}

/// Whether the server can do its work. One that cannot write has to be started again.
pub(crate) fn health(api: &Api) -> Response {
    match api.0.store.failure() {
        None => reply::text(StatusCode::OK, "ok"),
        Some(_) => reply::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the store takes no more writes: start the server again",
        ),
    }
}

/// Answers a request of somebody who is known.
pub(crate) async fn answer_as(api: Api, user: User, request: Request) -> Response {
    let header = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let pretty = Query::parse(request.uri().query().unwrap_or_default()).is_on("pretty");
    let Some(accept) = Accept::parse(header.as_deref()).map(|accept| Accept { pretty, ..accept }) else {
        let why = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml";
        let status = Status::new(406, Reason::NotAcceptable, why).about(Details::default());
        return reply::refuse(&status, Accept::JSON);
    };
    // A refusal is never a table.
    let refusal = Accept { form: Form::Plain, aggregated: false, ..accept };
    let notes = Notes::default();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let work = serve(api, user, request, accept, notes.clone());
    let outcome = if is_read { work.await } else { to_the_end(work).await };
    let mut response = match outcome {
        Ok(response) => response,
        Err(status) => reply::refuse(&status, refusal),
    };
    reply::warn(&mut response, notes.take());
    response
}

/// Finishes a write even if its client goes away: what is durable must also be in force, a webhook for example.
#[expect(clippy::disallowed_methods, reason = "it has to outlive the connection, and ends by itself")]
async fn to_the_end(
    work: impl Future<Output = Result<Response, Status>> + Send + 'static,
) -> Result<Response, Status> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(fault::internal("the request could not be finished; the server's log says why")),
    }
}

async fn serve(
    api: Api,
    user: User,
    request: Request,
    accept: Accept,
    notes: Notes,
) -> Result<Response, Status> {
    let (parts, body) = request.into_parts();
    let user = identity::impersonate(user, &parts.headers).map_err(|why| match why {
        ImpersonationError::Forbidden { .. } => {
            Status::forbidden(Grouped::core("users"), "", &why.to_string())
        }
        _ => fault::bad_request(why.to_string()),
    })?;
    let path = parts.uri.path();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let Some(target) = Target::parse(path) else {
        authorize_path(&api, &user, &parts.method, path)?;
        return discovery::answer(&api, path, accept, &parts.method, &query);
    };
    let Some(resource) = api.0.registry.get().find(&target.group, &target.version, &target.plural) else {
        return Err(unserved(&target));
    };
    let sub = match target.sub.as_deref() {
        None => None,
        Some(name) => {
            let sub = Sub::parse(name).filter(|sub| resource.has(*sub));
            Some(sub.ok_or_else(|| unserved(&target))?)
        }
    };
    if resource.namespaced != target.namespace.is_some() && (target.name.is_some() || !resource.namespaced) {
        return Err(unserved(&target));
    }
    let call = Call {
        api,
        user,
        resource,
        namespace: target.namespace.unwrap_or_default(),
        name: target.name.unwrap_or_default(),
        sub,
        query,
        accept,
        notes,
    };
    call.authorize(&parts.method)?;
    let content = Content::read(&parts.headers, body, &call.api.0.room).await?;
    call.run(&parts.method, content).await
}

/// What is not served here, said so that nobody looks for a mistake of their own.
fn unserved(target: &Target) -> Status {
    let mut what = target.plural.clone();
    if let Some(sub) = &target.sub {
        what = format!("{what}/{sub}");
    }
    if !target.group.is_empty() {
        what = format!("{what}.{}", target.group);
    }
    let message = format!(
        "the server could not find the requested resource: the embedded API does not serve {what} in version {}; a \
         Kubernetes cluster may (`kubectl api-resources` lists what is served here)",
        target.version
    );
    Status::new(404, Reason::NotFound, message).about(Details::default())
}

fn authorize_path(api: &Api, user: &User, method: &Method, path: &str) -> Result<(), Status> {
    let verb = method.as_str().to_lowercase();
    let asked = Attributes { verb: &verb, path, ..Attributes::default() };
    match identity::authorize(user, &asked, &api.facts()) {
        Decision::Allow => Ok(()),
        Decision::Deny(why) => {
            let why = format!("User {:?} cannot {verb} path {path:?}: {why}", user.name);
            Err(Status::forbidden(Grouped::core(""), "", &why))
        }
    }
}

// === impl Notes ===

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl Call ===

impl Call {
    /// Tells the client something beside the answer, once.
    pub(crate) fn note(&self, texts: Vec<String>) {
        let mut notes = self.notes.0.lock().unwrap_or_else(PoisonError::into_inner);
        for text in texts {
            if notes.len() < MOST_NOTES && !notes.contains(&text) {
                notes.push(text);
            }
        }
    }

    /// The verb in the words of authorization.
    fn verb(&self, method: &Method) -> &'static str {
        let single = !self.name.is_empty();
        match *method {
            // With a name it is a read even if it says `watch`, as in Kubernetes.
            Method::GET | Method::HEAD if single => "get",
            Method::GET | Method::HEAD if self.query.is_on("watch") => "watch",
            Method::GET | Method::HEAD => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if single => "delete",
            Method::DELETE => "deletecollection",
            _ => "unknown",
        }
    }

    fn authorize(&self, method: &Method) -> Result<(), Status> {
        let verb = self.verb(method);
        let exact = select::exact_fields(&self.query);
        let exact: Vec<(&str, &str)> =
            exact.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        match identity::authorize(&self.user, &self.asked(verb, &exact), &self.api.facts()) {
            Decision::Allow => Ok(()),
            Decision::Deny(why) => {
                let what = match self.sub {
                    Some(sub) => format!("{}/{}", self.resource.plural, sub.name()),
                    None => self.resource.plural.to_string(),
                };
                let place = if self.namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace \"{}\"", self.namespace)
                };
                let text = format!(
                    "User \"{}\" cannot {verb} resource \"{what}\" in API group \"{}\" {place}: {why}",
                    self.user.name, self.resource.group
                );
                Err(fault::forbidden(&self.resource, &self.name, &text))
            }
        }
    }

    /// The request as authorization sees it.
    pub(crate) fn asked<'a>(&'a self, verb: &'a str, fields: &'a [(&'a str, &'a str)]) -> Attributes<'a> {
        Attributes {
            verb,
            group: &self.resource.group,
            resource: &self.resource.plural,
            subresource: self.sub.map(Sub::name).unwrap_or_default(),
            namespace: &self.namespace,
            name: &self.name,
            path: "",
            fields,
        }
    }

    async fn run(self, method: &Method, content: Content) -> Result<Response, Status> {
        let accept = self.accept;
        let verb = self.verb(method);
        if !self.resource.stored {
            return match verb {
                "create" => Ok(reviews::answer(&self, &content).await?.into_response(accept)),
                _ => Err(fault::not_allowed()),
            };
        }
        let reply = match (verb, self.sub) {
            ("watch", None) => return watch::watch(self).await,
            ("get", None | Some(Sub::Status)) => list::get(&self)?,
            ("list", None) => list::list(&self)?,
            ("create", None) => create::create(&self, &content).await?,
            ("update", None | Some(Sub::Status | Sub::Finalize)) => update::put(&self, &content).await?,
            ("patch", None | Some(Sub::Status)) => patch::patch(&self, &content).await?,
            ("delete", None) if delete::is_protected(&self) => {
                return Err(fault::forbidden(
                    &self.resource,
                    &self.name,
                    "this namespace may not be deleted",
                ));
            }
            ("delete", None) => delete::delete(&self, &content).await?,
            ("deletecollection", None) if self.resource.verbs().contains(&verb) => {
                collection::delete_all(&self, &content).await?
            }
            ("create", Some(Sub::Binding)) => subs::bind(&self, &content).await?,
            ("create", Some(Sub::Eviction)) => subs::evict(&self, &content).await?,
            ("create", Some(Sub::Token)) => subs::token(&self, &content).await?,
            ("get", Some(Sub::Scale)) => scale::get(&self)?,
            ("update" | "patch", Some(Sub::Scale)) => scale::change(&self, verb, &content).await?,
            _ => return Err(fault::not_allowed()),
        };
        Ok(reply.into_response(accept))
    }

    /// An object in the form that was asked for.
    pub(crate) fn show(&self, object: serde_json::Value) -> Result<Reply, Status> {
        list::form_object(self, object)
    }
}
