//! Objects of a custom kind: pruning, defaults, validation.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    custom::{Gadgets, anything, definitions, spec},
    cx::Cx,
    objects::with,
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![gadgets:
        a_gadget_is_created_read_changed_and_deleted,
        a_list_of_gadgets_names_their_kind,
        gadgets_are_watched,
        an_update_of_a_gadget_needs_its_revision,
        unknown_fields_are_pruned,
        unknown_fields_are_kept_where_the_schema_says_so,
        defaults_are_filled_in,
        defaults_are_filled_in_when_reading,
        types_are_checked,
        bounds_are_checked,
        required_fields_are_checked,
        words_of_an_enumeration_are_checked,
        formats_and_patterns_are_checked,
        nulls_without_permission_are_dropped,
        a_number_or_a_text_is_both,
        a_map_list_has_unique_keys,
        a_set_has_unique_elements,
        metadata_of_a_gadget_is_checked,
    ]
}

async fn post(cx: &Cx, gadgets: &Gadgets, spec: Value) -> Result<Reply> {
    cx.post(gadgets.path(cx, "gadgets"), &gadgets.gadget("a", spec)).await
}

async fn a_gadget_is_created_read_changed_and_deleted(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, spec(json!({"size": {"type": "integer"}}))).await?;
    let made = post(&cx, &gadgets, json!({"size": 1})).await?.code(201)?;
    made.at("/kind", "Gadget")?.at("/metadata/generation", 1)?.at("/metadata/namespace", cx.namespace())?;
    let body = with(made.value.clone(), json!({"spec": {"size": 2}}));
    let changed = cx.put(gadgets.path(&cx, "gadgets/a"), &body).await?.code(200)?;
    changed.at("/spec/size", 2)?.at("/metadata/generation", 2)?;
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    let labelled = cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &labels).await?.code(200)?;
    labelled.at("/metadata/generation", 2)?;
    let patch = json!([{"op": "replace", "path": "/spec/size", "value": 3}]);
    cx.patch("json", gadgets.path(&cx, "gadgets/a"), &patch).await?.code(200)?.at("/spec/size", 3)?;
    let gone = cx.delete(gadgets.path(&cx, "gadgets/a")).await?.code(200)?;
    gone.at("/kind", "Status")?.at("/status", "Success")?.at("/details/group", gadgets.group())?;
    let missing = cx.get(gadgets.path(&cx, "gadgets/a")).await?.refused(404, "NotFound")?;
    missing.message(&format!("gadgets.{} \"a\" not found", gadgets.group()))?;
    Ok(())
}

async fn a_list_of_gadgets_names_their_kind(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    post(&cx, &gadgets, json!({})).await?.code(201)?;
    let list = cx.get(gadgets.path(&cx, "gadgets")).await?.code(200)?;
    list.at("/kind", "GadgetList")?.at("/apiVersion", format!("{}/v1", gadgets.group()))?.lists(&["a"])?;
    list.at("/items/0/kind", "Gadget")?.at("/items/0/apiVersion", format!("{}/v1", gadgets.group()))?;
    let all = cx.get(format!("/apis/{}/v1/gadgets?limit=500", gadgets.group())).await?.code(200)?;
    all.lists(&["a"])?;
    let unknown = cx.get(gadgets.path(&cx, "gadgets?fieldSelector=spec.size%3D1")).await?;
    unknown.refused(400, "BadRequest")?.says(&["field label not supported: spec.size"])?;
    Ok(())
}

async fn gadgets_are_watched(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let mut watch = cx.watch(gadgets.path(&cx, "gadgets")).await?;
    let made = post(&cx, &gadgets, json!({"size": 1})).await?.code(201)?;
    let added = watch.expect("ADDED", "a").await?;
    added.holds(added.value == made.value, "what the creation answered")?;
    cx.delete(gadgets.path(&cx, "gadgets/a")).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn an_update_of_a_gadget_needs_its_revision(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    post(&cx, &gadgets, json!({})).await?.code(201)?;
    let reply = cx.put(gadgets.path(&cx, "gadgets/a"), &gadgets.gadget("a", json!({"size": 1}))).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "metadata.resourceVersion")])?;
    reply.says(&["must be specified for an update"])?;
    let strategic = cx.patch("strategic", gadgets.path(&cx, "gadgets/a"), &json!({})).await?;
    strategic.refused(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn unknown_fields_are_pruned(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, spec(json!({"size": {"type": "integer"}}))).await?;
    let body = with(gadgets.gadget("a", json!({"size": 1, "colour": "red"})), json!({"extra": {"x": 1}}));
    let strict = cx.post(gadgets.path(&cx, "gadgets?fieldValidation=Strict"), &body).await?;
    let strict = strict.refused(400, "BadRequest")?;
    strict.says(&["strict decoding error: ", "unknown field \"extra\"", "unknown field \"spec.colour\""])?;
    let made = cx.create(gadgets.path(&cx, "gadgets"), &body).await?;
    made.at("/spec", json!({"size": 1}))?.absent("/extra")?;
    let warnings = made.headers("warning");
    made.holds(warnings.len() == 2, &format!("two warnings, not {warnings:?}"))?;
    Ok(())
}

async fn unknown_fields_are_kept_where_the_schema_says_so(cx: Cx) -> Result<()> {
    let schema = spec(json!({
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"inner": {"type": "object", "properties": {"known": {"type": "string"}}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let spec =
        json!({"open": {"any": [1, "two"], "inner": {"known": "yes", "unknown": "no"}}, "map": {"k": "v"}});
    let made = post(&cx, &gadgets, spec).await?.code(201)?;
    made.at("/spec/open", json!({"any": [1, "two"], "inner": {"known": "yes"}}))?.at("/spec/map/k", "v")?;
    Ok(())
}

async fn defaults_are_filled_in(cx: Cx) -> Result<()> {
    let schema = spec(json!({
        "size": {"type": "integer", "default": 3},
        "list": {"type": "array", "items": {"type": "object", "properties": {"on": {"type": "boolean", "default": true}}}},
        "nested": {"type": "object", "default": {}, "properties": {"deep": {"type": "string", "default": "d"}}},
        "other": {"type": "object", "properties": {"deep": {"type": "string", "default": "d"}}}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let made = post(&cx, &gadgets, json!({"list": [{}, {"on": false}]})).await?.code(201)?;
    let expected = json!({"size": 3, "list": [{"on": true}, {"on": false}], "nested": {"deep": "d"}});
    made.at("/spec", expected)?;
    // A null where none is allowed counts as missing, if there is a default.
    let body = gadgets.gadget("b", json!({"size": null}));
    cx.create(gadgets.path(&cx, "gadgets"), &body).await?.at("/spec/size", 3)?;
    Ok(())
}

async fn defaults_are_filled_in_when_reading(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, spec(json!({"size": {"type": "integer"}}))).await?;
    let made = post(&cx, &gadgets, json!({})).await?.code(201)?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    let patch = json!([{"op": "add", "value": 5,
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/default"}]);
    cx.patch("json", path, &patch).await?.code(200)?;
    let call = Call::get(gadgets.path(&cx, "gadgets/a"));
    let read = cx.until(call, |reply| reply.at("/spec/size", 5).map(drop)).await?;
    read.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn types_are_checked(cx: Cx) -> Result<()> {
    let schema =
        spec(json!({"size": {"type": "integer"}, "name": {"type": "string"}, "on": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"size": "1", "name": 2, "on": "yes", "list": ["a", 1]})).await?;
    let kind = "FieldValueTypeInvalid";
    let reply = reply.invalid(&[
        (kind, "spec.size"),
        (kind, "spec.name"),
        (kind, "spec.on"),
        (kind, "spec.list[1]"),
    ])?;
    reply.about("Gadget", "a")?.at("/details/group", gadgets.group())?;
    reply.says(&[
        "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
    ])?;
    let reply = post(&cx, &gadgets, json!({"size": 1.5})).await?;
    reply.invalid(&[(kind, "spec.size")])?;
    Ok(())
}

async fn bounds_are_checked(cx: Cx) -> Result<()> {
    let schema = spec(json!({
        "size": {"type": "integer", "minimum": 1, "maximum": 5},
        "name": {"type": "string", "minLength": 2, "maxLength": 3},
        "list": {"type": "array", "maxItems": 1, "items": {"type": "integer"}},
        "step": {"type": "integer", "multipleOf": 5}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"size": 9, "name": "long", "list": [1, 2], "step": 7})).await?;
    reply
        .invalid(&[
            ("FieldValueInvalid", "spec.size"),
            ("FieldValueTooLong", "spec.name"),
            ("FieldValueTooMany", "spec.list"),
            ("FieldValueInvalid", "spec.step"),
        ])?
        .says(&["spec.size in body should be less than or equal to 5"])?;
    post(&cx, &gadgets, json!({"name": "x"})).await?.invalid(&[("FieldValueInvalid", "spec.name")])?;
    post(&cx, &gadgets, json!({"size": 5, "name": "abc", "list": [1], "step": 10})).await?.code(201)?;
    Ok(())
}

async fn required_fields_are_checked(cx: Cx) -> Result<()> {
    let mut schema = spec(json!({"size": {"type": "integer"}}));
    schema["required"] = json!(["spec"]);
    schema["properties"]["spec"]["required"] = json!(["size"]);
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({})).await?.invalid(&[("FieldValueRequired", "spec.size")])?;
    reply.message(&format!("Gadget.{} \"a\" is invalid: spec.size: Required value", gadgets.group()))?;
    let body = with(gadgets.gadget("a", json!({})), json!({"spec": null}));
    let reply = cx.post(gadgets.path(&cx, "gadgets"), &body).await?;
    reply.invalid(&[("FieldValueRequired", "spec")])?;
    Ok(())
}

async fn words_of_an_enumeration_are_checked(cx: Cx) -> Result<()> {
    let schema = spec(json!({"color": {"type": "string", "enum": ["red", "blue"]}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"color": "green"})).await?;
    let reply = reply.invalid(&[("FieldValueNotSupported", "spec.color")])?;
    reply.says(&["spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""])?;
    Ok(())
}

async fn formats_and_patterns_are_checked(cx: Cx) -> Result<()> {
    let schema = spec(json!({"when": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[a-z]+$"}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"when": "yesterday", "code": "ABC"})).await?;
    let reply =
        reply.invalid(&[("FieldValueTypeInvalid", "spec.when"), ("FieldValueInvalid", "spec.code")])?;
    reply.says(&["spec.code in body should match '^[a-z]+$'"])?;
    post(&cx, &gadgets, json!({"when": "2024-01-01T00:00:00Z", "code": "abc"})).await?.code(201)?;
    Ok(())
}

async fn nulls_without_permission_are_dropped(cx: Cx) -> Result<()> {
    let schema = spec(json!({"may": {"type": "string", "nullable": true}, "not": {"type": "string"}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let made = post(&cx, &gadgets, json!({"may": null})).await?.code(201)?;
    made.at("/spec", json!({"may": null}))?;
    let body = gadgets.gadget("b", json!({"not": null}));
    cx.create(gadgets.path(&cx, "gadgets"), &body).await?.at("/spec", json!({}))?;
    Ok(())
}

async fn a_number_or_a_text_is_both(cx: Cx) -> Result<()> {
    let schema = spec(json!({"port": {"x-kubernetes-int-or-string": true}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    for (name, port) in [("number", json!(80)), ("text", json!("http"))] {
        let body = gadgets.gadget(name, json!({"port": port}));
        cx.create(gadgets.path(&cx, "gadgets"), &body).await?.at("/spec/port", port)?;
    }
    post(&cx, &gadgets, json!({"port": true})).await?.invalid(&[("FieldValueTypeInvalid", "spec.port")])?;
    Ok(())
}

async fn a_map_list_has_unique_keys(cx: Cx) -> Result<()> {
    let schema = spec(json!({"parts": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}}}}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"parts": [{"name": "a"}, {"name": "b"}, {"name": "a"}]})).await?;
    reply.invalid(&[("FieldValueDuplicate", "spec.parts[2]")])?;
    Ok(())
}

async fn a_set_has_unique_elements(cx: Cx) -> Result<()> {
    let schema = spec(
        json!({"tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}),
    );
    let gadgets = Gadgets::define(&cx, schema).await?;
    let reply = post(&cx, &gadgets, json!({"tags": ["a", "a"]})).await?;
    reply.invalid(&[("FieldValueDuplicate", "spec.tags[1]")])?;
    Ok(())
}

async fn metadata_of_a_gadget_is_checked(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let body = gadgets.gadget("No_Name", json!({}));
    let reply = cx.post(gadgets.path(&cx, "gadgets"), &body).await?;
    reply.invalid(&[("FieldValueInvalid", "metadata.name")])?;
    let body = with(gadgets.gadget("a", json!({})), json!({"metadata": {"labels": {"l": 1}}}));
    let reply = cx.post(gadgets.path(&cx, "gadgets"), &body).await?;
    reply.holds(matches!(reply.status, 400 | 422), "a label that is a text")?;
    let body = with(gadgets.gadget("a", json!({})), json!({"kind": "Widget"}));
    let reply = cx.post(gadgets.path(&cx, "gadgets"), &body).await?;
    reply.invalid(&[("FieldValueInvalid", "kind")])?.says(&["must be Gadget"])?;
    Ok(())
}
