//! What a client may accept besides JSON: tables, metadata alone, YAML.

use anyhow::Result;
use http::Method;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    doc::Doc,
    objects::{config_map, node, pod, pod_on, secret, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![negotiation:
        pods_have_a_table,
        a_running_pod_shows_in_its_row,
        nodes_have_a_table,
        config_maps_and_secrets_have_tables,
        namespaces_and_leases_have_tables,
        one_object_is_a_table_of_one_row,
        rows_hold_metadata_or_objects_or_nothing,
        an_unknown_content_of_rows_is_refused,
        a_table_has_pages,
        a_watch_of_tables_has_columns_once,
        kubectl_gets_the_table_it_asks_for_first,
        an_error_is_no_table,
        metadata_is_all_that_is_asked_for,
        lists_of_metadata_have_a_kind_of_their_own,
        metadata_of_the_wrong_shape_is_not_acceptable,
        a_watch_of_metadata_has_nothing_else,
        an_unknown_representation_is_not_acceptable,
        anything_is_json,
        yaml_is_answered,
        yaml_is_taken,
        pretty_json_is_json,
    ]
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

async fn table(cx: &Cx, path: String) -> Result<Doc> {
    let reply = cx.send(Call::get(path).accept(TABLE)).await?.code(200)?;
    reply.at("/kind", "Table")?.at("/apiVersion", "meta.k8s.io/v1")?;
    Ok(Doc::clone(&reply))
}

/// Claims the names of the columns that are shown without being asked for, and of all.
fn columns(table: &Doc, narrow: &[&str], wide: &[&str]) -> Result<()> {
    let found = table.list("/columnDefinitions")?;
    let names = |most: i64| -> Vec<&str> {
        let shown = found.iter().filter(|column| column["priority"].as_i64().is_some_and(|p| p <= most));
        shown.filter_map(|column| column["name"].as_str()).collect()
    };
    table.holds(names(0) == narrow, &format!("columns {narrow:?}, not {:?}", names(0)))?;
    let all = [narrow, wide].concat();
    table.holds(names(1) == all, &format!("columns {all:?}, not {:?}", names(1)))?;
    table.at("/columnDefinitions/0/type", "string")?.at("/columnDefinitions/0/format", "name")?;
    table.text("/columnDefinitions/0/description")?;
    Ok(())
}

async fn pods_have_a_table(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let table = table(&cx, cx.core("pods")).await?;
    let wide = ["IP", "Node", "Nominated Node", "Readiness Gates"];
    columns(&table, &["Name", "Ready", "Status", "Restarts", "Age"], &wide)?;
    let cells = table.list("/rows/0/cells")?;
    table.holds(cells.len() == 9, "nine cells")?;
    table.holds(cells[..4] == ["a", "0/1", "Pending", "0"], "a pod that does not run yet")?;
    table.holds(cells[5..] == ["<none>", "<none>", "<none>", "<none>"], "a pod that is nowhere")?;
    table.revision()?;
    Ok(())
}

async fn a_running_pod_shows_in_its_row(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "edge")).await?;
    let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}],
        "containerStatuses": [{"name": "app", "ready": true, "restartCount": 2, "image": "app:1", "imageID": "",
            "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}}}]}});
    cx.patch("merge", cx.core("pods/a/status"), &status).await?.code(200)?;
    let table = table(&cx, cx.core("pods/a")).await?;
    let cells = table.list("/rows/0/cells")?;
    table.holds(cells[..4] == ["a", "1/1", "Running", "2"], "a pod that runs")?;
    table.holds(cells[5..7] == ["10.0.0.7", "edge"], "where it runs")?;
    let waiting = json!({"status": {"containerStatuses": [{"name": "app", "ready": false, "restartCount": 3,
        "image": "app:1", "imageID": "", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
    cx.patch("merge", cx.core("pods/a/status"), &waiting).await?.code(200)?;
    let table = self::table(&cx, cx.core("pods/a")).await?;
    let cells = table.list("/rows/0/cells")?;
    table.holds(cells[..4] == ["a", "0/1", "CrashLoopBackOff", "3"], "a pod that crashes")?;
    Ok(())
}

async fn nodes_have_a_table(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    let labels = json!({"metadata": {"labels": {"node-role.kubernetes.io/edge": ""}}});
    cx.create_for_now("/api/v1/nodes", &with(node(&name), labels)).await?;
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
    let path = format!("/api/v1/nodes/{name}");
    cx.patch("merge", format!("{path}/status"), &status).await?.code(200)?;
    let cordon = json!({"spec": {"unschedulable": true}});
    cx.patch("merge", path.clone(), &cordon).await?.code(200)?;
    let table = table(&cx, path).await?;
    let wide = ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"];
    columns(&table, &["Name", "Status", "Roles", "Age", "Version"], &wide)?;
    let cells = table.list("/rows/0/cells")?;
    table.holds(cells[1..3] == ["Ready,SchedulingDisabled", "edge"], "a cordoned node")?;
    table.holds(cells[5..7] == ["10.0.0.1", "<none>"], "its address")?;
    Ok(())
}

async fn config_maps_and_secrets_have_tables(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let maps = table(&cx, cx.core("configmaps?fieldSelector=metadata.name%3Da")).await?;
    columns(&maps, &["Name", "Data", "Age"], &[])?;
    maps.at("/rows/0/cells/0", "a")?.at("/rows/0/cells/1", 1)?;
    cx.create(cx.core("secrets"), &secret("b")).await?;
    let secrets = table(&cx, cx.core("secrets")).await?;
    columns(&secrets, &["Name", "Type", "Data", "Age"], &[])?;
    let cells = secrets.list("/rows/0/cells")?;
    secrets.holds(cells[..3] == [json!("b"), json!("Opaque"), json!(0)], "an empty secret")?;
    Ok(())
}

async fn namespaces_and_leases_have_tables(cx: Cx) -> Result<()> {
    let namespace = table(&cx, format!("/api/v1/namespaces/{}", cx.namespace())).await?;
    columns(&namespace, &["Name", "Status", "Age"], &[])?;
    namespace.at("/rows/0/cells/1", "Active")?;
    let leases = table(&cx, cx.group("coordination.k8s.io/v1", "leases")).await?;
    columns(&leases, &["Name", "Holder", "Age"], &[])?;
    leases.at("/rows", json!([]))?;
    Ok(())
}

async fn one_object_is_a_table_of_one_row(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let table = table(&cx, cx.core("pods/a")).await?;
    table.holds(table.list("/rows")?.len() == 1, "one row")?;
    table.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn rows_hold_metadata_or_objects_or_nothing(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    for query in ["", "?includeObject=Metadata"] {
        let table = table(&cx, cx.core(&format!("pods{query}"))).await?;
        table.at("/rows/0/object/kind", "PartialObjectMetadata")?;
        table.at("/rows/0/object/apiVersion", "meta.k8s.io/v1")?.at("/rows/0/object/metadata/name", "a")?;
        table.absent("/rows/0/object/spec")?;
    }
    let whole = table(&cx, cx.core("pods?includeObject=Object")).await?;
    whole.at("/rows/0/object/kind", "Pod")?.at("/rows/0/object/spec/containers/0/name", "app")?;
    let none = table(&cx, cx.core("pods?includeObject=None")).await?;
    none.holds(none.get("/rows/0/object").is_null(), "no object")?.at("/rows/0/cells/0", "a")?;
    Ok(())
}

async fn an_unknown_content_of_rows_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.send(Call::get(cx.core("pods?includeObject=Some")).accept(TABLE)).await?;
    reply.refused(400, "BadRequest")?.says(&["includeObject: Invalid value: \"Some\""])?;
    Ok(())
}

async fn a_table_has_pages(cx: Cx) -> Result<()> {
    for name in ["a", "b", "c"] {
        cx.create(cx.core("secrets"), &secret(name)).await?;
    }
    let first = table(&cx, cx.core("secrets?limit=2")).await?;
    first.holds(first.list("/rows")?.len() == 2, "two rows")?.at("/metadata/remainingItemCount", 1)?;
    let token = first.text("/metadata/continue")?;
    let second = table(&cx, cx.core(&format!("secrets?limit=2&continue={token}"))).await?;
    second.holds(second.list("/rows")?.len() == 1, "one row")?.at("/rows/0/cells/0", "c")?;
    Ok(())
}

async fn a_watch_of_tables_has_columns_once(cx: Cx) -> Result<()> {
    let call = Call::get(cx.core("pods?watch=true")).accept(TABLE);
    let mut watch = cx.watch_call(&call).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    let added = watch.event().await?;
    added.object.holds(added.kind == "ADDED", "an addition")?.at("/kind", "Table")?;
    added.object.at("/rows/0/cells/0", "a")?;
    columns(
        &added.object,
        &["Name", "Ready", "Status", "Restarts", "Age"],
        &["IP", "Node", "Nominated Node", "Readiness Gates"],
    )?;
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    cx.patch("merge", cx.core("pods/a"), &labels).await?.code(200)?;
    let changed = watch.event().await?;
    changed.object.holds(changed.kind == "MODIFIED", "a change")?.at("/rows/0/cells/0", "a")?;
    let columns = changed.object.get("/columnDefinitions").as_array().map_or(0, Vec::len);
    changed.object.holds(columns == 0, "no columns again")?;
    Ok(())
}

async fn kubectl_gets_the_table_it_asks_for_first(cx: Cx) -> Result<()> {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                  application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let reply = cx.send(Call::get(cx.core("pods")).accept(accept)).await?.code(200)?;
    reply.at("/kind", "Table")?.at("/apiVersion", "meta.k8s.io/v1")?;
    Ok(())
}

async fn an_error_is_no_table(cx: Cx) -> Result<()> {
    cx.send(Call::get(cx.core("pods/nope")).accept(TABLE)).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn metadata_is_all_that_is_asked_for(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.send(Call::get(cx.core("pods/a")).accept(METADATA)).await?.code(200)?;
    reply.at("/kind", "PartialObjectMetadata")?.at("/apiVersion", "meta.k8s.io/v1")?;
    reply.at("/metadata", made.get("/metadata").clone())?.absent("/spec")?.absent("/status")?;
    Ok(())
}

async fn lists_of_metadata_have_a_kind_of_their_own(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.send(Call::get(cx.core("pods")).accept(METADATA_LIST)).await?.code(200)?;
    reply.at("/kind", "PartialObjectMetadataList")?.at("/apiVersion", "meta.k8s.io/v1")?.lists(&["a"])?;
    reply.at("/items/0/kind", "PartialObjectMetadata")?.absent("/items/0/spec")?.revision()?;
    Ok(())
}

async fn metadata_of_the_wrong_shape_is_not_acceptable(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let list = cx.send(Call::get(cx.core("pods")).accept(METADATA)).await?;
    list.refused(406, "NotAcceptable")?;
    let one = cx.send(Call::get(cx.core("pods/a")).accept(METADATA_LIST)).await?;
    one.refused(406, "NotAcceptable")?;
    Ok(())
}

async fn a_watch_of_metadata_has_nothing_else(cx: Cx) -> Result<()> {
    let call = Call::get(cx.core("pods?watch=true")).accept(METADATA);
    let mut watch = cx.watch_call(&call).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    let added = watch.expect("ADDED", "a").await?;
    added.at("/kind", "PartialObjectMetadata")?.absent("/spec")?;
    Ok(())
}

async fn an_unknown_representation_is_not_acceptable(cx: Cx) -> Result<()> {
    for accept in ["application/xml", "text/html", "application/json;as=Table;v=v7;g=meta.k8s.io"] {
        let reply = cx.send(Call::get(cx.core("pods")).accept(accept)).await?;
        reply.refused(406, "NotAcceptable")?.says(&["application/json"])?;
    }
    Ok(())
}

async fn anything_is_json(cx: Cx) -> Result<()> {
    for accept in
        ["*/*", "application/xml, */*", "application/xml, application/json", "application/json;q=0.9"]
    {
        let reply = cx.send(Call::get(cx.core("pods")).accept(accept)).await?.code(200)?;
        reply.at("/kind", "PodList")?;
        reply.holds(reply.header("content-type") == "application/json", "JSON")?;
    }
    Ok(())
}

async fn yaml_is_answered(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.send(Call::get(cx.core("configmaps/a")).accept("application/yaml")).await?.code(200)?;
    reply.holds(reply.header("content-type") == "application/yaml", "YAML")?;
    for line in ["apiVersion: v1", "kind: ConfigMap", "  a: \"1\"", "  name: a"] {
        reply.holds(
            reply.body.lines().any(|found| found == line),
            &format!("a line {line:?} in {}", reply.body),
        )?;
    }
    Ok(())
}

async fn yaml_is_taken(cx: Cx) -> Result<()> {
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    one\n    two\n";
    let call = Call::new(Method::POST, cx.core("configmaps")).content_type("application/yaml").raw(body);
    cx.send(call).await?.code(201)?.at("/data/text", "one\ntwo\n")?;
    Ok(())
}

async fn pretty_json_is_json(cx: Cx) -> Result<()> {
    let plain = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let pretty = cx.get(cx.core("configmaps/a?pretty=true")).await?.code(200)?;
    pretty.holds(pretty.value == plain.value, "the same object")?;
    pretty.holds(pretty.body.lines().count() > 5, "many lines")?;
    Ok(())
}
