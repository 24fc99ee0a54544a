//! Doing what a form asks for.
//!
//! In this order: the form is from here and for this person, the cluster lets the person do it, a reason is given, it is noted,
//! it is done with the person's own token. What would open something is not done if it cannot be noted; what would close is.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, Uri, header};
use safepoint_api::PodRef;
use safepoint_api::node_gate::{Freeze, Lease, OnExpiry, Release, Thaw};
use safepoint_orders::{Act, Gate, made_up, static_pods};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::App;
use super::ask::{MANAGER, NodeAct, PodAct, may_order, node_form, pod_form};
use super::fields::Fields;
use crate::acts::{Job, PATIENCE, badly, well};
use crate::people::Person;
use crate::record::{About, Asked, note};
use crate::refusal::Refusal;
use crate::session::{is_form_of, is_from_here};
use crate::view::layout::Said;
use crate::view::words::{encoded, node_path, workload};

/// What the cluster takes as the name of a holder.
const LONGEST_HOLDER: usize = 253;

/// Why nothing is done yet.
enum Stop {
    /// The form is shown again, with this.
    Wrong(String),
    Refused(Refusal),
}

pub(crate) async fn on_node(
    State(app): State<App>,
    uri: Uri,
    Path((node, act)): Path<(String, String)>,
    headers: HeaderMap,
    person: Person,
    Form(fields): Form<Fields>,
) -> Result<Response, Refusal> {
    let act = NodeAct::parse(&act)?;
    is_ours(&app, &uri, &headers, &person, &fields)?;
    may_order(&person, &node).await?;
    match do_on_node(&app, &person, &node, act, &fields).await {
        Ok(said) => Ok(go_on(&app, &node_path(&node), &said)),
        Err(Stop::Wrong(why)) => node_form(&person, &node, act, &fields, Some(&why)).await,
        Err(Stop::Refused(refusal)) => Err(refusal),
    }
}

pub(crate) async fn on_static_pod(
    State(app): State<App>,
    uri: Uri,
    Path((namespace, name, act)): Path<(String, String, String)>,
    headers: HeaderMap,
    person: Person,
    Form(fields): Form<Fields>,
) -> Result<Response, Refusal> {
    let act = PodAct::parse(&act)?;
    let pod = PodRef { namespace, name };
    is_ours(&app, &uri, &headers, &person, &fields)?;
    act.is_allowed(&person, &pod).await?;
    let back = format!("/static-pods/{}/{}", encoded(&pod.namespace), encoded(&pod.name));
    match do_on_static_pod(&app, &person, &pod, act, &fields).await {
        Ok(said) => Ok(go_on(&app, &back, &said)),
        Err(Stop::Wrong(why)) => pod_form(&person, &pod, act, &fields, Some(&why)).await,
        Err(Stop::Refused(refusal)) => Err(refusal),
    }
}

/// Whether the form is from here and for this person.
fn is_ours(
    app: &App,
    uri: &Uri,
    headers: &HeaderMap,
    person: &Person,
    fields: &Fields,
) -> Result<(), Refusal> {
    let is_ours = is_from_here(headers, uri, app.cookies.secure) && is_form_of(&person.token, &fields.form);
    is_ours.then_some(()).ok_or(Refusal::NotFromHere)
}

async fn do_on_node(
    app: &App,
    person: &Person,
    node: &str,
    act: NodeAct,
    fields: &Fields,
) -> Result<Said, Stop> {
    let why = fields.reason().map_err(Stop::Wrong)?;
    let gate = Gate::new(person.client.clone(), node, MANAGER);
    let asked = |what: String, overrides| Asked {
        by: &person.name,
        about: About::Node(node),
        what,
        why: &why,
        overrides,
    };
    match act {
        NodeAct::Freeze => {
            let lease = fields.length().map_err(Stop::Wrong)?;
            let lease = lease.map(|duration| Lease { duration, on_expiry: OnExpiry::ThawIfSafe });
            let freeze = Freeze {
                id: Some(format!("web-{}", made_up())),
                // Names of accounts may be longer than a holder may be.
                holder: Some(person.name.chars().take(LONGEST_HOLDER).collect()),
                lease,
                ..Freeze::new(why.clone())
            };
            noted(app, asked(format!("freeze {node}"), false), false).await?;
            gate.freeze(&freeze).await?;
            Ok(well(format!("{node} is asked to freeze. It is frozen once everything on it has settled.")))
        }
        NodeAct::Thaw => {
            let override_ = fields.overriding().map_err(Stop::Wrong)?;
            let overrides = override_.is_some();
            let wanted = gate.read().await?.spec.freeze.is_some();
            let over = if overrides { ", against whoever holds it there" } else { "" };
            noted(app, asked(format!("thaw {node}{over}"), overrides), true).await?;
            // Where the cluster has nothing to take back, the node itself is asked.
            let order = (overrides || !wanted).then(|| (Act::Thaw(Thaw::default()), override_));
            wait(app, gate, wanted, order).await
        }
        NodeAct::Release => {
            let of = fields.workload().map_err(Stop::Wrong)?;
            let override_ = fields.overriding().map_err(Stop::Wrong)?;
            let overrides = override_.is_some();
            let over = if overrides { ", against whoever holds it there" } else { "" };
            noted(app, asked(format!("release {} on {node}{over}", workload(&of)), overrides), true).await?;
            let release = Release { workload: Some(of), pod: None, revision: fields.revision() };
            wait(app, gate, false, Some((Act::Release(release), override_))).await
        }
    }
}

async fn do_on_static_pod(
    app: &App,
    person: &Person,
    pod: &PodRef,
    act: PodAct,
    fields: &Fields,
) -> Result<Said, Stop> {
    let why = fields.reason().map_err(Stop::Wrong)?;
    let PodRef { namespace, name } = pod;
    let about = About::StaticPod { namespace, name };
    let asked = |what: String| Asked { by: &person.name, about, what, why: &why, overrides: false };
    match act {
        PodAct::Pause => {
            noted(app, asked(format!("pause {namespace}/{name}")), false).await?;
            static_pods::pause(&person.client, pod, true, MANAGER).await?;
            Ok(well("Paused: upgrades under way are finished, no other is started.".to_owned()))
        }
        PodAct::Resume => {
            noted(app, asked(format!("resume {namespace}/{name}")), true).await?;
            static_pods::pause(&person.client, pod, false, MANAGER).await?;
            Ok(well("Resumed: upgrades go on.".to_owned()))
        }
        PodAct::RollBack => {
            let to = fields.revision().ok_or_else(|| Stop::Wrong("Say to which revision.".to_owned()))?;
            noted(app, asked(format!("roll {namespace}/{name} back to revision {to}")), true).await?;
            let to = static_pods::roll_back(&person.client, pod, Some(&to), MANAGER).await?;
            Ok(well(format!("{namespace}/{name} goes back to revision {to}.")))
        }
    }
}

/// Notes what is asked for. If that fails, whatever `opens` is not done.
async fn noted(app: &App, asked: Asked<'_>, opens: bool) -> Result<(), Refusal> {
    match note(&app.own, app.clock, &asked).await {
        Err(error) if opens => Err(Refusal::Cluster(format!(
            "It could not be noted, so it was not done: {error}. The hub needs the right to create Events."
        ))),
        Err(error) => {
            tracing::warn!(%error, "what was asked through the dashboard could not be noted");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Has it done, and waits for what becomes of it, but not for ever.
async fn wait(
    app: &App,
    gate: Gate,
    unfreeze: bool,
    order: Option<(Act, Option<safepoint_api::node_gate::Override>)>,
) -> Result<Said, Stop> {
    let (tell, told) = oneshot::channel();
    let node = gate.node().to_owned();
    let job = Job { gate, unfreeze, order, tell };
    app.jobs.try_send(job).map_err(|_| Refusal::TooMany)?;
    match timeout(PATIENCE, told).await {
        Ok(Ok(done)) => Ok(done?),
        Ok(Err(_)) => Err(Stop::Refused(Refusal::TooMany)),
        Err(_) => Ok(badly(format!(
            "{node} has not answered yet. If it does not within a minute, the order is taken back; its page shows what it does."
        ))),
    }
}

/// Back to the page, which says what became of it.
fn go_on(app: &App, path: &str, said: &Said) -> Response {
    let sign = if said.is_bad { "!" } else { "" };
    let mut response = Redirect::to(path).into_response();
    let text: String = said.text.chars().take(600).collect();
    response.headers_mut().append(header::SET_COOKIE, app.cookies.say(&encoded(&format!("{sign}{text}"))));
    response
}

impl<E: Into<Refusal>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}
