//! Manifests as people and programs write them.

use super::{Digest, Manifest, PullPolicy, Role};

const NGINX: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: nginx
  namespace: kube-system
  annotations:
    openyurt.io/static-pod-hash: 76c9b7d4b
    number: 7
spec:
  terminationGracePeriodSeconds: 5
  initContainers:
  - { name: first, image: "tools:v1" }
  - { name: beside, image: "registry:5000/proxy", restartPolicy: Always }
  containers:
  - { name: main, image: "nginx@sha256:00" }
  - { name: other, image: "nginx:latest", imagePullPolicy: Never }
"#;

#[test]
fn a_manifest_says_which_pod_of_which_revision_it_is() {
    let manifest = Manifest::parse(NGINX).unwrap();
    assert_eq!(manifest.key().to_string(), "kube-system/nginx");
    assert_eq!(manifest.revision(), Some("76c9b7d4b"));
    assert_eq!(manifest.grace().as_secs(), 5);
    assert_eq!(manifest.text(), NGINX);
    let seen: Vec<_> = manifest.containers().iter().map(|it| (it.name.as_str(), it.role, it.pull)).collect();
    assert_eq!(
        seen,
        [
            ("first", Role::Init, PullPolicy::IfNotPresent),
            ("beside", Role::Sidecar, PullPolicy::Always),
            ("main", Role::Main, PullPolicy::IfNotPresent),
            ("other", Role::Main, PullPolicy::Never),
        ]
    );
}

#[test]
fn json_is_read_too_and_a_missing_namespace_is_the_default_one() {
    let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    let manifest = Manifest::parse(text).unwrap();
    assert_eq!(manifest.key().to_string(), "default/a");
    assert_eq!((manifest.revision(), manifest.grace().as_secs()), (None, 30));
}

#[test]
fn what_is_not_a_pod_is_refused_in_words() {
    let said = |text: &str| Manifest::parse(text).unwrap_err().to_string();
    assert!(said("a: [").starts_with("it is neither YAML nor JSON"), "{}", said("a: ["));
    assert_eq!(said("apiVersion: apps/v1\nkind: DaemonSet\n"), "it is a apps/v1 DaemonSet, not a v1 Pod");
    assert_eq!(
        said("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n"),
        "the pod has no containers"
    );
    assert!(
        said("apiVersion: v1\nkind: Pod\nmetadata: {name: ../a}\nspec: {containers: [{name: c}]}\n")
            .contains("cannot be the name")
    );
}

#[test]
fn a_half_written_manifest_is_not_one() {
    // What the kubelet would read of a file that is being written in place.
    let whole = Manifest::parse(NGINX).unwrap();
    for end in (0..NGINX.len()).filter(|end| NGINX.is_char_boundary(*end)) {
        if let Ok(half) = Manifest::parse(&NGINX[..end]) {
            assert_ne!(half.digest(), whole.digest());
        }
    }
}

#[test]
fn digests_are_written_as_everybody_writes_them() {
    let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Digest::of(b"").as_str(), nothing);
}
