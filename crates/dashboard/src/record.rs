//! What people ask for is noted in the cluster before it is done: who, what and why, as an Event on what it is about.
//!
//! The node's own log says what became of it, and cannot be changed by anybody. An Event lasts as long as the cluster keeps
//! Events, an hour as a rule; the log of the process has the same line.

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::PostParams;
use kube::{Api, Client};
use safepoint_api::names::safepoint::{GROUP, VERSION};

use crate::dashboard::Clock;

/// Who writes it.
pub(crate) const REPORTER: &str = "safepoint.dev/dashboard";
/// The longest text of an Event.
const LONGEST: usize = 1_000;

/// Something that a person asks for.
pub(crate) struct Asked<'a> {
    pub(crate) by: &'a str,
    pub(crate) about: About<'a>,
    /// What, as the end of the sentence "jane asks to".
    pub(crate) what: String,
    pub(crate) why: &'a str,
    /// Whether a hold of somebody else is set aside.
    pub(crate) overrides: bool,
}

/// What it is about.
#[derive(Clone, Copy)]
pub(crate) enum About<'a> {
    Node(&'a str),
    StaticPod { namespace: &'a str, name: &'a str },
}

/// Notes it, as the dashboard itself: a person need not have the right to write Events.
pub(crate) async fn note(client: &Client, clock: Clock, asked: &Asked<'_>) -> Result<(), kube::Error> {
    let Asked { by, what, why, .. } = asked;
    tracing::info!(by, what, why, "somebody asks through the dashboard");
    let (about, namespace) = match asked.about {
        // As the agent does it, so that all that happens to a node is found in one place.
        About::Node(node) => (reference("v1", "Node", None, node, Some(node)), "default"),
        About::StaticPod { namespace, name } => {
            let version = format!("{GROUP}/{VERSION}");
            (reference(&version, "StaticPod", Some(namespace), name, None), namespace)
        }
    };
    let now = Some(Time(clock()));
    let message: String = format!("{by} asks to {what}: {why}").chars().take(LONGEST).collect();
    let event = Event {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}.", about.name.as_deref().unwrap_or("dashboard"))),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: about,
        reason: Some(if asked.overrides { "AskedToOverride" } else { "Asked" }.to_owned()),
        message: Some(message),
        type_: Some(if asked.overrides { "Warning" } else { "Normal" }.to_owned()),
        source: Some(EventSource { component: Some("safepoint-dashboard".to_owned()), host: None }),
        reporting_component: Some(REPORTER.to_owned()),
        first_timestamp: now.clone(),
        last_timestamp: now,
        count: Some(1),
        ..Event::default()
    };
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &event).await.map(drop)
}

fn reference(
    version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    uid: Option<&str>,
) -> ObjectReference {
    ObjectReference {
        api_version: Some(version.to_owned()),
        kind: Some(kind.to_owned()),
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        uid: uid.map(str::to_owned),
        ..ObjectReference::default()
    }
}
