//! What the kubelet and the runtime are asked, what they answer, and to whom.

use safepoint_manifest::{
    Auths, Class, Code, Credentials, Folder, Manifest, Origin, PullError, Trust, pull_images,
};
use safepoint_testkit::UNPULLABLE_IMAGE;

use super::node::{Node, app, manifest, run};

#[test]
fn the_kubelet_says_where_its_manifests_and_its_runtime_are() {
    let node = Node::with("found");
    let folder = Folder::find(&node.host, None).unwrap();
    assert_eq!((folder.on_node(), folder.origin()), (node.world.static_pods().as_path(), Origin::Kubelet));
    let kubelet = safepoint_manifest::kubelet::running(&node.host).unwrap().unwrap();
    assert_eq!(kubelet.runtime.as_deref(), Some("unix:///run/containerd/containerd.sock"));
    assert_eq!(kubelet.certificate, Some(node.world.folder().join("kubelet.crt")));
    let version = run(node.cri().version()).unwrap();
    assert_eq!((version.runtime.as_str(), version.api.as_str()), ("containerd", "v1"));
}

#[test]
fn images_are_found_and_those_that_cannot_be_pulled_are_said_before_anything_is_touched() {
    let node = Node::with("images");
    let (cri, auths) = (node.cri(), Auths::none());
    let images = |container: &str| {
        let manifest = Manifest::parse(manifest(node.name, "one", container)).unwrap();
        run(pull_images(&cri, &manifest, &auths, &mut |_| {}))
    };
    let ready = images(&app("v1")).unwrap();
    assert_eq!((ready.len(), ready[0].pulled), (1, false));
    assert!(ready[0].digest.contains("sha256:"), "{ready:?}");
    assert!(run(cri.image(UNPULLABLE_IMAGE)).unwrap().is_none());
    let missing = images(&format!("image: \"{UNPULLABLE_IMAGE}\", imagePullPolicy: Never"));
    assert!(matches!(missing, Err(PullError::Missing { .. })), "{missing:?}");
    let failed = images(&format!("image: \"{UNPULLABLE_IMAGE}\", imagePullPolicy: IfNotPresent"));
    assert!(matches!(failed, Err(PullError::Failed { .. })), "{failed:?}");
}

#[test]
fn sandboxes_and_containers_are_those_that_run() {
    let node = Node::with("boxes");
    node.install("one", &app("v1"));
    let cri = node.cri();
    let sandboxes = run(cri.sandboxes("default")).unwrap();
    let sandbox = sandboxes.iter().find(|it| it.pod == "boxes-node" && it.ready).unwrap();
    assert_eq!(sandbox.annotations["openyurt.io/static-pod-hash"], "one");
    assert_eq!(run(cri.sandbox(&sandbox.id)).unwrap().as_ref(), Some(sandbox));
    let containers = run(cri.containers(&sandbox.id)).unwrap();
    assert_eq!((containers.len(), containers[0].name.as_str(), containers[0].attempt), (1, "main", 0));
    let detail = run(cri.container(&containers[0].id)).unwrap().unwrap();
    assert_eq!(detail.state, containers[0].state);
    assert_eq!(run(cri.container("nothing")).unwrap(), None);
    assert_eq!(run(cri.sandbox("nothing")).unwrap(), None);
}

#[test]
fn whoever_is_not_the_kubelet_or_not_allowed_sees_nothing_and_changes_nothing() {
    let node = Node::with("blind");
    node.install("one", &app("v1"));
    let before = node.live();
    let folder = node.world.folder().to_owned();
    let stranger = Trust::Pinned(Trust::read(&folder.join("ca.crt")).unwrap());
    let pinned = || Trust::Pinned(Trust::read(&folder.join("kubelet.crt")).unwrap());
    let nobody = Credentials::Token("wrong".into());
    for (trust, who, said) in [
        (stranger, node.administrator(), "pinned"),
        (pinned(), nobody, "not accepted"),
        (pinned(), Credentials::Nobody, "not accepted"),
    ] {
        let outcome = node.upgrade("two", &app("v2"), &mut node.kubelet_with(trust, who));
        assert_eq!((outcome.code, outcome.code.class()), (Code::CannotSee, Class::Refused), "{outcome:?}");
        assert!(outcome.message.contains(said), "{outcome:?}");
        assert_eq!(node.live(), before);
    }
    let authority = Trust::Authorities(Trust::read(&folder.join("ca.crt")).unwrap());
    let anyone = Trust::Anyone { reason: "a test".into() };
    for (revision, trust) in [("three", authority), ("four", anyone)] {
        let outcome = node.upgrade(revision, &app("v2"), &mut node.kubelet_with(trust, node.administrator()));
        assert_eq!(outcome.code, Code::Upgraded, "{outcome:?}");
    }
}
