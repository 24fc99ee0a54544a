//! Watches: where they begin, which events they send, how selectors turn one event into another, how they end.
//!
//! Whole namespaces are watched for secrets, since a server may put a config map of its own into every namespace.

use anyhow::Result;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{labelled, pod, secret, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![watch:
        a_watch_from_a_list_sends_what_came_after,
        a_watch_from_an_object_begins_after_it,
        a_watch_without_a_revision_begins_with_what_is_there,
        a_watch_from_zero_begins_with_what_is_there,
        an_event_shows_the_object_as_it_was_written,
        a_deletion_shows_the_last_state_at_its_own_revision,
        an_update_without_change_is_no_event,
        a_watch_sees_only_its_namespace,
        a_watch_over_all_namespaces_sees_them,
        a_watch_of_one_object_sees_only_that,
        a_label_that_appears_adds_and_one_that_goes_deletes,
        a_pod_that_is_bound_is_added_to_the_watch_of_its_node,
        a_pod_that_changes_its_phase_leaves_the_watch_of_the_phase,
        a_status_is_an_event_as_well,
        a_finalizer_turns_a_deletion_into_two_events,
        events_come_in_the_order_of_revisions,
        a_watch_ends_when_its_time_is_over,
        a_watch_of_something_unknown_is_not_found,
        a_watch_with_a_broken_revision_is_refused,
        a_watch_with_a_broken_selector_is_refused,
        an_object_cannot_be_watched_by_its_path,
        a_watch_has_json_lines_and_is_not_buffered,
    ]
}

async fn a_watch_from_a_list_sends_what_came_after(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("before")).await?;
    let list = cx.get(cx.core("secrets")).await?.code(200)?;
    cx.create(cx.core("secrets"), &secret("after")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?resourceVersion={}", list.revision()?))).await?;
    watch.expect("ADDED", "after").await?;
    cx.patch("merge", cx.core("secrets/before"), &json!({"metadata": {"labels": {"l": "1"}}}))
        .await?
        .code(200)?;
    watch.expect("MODIFIED", "before").await?.at("/metadata/labels/l", "1")?;
    cx.delete(cx.core("secrets/after")).await?.code(200)?;
    watch.expect("DELETED", "after").await?;
    Ok(())
}

async fn a_watch_from_an_object_begins_after_it(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?resourceVersion={}", made.revision()?))).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn a_watch_without_a_revision_begins_with_what_is_there(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    let mut watch = cx.watch(cx.core("secrets")).await?;
    watch.expect_all("ADDED", &["a", "b"]).await?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn a_watch_from_zero_begins_with_what_is_there(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    let mut watch = cx.watch(cx.core("secrets?resourceVersion=0")).await?;
    watch.expect_all("ADDED", &["a", "b"]).await?;
    cx.create(cx.core("secrets"), &secret("c")).await?;
    watch.expect("ADDED", "c").await?;
    Ok(())
}

async fn an_event_shows_the_object_as_it_was_written(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("secrets")).await?;
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    let added = watch.expect("ADDED", "a").await?;
    added.holds(added.value == made.value, "what the creation answered, with kind and version")?;
    Ok(())
}

async fn a_deletion_shows_the_last_state_at_its_own_revision(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("secrets")).await?;
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    watch.expect("ADDED", "a").await?;
    let gone = watch.expect("DELETED", "a").await?;
    gone.at("/type", "Opaque")?.at("/metadata/uid", made.uid()?)?;
    let later = gone.revision()?.parse::<u64>()? > made.revision()?.parse()?;
    gone.holds(later, "the revision of the deletion")?;
    Ok(())
}

async fn an_update_without_change_is_no_event(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?resourceVersion={}", made.revision()?))).await?;
    cx.put(cx.core("secrets/a"), &made.value).await?.code(200)?;
    cx.patch("merge", cx.core("secrets/a"), &json!({"type": "Opaque"})).await?.code(200)?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn a_watch_sees_only_its_namespace(cx: Cx) -> Result<()> {
    let other = cx.unique("other");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    cx.create_for_now("/api/v1/namespaces", &body).await?;
    let mut watch = cx.watch(cx.core("configmaps?labelSelector=mine")).await?;
    let elsewhere = format!("/api/v1/namespaces/{other}/configmaps");
    cx.create(elsewhere, &labelled("elsewhere", json!({"mine": "1"}))).await?;
    cx.create(cx.core("configmaps"), &labelled("here", json!({"mine": "1"}))).await?;
    watch.expect("ADDED", "here").await?;
    Ok(())
}

async fn a_watch_over_all_namespaces_sees_them(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(format!("/api/v1/configmaps?labelSelector=of%3D{}", cx.id())).await?;
    cx.create(cx.core("configmaps"), &labelled("a", json!({"of": cx.id()}))).await?;
    watch.expect("ADDED", "a").await?.at("/metadata/namespace", cx.namespace())?;
    Ok(())
}

async fn a_watch_of_one_object_sees_only_that(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("secrets?fieldSelector=metadata.name%3Da")).await?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    cx.create(cx.core("secrets"), &secret("a")).await?;
    watch.expect("ADDED", "a").await?;
    cx.delete(cx.core("secrets/b")).await?.code(200)?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn a_label_that_appears_adds_and_one_that_goes_deletes(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("configmaps?labelSelector=color%3Dred")).await?;
    cx.create(cx.core("configmaps"), &labelled("a", json!({"color": "blue"}))).await?;
    let paint = async |color: &str| {
        let patch = json!({"metadata": {"labels": {"color": color}}});
        cx.patch("merge", cx.core("configmaps/a"), &patch).await?.code(200)
    };
    paint("red").await?;
    watch.expect("ADDED", "a").await?.at("/metadata/labels/color", "red")?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"data": {"a": "2"}})).await?.code(200)?;
    watch.expect("MODIFIED", "a").await?.at("/data/a", "2")?;
    let blue = paint("blue").await?;
    // The object in the event is the one that the selector still matched, at the revision at which it left.
    let gone = watch.expect("DELETED", "a").await?;
    gone.at("/metadata/labels/color", "red")?.at("/metadata/resourceVersion", blue.revision()?)?;
    paint("red").await?;
    watch.expect("ADDED", "a").await?;
    Ok(())
}

async fn a_pod_that_is_bound_is_added_to_the_watch_of_its_node(cx: Cx) -> Result<()> {
    let node = cx.unique("node");
    let mut watch = cx.watch(format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")).await?;
    cx.create(cx.core("pods"), &pod("elsewhere")).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    cx.post(cx.core("pods/a/binding"), &binding).await?.code(201)?;
    watch.expect("ADDED", "a").await?.at("/spec/nodeName", node)?;
    Ok(())
}

async fn a_pod_that_changes_its_phase_leaves_the_watch_of_the_phase(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("pods?fieldSelector=status.phase%3DPending")).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    watch.expect("ADDED", "a").await?;
    cx.patch("merge", cx.core("pods/a/status"), &json!({"status": {"phase": "Running"}})).await?.code(200)?;
    watch.expect("DELETED", "a").await?.at("/status/phase", "Pending")?;
    Ok(())
}

async fn a_status_is_an_event_as_well(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("pods")).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    let status = json!({"status": {"message": "m"}});
    let written = cx.patch("merge", cx.core("pods/a/status"), &status).await?.code(200)?;
    watch.expect("ADDED", "a").await?;
    watch.expect("MODIFIED", "a").await?.at("/metadata/resourceVersion", written.revision()?)?;
    Ok(())
}

async fn a_finalizer_turns_a_deletion_into_two_events(cx: Cx) -> Result<()> {
    let kept = with(secret("a"), json!({"metadata": {"finalizers": ["conformance.example/keep"]}}));
    let made = cx.create(cx.core("secrets"), &kept).await?;
    let mut watch = cx.watch(cx.core(&format!("secrets?resourceVersion={}", made.revision()?))).await?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    watch.expect("MODIFIED", "a").await?.text("/metadata/deletionTimestamp")?;
    cx.patch("merge", cx.core("secrets/a"), &json!({"metadata": {"finalizers": null}})).await?.code(200)?;
    let gone = watch.expect("DELETED", "a").await?;
    gone.text("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn events_come_in_the_order_of_revisions(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("secrets")).await?;
    let writes = (0..20).map(|n| {
        let (cx, name) = (cx.clone(), format!("s-{n}"));
        async move { cx.create(cx.core("secrets"), &secret(&name)).await }
    });
    futures::future::try_join_all(writes).await?;
    let mut last = 0;
    for _ in 0..20 {
        let event = watch.event().await?;
        let revision: u64 = event.object.revision()?.parse()?;
        event.object.holds(revision > last, &format!("a revision above {last}"))?;
        last = revision;
    }
    Ok(())
}

async fn a_watch_ends_when_its_time_is_over(cx: Cx) -> Result<()> {
    let mut watch = cx.watch(cx.core("secrets?timeoutSeconds=1")).await?;
    watch.ends().await
}

async fn a_watch_of_something_unknown_is_not_found(cx: Cx) -> Result<()> {
    cx.get(cx.core("gizmos?watch=true")).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_watch_with_a_broken_revision_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?watch=true&resourceVersion=newest&timeoutSeconds=1")).await?;
    reply.at("/kind", "Status")?;
    reply.holds(reply.status >= 400, "a refusal")?;
    reply.says(&["resourceVersion: Invalid value: \"newest\""])?;
    Ok(())
}

async fn a_watch_with_a_broken_selector_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?watch=true&labelSelector=a%20in%20b&timeoutSeconds=1")).await?;
    reply.refused(400, "BadRequest")?;
    let reply = cx.get(cx.core("secrets?watch=true&fieldSelector=data.a%3Db&timeoutSeconds=1")).await?;
    reply.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_object_cannot_be_watched_by_its_path(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    let read = cx.get(cx.core("secrets/a?watch=true")).await?.code(200)?;
    read.holds(read.value == made.value, "the object and no stream")?;
    Ok(())
}

async fn a_watch_has_json_lines_and_is_not_buffered(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let call = Call::get(cx.core("secrets?watch=1&resourceVersion=0&timeoutSeconds=1"));
    let reply = cx.send(call).await?.code(200)?;
    reply.holds(reply.header("content-type") == "application/json", "a stream of JSON")?;
    reply.holds(reply.body.ends_with('\n') && reply.body.lines().count() >= 1, "lines")?;
    Ok(())
}
