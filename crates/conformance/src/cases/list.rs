//! Lists: their shape and order, pages, and the revisions that a client can ask for.

use anyhow::Result;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, pod, secret, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![list:
        a_list_has_a_kind_and_a_revision,
        an_empty_list_has_items,
        a_list_is_in_the_order_of_names,
        a_list_over_all_namespaces_is_in_the_order_of_namespaces,
        pages_follow_each_other,
        the_last_page_has_no_token,
        pages_show_one_revision_while_objects_change,
        a_page_of_selected_objects_does_not_count_the_rest,
        a_broken_token_is_refused,
        a_token_does_not_go_with_a_revision,
        a_list_at_revision_zero_takes_what_is_there,
        a_list_not_older_than_a_revision_shows_it,
        a_list_at_an_exact_revision_shows_the_past,
        pages_of_an_exact_revision_stay_in_the_past,
        a_match_without_a_revision_is_refused,
        an_unknown_match_is_refused,
        an_exact_revision_is_not_zero,
        a_revision_that_is_no_number_is_refused,
        a_revision_of_the_future_times_out,
        an_object_can_be_read_at_revision_zero,
        a_limit_that_is_no_number_is_refused,
    ]
}

async fn secrets(cx: &Cx, names: &[&str]) -> Result<()> {
    for name in names {
        cx.create(cx.core("secrets"), &secret(name)).await?;
    }
    Ok(())
}

/// The next page after `page`.
async fn next(cx: &Cx, query: &str, page: &Reply) -> Result<Reply> {
    let token = page.text("/metadata/continue")?;
    cx.get(cx.core(&format!("secrets?{query}&continue={token}"))).await
}

async fn a_list_has_a_kind_and_a_revision(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let list = cx.get(cx.core("pods")).await?.code(200)?;
    list.at("/kind", "PodList")?.at("/apiVersion", "v1")?.lists(&["a"])?;
    list.absent("/items/0/kind")?.absent("/items/0/apiVersion")?.absent("/metadata/continue")?;
    list.at("/items/0/metadata/resourceVersion", made.revision()?)?;
    let newer = list.revision()?.parse::<u64>()? >= made.revision()?.parse()?;
    list.holds(newer, "a revision that is not older than its objects")?;
    Ok(())
}

async fn an_empty_list_has_items(cx: Cx) -> Result<()> {
    let list = cx.get(cx.core("pods")).await?.code(200)?;
    list.at("/items", json!([]))?.revision()?;
    Ok(())
}

async fn a_list_is_in_the_order_of_names(cx: Cx) -> Result<()> {
    secrets(&cx, &["b", "a-b", "a", "a.b", "c", "a1"]).await?;
    cx.get(cx.core("secrets")).await?.code(200)?.lists(&["a", "a-b", "a.b", "a1", "b", "c"])?;
    Ok(())
}

async fn a_list_over_all_namespaces_is_in_the_order_of_namespaces(cx: Cx) -> Result<()> {
    let other = format!("{}x", cx.namespace());
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    cx.create_for_now("/api/v1/namespaces", &body).await?;
    let mine = |name: &str| with(secret(name), json!({"metadata": {"labels": {"of": cx.id()}}}));
    cx.create(format!("/api/v1/namespaces/{other}/secrets"), &mine("a")).await?;
    cx.create(cx.core("secrets"), &mine("z")).await?;
    cx.create(cx.core("secrets"), &mine("b")).await?;
    let list = cx.get(format!("/api/v1/secrets?labelSelector=of%3D{}", cx.id())).await?.code(200)?;
    list.lists(&["b", "z", "a"])?.at("/items/2/metadata/namespace", other)?;
    Ok(())
}

async fn pages_follow_each_other(cx: Cx) -> Result<()> {
    secrets(&cx, &["a", "b", "c", "d", "e"]).await?;
    let first = cx.get(cx.core("secrets?limit=2")).await?.code(200)?;
    first.lists(&["a", "b"])?.at("/metadata/remainingItemCount", 3)?;
    let second = next(&cx, "limit=2", &first).await?.code(200)?;
    second.lists(&["c", "d"])?.at("/metadata/remainingItemCount", 1)?;
    let third = next(&cx, "limit=2", &second).await?.code(200)?;
    third.lists(&["e"])?.absent("/metadata/continue")?.absent("/metadata/remainingItemCount")?;
    Ok(())
}

async fn the_last_page_has_no_token(cx: Cx) -> Result<()> {
    secrets(&cx, &["a", "b"]).await?;
    for limit in [0, 2, 500] {
        let list = cx.get(cx.core(&format!("secrets?limit={limit}"))).await?.code(200)?;
        list.lists(&["a", "b"])?.absent("/metadata/continue")?.absent("/metadata/remainingItemCount")?;
    }
    Ok(())
}

async fn pages_show_one_revision_while_objects_change(cx: Cx) -> Result<()> {
    secrets(&cx, &["a", "b", "d", "e"]).await?;
    let first = cx.get(cx.core("secrets?limit=2")).await?.code(200)?;
    first.lists(&["a", "b"])?;
    secrets(&cx, &["c"]).await?;
    cx.delete(cx.core("secrets/d")).await?.code(200)?;
    cx.patch("merge", cx.core("secrets/e"), &json!({"metadata": {"labels": {"new": "yes"}}}))
        .await?
        .code(200)?;
    let second = next(&cx, "limit=2", &first).await?.code(200)?;
    second.lists(&["d", "e"])?.absent("/items/1/metadata/labels")?;
    second.at("/metadata/resourceVersion", first.revision()?)?;
    Ok(())
}

async fn a_page_of_selected_objects_does_not_count_the_rest(cx: Cx) -> Result<()> {
    for name in ["a", "b", "c"] {
        let body = with(secret(name), json!({"metadata": {"labels": {"l": "1"}}}));
        cx.create(cx.core("secrets"), &body).await?;
    }
    secrets(&cx, &["aa"]).await?;
    let first = cx.get(cx.core("secrets?limit=2&labelSelector=l")).await?.code(200)?;
    first.lists(&["a", "b"])?.absent("/metadata/remainingItemCount")?;
    let second = next(&cx, "limit=2&labelSelector=l", &first).await?.code(200)?;
    second.lists(&["c"])?.absent("/metadata/continue")?;
    Ok(())
}

async fn a_broken_token_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?limit=2&continue=nonsense")).await?.refused(400, "BadRequest")?;
    reply.says(&["continue key is not valid"])?;
    Ok(())
}

async fn a_token_does_not_go_with_a_revision(cx: Cx) -> Result<()> {
    secrets(&cx, &["a", "b"]).await?;
    let first = cx.get(cx.core("secrets?limit=1")).await?.code(200)?;
    let revision = first.revision()?;
    let reply = next(&cx, &format!("limit=1&resourceVersion={revision}"), &first).await?;
    reply
        .refused(400, "BadRequest")?
        .says(&["specifying resource version is not allowed when using continue"])?;
    let both = format!("limit=1&resourceVersion={revision}&resourceVersionMatch=Exact");
    next(&cx, &both, &first).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_list_at_revision_zero_takes_what_is_there(cx: Cx) -> Result<()> {
    secrets(&cx, &["a"]).await?;
    // Any state will do for the server, so only the shape is certain at once.
    let call = Call::get(cx.core("secrets?resourceVersion=0"));
    let list = cx.until(call, |list| list.lists(&["a"]).map(drop)).await?.code(200)?;
    list.holds(list.revision()? != "0", "the revision of what was there")?;
    let limited = cx.get(cx.core("secrets?resourceVersion=0&limit=500")).await?.code(200)?;
    limited.lists(&["a"])?;
    Ok(())
}

async fn a_list_not_older_than_a_revision_shows_it(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?.revision()?;
    let list = cx.get(cx.core(&format!("secrets?resourceVersion={made}"))).await?.code(200)?;
    list.lists(&["a"])?;
    let query = format!("secrets?resourceVersion={made}&resourceVersionMatch=NotOlderThan");
    let list = cx.get(cx.core(&query)).await?.code(200)?;
    list.lists(&["a"])?.holds(list.revision()?.parse::<u64>()? >= made.parse()?, "not older")?;
    Ok(())
}

async fn a_list_at_an_exact_revision_shows_the_past(cx: Cx) -> Result<()> {
    secrets(&cx, &["a"]).await?;
    let past = cx.create(cx.core("secrets"), &secret("b")).await?.revision()?;
    secrets(&cx, &["c"]).await?;
    cx.delete(cx.core("secrets/a")).await?.code(200)?;
    let query = format!("secrets?resourceVersion={past}&resourceVersionMatch=Exact");
    let list = cx.get(cx.core(&query)).await?.code(200)?;
    list.lists(&["a", "b"])?.at("/metadata/resourceVersion", past)?;
    Ok(())
}

async fn pages_of_an_exact_revision_stay_in_the_past(cx: Cx) -> Result<()> {
    secrets(&cx, &["a"]).await?;
    let past = cx.create(cx.core("secrets"), &secret("b")).await?.revision()?;
    cx.delete(cx.core("secrets/b")).await?.code(200)?;
    let query = format!("secrets?resourceVersion={past}&resourceVersionMatch=Exact&limit=1");
    let first = cx.get(cx.core(&query)).await?.code(200)?;
    first.lists(&["a"])?.at("/metadata/resourceVersion", past.clone())?;
    let second = next(&cx, "limit=1", &first).await?.code(200)?;
    second.lists(&["b"])?.at("/metadata/resourceVersion", past)?;
    Ok(())
}

async fn a_match_without_a_revision_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?resourceVersionMatch=NotOlderThan")).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "resourceVersionMatch")])?;
    reply.says(&["resourceVersionMatch is forbidden unless resourceVersion is provided"])?;
    Ok(())
}

async fn an_unknown_match_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?resourceVersion=1&resourceVersionMatch=Newest")).await?;
    reply.invalid(&[("FieldValueNotSupported", "resourceVersionMatch")])?;
    Ok(())
}

async fn an_exact_revision_is_not_zero(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?resourceVersion=0&resourceVersionMatch=Exact")).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "resourceVersionMatch")])?;
    reply.says(&["is forbidden for resourceVersion \"0\""])?;
    Ok(())
}

async fn a_revision_that_is_no_number_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?resourceVersion=newest")).await?;
    reply.refused(400, "BadRequest")?.says(&["resourceVersion: Invalid value: \"newest\""])?;
    let reply = cx.get(cx.core("secrets/a?resourceVersion=newest")).await?;
    reply.holds(reply.status >= 400, "a refusal")?;
    Ok(())
}

async fn a_revision_of_the_future_times_out(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("secrets?resourceVersion=9000000000")).await?.refused(504, "Timeout")?;
    reply.says(&["Too large resource version: 9000000000, current: "])?;
    reply.at("/details/causes/0/reason", "ResourceVersionTooLarge")?.at("/details/retryAfterSeconds", 1)?;
    Ok(())
}

async fn an_object_can_be_read_at_revision_zero(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let call = Call::get(cx.core("configmaps/a?resourceVersion=0"));
    let read = cx.until(call, |reply| reply.clone().code(200).map(drop)).await?;
    read.holds(read.value == made.value, "the object")?;
    let query = format!("configmaps/a?resourceVersion={}", made.revision()?);
    cx.get(cx.core(&query)).await?.code(200)?;
    Ok(())
}

async fn a_limit_that_is_no_number_is_refused(cx: Cx) -> Result<()> {
    cx.get(cx.core("secrets?limit=many")).await?.refused(400, "BadRequest")?;
    Ok(())
}
