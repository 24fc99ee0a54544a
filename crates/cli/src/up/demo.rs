//! A small story to play with: a rover that drives while its upgrade waits, and a beacon that is upgraded on many nodes.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_crd_established;
use kube::runtime::wait::{Condition, await_condition};
use safepoint_api::StaticPod;
use safepoint_api::names::kubeedge::condition::HELD_UPGRADE;
use serde_json::{Value, json};

const ROVER: &str = "rover";
const BEACON: &str = "beacon";
const STATIC_PODS: &str = "staticpods.safepoint.dev";
/// What the rover runs: it says what it is and drives on.
const DRIVE: &str = "echo \"rover starts driving\"; n=0; while true; do n=$((n+1)); echo \"driving, waypoint $n\"; sleep 2; done";

/// Plays the story and tells it.
pub(super) async fn play(client: &Client, kubeconfig: &Path, simulated: Option<usize>) -> Result<()> {
    hold_rover(client, kubeconfig).await?;
    match simulated {
        Some(nodes) => roll_beacon(client, kubeconfig, nodes).await,
        None => Ok(()),
    }
}

async fn hold_rover(client: &Client, kubeconfig: &Path) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    say(&["", "demo: a rover at version 1, annotated to hold its upgrades"])?;
    if pods.get_opt(ROVER).await?.is_none() {
        let rover = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": ROVER, "annotations": {
                "edge.kubeedge.io/hold-upgrade": "true",
                "safepoint.dev/first-install": "allow",
            }},
            "spec": {"containers": [{"name": "drive", "image": "rover:v1", "command": ["sh", "-c", DRIVE]}],
                "terminationGracePeriodSeconds": 2},
        }))?;
        pods.create(&PostParams::default(), &rover).await.context("cannot create the rover")?;
    }
    await_condition(pods.clone(), ROVER, has("Ready")).await?;
    say(&["demo: it drives; now version 2 is pushed"])?;
    let push = json!({"spec": {"containers": [{"name": "drive", "image": "rover:v2"}]}});
    pods.patch(ROVER, &PatchParams::default(), &Patch::Strategic(push))
        .await
        .context("cannot push version 2")?;
    await_condition(pods.clone(), ROVER, has(HELD_UPGRADE)).await?;
    say(&[
        "demo: version 2 is held, and the rover drives on",
        "",
        "  safepoint why rover                   why it waits",
        "  safepoint changes                     everything that waits",
        &format!("  kubectl --kubeconfig {} describe pod rover", kubeconfig.display()),
        "  safepoint unhold-upgrade pod rover    let it through: one restart, at version 2",
        "  safepoint node freeze --reason mission-7, then push something and see",
        "",
    ])
}

/// The static pod that simulated nodes run from the beginning.
pub(super) fn beacon() -> Value {
    let mut manifest = beacon_template("beacon:v1");
    manifest["apiVersion"] = "v1".into();
    manifest["kind"] = "Pod".into();
    manifest["metadata"]["name"] = BEACON.into();
    manifest["metadata"]["namespace"] = "default".into();
    manifest
}

fn beacon_template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": BEACON}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [
            {"name": "beacon", "image": image, "command": ["sh", "-c", format!("echo {image}; exec sleep infinity")]}]},
    })
}

/// Rolls a newer beacon over the nodes, a few at a time.
async fn roll_beacon(client: &Client, kubeconfig: &Path, nodes: usize) -> Result<()> {
    // The hub defines the kind when it starts, which may be now.
    let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
    await_condition(kinds, STATIC_PODS, is_crd_established()).await?;
    let beacons: Api<StaticPod> = Api::namespaced(client.clone(), "default");
    let spec = json!({
        "staticPodName": BEACON, "staticPodManifest": BEACON, "template": beacon_template("beacon:v2"),
        // This machine has none yet, and gets one: as a process.
        "upgradeStrategy": {"type": "AdvancedRollingUpdate", "maxUnavailable": "20%", "install": {"nodeSelector": {}}},
    });
    let beacon = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod",
        "metadata": {"name": BEACON, "namespace": "default"}, "spec": spec});
    let written = match beacons.get_opt(BEACON).await? {
        Some(_) => beacons.patch(BEACON, &PatchParams::default(), &Patch::Merge(beacon)).await,
        None => beacons.create(&PostParams::default(), &serde_json::from_value(beacon)?).await,
    };
    written.context("cannot write the StaticPod")?;
    say(&[
        &format!(
            "demo: a static pod, beacon, rolls to version 2 over {nodes} simulated nodes and this machine"
        ),
        "",
        &format!("  kubectl --kubeconfig {} get staticpods -w", kubeconfig.display()),
        "  safepoint static-pod list             what this machine has of it",
        "",
    ])?;
    let rolled = |beacon: Option<&StaticPod>| {
        let status = beacon.and_then(|beacon| beacon.status.as_ref());
        status.is_some_and(|status| {
            status.conditions.iter().any(|it| it.type_ == "Success" && it.status == "True")
        })
    };
    await_condition(beacons, BEACON, rolled).await?;
    say(&["demo: beacon is at version 2 everywhere"])
}

/// Whether a condition of a pod is true.
fn has(condition: &'static str) -> impl Condition<Pod> {
    move |pod: Option<&Pod>| {
        let conditions = pod.and_then(|pod| pod.status.as_ref()?.conditions.as_ref()).into_iter().flatten();
        conditions.into_iter().any(|found| found.type_ == condition && found.status == "True")
    }
}

fn say(lines: &[&str]) -> Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush().map_err(Into::into)
}
