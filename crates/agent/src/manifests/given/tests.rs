//! What the cluster gives at an owner's word, and what it does not.

use serde_json::json;

use super::*;

fn pod() -> PodKey {
    PodKey::new("edge", "proxy").unwrap()
}

fn read(revision: &str) -> Manifest {
    let text = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "proxy", "namespace": "edge",
        "annotations": {"openyurt.io/static-pod-hash": revision}}, "spec": {"containers": [{"name": "a", "image": "b"}]}});
    Manifest::parse(text.to_string()).unwrap()
}

fn object(name: &str, image: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = json!({"metadata": {"name": name, "uid": name, "creationTimestamp": "2026-11-16T08:00:00Z"},
        "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy", "upgradeStrategy": {"type": "OTA"},
            "template": {"spec": {"containers": [{"name": "main", "image": image}]}}}});
    change(&mut object);
    object
}

fn revision(image: &str) -> String {
    safepoint_api::static_pod::revision(&object("a", image, |_| {})["spec"]["template"])
}

fn of(objects: &[Value]) -> Result<Given, String> {
    given(&pod(), objects, &read("old"), None)
}

/// Why nothing is given by one object.
fn why(change: impl FnOnce(&mut Value)) -> String {
    of(&[object("fleet", "proxy:2", change)]).unwrap_err()
}

#[test]
fn what_the_owner_decides_about_is_given_as_the_hub_would_bring_it() {
    let other = object("other", "other:1", |it| it["spec"]["staticPodName"] = json!("other"));
    let Given { file, text } = of(&[other, object("fleet", "proxy:2", |_| {})]).unwrap();
    let read = Manifest::parse(text).unwrap();
    assert_eq!((file.as_str(), read.key()), ("proxy.yaml", &pod()));
    assert_eq!((read.revision(), read.is_installed()), (Some(&*revision("proxy:2")), false));
}

#[test]
fn what_the_hub_has_brought_stays_known_as_that() {
    let live = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "proxy", "namespace": "edge",
        "annotations": {"safepoint.dev/static-pod-installed": "true"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}});
    let live = Manifest::parse(live.to_string()).unwrap();
    let given = given(&pod(), &[object("fleet", "proxy:2", |_| {})], &live, None).unwrap();
    assert!(Manifest::parse(given.text).unwrap().is_installed());
}

#[test]
fn what_is_in_place_or_lies_ready_is_not_given_again() {
    let (objects, newest) = ([object("fleet", "proxy:2", |_| {})], read(&revision("proxy:2")));
    for (live, staged) in [(&newest, None), (&read("old"), Some(&newest))] {
        let why = given(&pod(), &objects, live, staged).unwrap_err();
        assert!(why.contains("StaticPod edge/fleet wants what is here already"), "{why}");
    }
    // What has failed gives way to what is newer.
    assert!(given(&pod(), &objects, &read("old"), Some(&read("failed"))).is_ok());
}

#[test]
fn each_reason_to_give_nothing_says_what_to_do() {
    assert!(of(&[]).unwrap_err().contains("`safepoint static-pod upgrade edge/proxy -f FILE`"));
    let rolled = why(|it| it["spec"]["upgradeStrategy"] = json!({}));
    assert!(rolled.contains("`safepoint static-pod status edge/fleet --cluster`"), "{rolled}");
    let paused = why(|it| it["spec"]["paused"] = json!(true));
    assert!(paused.contains("is paused: `safepoint static-pod resume edge/fleet`"), "{paused}");
    let leaving = why(|it| it["metadata"]["deletionTimestamp"] = json!("2026-11-16T09:00:00Z"));
    assert!(leaving.contains("is being deleted"), "{leaving}");
}

#[test]
fn what_the_hub_would_refuse_is_refused_in_its_words() {
    let broken = why(|it| it["spec"]["template"]["spec"]["serviceAccountName"] = json!("default"));
    assert_eq!(
        broken,
        "StaticPod edge/fleet cannot be carried out: \
         spec.template.spec.serviceAccountName: a static pod has no service account"
    );
    let unreadable = why(|it| it["spec"]["template"] = json!("proxy:2"));
    assert!(unreadable.contains("cannot be carried out: spec: "), "{unreadable}");
}

#[test]
fn of_several_the_oldest_that_can_be_carried_out_counts() {
    let at = |name: &str, image: &str, hour: &str| {
        object(name, image, |it| {
            it["metadata"]["creationTimestamp"] = json!(format!("2026-11-16T{hour}:00:00Z"));
        })
    };
    let mut oldest = at("a", "a:1", "07");
    oldest["spec"]["template"]["spec"]["nodeName"] = json!("n1");
    let given = of(&[at("c", "c:1", "09"), at("b", "b:1", "08"), oldest]).unwrap();
    assert_eq!(Manifest::parse(given.text).unwrap().revision(), Some(&*revision("b:1")));
}
