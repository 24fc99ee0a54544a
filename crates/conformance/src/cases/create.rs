//! Creation: what the server sets, what it takes from the path, what it refuses.

use anyhow::Result;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, pod, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![create:
        a_created_object_carries_what_the_server_sets,
        what_only_the_server_sets_is_not_taken_from_the_client,
        a_name_that_exists_is_a_conflict,
        the_namespace_comes_from_the_path,
        another_namespace_in_the_body_is_refused,
        a_missing_namespace_is_not_found,
        a_namespace_that_is_ending_takes_nothing_new,
        a_revision_in_the_body_is_refused,
        a_name_is_generated,
        a_generated_name_is_cut_to_leave_room,
        an_object_without_a_name_is_invalid,
        a_name_with_capitals_is_invalid,
        a_name_that_is_too_long_is_invalid,
        labels_and_annotations_are_checked,
        an_empty_body_is_refused,
        broken_json_is_refused,
        another_kind_in_the_body_is_refused,
        another_version_in_the_body_is_refused,
        a_body_without_kind_is_what_the_path_says,
        a_field_of_another_type_is_refused,
        an_unknown_content_type_is_refused,
    ]
}

async fn a_created_object_carries_what_the_server_sets(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    made.at("/kind", "ConfigMap")?.at("/apiVersion", "v1")?.at("/metadata/name", "a")?;
    made.at("/metadata/namespace", cx.namespace())?.at("/data", json!({"a": "1"}))?;
    made.absent("/metadata/selfLink")?.absent("/metadata/generation")?;
    made.holds(made.uid()?.len() == 36, "a uid of 36 characters")?;
    made.holds(made.revision()?.parse::<u64>().is_ok_and(|revision| revision > 0), "a positive revision")?;
    let created = made.text("/metadata/creationTimestamp")?;
    made.holds(created.len() == 20 && created.ends_with('Z'), "a time of creation in seconds")?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.value == made.value, "what was answered to the creation")?;
    Ok(())
}

async fn what_only_the_server_sets_is_not_taken_from_the_client(cx: Cx) -> Result<()> {
    let body = with(
        config_map("a"),
        json!({"metadata": {
            "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/mine",
            "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 7}}),
    );
    let made = cx.create(cx.core("configmaps"), &body).await?;
    made.holds(made.uid()? != "mine", "a uid of the server's own")?;
    made.holds(!made.text("/metadata/creationTimestamp")?.starts_with("2001"), "a time of the server's own")?;
    made.absent("/metadata/deletionTimestamp")?.absent("/metadata/deletionGracePeriodSeconds")?;
    made.absent("/metadata/selfLink")?;
    Ok(())
}

async fn a_name_that_exists_is_a_conflict(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let again = cx.post(cx.core("configmaps"), &config_map("a")).await?.refused(409, "AlreadyExists")?;
    again.message("configmaps \"a\" already exists")?.about("configmaps", "a")?;
    Ok(())
}

async fn the_namespace_comes_from_the_path(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"namespace": cx.namespace()}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let made = cx.create(cx.core("configmaps"), &config_map("b")).await?;
    made.at("/metadata/namespace", cx.namespace())?;
    Ok(())
}

async fn another_namespace_in_the_body_is_refused(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"namespace": "elsewhere"}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["the namespace of the provided object does not match the namespace sent on the request"])?;
    Ok(())
}

async fn a_missing_namespace_is_not_found(cx: Cx) -> Result<()> {
    let missing = cx.unique("missing");
    let path = format!("/api/v1/namespaces/{missing}/configmaps");
    let reply = cx.post(path, &config_map("a")).await?.refused(404, "NotFound")?;
    reply.message(&format!("namespaces \"{missing}\" not found"))?.about("namespaces", &missing)?;
    Ok(())
}

async fn a_namespace_that_is_ending_takes_nothing_new(cx: Cx) -> Result<()> {
    // A finalizer keeps an object, and the object keeps the namespace, whoever empties namespaces.
    let kept = with(config_map("kept"), json!({"metadata": {"finalizers": ["conformance.example/keep"]}}));
    cx.create(cx.core("configmaps"), &kept).await?;
    cx.delete(format!("/api/v1/namespaces/{}", cx.namespace())).await?.code(200)?;
    let reply = cx.post(cx.core("configmaps"), &config_map("late")).await?.refused(403, "Forbidden")?;
    reply.about("configmaps", "late")?.says(&["because it is being terminated"])?;
    reply.cause("NamespaceTerminating", "metadata.namespace")?;
    cx.patch("merge", cx.core("configmaps/kept"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .code(200)?;
    Ok(())
}

async fn a_revision_in_the_body_is_refused(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"resourceVersion": "7"}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    reply.says(&["resourceVersion should not be set on objects to be created"])?;
    cx.get(cx.core("configmaps/a")).await?.code(404)?;
    Ok(())
}

async fn a_name_is_generated(cx: Cx) -> Result<()> {
    let body = with(config_map(""), json!({"metadata": {"generateName": "gen-", "name": null}}));
    let one = cx.create(cx.core("configmaps"), &body).await?;
    let two = cx.create(cx.core("configmaps"), &body).await?;
    for made in [&one, &two] {
        let name = made.text("/metadata/name")?;
        let suffix = name.strip_prefix("gen-").unwrap_or_default();
        let plain = suffix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        made.holds(suffix.len() == 5 && plain, "a suffix of five")?.at("/metadata/generateName", "gen-")?;
    }
    one.holds(one.get("/metadata/name") != two.get("/metadata/name"), "two names")?;
    Ok(())
}

async fn a_generated_name_is_cut_to_leave_room(cx: Cx) -> Result<()> {
    let stem = "g".repeat(70);
    let body = with(config_map(""), json!({"metadata": {"generateName": stem, "name": null}}));
    let made = cx.create(cx.core("configmaps"), &body).await?;
    made.holds(made.text("/metadata/name")?.len() == 63, "a name of 63 characters")?;
    Ok(())
}

async fn an_object_without_a_name_is_invalid(cx: Cx) -> Result<()> {
    let body = with(config_map(""), json!({"metadata": {"name": null}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?.refused(422, "Invalid")?;
    let message = reply.cause("FieldValueRequired", "metadata.name")?;
    reply.holds(message.contains("name or generateName is required"), "what is missing")?;
    Ok(())
}

async fn a_name_with_capitals_is_invalid(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("configmaps"), &config_map("No_Name")).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "metadata.name")])?;
    reply.about("ConfigMap", "No_Name")?.says(&[
        "ConfigMap \"No_Name\" is invalid: metadata.name: Invalid value: \"No_Name\"",
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters",
    ])?;
    Ok(())
}

async fn a_name_that_is_too_long_is_invalid(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map(&"n".repeat(253))).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map(&"n".repeat(254))).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "metadata.name")])?;
    reply.says(&["must be no more than 253"])?;
    Ok(())
}

async fn labels_and_annotations_are_checked(cx: Cx) -> Result<()> {
    let body = with(
        config_map("a"),
        json!({"metadata": {"labels": {"fine": "not fine!", "-x": "y"}, "annotations": {"also bad": "z"}}}),
    );
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    reply.invalid(&[
        ("FieldValueInvalid", "metadata.labels"),
        ("FieldValueInvalid", "metadata.annotations"),
    ])?;
    Ok(())
}

async fn an_empty_body_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.send(Call::new(http::Method::POST, cx.core("configmaps"))).await?;
    reply.refused(400, "BadRequest")?;
    Ok(())
}

async fn broken_json_is_refused(cx: Cx) -> Result<()> {
    let call = Call::new(http::Method::POST, cx.core("configmaps")).raw("{\"kind\": \"ConfigMap\", ");
    cx.send(call).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn another_kind_in_the_body_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("configmaps"), &pod("a")).await?.refused(400, "BadRequest")?;
    reply.says(&["Pod in version \"v1\" cannot be handled as a ConfigMap"])?;
    Ok(())
}

async fn another_version_in_the_body_is_refused(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"apiVersion": "apps/v1"}));
    cx.post(cx.core("configmaps"), &body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_body_without_kind_is_what_the_path_says(cx: Cx) -> Result<()> {
    let body = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let made = cx.create(cx.core("configmaps"), &body).await?;
    made.at("/kind", "ConfigMap")?.at("/apiVersion", "v1")?;
    Ok(())
}

async fn a_field_of_another_type_is_refused(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"data": {"a": 1}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["ConfigMap in version \"v1\" cannot be handled as a ConfigMap", "data"])?;
    Ok(())
}

async fn an_unknown_content_type_is_refused(cx: Cx) -> Result<()> {
    let call = Call::post(cx.core("configmaps"), &config_map("a")).content_type("text/plain");
    let reply = cx.send(call).await?.refused(415, "UnsupportedMediaType")?;
    reply.says(&["the body of the request was in an unknown format - accepted media types include"])?;
    Ok(())
}
