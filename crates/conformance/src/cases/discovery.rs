//! What a server says about itself: version, groups, kinds, documents, health.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    doc::Doc,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![discovery:
        a_server_has_a_version,
        the_core_group_has_one_version,
        the_kinds_of_the_core_group,
        subresources_have_kinds_of_other_groups,
        groups_are_listed,
        a_group_is_described,
        the_kinds_of_other_groups,
        groups_are_aggregated,
        the_core_group_is_aggregated,
        an_aggregation_has_a_tag,
        kubectl_gets_the_aggregation_it_asks_for_first,
        documents_are_indexed,
        a_document_describes_kinds,
        an_unknown_document_is_not_found,
        health_is_ok,
        an_unknown_path_is_plain_text,
        an_unknown_version_is_not_found,
    ]
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const ALL: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Claims that a list of kinds has this one, with these verbs, and gives it.
fn has(list: &Doc, name: &str, kind: &str, namespaced: bool, verbs: &[&str]) -> Result<Value> {
    let found = list.list("/resources")?.iter().find(|resource| resource["name"] == name).cloned();
    let found = found.ok_or_else(|| list.unexpected(&format!("{name} among the kinds")))?;
    let mut all: Vec<&str> =
        found["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    all.sort_unstable();
    let right = found["kind"] == kind && found["namespaced"] == namespaced && all == verbs;
    list.holds(right, &format!("{name} as {kind}, namespaced {namespaced}, with {verbs:?}, not {found}"))?;
    Ok(found)
}

async fn a_server_has_a_version(cx: Cx) -> Result<()> {
    let version = cx.get("/version").await?.code(200)?;
    version.at("/major", "1")?.text("/minor")?;
    version.holds(version.text("/gitVersion")?.starts_with("v1."), "a version of Kubernetes")?;
    for field in ["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"] {
        version.holds(version.get(&format!("/{field}")).is_string(), &format!("a text {field}"))?;
    }
    Ok(())
}

async fn the_core_group_has_one_version(cx: Cx) -> Result<()> {
    let reply = cx.get("/api").await?.code(200)?;
    reply.at("/kind", "APIVersions")?.at("/versions", json!(["v1"]))?.list("/serverAddressByClientCIDRs")?;
    Ok(())
}

async fn the_kinds_of_the_core_group(cx: Cx) -> Result<()> {
    let list = cx.get("/api/v1").await?.code(200)?;
    list.at("/kind", "APIResourceList")?.at("/groupVersion", "v1")?;
    let pods = has(&list, "pods", "Pod", true, &ALL)?;
    list.holds(pods["shortNames"] == json!(["po"]) && pods["singularName"] == "pod", "names of pods")?;
    list.holds(pods["categories"] == json!(["all"]), "categories of pods")?;
    for (name, kind, namespaced, short) in [
        ("nodes", "Node", false, Some("no")),
        ("configmaps", "ConfigMap", true, Some("cm")),
        ("secrets", "Secret", true, None),
        ("services", "Service", true, Some("svc")),
        ("serviceaccounts", "ServiceAccount", true, Some("sa")),
        ("events", "Event", true, Some("ev")),
    ] {
        let found = has(&list, name, kind, namespaced, &ALL)?;
        list.holds(found["shortNames"][0].as_str() == short, &format!("the short name of {name}"))?;
    }
    let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
    has(&list, "namespaces", "Namespace", false, &verbs)?;
    Ok(())
}

async fn subresources_have_kinds_of_other_groups(cx: Cx) -> Result<()> {
    let list = cx.get("/api/v1").await?.code(200)?;
    let status = ["get", "patch", "update"];
    has(&list, "pods/status", "Pod", true, &status)?;
    has(&list, "nodes/status", "Node", false, &status)?;
    has(&list, "namespaces/finalize", "Namespace", false, &["update"])?;
    has(&list, "pods/binding", "Binding", true, &["create"])?;
    let eviction = has(&list, "pods/eviction", "Eviction", true, &["create"])?;
    list.holds(eviction["group"] == "policy" && eviction["version"] == "v1", "evictions of another group")?;
    let token = has(&list, "serviceaccounts/token", "TokenRequest", true, &["create"])?;
    list.holds(
        token["group"] == "authentication.k8s.io" && token["version"] == "v1",
        "tokens of another group",
    )?;
    Ok(())
}

async fn groups_are_listed(cx: Cx) -> Result<()> {
    let reply = cx.get("/apis").await?.code(200)?;
    reply.at("/kind", "APIGroupList")?.at("/apiVersion", "v1")?;
    let groups = reply.list("/groups")?;
    for name in [
        "coordination.k8s.io",
        "events.k8s.io",
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
    ] {
        let group = groups.iter().find(|group| group["name"] == name).cloned().unwrap_or_default();
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        reply.holds(group["preferredVersion"] == version, &format!("{name}/v1 as preferred"))?;
        let versions = group["versions"].as_array().cloned().unwrap_or_default();
        reply.holds(versions.contains(&version), &format!("{name}/v1 as served"))?;
    }
    Ok(())
}

async fn a_group_is_described(cx: Cx) -> Result<()> {
    let reply = cx.get("/apis/coordination.k8s.io").await?.code(200)?;
    reply.at("/kind", "APIGroup")?.at("/apiVersion", "v1")?.at("/name", "coordination.k8s.io")?;
    reply.at("/preferredVersion/groupVersion", "coordination.k8s.io/v1")?;
    cx.get("/apis/nothing.example").await?.code(404)?;
    Ok(())
}

async fn the_kinds_of_other_groups(cx: Cx) -> Result<()> {
    let leases = cx.get("/apis/coordination.k8s.io/v1").await?.code(200)?;
    leases.at("/apiVersion", "v1")?.at("/groupVersion", "coordination.k8s.io/v1")?;
    has(&leases, "leases", "Lease", true, &ALL)?;
    let definitions = cx.get("/apis/apiextensions.k8s.io/v1").await?.code(200)?;
    let kind = "CustomResourceDefinition";
    let found = has(&definitions, "customresourcedefinitions", kind, false, &ALL)?;
    definitions.holds(found["shortNames"] == json!(["crd", "crds"]), "its short names")?;
    has(&definitions, "customresourcedefinitions/status", kind, false, &["get", "patch", "update"])?;
    let hooks = cx.get("/apis/admissionregistration.k8s.io/v1").await?.code(200)?;
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        has(&hooks, &format!("{}s", kind.to_lowercase()), kind, false, &ALL)?;
    }
    let reviews = cx.get("/apis/authentication.k8s.io/v1").await?.code(200)?;
    has(&reviews, "tokenreviews", "TokenReview", false, &["create"])?;
    let access = cx.get("/apis/authorization.k8s.io/v1").await?.code(200)?;
    has(&access, "selfsubjectaccessreviews", "SelfSubjectAccessReview", false, &["create"])?;
    Ok(())
}

/// Claims that a resource is in an aggregated version, and gives it.
fn aggregated<'a>(reply: &'a Doc, version: &'a Value, resource: &str) -> Result<&'a Value> {
    let all = version["resources"].as_array();
    all.into_iter()
        .flatten()
        .find(|found| found["resource"] == resource)
        .ok_or_else(|| reply.unexpected(&format!("{resource} in the aggregation")))
}

async fn groups_are_aggregated(cx: Cx) -> Result<()> {
    let reply = cx.send(Call::get("/apis").accept(AGGREGATED)).await?.code(200)?;
    reply.holds(reply.header("content-type") == AGGREGATED, "the type that was asked for")?;
    reply.at("/kind", "APIGroupDiscoveryList")?.at("/apiVersion", "apidiscovery.k8s.io/v2")?;
    let groups = reply.list("/items")?;
    let group = groups.iter().find(|group| group["metadata"]["name"] == "coordination.k8s.io");
    let group = group.ok_or_else(|| reply.unexpected("a group of leases"))?;
    let version = &group["versions"][0];
    reply.holds(version["version"] == "v1" && version["freshness"] == "Current", "its version")?;
    let leases = aggregated(&reply, version, "leases")?;
    reply.holds(leases["scope"] == "Namespaced" && leases["responseKind"]["kind"] == "Lease", "leases")?;
    reply.holds(leases["singularResource"] == "lease", "a lease")?;
    Ok(())
}

async fn the_core_group_is_aggregated(cx: Cx) -> Result<()> {
    let reply = cx.send(Call::get("/api").accept(AGGREGATED)).await?.code(200)?;
    reply.at("/kind", "APIGroupDiscoveryList")?.absent("/items/0/metadata/name")?;
    let version = reply.get("/items/0/versions/0");
    let pods = aggregated(&reply, version, "pods")?;
    reply.holds(pods["shortNames"] == json!(["po"]) && pods["scope"] == "Namespaced", "pods")?;
    let subresources = pods["subresources"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = subresources.iter().filter_map(|sub| sub["subresource"].as_str()).collect();
    for name in ["status", "binding", "eviction"] {
        reply.holds(names.contains(&name), &format!("pods/{name}"))?;
    }
    let nodes = aggregated(&reply, version, "nodes")?;
    reply.holds(nodes["scope"] == "Cluster", "nodes outside of namespaces")?;
    Ok(())
}

async fn an_aggregation_has_a_tag(cx: Cx) -> Result<()> {
    let reply = cx.send(Call::get("/api").accept(AGGREGATED)).await?.code(200)?;
    reply.holds(!reply.header("etag").is_empty(), "a tag")?;
    reply.holds(reply.headers("vary").iter().any(|vary| vary.contains("Accept")), "what it depends on")?;
    Ok(())
}

async fn kubectl_gets_the_aggregation_it_asks_for_first(cx: Cx) -> Result<()> {
    let accept = format!(
        "{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
        application/json"
    );
    let reply = cx.send(Call::get("/apis").accept(accept)).await?.code(200)?;
    reply.at("/kind", "APIGroupDiscoveryList")?.at("/apiVersion", "apidiscovery.k8s.io/v2")?;
    Ok(())
}

async fn documents_are_indexed(cx: Cx) -> Result<()> {
    let reply = cx.get("/openapi/v3").await?.code(200)?;
    for path in ["api/v1", "apis/coordination.k8s.io/v1", "apis/apiextensions.k8s.io/v1"] {
        let url = reply.get("/paths")[path]["serverRelativeURL"].as_str().unwrap_or_default();
        reply
            .holds(url.starts_with(&format!("/openapi/v3/{path}?hash=")), &format!("a document of {path}"))?;
    }
    Ok(())
}

async fn a_document_describes_kinds(cx: Cx) -> Result<()> {
    let index = cx.get("/openapi/v3").await?.code(200)?;
    let path = index.get("/paths")["apis/coordination.k8s.io/v1"]["serverRelativeURL"].clone();
    let reply = cx.get(path.as_str().unwrap_or_default()).await?.code(200)?;
    reply.holds(reply.text("/openapi")?.starts_with("3.0"), "OpenAPI 3.0")?;
    let lease = &reply.get("/components/schemas")["io.k8s.api.coordination.v1.Lease"];
    let gvk = json!({"group": "coordination.k8s.io", "kind": "Lease", "version": "v1"});
    reply.holds(lease["x-kubernetes-group-version-kind"][0] == gvk, "which kind a schema is of")?;
    reply.holds(lease["properties"]["spec"].is_object(), "its fields")?;
    Ok(())
}

async fn an_unknown_document_is_not_found(cx: Cx) -> Result<()> {
    cx.get("/openapi/v3/apis/nothing.example/v1").await?.code(404)?;
    Ok(())
}

async fn health_is_ok(cx: Cx) -> Result<()> {
    for path in ["/healthz", "/livez", "/readyz"] {
        let reply = cx.send(Call::get(path).accept("*/*")).await?.code(200)?;
        reply.holds(reply.body == "ok", &format!("ok, not {:?}", reply.body))?;
        reply.holds(reply.header("content-type").starts_with("text/plain"), "plain text")?;
    }
    Ok(())
}

async fn an_unknown_path_is_plain_text(cx: Cx) -> Result<()> {
    let reply = cx.get("/nothing").await?.code(404)?;
    reply.holds(reply.body.trim_end() == "404 page not found", &format!("no page, not {:?}", reply.body))?;
    Ok(())
}

async fn an_unknown_version_is_not_found(cx: Cx) -> Result<()> {
    let reply = cx.get("/apis/coordination.k8s.io/v7/leases").await?.refused(404, "NotFound")?;
    reply.says(&["the server could not find the requested resource"])?;
    Ok(())
}
