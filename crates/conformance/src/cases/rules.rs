//! Rules of a definition, in CEL, and what an update is held to.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    custom::{Gadgets, definitions, spec},
    cx::Cx,
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![rules:
        a_rule_is_checked,
        a_rule_sees_the_old_object,
        a_rule_has_its_own_reason_and_field,
        an_update_of_what_was_always_wrong_passes,
    ]
}

/// Gadgets whose spec has a size and these rules.
async fn ruled(cx: &Cx, rules: Value) -> Result<Gadgets> {
    let mut schema = spec(json!({"size": {"type": "integer"}, "limit": {"type": "integer"}}));
    schema["properties"]["spec"]["x-kubernetes-validations"] = rules;
    Gadgets::define(cx, schema).await
}

async fn post(cx: &Cx, gadgets: &Gadgets, spec: Value) -> Result<Reply> {
    cx.post(gadgets.path(cx, "gadgets"), &gadgets.gadget("a", spec)).await
}

async fn a_rule_is_checked(cx: Cx) -> Result<()> {
    let rule = json!([{"rule": "!has(self.limit) || self.size <= self.limit", "message": "too big"}]);
    let gadgets = ruled(&cx, rule).await?;
    let reply = post(&cx, &gadgets, json!({"size": 2, "limit": 1})).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "spec")])?;
    reply.says(&["spec: Invalid value: ", "too big"])?;
    post(&cx, &gadgets, json!({"size": 1, "limit": 1})).await?.code(201)?;
    let patch = json!({"spec": {"size": 7}});
    let reply = cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &patch).await?;
    reply.refused(422, "Invalid")?.says(&["too big"])?;
    Ok(())
}

async fn a_rule_sees_the_old_object(cx: Cx) -> Result<()> {
    let gadgets =
        ruled(&cx, json!([{"rule": "self.size >= oldSelf.size", "message": "it never shrinks"}])).await?;
    // A transition rule says nothing about what is new.
    post(&cx, &gadgets, json!({"size": 5})).await?.code(201)?;
    let resize = async |size: i64| {
        cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &json!({"spec": {"size": size}})).await
    };
    resize(6).await?.code(200)?;
    resize(4).await?.refused(422, "Invalid")?.says(&["it never shrinks"])?;
    Ok(())
}

async fn a_rule_has_its_own_reason_and_field(cx: Cx) -> Result<()> {
    let rule = json!([{"rule": "self.size < 5", "reason": "FieldValueForbidden", "fieldPath": ".size",
        "messageExpression": "self.size > 6 ? 'size is much too big' : 'size is too big'"}]);
    let gadgets = ruled(&cx, rule).await?;
    let reply = post(&cx, &gadgets, json!({"size": 7})).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "spec.size")])?;
    reply.says(&["size is much too big"])?;
    Ok(())
}

async fn an_update_of_what_was_always_wrong_passes(cx: Cx) -> Result<()> {
    let gadgets =
        Gadgets::define(&cx, spec(json!({"size": {"type": "integer"}, "color": {"type": "string"}}))).await?;
    post(&cx, &gadgets, json!({"size": 9, "color": "red"})).await?.code(201)?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    let patch = json!([{"op": "add", "value": 5,
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum"}]);
    cx.patch("json", path, &patch).await?.code(200)?;
    let probe = gadgets.gadget("probe", json!({"size": 9}));
    let call = Call::post(gadgets.path(&cx, "gadgets?dryRun=All"), &probe);
    cx.until(call, |reply| reply.clone().code(422).map(drop)).await?;
    // What an update leaves alone is not held against it.
    let patch = json!({"spec": {"color": "blue"}});
    cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &patch).await?.code(200)?.at("/spec/color", "blue")?;
    let patch = json!({"spec": {"size": 8}});
    cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &patch).await?.refused(422, "Invalid")?;
    Ok(())
}
