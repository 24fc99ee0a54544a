//! What is served, as clients ask for it: groups, versions, resources, schemas, and the server's version.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::response::Response;
use http::Method;
use http::StatusCode;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, VARY};
use safepoint_machinery::status::Status;
use serde_json::{Value, json};

use crate::api::Api;
use crate::fault;
use crate::http::{Accept, Query, Reply, reply};
use crate::openapi;
use crate::registry::Registry;
use crate::resource::{Resource, Sub, api_version};
use crate::verbs;

/// The Kubernetes whose behaviour is served.
const MAJOR: &str = "1";
const MINOR: &str = "36";
const GIT_VERSION: &str = concat!("v1.36.0+safepoint-", env!("CARGO_PKG_VERSION"));

/// Answers a path that is not the address of a resource.
pub(crate) fn answer(
    api: &Api,
    path: &str,
    accept: Accept,
    method: &Method,
    _query: &Query,
) -> Result<Response, Status> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let registry = api.0.registry.get();
    let plain = |value: Value| Ok(Reply::ok(value).into_response(accept));
    if *method != Method::GET && *method != Method::HEAD {
        return Err(fault::not_allowed());
    }
    match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => Ok(verbs::health(api)),
        ["version"] => plain(version()),
        ["api"] if accept.aggregated => Ok(aggregated(&core(&registry))),
        ["api"] => plain(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "" }],
        })),
        ["apis"] if accept.aggregated => Ok(aggregated(&groups(&registry))),
        ["apis"] => {
            let groups: Vec<Value> =
                registry.groups().keys().filter_map(|name| group(&registry, name)).collect();
            plain(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["apis", name] => match group(&registry, name) {
            Some(mut group) => {
                group["kind"] = "APIGroup".into();
                group["apiVersion"] = "v1".into();
                plain(group)
            }
            None => Ok(nothing_there()),
        },
        ["api", version] => resources(&registry, "", version).map_or_else(|| Err(missing()), plain),
        ["apis", group, version] => {
            resources(&registry, group, version).map_or_else(|| Ok(nothing_there()), plain)
        }
        ["openapi", "v2"] => Ok(openapi::version_two()),
        ["openapi", "v3"] => plain(openapi::index(api)),
        ["openapi", "v3", "api", version] => {
            openapi::document(api, "", version).map_or_else(|| Err(missing()), plain)
        }
        ["openapi", "v3", "apis", group, version] => {
            openapi::document(api, group, version).map_or_else(|| Err(missing()), plain)
        }
        [] => plain(json!({ "paths": paths(&registry) })),
        _ => Ok(nothing_there()),
    }
}

fn missing() -> Status {
    Status::no_such_resource()
}

/// What Kubernetes answers to a path that nobody has registered.
fn nothing_there() -> Response {
    reply::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn version() -> Value {
    json!({
        "major": MAJOR, "minor": MINOR, "gitVersion": GIT_VERSION, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc",
        "platform": concat!("linux/", "amd64"),
    })
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths: Vec<String> =
        ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
            .map(str::to_owned)
            .to_vec();
    for (group, versions) in registry.groups() {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    paths
}

fn group(registry: &Registry, name: &str) -> Option<Value> {
    let versions = registry.groups().remove(name)?;
    let entries: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "groupVersion": api_version(name, version), "version": &**version }))
        .collect();
    Some(json!({ "name": name, "versions": entries, "preferredVersion": entries.first() }))
}

/// The resources of a version, with their subresources beside them.
fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    for resource in registry.of_version(group, version) {
        let mut entry = json!({
            "name": &*resource.plural, "singularName": &*resource.singular, "namespaced": resource.namespaced,
            "kind": &*resource.kind, "verbs": resource.verbs(),
        });
        for (field, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !names.is_empty() {
                entry[field] = names.iter().map(|name| Value::from(&**name)).collect();
            }
        }
        list.push(entry);
        for sub in &resource.subs {
            let (group, version, kind) = sub_kind(resource, *sub);
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, sub.name()), "singularName": "",
                "namespaced": resource.namespaced, "kind": kind, "verbs": sub_verbs(*sub),
            });
            if (group.as_str(), version.as_str()) != (&*resource.group, &*resource.version) {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            list.push(entry);
        }
    }
    (!list.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": list,
        })
    })
}

fn sub_kind(resource: &Resource, sub: Sub) -> (String, String, String) {
    let of = |group: &str, version: &str, kind: &str| (group.to_owned(), version.to_owned(), kind.to_owned());
    match sub {
        Sub::Status | Sub::Finalize => of(&resource.group, &resource.version, &resource.kind),
        Sub::Scale => of("autoscaling", "v1", "Scale"),
        Sub::Binding => of("", "v1", "Binding"),
        Sub::Eviction => of("policy", "v1", "Eviction"),
        Sub::Token => of("authentication.k8s.io", "v1", "TokenRequest"),
    }
}

fn sub_verbs(sub: Sub) -> &'static [&'static str] {
    match sub {
        Sub::Status | Sub::Scale => &["get", "patch", "update"],
        Sub::Binding | Sub::Eviction | Sub::Token => &["create"],
        Sub::Finalize => &["update"],
    }
}

// === all groups in one document ===

fn aggregated(items: &[Value]) -> Response {
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let tag = format!("\"{:016X}\"", fingerprint(&document));
    let mut response = Reply::ok(document).into_response(Accept::JSON);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    );
    response
}

/// The same for the same document, whoever asks: clients compare it with the one they have.
fn fingerprint(document: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    document.to_string().hash(&mut hasher);
    hasher.finish()
}

fn core(registry: &Registry) -> Vec<Value> {
    vec![json!({ "metadata": { "creationTimestamp": null }, "versions": [discovered(registry, "", "v1")] })]
}

fn groups(registry: &Registry) -> Vec<Value> {
    let groups = registry.groups();
    groups
        .iter()
        .map(|(name, versions)| {
            let versions: Vec<Value> =
                versions.iter().map(|version| discovered(registry, name, version)).collect();
            json!({ "metadata": { "name": &**name, "creationTimestamp": null }, "versions": versions })
        })
        .collect()
}

fn discovered(registry: &Registry, group: &str, version: &str) -> Value {
    let resources: Vec<Value> =
        registry.of_version(group, version).map(|resource| discovered_resource(resource)).collect();
    json!({ "version": version, "freshness": "Current", "resources": resources })
}

fn discovered_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let subs: Vec<Value> = resource
        .subs
        .iter()
        .map(|sub| {
            let (group, version, name) = sub_kind(resource, *sub);
            json!({ "subresource": sub.name(), "responseKind": kind(&group, &version, &name), "verbs": sub_verbs(*sub) })
        })
        .collect();
    let mut entry = json!({
        "resource": &*resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*resource.singular,
        "verbs": resource.verbs(),
    });
    for (field, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            entry[field] = names.iter().map(|name| Value::from(&**name)).collect();
        }
    }
    if !subs.is_empty() {
        entry["subresources"] = subs.into();
    }
    entry
}
