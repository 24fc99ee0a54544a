//! Sandboxes and containers as runtimes list them.

use super::seen;
use crate::cri::{Container, ContainerState, Sandbox};
use crate::manifest::{ContainerWanted, PullPolicy, Role};
use crate::names::PodKey;
use crate::verify::Wanted;

fn wanted() -> Wanted {
    let of = |name: &str, role| ContainerWanted {
        name: name.into(),
        image: "app:v1".into(),
        pull: PullPolicy::Never,
        role,
    };
    let containers = vec![of("first", Role::Init), of("beside", Role::Sidecar), of("main", Role::Main)];
    Wanted { key: PodKey::new("default", "app").unwrap(), node: None, containers }
}

fn sandbox() -> Sandbox {
    Sandbox {
        id: "s".into(),
        namespace: "default".into(),
        pod: "app-node".into(),
        uid: "u".into(),
        attempt: 0,
        ready: true,
        created: 0,
        annotations: [("openyurt.io/static-pod-hash".into(), "abc".into())].into(),
    }
}

fn container(name: &str, attempt: u32, state: ContainerState) -> Container {
    Container { id: format!("{name}{attempt}"), name: name.into(), attempt, state, image: String::new() }
}

#[test]
fn a_pod_whose_containers_all_run_is_ready_and_says_its_revision() {
    let containers = [
        container("first", 0, ContainerState::Exited),
        container("beside", 0, ContainerState::Running),
        container("main", 0, ContainerState::Running),
    ];
    let pod = seen(&sandbox(), &containers, &wanted());
    assert!(pod.ready);
    assert_eq!((pod.uid.as_str(), pod.revision.as_deref(), pod.restarts), ("u", Some("abc"), 0));
}

#[test]
fn the_newest_attempt_counts_and_each_before_it_is_a_restart() {
    let mut containers = vec![
        container("beside", 0, ContainerState::Running),
        container("main", 2, ContainerState::Running),
        container("main", 1, ContainerState::Exited),
    ];
    let pod = seen(&sandbox(), &containers, &wanted());
    assert_eq!((pod.ready, pod.restarts), (true, 2));
    containers[1].state = ContainerState::Exited;
    let pod = seen(&sandbox(), &containers, &wanted());
    assert_eq!((pod.ready, pod.note.as_str()), (false, "main does not run"));
}

#[test]
fn a_pod_that_has_not_begun_says_what_is_missing() {
    let pod = seen(&sandbox(), &[], &wanted());
    assert_eq!((pod.ready, pod.note.as_str()), (false, "beside and main does not run"));
}

#[test]
fn the_node_is_part_of_the_name() {
    let mut wanted = wanted();
    assert!(wanted.is_named("default", "app-node", None));
    assert!(!wanted.is_named("default", "app", None) && !wanted.is_named("other", "app-node", None));
    assert!(wanted.is_named("default", "app-b-node", None), "without the node's name that may be it");
    assert!(!wanted.is_named("default", "app-b-node", Some("node")), "with it, it is app-b");
    wanted.node = Some("node".into());
    assert!(!wanted.is_named("default", "app-b-node", None));
    assert!(wanted.is_named("default", "app-node", None));
}
