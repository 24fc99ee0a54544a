//! The time that a pod on a node is given to end.

use anyhow::Result;
use serde_json::json;

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{pod, pod_on, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![grace:
        a_pod_without_a_node_goes_at_once,
        a_pod_on_a_node_has_its_grace,
        grace_can_be_shortened_and_not_lengthened,
        grace_comes_from_the_options,
        a_pod_without_grace_goes_at_once,
        a_negative_grace_is_one_second,
        a_collection_of_pods_has_grace,
    ]
}

async fn a_pod_without_a_node_goes_at_once(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    cx.delete(cx.core("pods/a")).await?.code(200)?;
    cx.get(cx.core("pods/a")).await?.code(404)?;
    Ok(())
}

async fn a_pod_on_a_node_has_its_grace(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let answer = cx.delete(cx.core("pods/a")).await?.code(200)?;
    answer.at("/metadata/deletionGracePeriodSeconds", 30)?.text("/metadata/deletionTimestamp")?;
    answer.at("/metadata/uid", made.uid()?)?.at("/status/phase", "Pending")?;
    // The end is announced for when the grace is over, and announcing it is a new generation.
    let (created, ends) =
        (made.text("/metadata/creationTimestamp")?, answer.text("/metadata/deletionTimestamp")?);
    answer.holds(ends > created, "an end in the future")?.at("/metadata/generation", 2)?;
    cx.get(cx.core("pods/a")).await?.code(200)?;
    Ok(())
}

async fn grace_can_be_shortened_and_not_lengthened(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    cx.delete(cx.core("pods/a?gracePeriodSeconds=20")).await?.code(200)?;
    let longer = cx.delete(cx.core("pods/a?gracePeriodSeconds=50")).await?.code(200)?;
    longer.at("/metadata/deletionGracePeriodSeconds", 20)?;
    let shorter = cx.delete(cx.core("pods/a?gracePeriodSeconds=5")).await?.code(200)?;
    shorter.at("/metadata/deletionGracePeriodSeconds", 5)?;
    let again = cx.delete(cx.core("pods/a")).await?.code(200)?;
    again.at("/metadata/deletionGracePeriodSeconds", 5)?;
    Ok(())
}

async fn grace_comes_from_the_options(cx: Cx) -> Result<()> {
    let body = with(pod_on("a", "nowhere"), json!({"spec": {"terminationGracePeriodSeconds": 3}}));
    cx.create(cx.core("pods"), &body).await?;
    let answer = cx.delete(cx.core("pods/a")).await?.code(200)?;
    answer.at("/metadata/deletionGracePeriodSeconds", 3)?;
    cx.create(cx.core("pods"), &pod_on("b", "nowhere")).await?;
    let answer = cx.delete(cx.core("pods/b?gracePeriodSeconds=4")).await?.code(200)?;
    answer.at("/metadata/deletionGracePeriodSeconds", 4)?;
    Ok(())
}

async fn a_pod_without_grace_goes_at_once(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    cx.delete(cx.core("pods/a")).await?.code(200)?;
    cx.delete(cx.core("pods/a?gracePeriodSeconds=0")).await?.code(200)?.at("/kind", "Pod")?;
    cx.get(cx.core("pods/a")).await?.code(404)?;
    // A pod that has ended needs no grace.
    cx.create(cx.core("pods"), &pod_on("b", "nowhere")).await?;
    let ended = json!({"status": {"phase": "Succeeded"}});
    cx.patch("merge", cx.core("pods/b/status"), &ended).await?.code(200)?;
    cx.delete(cx.core("pods/b")).await?.code(200)?;
    cx.get(cx.core("pods/b")).await?.code(404)?;
    Ok(())
}

async fn a_negative_grace_is_one_second(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let answer = cx.delete(cx.core("pods/a?gracePeriodSeconds=-5")).await?.code(200)?;
    answer.at("/metadata/deletionGracePeriodSeconds", 1)?;
    Ok(())
}

async fn a_collection_of_pods_has_grace(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    cx.create(cx.core("pods"), &pod("b")).await?;
    cx.delete_with(cx.core("pods"), json!({"gracePeriodSeconds": 9})).await?.code(200)?;
    let left = cx.get(cx.core("pods")).await?.code(200)?;
    left.lists(&["a"])?.at("/items/0/metadata/deletionGracePeriodSeconds", 9)?;
    Ok(())
}
