//! Static pods come, change and go.

use serde_json::json;

use super::*;

fn pod(name: &str, uid: &str) -> StaticPod {
    let manifest = json!({"metadata": {"annotations": {"kubernetes.io/config.source": "file"}}, "spec": {}});
    StaticPod { key: Key::pod("default", name), uid: Uid::from(uid), manifest: Arc::new(manifest) }
}

fn asked(pods: &[&StaticPod]) -> Asked {
    Asked { pods: pods.iter().map(|pod| (pod.key.clone(), (*pod).clone())).collect(), is_complete: true }
}

fn ended(pod: &StaticPod) -> Report {
    Report {
        namespace: "default".into(),
        name: pod.key.name.to_string(),
        uid: pod.uid.to_string(),
        version: pod.uid.to_string(),
        health: safepoint_runtime::Health::Finished,
        ended: true,
        status: json!({}),
        configs: BTreeMap::new(),
    }
}

fn found(pod: &StaticPod, ending: bool) -> Found {
    Found {
        namespace: "default".into(),
        name: pod.key.name.to_string(),
        uid: pod.uid.to_string(),
        version: pod.uid.to_string(),
        manifest: Arc::clone(&pod.manifest),
        ending: ending.then_some(GRACE),
    }
}

/// Who starts or goes on (`+`) and who ends (`-`).
fn told(wanted: &[Wanted]) -> Vec<String> {
    let sign = |wanted: &Wanted| if wanted.ending.is_some() { '-' } else { '+' };
    wanted.iter().map(|wanted| format!("{}{}", sign(wanted), wanted.uid)).collect()
}

#[test]
fn a_changed_manifest_ends_the_old_pod_before_the_new_one_starts() {
    let (old, new) = (pod("rover", "1"), pod("rover", "2"));
    let mut statics = Statics::default();
    assert_eq!(told(&statics.ask(asked(&[&old]))), ["+1"]);
    assert!(statics.ask(asked(&[&old])).is_empty());
    assert_eq!(told(&statics.ask(asked(&[&new]))), ["-1"]);
    assert!(statics.ask(asked(&[&new])).is_empty());
    assert_eq!(told(&statics.take(&ended(&old))), ["+2"]);
}

#[test]
fn a_manifest_that_is_put_back_while_its_pod_ends_starts_it_anew() {
    let old = pod("rover", "1");
    let mut statics = Statics::default();
    statics.ask(asked(&[&old]));
    assert_eq!(told(&statics.ask(asked(&[]))), ["-1"]);
    assert!(statics.ask(asked(&[&old])).is_empty());
    assert_eq!(told(&statics.take(&ended(&old))), ["+1"]);
}

#[test]
fn what_ran_before_the_agent_began_goes_on_or_ends_as_the_folder_says() {
    let (stays, goes, ends) = (pod("a", "1"), pod("b", "2"), pod("c", "3"));
    let mut statics = Statics::default();
    statics.adopt(&[found(&stays, false), found(&goes, false), found(&ends, true)]);
    assert_eq!(told(&statics.ask(asked(&[&stays, &ends]))), ["+1", "-2", "-3"]);
    assert_eq!(told(&statics.take(&ended(&ends))), ["+3"]);
}

#[test]
fn nothing_ends_while_something_in_the_folder_cannot_be_read() {
    let (first, second, new) = (pod("a", "1"), pod("b", "2"), pod("a", "3"));
    let mut statics = Statics::default();
    statics.adopt(&[found(&first, false), found(&second, false)]);
    assert_eq!(told(&statics.ask(Asked::default())), ["+1", "+2"]);
    let some = Asked { is_complete: false, ..asked(&[&new]) };
    assert_eq!(told(&statics.ask(some)), ["-1"]);
    assert_eq!(told(&statics.ask(asked(&[]))), ["-2"]);
}
