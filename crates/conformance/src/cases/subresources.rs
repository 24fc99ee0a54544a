//! What a definition can add to a kind: a status, a scale, columns, fields to select by.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    custom::{Gadgets, definition, definitions, spec},
    cx::Cx,
    objects::with,
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![subresources:
        without_a_status_all_is_one,
        a_status_is_apart_from_the_spec,
        a_status_is_checked_by_the_schema,
        a_scale_is_read,
        a_scale_is_written,
        a_scale_is_checked,
        columns_come_from_the_definition,
        without_columns_there_are_name_and_age,
        objects_are_selected_by_fields_of_the_definition,
        a_field_that_is_selected_by_is_in_the_schema,
    ]
}

async fn scaled(cx: &Cx) -> Result<Gadgets> {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 0}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}}});
    let subresources = json!({"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}});
    Gadgets::defined_by(cx, &definition(cx, schema, subresources)).await
}

async fn make(cx: &Cx, gadgets: &Gadgets, name: &str, spec: Value) -> Result<Reply> {
    cx.create(gadgets.path(cx, "gadgets"), &gadgets.gadget(name, spec)).await
}

async fn without_a_status_all_is_one(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, spec(json!({"size": {"type": "integer"}}))).await?;
    let body = with(gadgets.gadget("a", json!({"size": 1})), json!({"status": {"seen": 1}}));
    cx.create(gadgets.path(&cx, "gadgets"), &body)
        .await?
        .at("/status/seen", 1)?
        .at("/metadata/generation", 1)?;
    let patch = json!({"status": {"seen": 2}});
    let reply = cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &patch).await?.code(200)?;
    reply.at("/status/seen", 2)?.at("/metadata/generation", 2)?;
    cx.patch("merge", gadgets.path(&cx, "gadgets/a/status"), &patch).await?.code(404)?;
    Ok(())
}

async fn a_status_is_apart_from_the_spec(cx: Cx) -> Result<()> {
    let schema = spec(json!({"size": {"type": "integer"}}));
    let body = definition(&cx, schema, json!({"subresources": {"status": {}}}));
    let gadgets = Gadgets::defined_by(&cx, &body).await?;
    let body = with(gadgets.gadget("a", json!({"size": 1})), json!({"status": {"seen": 1}}));
    let made = cx.create(gadgets.path(&cx, "gadgets"), &body).await?;
    made.absent("/status")?;
    let both = json!({"spec": {"size": 2}, "status": {"seen": 2}, "metadata": {"labels": {"l": "1"}}});
    let status = cx.patch("merge", gadgets.path(&cx, "gadgets/a/status"), &both).await?.code(200)?;
    status
        .at("/spec/size", 1)?
        .at("/status/seen", 2)?
        .at("/metadata/generation", 1)?
        .absent("/metadata/labels")?;
    let both = json!({"spec": {"size": 3}, "status": {"seen": 3}});
    let main = cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &both).await?.code(200)?;
    main.at("/spec/size", 3)?.at("/status/seen", 2)?.at("/metadata/generation", 2)?;
    let put = with(main.value.clone(), json!({"status": {"seen": 4}}));
    let put = cx.put(gadgets.path(&cx, "gadgets/a/status"), &put).await?.code(200)?;
    put.at("/status/seen", 4)?;
    cx.get(gadgets.path(&cx, "gadgets/a/status")).await?.code(200)?.at("/spec/size", 3)?;
    Ok(())
}

async fn a_status_is_checked_by_the_schema(cx: Cx) -> Result<()> {
    let gadgets = scaled(&cx).await?;
    make(&cx, &gadgets, "a", json!({"replicas": 1})).await?;
    let patch = json!({"status": {"replicas": "many"}});
    let reply = cx.patch("merge", gadgets.path(&cx, "gadgets/a/status"), &patch).await?;
    reply.invalid(&[("FieldValueTypeInvalid", "status.replicas")])?;
    Ok(())
}

async fn a_scale_is_read(cx: Cx) -> Result<()> {
    let gadgets = scaled(&cx).await?;
    let made = make(&cx, &gadgets, "a", json!({"replicas": 3})).await?;
    let status = json!({"status": {"replicas": 2, "selector": "app=a"}});
    let written = cx.patch("merge", gadgets.path(&cx, "gadgets/a/status"), &status).await?.code(200)?;
    let scale = cx.get(gadgets.path(&cx, "gadgets/a/scale")).await?.code(200)?;
    scale.at("/kind", "Scale")?.at("/apiVersion", "autoscaling/v1")?.at("/metadata/name", "a")?;
    scale.at("/spec", json!({"replicas": 3}))?.at("/status", json!({"replicas": 2, "selector": "app=a"}))?;
    scale.at("/metadata/uid", made.uid()?)?.at("/metadata/resourceVersion", written.revision()?)?;
    Ok(())
}

async fn a_scale_is_written(cx: Cx) -> Result<()> {
    let gadgets = scaled(&cx).await?;
    make(&cx, &gadgets, "a", json!({"replicas": 3})).await?;
    let path = gadgets.path(&cx, "gadgets/a/scale");
    let patched = cx.patch("merge", path.clone(), &json!({"spec": {"replicas": 5}})).await?.code(200)?;
    patched.at("/kind", "Scale")?.at("/spec/replicas", 5)?;
    let read = cx.get(gadgets.path(&cx, "gadgets/a")).await?.code(200)?;
    read.at("/spec/replicas", 5)?.at("/metadata/generation", 2)?;
    let body = with(patched.value.clone(), json!({"spec": {"replicas": 6}}));
    cx.put(path.clone(), &body).await?.code(200)?.at("/spec/replicas", 6)?;
    // The scale has the revision of its object.
    cx.put(path, &body).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn a_scale_is_checked(cx: Cx) -> Result<()> {
    let gadgets = scaled(&cx).await?;
    make(&cx, &gadgets, "a", json!({"replicas": 3})).await?;
    let patch = json!({"spec": {"replicas": -1}});
    let reply = cx.patch("merge", gadgets.path(&cx, "gadgets/a/scale"), &patch).await?;
    reply.refused(422, "Invalid")?.says(&["spec.replicas"])?;
    cx.get(gadgets.path(&cx, "gadgets/nope/scale")).await?.refused(404, "NotFound")?;
    Ok(())
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn columns_come_from_the_definition(cx: Cx) -> Result<()> {
    let schema = spec(json!({"size": {"type": "integer"}, "color": {"type": "string"}}));
    let columns = json!({"additionalPrinterColumns": [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1, "description": "what it looks like"},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]});
    let gadgets = Gadgets::defined_by(&cx, &definition(&cx, schema, columns)).await?;
    make(&cx, &gadgets, "a", json!({"size": 3})).await?;
    let table = cx.send(Call::get(gadgets.path(&cx, "gadgets")).accept(TABLE)).await?.code(200)?;
    let names: Vec<_> = table.list("/columnDefinitions")?.iter().map(|c| c["name"].clone()).collect();
    table.holds(names == ["Name", "Size", "Color", "Born"], &format!("the columns, not {names:?}"))?;
    table.at("/columnDefinitions/1/type", "integer")?.at("/columnDefinitions/2/priority", 1)?;
    table.at("/columnDefinitions/2/description", "what it looks like")?;
    let cells = table.list("/rows/0/cells")?;
    table.holds(cells[0] == "a" && cells[1] == 3 && cells[2].is_null(), "its cells")?;
    table.holds(cells[3].is_string(), "an age")?;
    Ok(())
}

async fn without_columns_there_are_name_and_age(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, spec(json!({}))).await?;
    make(&cx, &gadgets, "a", json!({})).await?;
    let table = cx.send(Call::get(gadgets.path(&cx, "gadgets/a")).accept(TABLE)).await?.code(200)?;
    let names: Vec<_> = table.list("/columnDefinitions")?.iter().map(|c| c["name"].clone()).collect();
    table.holds(names == ["Name", "Age"], &format!("name and age, not {names:?}"))?;
    Ok(())
}

async fn objects_are_selected_by_fields_of_the_definition(cx: Cx) -> Result<()> {
    let schema = spec(json!({"color": {"type": "string"}, "size": {"type": "integer"}}));
    let fields = json!({"selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]});
    let gadgets = Gadgets::defined_by(&cx, &definition(&cx, schema, fields)).await?;
    make(&cx, &gadgets, "a", json!({"color": "red", "size": 1})).await?;
    make(&cx, &gadgets, "b", json!({"color": "blue", "size": 2})).await?;
    let find = |selector: &str| gadgets.path(&cx, &format!("gadgets?fieldSelector={selector}"));
    cx.get(find("spec.color%3Dred")).await?.code(200)?.lists(&["a"])?;
    cx.get(find("spec.size%3D2")).await?.code(200)?.lists(&["b"])?;
    cx.get(find("spec.color%21%3Dred%2Cmetadata.name%3Db")).await?.code(200)?.lists(&["b"])?;
    let mut watch = cx.watch(find("spec.color%3Dred")).await?;
    watch.expect("ADDED", "a").await?;
    let blue = json!({"spec": {"color": "blue"}});
    cx.patch("merge", gadgets.path(&cx, "gadgets/a"), &blue).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn a_field_that_is_selected_by_is_in_the_schema(cx: Cx) -> Result<()> {
    let fields = json!({"selectableFields": [{"jsonPath": ".spec.colour"}]});
    let body = definition(&cx, spec(json!({"color": {"type": "string"}})), fields);
    let reply = cx.post(definitions(""), &body).await?;
    reply.refused(422, "Invalid")?.cause_below("FieldValueInvalid", "selectableFields[0].jsonPath")?;
    Ok(())
}
