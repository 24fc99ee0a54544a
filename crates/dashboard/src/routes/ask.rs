//! The pages that ask before something is done. What a person may not do is not asked.

use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::Markup;
use safepoint_api::PodRef;
use safepoint_orders::{Gate, local_freezes, static_pods};

use super::fields::Fields;
use super::reply;
use crate::people::Person;
use crate::refusal::Refusal;
use crate::session::form_token;
use crate::view::form::{self, Form};
use crate::view::layout::{Page, Viewer};
use crate::view::words::{encoded, node_path};

/// As whom the fields are owned.
pub(crate) const MANAGER: &str = "safepoint-dashboard";

/// What can be asked of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeAct {
    Freeze,
    Thaw,
    Release,
}

/// What can be asked of a static pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PodAct {
    Pause,
    Resume,
    RollBack,
}

// === impl acts ===

impl NodeAct {
    pub(crate) fn parse(word: &str) -> Result<Self, Refusal> {
        Ok(match word {
            "freeze" => Self::Freeze,
            "thaw" => Self::Thaw,
            "release" => Self::Release,
            _ => return Err(Refusal::NotFound("There is no such page.".to_owned())),
        })
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Freeze => ("freeze", "Freeze"),
            Self::Thaw => ("thaw", "Thaw"),
            Self::Release => ("release", "Release"),
        }
    }
}

impl PodAct {
    pub(crate) fn parse(word: &str) -> Result<Self, Refusal> {
        Ok(match word {
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            "roll-back" => Self::RollBack,
            _ => return Err(Refusal::NotFound("There is no such page.".to_owned())),
        })
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Pause => ("pause", "Pause"),
            Self::Resume => ("resume", "Resume"),
            Self::RollBack => ("roll-back", "Roll back"),
        }
    }

    /// Whether the cluster lets the person do it.
    pub(crate) async fn is_allowed(self, person: &Person, pod: &PodRef) -> Result<(), Refusal> {
        let (may, what) = match self {
            Self::Pause | Self::Resume => (person.may_steer(&pod.namespace, &pod.name).await, "patch"),
            Self::RollBack => (person.may_roll_back(&pod.namespace, &pod.name).await, "update"),
        };
        let of = format!("{}/{}", pod.namespace, pod.name);
        may.then_some(()).ok_or_else(|| {
            Refusal::Forbidden(format!(
                "This needs the right to {what} the StaticPod {of}, which your token does not have."
            ))
        })
    }
}

/// Whether the cluster lets the person order this node something.
pub(crate) async fn may_order(person: &Person, node: &str) -> Result<(), Refusal> {
    person.may_order(node).await.then_some(()).ok_or_else(|| {
        Refusal::Forbidden(format!(
            "This needs the right to patch the NodeGate {node}, which your token does not have."
        ))
    })
}

pub(crate) async fn of_node(
    Path((node, act)): Path<(String, String)>,
    person: Person,
    Query(fields): Query<Fields>,
) -> Result<Response, Refusal> {
    let act = NodeAct::parse(&act)?;
    may_order(&person, &node).await?;
    node_form(&person, &node, act, &fields, None).await
}

pub(crate) async fn of_static_pod(
    Path((namespace, name, act)): Path<(String, String, String)>,
    person: Person,
    Query(fields): Query<Fields>,
) -> Result<Response, Refusal> {
    let act = PodAct::parse(&act)?;
    let pod = PodRef { namespace, name };
    act.is_allowed(&person, &pod).await?;
    pod_form(&person, &pod, act, &fields, None).await
}

/// The form, with what was wrong with what was sent, if it was.
pub(crate) async fn node_form(
    person: &Person,
    node: &str,
    act: NodeAct,
    fields: &Fields,
    wrong: Option<&str>,
) -> Result<Response, Refusal> {
    let gate = Gate::new(person.client.clone(), node, MANAGER).read().await?;
    let (word, name) = act.words();
    let back = node_path(node);
    let (token, action) = (form_token(&person.token), format!("{back}/{word}"));
    let form = form_of(fields, name, &token, &action, &back, wrong);
    let content = match act {
        NodeAct::Freeze => form::freeze(&form, node),
        NodeAct::Thaw => {
            let wanted = gate.spec.freeze.as_ref().map(|freeze| freeze.reason.as_str());
            let status = gate.status.unwrap_or_default();
            let local: Vec<String> = local_freezes(&status).collect();
            form::thaw(&form, node, wanted, &local)
        }
        NodeAct::Release => {
            let of = fields.workload().map_err(Refusal::Bad)?;
            form::release(&form, node, &of, fields.revision().as_deref())
        }
    };
    page(person, &format!("{name} {node}"), "/", &content, wrong.is_some()).await
}

/// The same for a static pod.
pub(crate) async fn pod_form(
    person: &Person,
    pod: &PodRef,
    act: PodAct,
    fields: &Fields,
    wrong: Option<&str>,
) -> Result<Response, Refusal> {
    let object = static_pods::read(&person.client, pod).await?;
    let (word, name) = act.words();
    let title = format!("{}/{}", pod.namespace, pod.name);
    let back = format!("/static-pods/{}/{}", encoded(&pod.namespace), encoded(&pod.name));
    let (token, action) = (form_token(&person.token), format!("{back}/{word}"));
    let form = form_of(fields, name, &token, &action, &back, wrong);
    let content = match act {
        PodAct::Pause => form::pause(&form, &title),
        PodAct::Resume => form::resume(&form, &title),
        PodAct::RollBack => {
            let revisions = static_pods::revisions(&person.client, &object).await?;
            form::roll_back(&form, &title, &revisions)
        }
    };
    page(person, &format!("{name} {title}"), "/static-pods", &content, wrong.is_some()).await
}

fn form_of<'a>(
    fields: &'a Fields,
    button: &'a str,
    token: &'a str,
    action: &'a str,
    back: &'a str,
    wrong: Option<&'a str>,
) -> Form<'a> {
    let Fields { reason, length, .. } = fields;
    Form { token, action, back, button, wrong, reason, length, overrides: !fields.override_.is_empty() }
}

async fn page(
    person: &Person,
    title: &str,
    menu: &str,
    content: &Markup,
    is_wrong: bool,
) -> Result<Response, Refusal> {
    let token = form_token(&person.token);
    let sight = person.sight().await?;
    let viewer = Some(Viewer { name: &person.name, form_token: &token, sight });
    let page = Page { title, menu, viewer, said: None, live: None };
    let code = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok((code, reply(&page.of(content))).into_response())
}
