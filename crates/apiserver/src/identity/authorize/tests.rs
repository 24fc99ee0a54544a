//! Who may do what, as tables of requests.

use super::*;

/// Pods `here` and `there` in the namespace `ns` are bound to the nodes of these names, `loose` to none. The pod on
/// `here` uses an object `used` of each kind. Without a namespace, these facts are careless.
struct Stored;

impl Facts for Stored {
    fn pod_node(&self, namespace: &str, name: &str) -> Option<String> {
        match (namespace, name) {
            ("ns" | "", "here" | "there") => Some(name.into()),
            ("ns", "loose") => Some(String::new()),
            _ => None,
        }
    }

    fn node_uses(&self, node: &str, _: Used, namespace: &str, name: &str) -> bool {
        (node, name) == ("here", "used") && ["ns", ""].contains(&namespace)
    }

    fn uid(&self, _: Object, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// Reads `verb resource.group/subresource namespace/name ?field=value`. A namespace or a name may be left out.
fn decide(user: &User, line: &str) -> Decision {
    let mut words = line.split(' ');
    let verb = words.next().unwrap();
    let target = words.next().unwrap();
    if target.starts_with('/') {
        return authorize(user, &Attributes { verb, path: target, ..Attributes::default() }, &Stored);
    }
    let (kind, subresource) = target.split_once('/').unwrap_or((target, ""));
    let (resource, group) = kind.split_once('.').unwrap_or((kind, ""));
    let (mut namespace, mut name, mut fields) = ("", "", Vec::new());
    for word in words {
        match word.strip_prefix('?') {
            Some(field) => fields.push(field.split_once('=').unwrap()),
            None => (namespace, name) = word.split_once('/').unwrap(),
        }
    }
    let asked = Attributes { verb, group, resource, subresource, namespace, name, fields: &fields, path: "" };
    authorize(user, &asked, &Stored)
}

fn allowed(user: &User, lines: &[&str]) {
    for line in lines {
        assert_eq!(decide(user, line), Decision::Allow, "{} {line}", user.name);
    }
}

fn denied(user: &User, lines: &[&str]) {
    for line in lines {
        let decision = decide(user, line);
        let Decision::Deny(reason) = decision else { panic!("{} may {line}", user.name) };
        assert!(!reason.is_empty());
    }
}

fn service_account_user() -> User {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"];
    User {
        name: "system:serviceaccount:ns:sa".into(),
        groups: groups.map(String::from).into(),
        ..User::default()
    }
}

#[test]
fn the_admin_may_do_everything() {
    allowed(
        &User::admin(),
        &[
            "deletecollection secrets ns/",
            "get /metrics",
            "create nodes /",
            "update nodegates.safepoint.dev /there",
        ],
    );
}

#[test]
fn everybody_may_find_out_what_is_served_and_who_they_are() {
    for user in [User::of_node("here"), service_account_user()] {
        allowed(
            &user,
            &[
                "get /version",
                "get /version/",
                "get /api",
                "get /api/v1",
                "get /apis",
                "get /apis/safepoint.dev/v1alpha1",
                "get /openapi/v3",
                "head /openapi/v2",
                "get /healthz",
                "get /livez",
                "get /readyz",
                "create selfsubjectaccessreviews.authorization.k8s.io /",
                "create selfsubjectrulesreviews.authorization.k8s.io /",
                "create selfsubjectreviews.authentication.k8s.io /",
            ],
        );
        denied(
            &user,
            &[
                "get /metrics",
                "get /",
                "get /apisecret",
                "get /healthz/etcd",
                "post /api",
                "get /debug/pprof",
                "list selfsubjectreviews.authentication.k8s.io /",
                "create selfsubjectreviews.safepoint.dev /",
            ],
        );
    }
}

#[test]
fn nobody_may_do_anything() {
    let nobody = User {
        name: "system:anonymous".into(),
        groups: vec!["system:unauthenticated".into()],
        ..User::default()
    };
    denied(&nobody, &["get /version", "get /healthz", "create selfsubjectreviews.authentication.k8s.io /"]);
}

#[test]
fn a_service_account_may_do_nothing_else_and_is_told_why() {
    let account = service_account_user();
    denied(
        &account,
        &["get pods ns/here", "list pods ns/", "get configmaps ns/used", "get serviceaccounts ns/sa"],
    );
    let Decision::Deny(reason) = decide(&account, "get pods ns/here") else { unreachable!() };
    assert!(reason.contains("no RBAC"), "{reason}");
}

#[test]
fn the_name_of_a_node_without_its_group_is_worth_nothing() {
    let groups = vec!["system:authenticated".to_owned()];
    let impostor = User { name: "system:node:here".into(), groups, ..User::default() };
    denied(&impostor, &["get nodes /here", "get pods ns/here", "list pods / ?spec.nodeName=here"]);
}

#[test]
fn a_node_may_use_its_own_node() {
    let node = User::of_node("here");
    allowed(
        &node,
        &[
            "create nodes /",
            "get nodes /here",
            "list nodes / ?metadata.name=here",
            "watch nodes / ?metadata.name=here",
            "update nodes /here",
            "patch nodes /here",
            "update nodes/status /here",
            "patch nodes/status /here",
        ],
    );
    denied(
        &node,
        &[
            "delete nodes /here",
            "deletecollection nodes /",
            "deletecollection nodes / ?metadata.name=here",
            "list nodes /",
            "watch nodes /",
            "list nodes / ?metadata.name=there",
            "list nodes / ?metadata.namespace=here",
            "get nodes /there",
            "get nodes /there ?metadata.name=here",
            "patch nodes / ?metadata.name=here",
            "update nodes /there",
            "patch nodes/status /there",
            "get nodes/proxy /here",
            "create nodes/proxy /here",
        ],
    );
}

#[test]
fn a_node_may_use_its_own_lease() {
    let node = User::of_node("here");
    allowed(
        &node,
        &[
            "create leases.coordination.k8s.io kube-node-lease/",
            "get leases.coordination.k8s.io kube-node-lease/here",
            "update leases.coordination.k8s.io kube-node-lease/here",
            "patch leases.coordination.k8s.io kube-node-lease/here",
            "delete leases.coordination.k8s.io kube-node-lease/here",
        ],
    );
    denied(
        &node,
        &[
            "get leases.coordination.k8s.io kube-node-lease/there",
            "update leases.coordination.k8s.io kube-node-lease/there",
            "delete leases.coordination.k8s.io kube-node-lease/there",
            "list leases.coordination.k8s.io kube-node-lease/",
            "list leases.coordination.k8s.io kube-node-lease/ ?metadata.name=here",
            "create leases.coordination.k8s.io kube-system/",
            "get leases.coordination.k8s.io kube-system/here",
            "get leases.coordination.k8s.io /here",
            "get leases kube-node-lease/here",
        ],
    );
}

#[test]
fn a_node_may_read_its_own_gate_and_write_only_its_status() {
    let node = User::of_node("here");
    allowed(
        &node,
        &[
            "get nodegates.safepoint.dev /here",
            "list nodegates.safepoint.dev / ?metadata.name=here",
            "watch nodegates.safepoint.dev / ?metadata.name=here",
            "get nodegates.safepoint.dev/status /here",
            "update nodegates.safepoint.dev/status /here",
            "patch nodegates.safepoint.dev/status /here",
        ],
    );
    denied(
        &node,
        &[
            "create nodegates.safepoint.dev /",
            "update nodegates.safepoint.dev /here",
            "patch nodegates.safepoint.dev /here",
            "delete nodegates.safepoint.dev /here",
            "list nodegates.safepoint.dev /",
            "watch nodegates.safepoint.dev / ?metadata.name=there",
            "get nodegates.safepoint.dev /there",
            "patch nodegates.safepoint.dev/status /there",
            "get nodegates.example.com /here",
        ],
    );
}

#[test]
fn a_node_may_list_static_pods_and_do_nothing_else_with_them() {
    let node = User::of_node("here");
    allowed(&node, &["list staticpods.safepoint.dev ns/", "list staticpods.safepoint.dev /"]);
    denied(
        &node,
        &[
            "get staticpods.safepoint.dev ns/here",
            "watch staticpods.safepoint.dev ns/",
            "create staticpods.safepoint.dev ns/",
            "patch staticpods.safepoint.dev ns/here",
            "patch staticpods.safepoint.dev/status ns/here",
            "delete staticpods.safepoint.dev ns/here",
            "list staticpods.example.com ns/",
        ],
    );
}

#[test]
fn a_node_may_use_the_pods_that_are_bound_to_it() {
    let node = User::of_node("here");
    allowed(
        &node,
        &[
            "list pods / ?spec.nodeName=here",
            "watch pods / ?spec.nodeName=here",
            "watch pods ns/ ?metadata.name=x ?spec.nodeName=here",
            "get pods ns/here",
            "list pods ns/ ?metadata.name=here",
            "watch pods ns/ ?metadata.name=here",
            "create pods ns/",
            "delete pods ns/here",
            "update pods/status ns/here",
            "patch pods/status ns/here",
            "create pods/eviction ns/here",
        ],
    );
    denied(
        &node,
        &[
            "list pods /",
            "watch pods ns/",
            "list pods / ?spec.nodeName=there",
            "list pods / ?spec.nodeName=",
            "list pods / ?status.phase=here",
            "watch pods ns/ ?metadata.name=there",
            "get pods ns/there",
            "get pods ns/loose",
            "get pods /here",
            "delete pods /here",
            "watch pods / ?metadata.name=here",
            "delete pods ns/there",
            "delete pods ns/loose",
            "deletecollection pods ns/",
            "deletecollection pods / ?spec.nodeName=here",
            "update pods ns/here",
            "patch pods ns/here",
            "patch pods/status ns/there",
            "patch pods/status ns/loose",
            "create pods/eviction ns/there",
            "create pods/binding ns/loose",
            "create pods/exec ns/here",
            "get pods/log ns/here",
            "get pods/status ns/here",
            "patch pods/ephemeralcontainers ns/here",
        ],
    );
}

#[test]
fn a_pod_that_is_gone_is_not_shown_but_may_be_gone_already_for_writes() {
    let node = User::of_node("here");
    denied(&node, &["get pods ns/gone", "watch pods ns/ ?metadata.name=gone"]);
    allowed(&node, &["delete pods ns/gone", "patch pods/status ns/gone", "create pods/eviction ns/gone"]);
}

#[test]
fn a_node_may_read_what_its_pods_use() {
    let node = User::of_node("here");
    for resource in ["configmaps", "secrets"] {
        let line = |line: &str| decide(&node, &line.replace("RESOURCE", resource));
        for reads in [
            "get RESOURCE ns/used",
            "list RESOURCE ns/ ?metadata.name=used",
            "watch RESOURCE ns/ ?metadata.name=used",
        ] {
            assert_eq!(line(reads), Decision::Allow, "{resource} {reads}");
        }
        for other in [
            "get RESOURCE ns/other",
            "get RESOURCE other/used",
            "get RESOURCE /used",
            "list RESOURCE ns/",
            "list RESOURCE /",
            "watch RESOURCE / ?metadata.name=used",
            "watch RESOURCE ns/ ?metadata.name=other",
            "get RESOURCE/status ns/used",
            "create RESOURCE ns/",
            "update RESOURCE ns/used",
            "patch RESOURCE ns/used",
            "delete RESOURCE ns/used",
            "deletecollection RESOURCE ns/ ?metadata.name=used",
        ] {
            assert!(matches!(line(other), Decision::Deny(_)), "{resource} {other}");
        }
    }
    denied(
        &User::of_node("there"),
        &["get configmaps ns/used", "get secrets ns/used", "get serviceaccounts ns/used"],
    );
    allowed(&node, &["get persistentvolumeclaims ns/used"]);
    denied(
        &node,
        &["watch persistentvolumeclaims ns/ ?metadata.name=used", "get persistentvolumeclaims ns/other"],
    );
}

#[test]
fn a_node_may_get_tokens_for_the_service_accounts_of_its_pods() {
    let node = User::of_node("here");
    allowed(&node, &["get serviceaccounts ns/used", "create serviceaccounts/token ns/used"]);
    denied(
        &node,
        &[
            "create serviceaccounts/token ns/other",
            "create serviceaccounts/token ns/",
            "get serviceaccounts/token ns/used",
            "get serviceaccounts ns/other",
            "get serviceaccounts /used",
            "list serviceaccounts ns/",
            "list serviceaccounts ns/ ?metadata.name=used",
            "create serviceaccounts ns/",
            "delete serviceaccounts ns/used",
        ],
    );
}

#[test]
fn a_node_may_use_what_every_kubelet_needs_and_nothing_else() {
    let node = User::of_node("here");
    allowed(
        &node,
        &[
            "list services /",
            "watch services /",
            "get services ns/svc",
            "create events ns/",
            "patch events ns/e",
            "create events.events.k8s.io ns/",
            "update events.events.k8s.io ns/e",
            "create tokenreviews.authentication.k8s.io /",
            "create subjectaccessreviews.authorization.k8s.io /",
            "create localsubjectaccessreviews.authorization.k8s.io ns/",
        ],
    );
    denied(
        &node,
        &[
            "update services ns/svc",
            "get services/proxy ns/svc",
            "list events ns/",
            "delete events ns/e",
            "get namespaces /ns",
            "list namespaces /",
            "list deployments.apps ns/",
            "get customresourcedefinitions.apiextensions.k8s.io /x",
            "list csinodes.storage.k8s.io /",
            "create bindings ns/",
        ],
    );
}
