//! Definitions of custom kinds: from creation to being served, what discovery says, and their end.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    custom::{Gadgets, anything, definition, definitions, group, has_condition, spec},
    cx::Cx,
    objects::with,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![definitions:
        a_definition_is_accepted_and_established,
        a_definition_is_filled_in,
        a_definition_counts_generations,
        discovery_shows_a_defined_kind,
        a_definition_has_a_document,
        an_unserved_version_is_not_found,
        versions_show_the_same_object,
        a_stored_version_is_remembered,
        a_deleted_definition_takes_its_objects_with_it,
        a_kind_outside_of_namespaces,
        a_name_that_is_not_plural_and_group_is_invalid,
        a_definition_needs_a_schema,
        a_definition_needs_one_stored_version,
        a_schema_is_structural,
        a_schema_is_checked,
        a_rule_is_compiled,
        names_of_two_definitions_may_not_meet,
        the_scope_of_a_definition_stays,
        a_default_fits_its_schema,
    ]
}

async fn a_definition_is_accepted_and_established(cx: Cx) -> Result<()> {
    let body = definition(&cx, anything(), json!({}));
    let made = cx.create_for_now(&definitions(""), &body).await?;
    made.at("/kind", "CustomResourceDefinition")?.at("/metadata/generation", 1)?;
    made.at("/status/storedVersions", json!(["v1"]))?;
    let name = made.text("/metadata/name")?;
    let query = format!("?fieldSelector=metadata.name%3D{name}&resourceVersion={}", made.revision()?);
    let mut watch = cx.watch(definitions(&query)).await?;
    let event = watch.until(|event| has_condition(&event.object.value, "Established", "True")).await?;
    event.object.holds(has_condition(&event.object.value, "NamesAccepted", "True"), "accepted names")?;
    event.object.at("/status/acceptedNames/plural", "gadgets")?.at("/status/acceptedNames/kind", "Gadget")?;
    Ok(())
}

async fn a_definition_is_filled_in(cx: Cx) -> Result<()> {
    let body = definition(&cx, anything(), json!({}));
    let body = with(body, json!({"spec": {"names": {"singular": null, "listKind": null}}}));
    let made = cx.create_for_now(&definitions(""), &body).await?;
    made.at("/spec/names/singular", "gadget")?.at("/spec/names/listKind", "GadgetList")?;
    made.at("/spec/conversion", json!({"strategy": "None"}))?;
    Ok(())
}

async fn a_definition_counts_generations(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    cx.patch("merge", path.clone(), &labels).await?.code(200)?.at("/metadata/generation", 1)?;
    let names = json!({"spec": {"names": {"shortNames": ["gdg"]}}});
    cx.patch("merge", path, &names).await?.code(200)?.at("/metadata/generation", 2)?;
    Ok(())
}

async fn discovery_shows_a_defined_kind(cx: Cx) -> Result<()> {
    let body = definition(&cx, anything(), json!({"subresources": {"status": {}}}));
    let names = json!({"spec": {"names": {"shortNames": ["gdg"], "categories": ["toys"]}}});
    let gadgets = Gadgets::defined_by(&cx, &with(body, names)).await?;
    let call = Call::get(format!("/apis/{}/v1", gadgets.group()));
    let list = cx.until(call, |reply| reply.clone().code(200).map(drop)).await?;
    list.at("/kind", "APIResourceList")?.at("/groupVersion", format!("{}/v1", gadgets.group()))?;
    let resources = list.list("/resources")?;
    let main = resources.iter().find(|r| r["name"] == "gadgets").cloned().unwrap_or_default();
    list.holds(main["kind"] == "Gadget" && main["namespaced"] == true, "a namespaced kind")?;
    list.holds(main["singularName"] == "gadget" && main["shortNames"] == json!(["gdg"]), "its names")?;
    list.holds(main["categories"] == json!(["toys"]), "its categories")?;
    let mut verbs: Vec<&str> =
        main["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    verbs.sort_unstable();
    let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    list.holds(verbs == all, &format!("all verbs, not {verbs:?}"))?;
    let status = resources.iter().find(|r| r["name"] == "gadgets/status").cloned().unwrap_or_default();
    list.holds(status["verbs"] == json!(["get", "patch", "update"]), "a status")?;
    let call = Call::get(format!("/apis/{}", gadgets.group()));
    let group = cx.until(call, |reply| reply.clone().code(200).map(drop)).await?;
    group.at("/kind", "APIGroup")?.at("/preferredVersion/version", "v1")?;
    let group = gadgets.group().to_owned();
    cx.until(Call::get("/apis"), |groups| {
        let all = groups.list("/groups")?;
        groups.holds(all.iter().any(|g| g["name"] == group.as_str()), "the group among all groups")?;
        Ok(())
    })
    .await?;
    Ok(())
}

async fn a_definition_has_a_document(cx: Cx) -> Result<()> {
    let schema = spec(json!({"size": {"type": "integer", "description": "how big it is"}}));
    let gadgets = Gadgets::define(&cx, schema).await?;
    let path = format!("/openapi/v3/apis/{}/v1", gadgets.group());
    let document = cx.until(Call::get(path), |reply| reply.clone().code(200).map(drop)).await?;
    let schemas = document.get("/components/schemas").as_object().cloned().unwrap_or_default();
    let gadget = schemas.iter().find(|(name, _)| name.ends_with(".Gadget")).map(|(_, schema)| schema);
    let described = gadget.is_some_and(|gadget| {
        gadget["properties"]["spec"]["properties"]["size"]["description"] == "how big it is"
            && gadget["x-kubernetes-group-version-kind"][0]["kind"] == "Gadget"
    });
    document.holds(described, "a schema of gadgets")?;
    Ok(())
}

/// A definition with two versions, of which the second is stored.
fn two_versions(cx: &Cx, first_served: bool) -> Value {
    let version = |name: &str, served: bool, storage: bool| json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": anything()}});
    let versions = json!([version("v1", true, true), version("v1beta1", first_served, false)]);
    with(definition(cx, anything(), json!({})), json!({"spec": {"versions": versions}}))
}

async fn an_unserved_version_is_not_found(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::defined_by(&cx, &two_versions(&cx, false)).await?;
    cx.get(gadgets.path(&cx, "gadgets")).await?.code(200)?;
    cx.get(gadgets.path_in(&cx, "v1beta1", "gadgets")).await?.code(404)?;
    cx.get(gadgets.path_in(&cx, "v7", "gadgets")).await?.code(404)?;
    Ok(())
}

async fn versions_show_the_same_object(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::defined_by(&cx, &two_versions(&cx, true)).await?;
    let body = with(
        gadgets.gadget("a", json!({"size": 1})),
        json!({
        "apiVersion": format!("{}/v1beta1", gadgets.group())}),
    );
    let made = cx.create(gadgets.path_in(&cx, "v1beta1", "gadgets"), &body).await?;
    made.at("/apiVersion", format!("{}/v1beta1", gadgets.group()))?;
    let read = cx.get(gadgets.path(&cx, "gadgets/a")).await?.code(200)?;
    read.at("/apiVersion", format!("{}/v1", gadgets.group()))?.at("/spec/size", 1)?;
    read.at("/metadata/uid", made.uid()?)?.at("/metadata/resourceVersion", made.revision()?)?;
    let wrong = cx.post(gadgets.path(&cx, "gadgets"), &body).await?;
    wrong.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_stored_version_is_remembered(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::defined_by(&cx, &two_versions(&cx, true)).await?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    let read = cx.get(path.clone()).await?.code(200)?;
    let mut body = read.value.clone();
    body["spec"]["versions"][0]["storage"] = json!(false);
    body["spec"]["versions"][1]["storage"] = json!(true);
    let reply = cx.put(path, &body).await?.code(200)?;
    let mut stored: Vec<&str> =
        reply.list("/status/storedVersions")?.iter().filter_map(Value::as_str).collect();
    stored.sort_unstable();
    reply.holds(stored == ["v1", "v1beta1"], "both versions")?;
    Ok(())
}

async fn a_deleted_definition_takes_its_objects_with_it(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let made = cx.create(gadgets.path(&cx, "gadgets"), &gadgets.gadget("a", json!({}))).await?;
    let query = format!("gadgets?resourceVersion={}", made.revision()?);
    let mut watch = cx.watch(gadgets.path(&cx, &query)).await?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    cx.delete(path.clone()).await?.code(200)?;
    watch.expect("DELETED", "a").await?;
    cx.until(Call::get(path), |reply| reply.clone().code(404).map(drop)).await?;
    cx.until(Call::get(gadgets.path(&cx, "gadgets")), |reply| reply.clone().code(404).map(drop)).await?;
    // What is defined again starts empty.
    let again = Gadgets::define(&cx, anything()).await?;
    cx.get(again.path(&cx, "gadgets")).await?.code(200)?.lists(&[])?;
    Ok(())
}

async fn a_kind_outside_of_namespaces(cx: Cx) -> Result<()> {
    let body = with(definition(&cx, anything(), json!({})), json!({"spec": {"scope": "Cluster"}}));
    let gadgets = Gadgets::defined_by(&cx, &body).await?;
    let path = format!("/apis/{}/v1/gadgets", gadgets.group());
    let made = cx.create(path.clone(), &gadgets.gadget("a", json!({}))).await?;
    made.absent("/metadata/namespace")?;
    cx.get(format!("{path}/a")).await?.code(200)?;
    cx.get(gadgets.path(&cx, "gadgets/a")).await?.code(404)?;
    Ok(())
}

async fn a_name_that_is_not_plural_and_group_is_invalid(cx: Cx) -> Result<()> {
    let body = definition(&cx, anything(), json!({}));
    let body = with(body, json!({"metadata": {"name": format!("things.{}", group(&cx))}}));
    let reply = cx.post(definitions(""), &body).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "metadata.name")])?;
    reply.says(&["must be spec.names.plural+\".\"+spec.group"])?;
    reply.at("/details/kind", "CustomResourceDefinition")?.at("/details/group", "apiextensions.k8s.io")?;
    Ok(())
}

async fn a_definition_needs_a_schema(cx: Cx) -> Result<()> {
    let body = definition(&cx, Value::Null, json!({"schema": null}));
    let reply = cx.post(definitions(""), &body).await?;
    reply.invalid(&[("FieldValueRequired", "spec.versions[0].schema.openAPIV3Schema")])?;
    Ok(())
}

async fn a_definition_needs_one_stored_version(cx: Cx) -> Result<()> {
    let body = definition(&cx, anything(), json!({"storage": false}));
    let reply = cx.post(definitions(""), &body).await?.refused(422, "Invalid")?;
    reply.says(&["must have exactly one version marked as storage version"])?;
    Ok(())
}

async fn a_schema_is_structural(cx: Cx) -> Result<()> {
    let schema = json!({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}});
    let reply = cx.post(definitions(""), &definition(&cx, schema, json!({}))).await?;
    let reply = reply.refused(422, "Invalid")?;
    reply.cause_below("FieldValueRequired", "openAPIV3Schema.properties[spec].type")?;
    reply.says(&["must not be empty for specified object fields"])?;
    Ok(())
}

async fn a_schema_is_checked(cx: Cx) -> Result<()> {
    for (schema, reason, field) in [
        (json!({"type": "colour"}), "FieldValueNotSupported", "type"),
        (json!({"type": "string", "pattern": "("}), "FieldValueInvalid", "pattern"),
        (json!({"type": "array"}), "FieldValueRequired", "items"),
        (json!({"type": "object", "$ref": "x"}), "FieldValueForbidden", "$ref"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "FieldValueForbidden",
            "uniqueItems",
        ),
    ] {
        let reply = cx.post(definitions(""), &definition(&cx, spec(json!({"a": schema})), json!({}))).await?;
        let field = format!("openAPIV3Schema.properties[spec].properties[a].{field}");
        reply.refused(422, "Invalid")?.cause_below(reason, &field)?;
    }
    Ok(())
}

async fn a_rule_is_compiled(cx: Cx) -> Result<()> {
    let mut schema = spec(json!({"size": {"type": "integer"}}));
    schema["properties"]["spec"]["x-kubernetes-validations"] = json!([{"rule": "self.colour == 'red'"}]);
    let reply = cx.post(definitions(""), &definition(&cx, schema, json!({}))).await?;
    let reply = reply.refused(422, "Invalid")?;
    reply.cause_below(
        "FieldValueInvalid",
        "openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
    )?;
    reply.says(&["compilation failed", "undefined field 'colour'"])?;
    Ok(())
}

async fn names_of_two_definitions_may_not_meet(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let body = with(
        definition(&cx, anything(), json!({})),
        json!({
        "metadata": {"name": format!("widgets.{}", gadgets.group())},
        "spec": {"names": {"plural": "widgets", "singular": "widget", "kind": "Gadget", "listKind": "WidgetList"}}}),
    );
    let made = cx.create_for_now(&definitions(""), &body).await?;
    let query = format!(
        "?fieldSelector=metadata.name%3Dwidgets.{}&resourceVersion={}",
        gadgets.group(),
        made.revision()?
    );
    let mut watch = cx.watch(definitions(&query)).await?;
    let event = watch.until(|event| has_condition(&event.object.value, "NamesAccepted", "False")).await?;
    event.object.holds(!has_condition(&event.object.value, "Established", "True"), "not established")?;
    cx.get(gadgets.path(&cx, "widgets")).await?.code(404)?;
    Ok(())
}

async fn the_scope_of_a_definition_stays(cx: Cx) -> Result<()> {
    let gadgets = Gadgets::define(&cx, anything()).await?;
    let path = definitions(&format!("/gadgets.{}", gadgets.group()));
    let reply = cx.patch("merge", path, &json!({"spec": {"scope": "Cluster"}})).await?;
    reply.invalid(&[("FieldValueInvalid", "spec.scope")])?.says(&["field is immutable"])?;
    Ok(())
}

async fn a_default_fits_its_schema(cx: Cx) -> Result<()> {
    let schema = spec(json!({"size": {"type": "integer", "default": "large"}}));
    let reply = cx.post(definitions(""), &definition(&cx, schema, json!({}))).await?;
    reply
        .refused(422, "Invalid")?
        .says(&["properties[spec].properties[size].default: Invalid value: \"string\""])?;
    Ok(())
}
