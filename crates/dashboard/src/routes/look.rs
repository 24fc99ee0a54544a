//! Pages that are looked at: what is on them, and when they may have changed.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::Query as UrlQuery;
use http::Uri;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use safepoint_api::{NodeGate, StaticPod, WorkloadRef};
use serde::Deserialize;

use super::events::{Heard, events};
use super::{App, segments};
use crate::fleet::{Fleet, Query, Standing, held_workloads};
use crate::known::World;
use crate::live::Piece;
use crate::people::{Person, Sight};
use crate::record::REPORTER;
use crate::refusal::Refusal;
use crate::view::layout::lost;
use crate::view::log::Told;
use crate::view::workload::Place;
use crate::view::{self, words};
use crate::workload::is_named_as;

/// So many pages of Events are read for the log, of each who tells.
const LOG: usize = 20;
/// The same for a page that is looked at again whenever something changes.
const LATELY: usize = 4;
/// So many questions are put to the cluster at once.
const AT_ONCE: usize = 10;
/// The pods of this many changes are read for the page of a workload.
const PODS: usize = 20;

/// What somebody looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    Fleet(Query),
    Held,
    Node(String),
    Workload(WorkloadRef),
    StaticPods,
    StaticPod { namespace: String, name: String },
    Log,
}

#[derive(Deserialize)]
struct Ordinal {
    ordinal: Option<i32>,
}

// === impl Look ===

impl Look {
    pub(crate) fn parse(uri: &Uri) -> Result<Self, Refusal> {
        let nothing = || Refusal::NotFound("There is no such page.".to_owned());
        let bad = |error: axum::extract::rejection::QueryRejection| Refusal::Bad(format!("{error}."));
        let parts = segments(uri).ok_or_else(nothing)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(match parts[..] {
            [] => Self::Fleet(UrlQuery::try_from_uri(uri).map_err(bad)?.0),
            ["held"] => Self::Held,
            ["nodes", node] => Self::Node(node.to_owned()),
            ["workloads", namespace, kind, name] => {
                let UrlQuery(Ordinal { ordinal }) = UrlQuery::try_from_uri(uri).map_err(bad)?;
                let (kind, namespace, name) = (kind.to_owned(), namespace.to_owned(), name.to_owned());
                Self::Workload(WorkloadRef { kind, namespace, name, ordinal })
            }
            ["static-pods"] => Self::StaticPods,
            ["static-pods", namespace, name] => {
                Self::StaticPod { namespace: namespace.to_owned(), name: name.to_owned() }
            }
            ["log"] => Self::Log,
            _ => return Err(nothing()),
        })
    }

    pub(crate) fn title(&self) -> String {
        match self {
            Self::Fleet(_) => "Fleet".to_owned(),
            Self::Held => "Held".to_owned(),
            Self::Node(node) => node.clone(),
            Self::Workload(of) => words::workload(of),
            Self::StaticPods => "Static pods".to_owned(),
            Self::StaticPod { namespace, name } => format!("{namespace}/{name}"),
            Self::Log => "Log".to_owned(),
        }
    }

    pub(crate) const fn menu(&self) -> &'static str {
        match self {
            Self::Fleet(_) | Self::Node(_) => "/",
            Self::Held | Self::Workload(_) => "/held",
            Self::StaticPods | Self::StaticPod { .. } => "/static-pods",
            Self::Log => "/log",
        }
    }

    /// Whether it is known when it changes. Events are not watched.
    pub(crate) const fn is_live(&self) -> bool {
        !matches!(self, Self::Log)
    }

    /// A number that is another one when the page may be another one.
    pub(crate) fn mark(&self, world: &World, version: u64) -> u64 {
        match self {
            Self::Node(node) => world.mark_of_node(node),
            _ => version,
        }
    }

    pub(crate) async fn pieces(&self, app: &App, person: &Person) -> Result<Vec<Piece>, Refusal> {
        let mut pieces = self.content(app, person).await?;
        if self.is_live() {
            pieces.insert(0, lost(app.known.look(World::lost_since)));
        }
        Ok(pieces)
    }

    async fn content(&self, app: &App, person: &Person) -> Result<Vec<Piece>, Refusal> {
        let sight = person.sight().await?;
        match self {
            Self::Fleet(query) => {
                needs(sight.gates, "list NodeGates")?;
                let seen = app.known.look(|world| {
                    let fleet = Fleet::of(world, query, sight.nodes);
                    let static_pods: Option<Vec<Arc<StaticPod>>> =
                        sight.static_pods.then(|| world.static_pods.values().cloned().collect());
                    (fleet, static_pods)
                });
                Ok(view::fleet::pieces(&seen.0, query, seen.1.as_deref()))
            }
            Self::Held => {
                needs(sight.gates, "list NodeGates")?;
                Ok(view::held::pieces(&app.known.look(held_workloads)))
            }
            Self::Node(name) => node(app, person, name, sight).await,
            Self::Workload(of) => {
                needs(sight.gates, "list NodeGates")?;
                workload(app, person, of).await
            }
            Self::StaticPods => {
                needs(sight.static_pods, "list StaticPods")?;
                let all: Vec<_> = app.known.look(|world| world.static_pods.values().cloned().collect());
                Ok(view::static_pods::list(&all))
            }
            Self::StaticPod { namespace, name } => {
                needs(sight.static_pods, "list StaticPods")?;
                let key = (namespace.clone(), name.clone());
                let object = app.known.look(|world| world.static_pods.get(&key).cloned());
                let object = object
                    .ok_or_else(|| Refusal::NotFound(format!("There is no StaticPod {namespace}/{name}.")))?;
                let (may_steer, may_roll_back) =
                    tokio::join!(person.may_steer(namespace, name), person.may_roll_back(namespace, name));
                Ok(view::static_pods::one(&view::static_pods::Data { object, may_steer, may_roll_back }))
            }
            Self::Log => log(person).await,
        }
    }
}

fn needs(may: bool, what: &str) -> Result<(), Refusal> {
    if may {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!("This page needs the right to {what}, which your token does not have.")))
}

/// Everything but whether it is ready is read as the person: who may see one node sees that one.
async fn node(app: &App, person: &Person, name: &str, sight: Sight) -> Result<Vec<Piece>, Refusal> {
    let gate = Api::<NodeGate>::all(person.client.clone()).get_opt(name).await?;
    let gate = gate.ok_or_else(|| Refusal::NotFound(format!("The cluster has no NodeGate {name}.")))?;
    let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
    let of_node = format!("involvedObject.kind=Node,involvedObject.name={name}");
    let pods = Api::<Pod>::all(person.client.clone());
    let (listed, history, may_order) = tokio::join!(
        pods.list(&on_node),
        events(person, None, &of_node, LATELY, |_| true),
        person.may_order(name)
    );
    let machine = app.known.look(|world| world.nodes.get(name).cloned()).unwrap_or_default();
    let standing = Standing::of(&machine, sight.nodes);
    Ok(view::node::pieces(&view::node::Data {
        name: name.to_owned(),
        standing,
        node: machine.node.filter(|_| sight.nodes),
        gate,
        pods: listed.ok().map(|list| list.items),
        history: history.map(|heard| heard.newest),
        may_order,
    }))
}

async fn workload(app: &App, person: &Person, of: &WorkloadRef) -> Result<Vec<Piece>, Refusal> {
    let mut held = app.known.look(|world| {
        let of_node = |(node, machine): (&String, &crate::known::Machine)| {
            let changes = machine.gate.iter().flat_map(|gate| &gate.held);
            let own: Vec<_> = changes.filter(|it| it.workload.as_ref() == Some(of)).cloned().collect();
            (!own.is_empty()).then(|| (node.clone(), own))
        };
        world.nodes.iter().filter_map(of_node).collect::<Vec<_>>()
    });
    let more = held.len().saturating_sub(view::workload::MOST);
    held.truncate(view::workload::MOST);
    let api = Api::<Pod>::namespaced(person.client.clone(), &of.namespace);
    let named = held.iter().flat_map(|(_, changes)| changes).filter(|it| it.kind == "Pod").take(PODS);
    let read = futures::future::join_all(named.map(|it| api.get_opt(&it.name))).await;
    let pods: Result<Vec<Option<Pod>>, _> = read.into_iter().collect();
    let names: HashSet<&str> =
        held.iter().flat_map(|(_, changes)| changes).map(|change| change.name.as_str()).collect();
    let is_of_it = |told: &Told| names.contains(told.name.as_str()) || is_named_as(of, told);
    let agent = "reportingComponent=safepoint.dev/agent";
    let history = events(person, Some(&of.namespace), agent, LATELY, is_of_it).await;
    let nodes: Vec<&str> = held.iter().map(|(node, _)| node.as_str()).collect();
    let may_order = may_order(person, &nodes).await;
    let places = held.into_iter().zip(may_order);
    let places = places.map(|((node, changes), may_order)| Place { node, changes, may_order }).collect();
    let pods = pods.ok().map(|pods| pods.into_iter().flatten().collect());
    let history = history.map(|heard| heard.newest);
    Ok(view::workload::pieces(&view::workload::Data { places, more, pods, history }))
}

/// Of each node whether the person may order it something.
async fn may_order(person: &Person, nodes: &[&str]) -> Vec<bool> {
    // Who may order all of them need not be asked about for each; with nothing held there is nothing to ask.
    if nodes.is_empty() || person.may_order("").await {
        return vec![true; nodes.len()];
    }
    let mut answers = Vec::new();
    for some in nodes.chunks(AT_ONCE) {
        answers.extend(futures::future::join_all(some.iter().map(|node| person.may_order(node))).await);
    }
    answers
}

async fn log(person: &Person) -> Result<Vec<Piece>, Refusal> {
    let dashboard = format!("reportingComponent={REPORTER}");
    let (nodes, hub, people) = tokio::join!(
        events(person, None, "reportingComponent=safepoint.dev/agent", LOG, |_| true),
        events(person, None, "source=safepoint-hub", LOG, |_| true),
        events(person, None, &dashboard, LOG, |_| true),
    );
    let all = [nodes, hub, people].into_iter().collect::<Option<Vec<_>>>();
    Ok(view::log::pieces(all.map(Heard::of_all).as_ref()))
}
