//! Roll-outs of static pods, by their objects in the cluster.

use kube::api::ListParams;
use kube::{Api, ResourceExt};
use safepoint_api::static_pod::{NodeUpgradeState, StaticPodStatus};
use safepoint_api::{PodRef, StaticPod};
use safepoint_manifest::template;
use safepoint_orders::Error;
use safepoint_orders::static_pods::{self, Revision};

use super::{ListArgs, OneArgs, RollbackArgs, ThereArgs};
use crate::cluster::{MANAGER, asked, client, problem};
use crate::commands::names;
use crate::commands::via::Access;
use crate::problem::{Done, Exit, Problem};
use crate::show::table::{Cell, Table};
use crate::show::{age, style, words};

fn wrong(error: &kube::Error) -> Problem {
    let problem = problem(error);
    match problem.exit {
        Exit::Failed => problem.hint("the kubeconfig's user needs to get, list and patch staticpods.safepoint.dev, and to list configmaps"),
        _ => problem,
    }
}

fn wrongly(error: &Error) -> Problem {
    match error {
        Error::Cluster(error) => wrong(error),
        other => asked(other),
    }
}

pub(super) async fn list(args: &ListArgs) -> Done {
    let client = client(&args.access).await?;
    let list = Api::<StaticPod>::all(client).list(&ListParams::default()).await;
    let objects = list.map_err(|error| wrong(&error))?.items;
    if objects.is_empty() && args.here.output.is_for_people() {
        args.here.tell("The cluster has no StaticPods.");
        return Ok(());
    }
    let names = |all: &Vec<StaticPod>| {
        all.iter()
            .map(|it| format!("staticpod/{}/{}", it.namespace().unwrap_or_default(), it.name_any()))
            .collect()
    };
    args.here.output.show(&objects, names, |objects, _| {
        let mut table = Table::new([
            "NAMESPACE",
            "NAME",
            "STRATEGY",
            "DESIRED",
            "UPGRADED",
            "READY",
            "DEFERRED",
            "FAILED",
            "REVISION",
            "PAUSED",
        ]);
        for object in objects {
            let status = object.status.clone().unwrap_or_default();
            let failed = if status.failed_number > 0 { style::ALARM } else { style::PLAIN };
            table.row([
                object.namespace().unwrap_or_default().into(),
                object.name_any().into(),
                format!("{:?}", object.spec.upgrade_strategy.type_).into(),
                status.desired_number.to_string().into(),
                status.upgraded_number.to_string().into(),
                status.ready_number.to_string().into(),
                status.deferred_number.to_string().into(),
                Cell::styled(status.failed_number.to_string(), failed),
                status.update_revision.unwrap_or_default().into(),
                if object.spec.paused { "yes" } else { "" }.into(),
            ]);
        }
        table.text()
    })
}

pub(super) async fn status(args: &OneArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let object = static_pods::read(&client(&args.access).await?, &pod).await;
    let object = object.map_err(|error| wrongly(&error))?;
    let name = |_: &StaticPod| vec![format!("staticpod/{}/{}", pod.namespace, pod.name)];
    args.here.output.show(&object, name, |object, _| page(object, &object.status.clone().unwrap_or_default()))
}

fn page(object: &StaticPod, status: &StaticPodStatus) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("{}{name:<9}{:#} {}\n", style::HEADING, style::HEADING, words::clean(value)));
    };
    line("Pod", &format!("{}/{}", object.namespace().unwrap_or_default(), object.spec.static_pod_name));
    line("Strategy", &format!("{:?}", object.spec.upgrade_strategy.type_));
    if object.spec.paused {
        line("Paused", "no further upgrade is started");
    }
    line("Revision", status.update_revision.as_deref().unwrap_or("not seen by the hub yet"));
    let counts = format!(
        "{} of {} upgraded, {} ready, {} put off, {} failed",
        status.upgraded_number,
        status.desired_number,
        status.ready_number,
        status.deferred_number,
        status.failed_number
    );
    line("Nodes", &counts);
    if status.observed_generation != object.metadata.generation {
        line("", "the numbers are of an earlier generation");
    }
    for condition in &status.conditions {
        line(&condition.type_, &format!("{} ({}) {}", condition.status, condition.reason, condition.message));
    }
    let mut table = Table::new(["NODE", "STATE", "REASON", "SINCE", "MESSAGE"]);
    for node in &status.nodes {
        let style = match node.state {
            NodeUpgradeState::Upgraded => style::GOOD,
            NodeUpgradeState::Failed => style::ALARM,
            NodeUpgradeState::Pending | NodeUpgradeState::Upgrading | NodeUpgradeState::Deferred => {
                style::WAITS
            }
        };
        table.row([
            node.node.as_str().into(),
            Cell::styled(format!("{:?}", node.state), style),
            node.reason.clone().unwrap_or_default().into(),
            node.since.as_ref().map(age::since).unwrap_or_default().into(),
            node.message.clone().unwrap_or_default().into(),
        ]);
    }
    if !status.nodes.is_empty() {
        text.push('\n');
        text.push_str(&table.text());
    }
    text
}

pub(super) async fn pause(args: &ThereArgs, paused: bool) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let client = client(&args.access).await?;
    static_pods::pause(&client, &pod, paused, MANAGER).await.map_err(|error| wrongly(&error))?;
    args.here.tell(if paused {
        "Paused: upgrades under way are finished, no other is started."
    } else {
        "Resumed."
    });
    Ok(())
}

pub(super) async fn history(args: &OneArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let client = client(&args.access).await?;
    let object = static_pods::read(&client, &pod).await.map_err(|error| wrongly(&error))?;
    let revisions = static_pods::revisions(&client, &object).await.map_err(|error| wrongly(&error))?;
    let names = |all: &Vec<Revision>| all.iter().map(|it| it.revision.clone()).collect();
    args.here.output.show(&revisions, names, |revisions, _| {
        let mut table = Table::new(["REVISION", "WANTED SINCE", "CURRENT"]);
        for it in revisions {
            let current = if it.current { "yes" } else { "" };
            table.row([it.revision.as_str().into(), it.wanted_at.as_str().into(), current.into()]);
        }
        table.text()
    })
}

pub(super) async fn rollback(args: RollbackArgs) -> Done {
    let pod = names::pod(&args.pod, None)?;
    let client = client(&args.access).await?;
    let back = static_pods::roll_back(&client, &pod, args.revision.as_deref(), MANAGER).await;
    let revision = back.map_err(|error| wrongly(&error))?;
    args.here.tell(&format!("{}/{} goes back to revision {revision}", pod.namespace, pod.name));
    Ok(())
}

/// The manifest that the cluster wants of a static pod, and the name of its file.
pub(super) async fn manifest(access: &Access, pod: &PodRef) -> Result<(String, String), Problem> {
    let client = client(access).await?;
    let objects = Api::<StaticPod>::namespaced(client, &pod.namespace).list(&ListParams::default()).await;
    let objects = objects.map_err(|error| wrong(&error))?.items;
    let found = objects.iter().find(|object| object.spec.static_pod_name == pod.name).ok_or_else(|| {
        Problem::new(
            Exit::NotFound,
            format!("no StaticPod of the cluster is about {}/{}", pod.namespace, pod.name),
        )
        .hint("give its manifest with -f")
    })?;
    let spec = &found.spec;
    let problems = template::problems(spec);
    if !problems.is_empty() {
        let why = template::sentence(&problems);
        let message =
            format!("StaticPod {}/{} cannot be carried out: {why}", pod.namespace, found.name_any());
        return Err(Problem::new(Exit::Refused, message));
    }
    let text = template::manifest(&pod.namespace, &pod.name, &spec.template, false);
    Ok((text, spec.static_pod_manifest.clone()))
}
