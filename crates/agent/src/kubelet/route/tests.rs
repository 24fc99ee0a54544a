//! The requests that a kubelet makes, and the forms of asking that must not pass by.

use super::*;

const NODE: &str = "rover-7";

fn get(path: &str) -> Route {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    Route::of(NODE, &Method::GET, path, query)
}

fn by(method: &Method, path: &str) -> Route {
    Route::of(NODE, method, path, "")
}

fn named(namespace: &str, name: &str) -> Select {
    Select { namespace: Some(namespace.into()), name: Some(name.into()) }
}

fn watch(after: Option<&str>, tells_when_complete: bool) -> Read {
    Read::Watch(Watch {
        after: after.map(str::to_owned),
        tells_when_complete,
        bookmarks: true,
        timeout: Some(431),
    })
}

#[test]
fn the_pods_of_this_node_are_listed_and_watched_in_both_styles() {
    let of = Select::default();
    assert_eq!(
        get("/api/v1/pods?fieldSelector=spec.nodeName%3Drover-7&limit=500&resourceVersion=0"),
        Route::Pods { of: of.clone(), read: Read::List }
    );
    assert_eq!(
        get(
            "/api/v1/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Drover-7&resourceVersion=77&timeoutSeconds=431&watch=true"
        ),
        Route::Pods { of: of.clone(), read: watch(Some("77"), false) }
    );
    assert_eq!(
        get(
            "/api/v1/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Drover-7&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=431&watch=true"
        ),
        Route::Pods { of, read: watch(None, true) }
    );
}

#[test]
fn configuration_is_read_by_name() {
    assert_eq!(
        get(
            "/api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dmaps&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=431&watch=true"
        ),
        Route::Configs { kind: Kind::ConfigMap, of: named("default", "maps"), read: watch(None, true) }
    );
    assert_eq!(get("/api/v1/namespaces/default/secrets/key"), Route::Config(Key::secret("default", "key")));
}

#[test]
fn what_the_kubelet_does_to_a_pod_is_known() {
    let pod = Key::pod("default", "rover");
    let path = "/api/v1/namespaces/default/pods/rover";
    assert_eq!(get(path), Route::Pod(pod.clone()));
    assert_eq!(by(&Method::DELETE, path), Route::PodEnd(pod.clone()));
    assert_eq!(by(&Method::PATCH, &format!("{path}/status")), Route::PodStatus(pod));
    assert_eq!(by(&Method::POST, "/api/v1/namespaces/default/pods"), Route::Other, "a mirror pod");
}

#[test]
fn what_a_pod_needs_to_start_is_known() {
    assert_eq!(
        get("/api/v1/nodes?fieldSelector=metadata.name%3Drover-7&limit=500&resourceVersion=0"),
        Route::Nodes(Read::List)
    );
    assert_eq!(get("/api/v1/nodes/rover-7"), Route::Node);
    assert_eq!(
        get("/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone&limit=500&resourceVersion=0"),
        Route::Services(Read::List)
    );
    assert_eq!(by(&Method::POST, "/api/v1/namespaces/default/serviceaccounts/default/token"), Route::Token);
}

#[test]
fn everything_else_is_between_the_kubelet_and_the_cluster() {
    for path in [
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/rover-7",
        "/api/v1/namespaces/default/events",
        "/api/v1/persistentvolumes/x",
        "/apis/node.k8s.io/v1/runtimeclasses?watch=true",
        "/version",
        "/api/v1/nodes/another",
    ] {
        assert_eq!(get(path), Route::Other, "{path}");
    }
    assert_eq!(by(&Method::PATCH, "/api/v1/nodes/rover-7/status"), Route::Other);
}

#[test]
fn what_would_pass_by_the_gate_is_refused() {
    for path in [
        "/api/v1/pods",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Danother",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Drover-7,status.phase%3DRunning",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Drover-7&labelSelector=a%3Db",
        "/api/v1/namespaces/default/pods",
        "/api/v1/%70ods",
        "/api/v1/watch/pods",
        "/api/v1/secrets",
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/secrets/key?watch=true",
        "/api/v1/namespaces/default/pods/rover?watch=true",
    ] {
        assert!(matches!(get(path), Route::Refused(_)), "{path}: {:?}", get(path));
    }
}
