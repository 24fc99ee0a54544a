//! Which mirrors are made and which are taken away.

use super::*;

fn running(uid: &str, name: &str) -> (Uid, Arc<Value>) {
    let manifest = json!({"metadata": {"namespace": "default", "name": name, "uid": uid,
        "annotations": {"kubernetes.io/config.hash": uid}}});
    (Uid::from(uid), Arc::new(manifest))
}

fn shown(uid: &str, name: &str, of: Option<&str>, deleting: bool) -> (Uid, SeenPod) {
    let pod = SeenPod {
        key: Key::pod("default", name),
        held: None,
        deleting,
        gates: BTreeMap::default(),
        mirror_of: of.map(Uid::from),
        taken_back: None,
        status: None,
        mirror: None,
    };
    (Uid::from(uid), pod)
}

fn said(statics: &[&(Uid, Arc<Value>)], seen: &[&(Uid, SeenPod)]) -> Vec<String> {
    let writes =
        writes(&statics.iter().copied().cloned().collect(), &seen.iter().copied().cloned().collect());
    let said = writes.into_iter().map(|write| match write {
        Write::Create(key, _) => format!("create {}", key.name),
        Write::Delete(key, uid) => format!("delete {} {uid}", key.name),
    });
    said.collect()
}

#[test]
fn a_static_pod_without_a_mirror_gets_one() {
    let rover = running("1", "rover");
    assert_eq!(said(&[&rover], &[]), ["create rover"]);
    assert!(said(&[&rover], &[&shown("m", "rover", Some("1"), false)]).is_empty());
}

#[test]
fn a_mirror_of_something_else_or_of_nothing_goes() {
    let old = shown("m", "rover", Some("1"), false);
    assert_eq!(said(&[], &[&old]), ["delete rover m"]);
    assert_eq!(said(&[&running("2", "rover")], &[&old]), ["delete rover m"]);
}

#[test]
fn a_mirror_that_somebody_deletes_is_let_go_and_made_anew() {
    let rover = running("1", "rover");
    assert_eq!(said(&[&rover], &[&shown("m", "rover", Some("1"), true)]), ["delete rover m"]);
    assert_eq!(said(&[&rover], &[]), ["create rover"]);
}

#[test]
fn a_pod_of_the_cluster_is_left_alone_whatever_its_name() {
    assert!(said(&[&running("1", "rover")], &[&shown("p", "rover", None, false)]).is_empty());
}

#[test]
fn the_old_and_the_new_pod_of_one_name_have_one_mirror() {
    assert_eq!(said(&[&running("1", "rover"), &running("2", "rover")], &[]), ["create rover"]);
}

#[test]
fn a_mirror_belongs_to_its_node_and_names_the_static_pod() {
    let (_, rover) = running("1", "rover");
    let mirror = mirror(&rover, &json!({"metadata": {"name": "bot", "uid": "n"}}));
    assert_eq!(mirror["metadata"]["annotations"][CONFIG_MIRROR], "1");
    assert_eq!(mirror["metadata"]["uid"], Value::Null);
    assert_eq!(mirror["metadata"]["ownerReferences"][0]["uid"], "n");
}
