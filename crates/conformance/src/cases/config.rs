//! Config maps and secrets.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, secret, with},
    server::base64,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![config:
        texts_and_bytes_have_different_keys,
        keys_are_checked,
        bytes_are_kept,
        an_immutable_config_map_stays,
        an_immutable_config_map_can_be_labelled_and_deleted,
        a_config_map_has_a_largest_size,
        a_config_map_may_be_empty,
        a_secret_is_opaque,
        texts_of_a_secret_become_bytes,
        bytes_of_a_secret_are_base64,
        the_type_of_a_secret_stays,
        a_type_asks_for_its_keys,
        an_immutable_secret_stays,
    ]
}

async fn texts_and_bytes_have_different_keys(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"binaryData": {"a": base64("x")}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    reply.invalid(&[("FieldValueInvalid", "data[a]")])?.says(&["duplicate of key present in binaryData"])?;
    Ok(())
}

async fn keys_are_checked(cx: Cx) -> Result<()> {
    for key in ["", "a b", "a/b", "..", "ä"] {
        let body = with(config_map("a"), json!({"data": {key: "x"}}));
        cx.post(cx.core("configmaps"), &body).await?.refused(422, "Invalid")?;
    }
    let body = with(config_map("a"), json!({"data": {"A_b-c.d": "x", "..a": "y", "9": ""}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    // Two dots at the beginning are reserved for the links that a kubelet makes.
    reply.refused(422, "Invalid")?.says(&["must not start with '..'"])?;
    cx.create(cx.core("configmaps"), &with(config_map("a"), json!({"data": {"A_b-c.d": "x", "9": ""}})))
        .await?;
    Ok(())
}

async fn bytes_are_kept(cx: Cx) -> Result<()> {
    let bytes = base64([0, 159, 146, 150, 255]);
    let body = with(config_map("a"), json!({"binaryData": {"b": bytes}}));
    let made = cx.create(cx.core("configmaps"), &body).await?;
    made.at("/binaryData/b", bytes)?.at("/data/a", "1")?;
    let broken = with(config_map("b"), json!({"binaryData": {"b": "not base64!"}}));
    cx.post(cx.core("configmaps"), &broken).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_immutable_config_map_stays(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &with(config_map("a"), json!({"immutable": true}))).await?;
    for (patch, field) in [
        (json!({"data": {"a": "2"}}), "data"),
        (json!({"binaryData": {"b": base64("x")}}), "binaryData"),
        (json!({"immutable": false}), "immutable"),
    ] {
        let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?;
        let reply = reply.invalid(&[("FieldValueForbidden", field)])?;
        reply.says(&["when `immutable` is set"])?;
    }
    Ok(())
}

async fn an_immutable_config_map_can_be_labelled_and_deleted(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"immutable": true})).await?.code(200)?;
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    cx.patch("merge", cx.core("configmaps/a"), &labels).await?.code(200)?.at("/metadata/labels/l", "1")?;
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    Ok(())
}

async fn a_config_map_has_a_largest_size(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"data": {"big": "x".repeat(1024 * 1024)}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    // The field is the whole object, so it has no name.
    let reply = reply.refused(422, "Invalid")?;
    reply.says(&["Too long", "1048576"])?;
    reply.at("/details/causes/0/reason", "FieldValueTooLong")?;
    let fits = json!({"data": {"a": null, "big": "x".repeat(1024 * 1024 - 10)}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), fits)).await?;
    Ok(())
}

async fn a_config_map_may_be_empty(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &with(config_map("a"), json!({"data": null}))).await?;
    made.absent("/data")?.absent("/binaryData")?.absent("/immutable")?;
    Ok(())
}

async fn a_secret_is_opaque(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("secrets"), &secret("a")).await?;
    made.at("/type", "Opaque")?.absent("/data")?;
    Ok(())
}

async fn texts_of_a_secret_become_bytes(cx: Cx) -> Result<()> {
    let body = with(
        secret("a"),
        json!({"stringData": {"k": "text", "both": "new"}, "data": {"both": base64("old")}}),
    );
    let made = cx.create(cx.core("secrets"), &body).await?;
    made.absent("/stringData")?.at("/data", json!({"k": base64("text"), "both": base64("new")}))?;
    let patch = json!({"stringData": {"k": "other"}});
    let changed = cx.patch("merge", cx.core("secrets/a"), &patch).await?.code(200)?;
    changed.at("/data/k", base64("other"))?.absent("/stringData")?;
    Ok(())
}

async fn bytes_of_a_secret_are_base64(cx: Cx) -> Result<()> {
    let body = with(secret("a"), json!({"data": {"k": "not base64!"}}));
    let reply = cx.post(cx.core("secrets"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["illegal base64 data"])?;
    let body = with(secret("a"), json!({"data": {"k": ""}}));
    cx.create(cx.core("secrets"), &body).await?.at("/data/k", "")?;
    Ok(())
}

async fn the_type_of_a_secret_stays(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let reply = cx.patch("merge", cx.core("secrets/a"), &json!({"type": "example.com/x"})).await?;
    reply.invalid(&[("FieldValueInvalid", "type")])?.says(&["field is immutable"])?;
    // An update that says nothing about the type means the one that it has.
    let body: Value = with(secret("a"), json!({"stringData": {"k": "v"}}));
    cx.put(cx.core("secrets/a"), &body).await?.code(200)?.at("/type", "Opaque")?;
    Ok(())
}

async fn a_type_asks_for_its_keys(cx: Cx) -> Result<()> {
    let docker = with(secret("a"), json!({"type": "kubernetes.io/dockerconfigjson"}));
    let reply = cx.post(cx.core("secrets"), &docker).await?;
    reply.invalid(&[("FieldValueRequired", "data[.dockerconfigjson]")])?;
    let basic = with(secret("a"), json!({"type": "kubernetes.io/basic-auth"}));
    cx.post(cx.core("secrets"), &basic).await?.refused(422, "Invalid")?;
    let tls =
        with(secret("a"), json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": ""}}));
    cx.create(cx.core("secrets"), &tls).await?;
    Ok(())
}

async fn an_immutable_secret_stays(cx: Cx) -> Result<()> {
    let body = with(secret("a"), json!({"immutable": true, "stringData": {"k": "v"}}));
    cx.create(cx.core("secrets"), &body).await?;
    let reply = cx.patch("merge", cx.core("secrets/a"), &json!({"stringData": {"k": "w"}})).await?;
    reply.invalid(&[("FieldValueForbidden", "data")])?;
    Ok(())
}
