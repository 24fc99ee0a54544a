//! Watches that begin with a list: initial events, the bookmark that ends them, and bookmarks in general.

use anyhow::Result;
use serde_json::json;

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{labelled, pod_on, secret},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![bookmarks:
        a_bookmark_ends_the_initial_events,
        an_empty_collection_has_its_bookmark_at_once,
        initial_events_are_selected,
        initial_events_are_not_older_than_a_revision,
        initial_events_can_be_left_out,
        a_bookmark_must_be_allowed,
        a_watch_from_the_beginning_has_the_bookmark_without_asking_for_it,
        a_bookmark_is_where_a_watch_can_begin_again,
        a_bookmark_comes_before_the_time_is_over,
        a_list_has_no_initial_events,
        initial_events_need_a_match,
        a_match_needs_initial_events,
        initial_events_do_not_match_exactly,
        initial_events_of_the_future_are_an_error_event,
    ]
}

/// The query of a reflector that lists by watching.
const STREAM: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn a_bookmark_ends_the_initial_events(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let made = cx.create(cx.core("secrets"), &secret("b")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?{STREAM}"))).await?;
    watch.expect_all("ADDED", &["a", "b"]).await?;
    let bookmark = watch.bookmark().await?;
    bookmark.at("/kind", "Secret")?.at("/apiVersion", "v1")?;
    bookmark.at("/metadata/annotations", json!({"k8s.io/initial-events-end": "true"}))?;
    let complete = bookmark.revision()?.parse::<u64>()? >= made.revision()?.parse()?;
    bookmark.holds(complete, "a revision that is not older than what came before")?;
    bookmark.absent("/metadata/name")?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn an_empty_collection_has_its_bookmark_at_once(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core(&format!("secrets?{STREAM}"))).await?;
    let first = watch.next().await?;
    let kind = first.as_ref().map(|event| event.kind.as_str());
    anyhow::ensure!(kind == Some("BOOKMARK"), "expected a bookmark, got {first:?}");
    cx.create(cx.core("secrets"), &secret("a")).await?;
    watch.expect("ADDED", "a").await?;
    Ok(())
}

async fn initial_events_are_selected(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &labelled("a", json!({"color": "red"}))).await?;
    cx.create(cx.core("configmaps"), &labelled("b", json!({"color": "blue"}))).await?;
    let mut watch = cx.watch(cx.core(&format!("configmaps?labelSelector=color%3Dblue&{STREAM}"))).await?;
    watch.expect("ADDED", "b").await?;
    watch.bookmark().await?;
    let node = cx.unique("node");
    cx.create(cx.core("pods"), &pod_on("here", &node)).await?;
    cx.create(cx.core("pods"), &pod_on("there", "elsewhere")).await?;
    let mut watch = cx.watch(format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&{STREAM}")).await?;
    watch.expect("ADDED", "here").await?;
    watch.bookmark().await?;
    Ok(())
}

async fn initial_events_are_not_older_than_a_revision(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let made = cx.create(cx.core("secrets"), &secret("b")).await?.revision()?;
    let mut watch = cx.watch(cx.core(&format!("secrets?{STREAM}&resourceVersion={made}"))).await?;
    // All that is there comes, and not only what came after the revision.
    watch.expect_all("ADDED", &["a", "b"]).await?;
    let bookmark = watch.bookmark().await?;
    bookmark.at("/metadata/annotations/k8s.io~1initial-events-end", "true")?;
    Ok(())
}

async fn initial_events_can_be_left_out(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let query = "secrets?sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = cx.watch(cx.core(query)).await?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn a_bookmark_must_be_allowed(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let query = "secrets?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let mut watch = cx.watch(cx.core(query)).await?;
    watch.expect("ADDED", "a").await?;
    let more = watch.next().await?;
    anyhow::ensure!(more.is_none(), "nothing more is expected, got {more:?}");
    Ok(())
}

async fn a_watch_from_the_beginning_has_the_bookmark_without_asking_for_it(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    for start in ["", "&resourceVersion=0"] {
        let mut watch = cx.watch(cx.core(&format!("secrets?allowWatchBookmarks=true{start}"))).await?;
        watch.expect("ADDED", "a").await?;
        let bookmark = watch.bookmark().await?;
        bookmark.at("/metadata/annotations/k8s.io~1initial-events-end", "true")?;
    }
    Ok(())
}

async fn a_bookmark_is_where_a_watch_can_begin_again(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?{STREAM}"))).await?;
    watch.expect("ADDED", "a").await?;
    let bookmark = watch.bookmark().await?.revision()?;
    drop(watch);
    cx.create(cx.core("secrets"), &secret("b")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?resourceVersion={bookmark}"))).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn a_bookmark_comes_before_the_time_is_over(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?.revision()?;
    let query = format!("secrets?allowWatchBookmarks=true&resourceVersion={made}&timeoutSeconds=4");
    let mut watch = cx.watch(cx.core(&query)).await?;
    let bookmark = watch.bookmark().await?;
    let fresh = bookmark.revision()?.parse::<u64>()? >= made.parse()?;
    bookmark.holds(fresh, "a revision that is not older than the watch")?.absent("/metadata/annotations")?;
    Ok(())
}

async fn a_list_has_no_initial_events(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?sendInitialEvents=true")).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "sendInitialEvents")])?;
    reply.says(&["sendInitialEvents is forbidden for list"])?.at("/details/kind", "ListOptions")?;
    reply.at("/details/group", "meta.k8s.io")?;
    Ok(())
}

async fn initial_events_need_a_match(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?watch=true&sendInitialEvents=true&timeoutSeconds=1")).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "resourceVersionMatch")])?;
    reply.says(&["sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"])?;
    Ok(())
}

async fn a_match_needs_initial_events(cx: Cx) -> Result<()> {
    let query = "secrets?watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1&timeoutSeconds=1";
    let reply = cx.get(cx.core(query)).await?.invalid(&[("FieldValueForbidden", "resourceVersionMatch")])?;
    reply.says(&["resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"])?;
    Ok(())
}

async fn initial_events_do_not_match_exactly(cx: Cx) -> Result<()> {
    let query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1&timeoutSeconds=1";
    let reply = cx.get(cx.core(&format!("secrets?{query}"))).await?;
    reply.invalid(&[
        ("FieldValueForbidden", "resourceVersionMatch"),
        ("FieldValueNotSupported", "resourceVersionMatch"),
    ])?;
    Ok(())
}

async fn initial_events_of_the_future_are_an_error_event(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core(&format!("secrets?{STREAM}&resourceVersion=9000000000"))).await?;
    let event = watch.event().await?;
    event.object.holds(event.kind == "ERROR", "an error")?.at("/kind", "Status")?.at("/code", 504)?;
    event.object.at("/reason", "Timeout")?.at("/details/causes/0/reason", "ResourceVersionTooLarge")?;
    watch.ends().await
}
