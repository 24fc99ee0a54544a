//! A small story to play with: a rover that drives while its upgrade waits.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition};
use safepoint_api::names::kubeedge::condition::HELD_UPGRADE;
use serde_json::json;

const ROVER: &str = "rover";
/// What the rover runs: it says what it is and drives on.
const DRIVE: &str = "echo \"rover starts driving\"; n=0; while true; do n=$((n+1)); echo \"driving, waypoint $n\"; sleep 2; done";

/// Plays the story and tells it.
pub(super) async fn play(client: &Client, kubeconfig: &Path) -> Result<()> {
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
