//! Reading, replacing and removing one object: codes, messages and what follows from a revision.

use anyhow::Result;
use http::Method;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, lease, node, pod, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![objects:
        a_missing_object_is_not_found,
        a_missing_object_of_a_group_is_named_with_the_group,
        a_missing_namespace_has_no_objects,
        a_verb_that_a_path_does_not_have_is_not_allowed,
        an_unknown_path_is_not_found,
        an_update_needs_an_object,
        an_update_with_an_old_revision_is_a_conflict,
        an_update_without_a_revision_is_unconditional,
        an_update_of_a_lease_needs_a_revision,
        an_update_with_another_uid_is_a_conflict,
        an_update_with_another_name_is_refused,
        an_update_with_another_namespace_is_refused,
        an_update_without_a_name_is_refused,
        an_update_without_change_keeps_the_revision,
        an_update_keeps_what_the_server_has_set,
        an_update_cannot_remove_the_object_or_take_that_back,
        revisions_grow_over_all_kinds,
        a_label_does_not_count_as_a_new_generation,
        the_spec_of_a_pod_counts_generations,
        status_and_spec_are_written_apart,
        a_status_has_the_same_revision_as_its_object,
        a_delete_of_a_missing_object_is_not_found,
    ]
}

async fn a_missing_object_is_not_found(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("pods/nope")).await?.refused(404, "NotFound")?;
    reply.message("pods \"nope\" not found")?.about("pods", "nope")?.absent("/details/group")?;
    Ok(())
}

async fn a_missing_object_of_a_group_is_named_with_the_group(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.group("coordination.k8s.io/v1", "leases/nope")).await?.refused(404, "NotFound")?;
    reply.message("leases.coordination.k8s.io \"nope\" not found")?.about("leases", "nope")?;
    reply.at("/details/group", "coordination.k8s.io")?;
    Ok(())
}

async fn a_missing_namespace_has_no_objects(cx: Cx) -> Result<()> {
    let missing = cx.unique("missing");
    let list = cx.get(format!("/api/v1/namespaces/{missing}/pods")).await?.code(200)?;
    list.lists(&[])?.at("/items", json!([]))?;
    let reply = cx.get(format!("/api/v1/namespaces/{missing}/pods/a")).await?.refused(404, "NotFound")?;
    reply.about("pods", "a")?;
    Ok(())
}

async fn a_verb_that_a_path_does_not_have_is_not_allowed(cx: Cx) -> Result<()> {
    let put = cx.put(cx.core("configmaps"), &config_map("a")).await?.refused(405, "MethodNotAllowed")?;
    put.message("the server does not allow this method on the requested resource")?;
    let post = cx.post(cx.core("configmaps/a"), &config_map("a")).await?;
    post.refused(405, "MethodNotAllowed")?;
    let list = cx.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").await?;
    list.refused(405, "MethodNotAllowed")?;
    Ok(())
}

async fn an_unknown_path_is_not_found(cx: Cx) -> Result<()> {
    for path in [cx.core("gizmos"), "/apis/gizmos.example/v1/gizmos".to_owned(), "/api/v7/pods".to_owned()] {
        // An unknown group has no handler that could say it in JSON.
        let reply = cx.get(path).await?.code(404)?;
        reply.holds(reply.body.contains("404") || reply.value["code"] == 404, "an answer that says 404")?;
    }
    let reply = cx.get(cx.core("gizmos")).await?.refused(404, "NotFound")?;
    reply.says(&["the server could not find the requested resource"])?;
    Ok(())
}

async fn an_update_needs_an_object(cx: Cx) -> Result<()> {
    let reply = cx.put(cx.core("configmaps/nope"), &config_map("nope")).await?.refused(404, "NotFound")?;
    reply.message("configmaps \"nope\" not found")?.about("configmaps", "nope")?;
    Ok(())
}

async fn an_update_with_an_old_revision_is_a_conflict(cx: Cx) -> Result<()> {
    let first = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let second = with(first.value.clone(), json!({"data": {"a": "2"}}));
    let changed = cx.put(cx.core("configmaps/a"), &second).await?.code(200)?;
    changed.holds(changed.revision()? != first.revision()?, "another revision")?.at("/data/a", "2")?;
    let third = with(first.value.clone(), json!({"data": {"a": "3"}}));
    let reply = cx.put(cx.core("configmaps/a"), &third).await?.refused(409, "Conflict")?;
    reply.about("configmaps", "a")?.message(
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
         please apply your changes to the latest version and try again",
    )?;
    Ok(())
}

async fn an_update_without_a_revision_is_unconditional(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.put(cx.core("configmaps/a"), &with(config_map("a"), json!({"data": {"a": "2"}}))).await?;
    reply.code(200)?.at("/data/a", "2")?;
    Ok(())
}

async fn an_update_of_a_lease_needs_a_revision(cx: Cx) -> Result<()> {
    let leases = |rest: &str| cx.group("coordination.k8s.io/v1", rest);
    cx.create(leases("leases"), &lease("a")).await?;
    let reply = cx.put(leases("leases/a"), &lease("a")).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "metadata.resourceVersion")])?;
    reply.says(&["must be specified for an update"])?;
    Ok(())
}

async fn an_update_with_another_uid_is_a_conflict(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let body = with(config_map("a"), json!({"metadata": {"uid": "e7d1a0f6-9c8e-4a3e-9d5e-000000000000"}}));
    let reply = cx.put(cx.core("configmaps/a"), &body).await?.refused(409, "Conflict")?;
    reply.about("configmaps", "a")?.says(&["Precondition failed: UID in precondition: "])?;
    Ok(())
}

async fn an_update_with_another_name_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.put(cx.core("configmaps/a"), &config_map("b")).await?.refused(400, "BadRequest")?;
    reply.message("the name of the object (b) does not match the name on the URL (a)")?;
    Ok(())
}

async fn an_update_with_another_namespace_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let body = with(config_map("a"), json!({"metadata": {"namespace": "elsewhere"}}));
    let reply = cx.put(cx.core("configmaps/a"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["does not match the namespace"])?;
    Ok(())
}

async fn an_update_without_a_name_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let body = with(config_map("a"), json!({"metadata": {"name": null}}));
    cx.put(cx.core("configmaps/a"), &body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_update_without_change_keeps_the_revision(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let same = cx.put(cx.core("configmaps/a"), &made.value).await?.code(200)?;
    same.at("/metadata/resourceVersion", made.revision()?)?;
    let plain = cx.put(cx.core("configmaps/a"), &config_map("a")).await?.code(200)?;
    plain.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn an_update_keeps_what_the_server_has_set(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let body = with(
        config_map("a"),
        json!({"data": {"a": "2"}, "metadata": {"creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}}),
    );
    let changed = cx.put(cx.core("configmaps/a"), &body).await?.code(200)?;
    changed.at("/metadata/uid", made.uid()?)?.absent("/metadata/selfLink")?;
    changed.at("/metadata/creationTimestamp", made.get("/metadata/creationTimestamp").clone())?;
    Ok(())
}

async fn an_update_cannot_remove_the_object_or_take_that_back(cx: Cx) -> Result<()> {
    let keep = json!({"metadata": {"finalizers": ["conformance.example/keep"]}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), keep.clone())).await?;
    let ending = with(
        config_map("a"),
        json!({"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z",
        "finalizers": ["conformance.example/keep"]}}),
    );
    let alive = cx.put(cx.core("configmaps/a"), &ending).await?;
    alive.invalid(&[("FieldValueInvalid", "metadata.deletionTimestamp")])?.says(&["field is immutable"])?;
    let gone = cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let back = cx.put(cx.core("configmaps/a"), &with(config_map("a"), keep)).await?.code(200)?;
    back.at("/metadata/deletionTimestamp", gone.text("/metadata/deletionTimestamp")?)?;
    cx.put(cx.core("configmaps/a"), &config_map("a")).await?.code(200)?;
    Ok(())
}

async fn revisions_grow_over_all_kinds(cx: Cx) -> Result<()> {
    let mut last = 0;
    let cluster = cx.unique("node");
    cx.remove_later(format!("/api/v1/nodes/{cluster}"));
    for (path, body) in [
        (cx.core("configmaps"), config_map("a")),
        ("/api/v1/nodes".to_owned(), node(&cluster)),
        (cx.group("coordination.k8s.io/v1", "leases"), lease("a")),
        (cx.core("pods"), pod("a")),
    ] {
        let made = cx.create(path, &body).await?;
        let revision: u64 = made.revision()?.parse()?;
        made.holds(revision > last, &format!("a revision above {last}"))?;
        last = revision;
    }
    let list = cx.get(cx.core("configmaps")).await?.code(200)?;
    list.holds(list.revision()?.parse::<u64>()? >= last, "a list at the newest revision of any kind")?;
    Ok(())
}

async fn a_label_does_not_count_as_a_new_generation(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    made.at("/metadata/generation", 1)?;
    let patch = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}});
    let labelled = cx.patch("merge", cx.core("pods/a"), &patch).await?.code(200)?;
    labelled.at("/metadata/generation", 1)?.at("/metadata/labels", json!({"a": "b"}))?;
    Ok(())
}

async fn the_spec_of_a_pod_counts_generations(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let patch = json!({"spec": {"containers": [{"name": "app", "image": "app:2"}]}});
    let changed = cx.patch("strategic", cx.core("pods/a"), &patch).await?.code(200)?;
    changed.at("/metadata/generation", 2)?.at("/spec/containers/0/image", "app:2")?;
    let same = cx.patch("strategic", cx.core("pods/a"), &patch).await?.code(200)?;
    same.at("/metadata/generation", 2)?.at("/metadata/resourceVersion", changed.revision()?)?;
    Ok(())
}

async fn status_and_spec_are_written_apart(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let both = with(
        made.value.clone(),
        json!({"status": {"phase": "Running", "message": "up"}, "metadata": {"labels": {"seen": "yes"}},
            "spec": {"activeDeadlineSeconds": 7}}),
    );
    let status = cx.put(cx.core("pods/a/status"), &both).await?.code(200)?;
    status
        .at("/status/message", "up")?
        .absent("/spec/activeDeadlineSeconds")?
        .at("/metadata/generation", 1)?;
    let both = with(
        status.value.clone(),
        json!({"status": {"message": "down"}, "spec": {"activeDeadlineSeconds": 7}}),
    );
    let main = cx.put(cx.core("pods/a"), &both).await?.code(200)?;
    main.at("/status/message", "up")?.at("/spec/activeDeadlineSeconds", 7)?.at("/metadata/generation", 2)?;
    Ok(())
}

async fn a_status_has_the_same_revision_as_its_object(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let whole = cx.get(cx.core("pods/a")).await?.code(200)?;
    let status = cx.get(cx.core("pods/a/status")).await?.code(200)?;
    status.holds(status.value == whole.value, "the whole object")?;
    let reply = cx.patch("merge", cx.core("pods/a/status"), &json!({"status": {"message": "m"}})).await?;
    let written = reply.code(200)?;
    cx.get(cx.core("pods/a")).await?.at("/metadata/resourceVersion", written.revision()?)?;
    let old = cx.put(cx.core("pods/a/status"), &whole.value).await?;
    old.refused(409, "Conflict")?;
    Ok(())
}

async fn a_delete_of_a_missing_object_is_not_found(cx: Cx) -> Result<()> {
    let call = Call::new(Method::DELETE, cx.core("configmaps/nope"));
    let reply = cx.send(call).await?.refused(404, "NotFound")?;
    reply.message("configmaps \"nope\" not found")?;
    Ok(())
}
