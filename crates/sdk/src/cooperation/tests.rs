//! What is done in which situation, and in which order.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::decide::{Standing, Step, addresses_of, concerns, step};
use super::declaration::{ANNOTATION, Becomes, declare};
use super::queue::Queue;
use super::{BoxError, Cooperation, Employer, Error, Frame, Member};

fn front() -> Employer {
    Employer::new("nginx", "Upstream", "shop", "front").selecting([("app", "web")])
}

/// A pod of the front: its uid, whether it is ready and what the lifecycle's gate says.
fn pod(uid: &str, ready: bool, gate: Option<bool>) -> Pod {
    let mut conditions = vec![json!({"type": "Ready", "status": if ready { "True" } else { "False" }})];
    if let Some(gate) = gate {
        let status = if gate { "True" } else { "False" };
        conditions.push(json!({"type": "pod.kusionstack.io/service-ready", "status": status}));
    }
    let pod = json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": uid, "resourceVersion": "7",
            "labels": {"app": "web", "kusionstack.io/control": "true"}},
        "status": {"podIPs": [{"ip": "10.0.0.7"}], "conditions": conditions},
    });
    serde_json::from_value(pod).unwrap()
}

fn declared(mut pod: Pod) -> Pod {
    let (key, value) = front().declaration();
    pod.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value);
    pod
}

fn finalized(mut pod: Pod, finalizers: &[&str]) -> Pod {
    pod.metadata.finalizers = Some(finalizers.iter().map(|finalizer| (*finalizer).to_owned()).collect());
    pod
}

fn member(pod: &Pod) -> Member {
    Member::of(&Arc::new(pod.clone()))
}

fn on(pod: &Pod) -> Standing {
    Standing::On(member(pod), addresses_of(pod))
}

/// A step in a word, or what it writes.
fn next(pod: &Pod, standing: &Standing) -> Value {
    match step(pod, member(pod), &front(), true, standing) {
        Step::Rest => json!("rest"),
        Step::TurnOn => json!("on"),
        Step::TurnOff(member) => json!(["off", member.uid]),
        Step::Write(metadata) => metadata,
    }
}

#[test]
fn a_pod_is_declared_then_turned_on_then_finalized() {
    let ready = pod("a", true, Some(true));
    assert_eq!(next(&ready, &Standing::Unknown)["annotations"][ANNOTATION], front().declaration().1);
    let ready = declared(ready);
    assert_eq!(next(&ready, &Standing::Unknown), json!("on"));
    assert_eq!(next(&ready, &on(&ready)), json!({"finalizers": [front().finalizer()]}));
    let ready = finalized(ready, &[front().finalizer()]);
    assert_eq!(next(&ready, &on(&ready)), json!("rest"));
}

#[test]
fn a_pod_that_is_not_ready_yet_is_declared_as_well() {
    let starting = pod("a", false, None);
    assert!(next(&starting, &Standing::Off)["annotations"].is_object());
    assert_eq!(next(&declared(starting), &Standing::Off), json!("rest"));
}

#[test]
fn the_closed_gate_counts_before_the_kubelet_says_so() {
    let finalizer = front();
    let closing = finalized(declared(pod("a", true, Some(false))), &[finalizer.finalizer()]);
    assert_eq!(next(&closing, &on(&closing)), json!(["off", "a"]));
    assert_eq!(next(&closing, &Standing::Off), json!({"finalizers": []}));
}

#[test]
fn finalizers_of_others_stay_in_their_order() {
    let front = front();
    let others = ["prot.podopslifecycle.kusionstack.io/slb", "example.com/last"];
    let ready = finalized(declared(pod("a", true, None)), &others);
    assert_eq!(next(&ready, &on(&ready)), json!({"finalizers": [others[0], others[1], front.finalizer()]}));
    let leaving = finalized(declared(pod("a", false, None)), &[others[0], front.finalizer(), others[1]]);
    assert_eq!(next(&leaving, &Standing::Off), json!({"finalizers": others}));
}

#[test]
fn after_a_restart_everything_is_called_once_more() {
    let front = front();
    let ready = finalized(declared(pod("a", true, None)), &[front.finalizer()]);
    assert_eq!(next(&ready, &Standing::Unknown), json!("on"));
    let not_ready = declared(pod("a", false, None));
    assert_eq!(next(&not_ready, &Standing::Unknown), json!(["off", "a"]));
}

#[test]
fn a_finalizer_that_somebody_took_off_comes_back_without_a_call() {
    let ready = declared(pod("a", true, None));
    assert_eq!(next(&ready, &on(&ready)), json!({"finalizers": [front().finalizer()]}));
}

#[test]
fn a_pod_with_a_new_address_is_turned_on_again() {
    let front = front();
    let ready = finalized(declared(pod("a", true, None)), &[front.finalizer()]);
    let elsewhere = Standing::On(member(&ready), vec!["10.0.0.6".into()]);
    assert_eq!(next(&ready, &elsewhere), json!("on"));
}

#[test]
fn the_pod_that_had_the_name_before_goes_first() {
    let (old, new) = (pod("a", true, None), declared(pod("b", true, None)));
    assert_eq!(next(&new, &on(&old)), json!(["off", "a"]));
    assert_eq!(next(&new, &Standing::Perhaps(member(&old))), json!(["off", "a"]));
    assert_eq!(next(&new, &Standing::Unknown), json!("on"));
}

#[test]
fn a_pod_that_goes_is_let_go_whatever_it_says_about_itself() {
    let front = front();
    let mut going = finalized(pod("a", true, Some(true)), &[front.finalizer()]);
    going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-11-15T12:00:00Z")).unwrap());
    assert_eq!(next(&going, &on(&going)), json!(["off", "a"]));
    assert_eq!(next(&going, &Standing::Off), json!({"finalizers": []}));
    assert_eq!(next(&finalized(going, &[]), &Standing::Off), json!("rest"));
}

#[test]
fn a_pod_that_stops_to_take_part_keeps_nothing_of_ours() {
    let front = front();
    let mut out = finalized(declared(pod("a", true, None)), &[front.finalizer()]);
    out.metadata.labels.as_mut().unwrap().remove("kusionstack.io/control");
    assert!(concerns(&out, &front));
    assert_eq!(next(&out, &on(&out)), json!(["off", "a"]));
    let last = next(&out, &Standing::Off);
    assert_eq!(last, json!({"finalizers": [], "annotations": {ANNOTATION: null}}));
}

#[test]
fn declarations_of_others_and_unknown_fields_are_kept() {
    let mut shared = pod("a", true, None);
    let others = json!({"expectedFinalizers": {"Service/shop/web": "prot.x/y"}, "later": [1]});
    let annotations = shared.metadata.annotations.get_or_insert_default();
    annotations.insert(ANNOTATION.to_owned(), others.to_string());
    let Becomes::New(Some(text)) = declare(&shared, &front(), true) else { panic!("it was to be added") };
    let mut value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["expectedFinalizers"]["Upstream/shop/front"], front().finalizer());
    shared.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), text);
    assert_eq!(declare(&shared, &front(), true), Becomes::Same);
    let Becomes::New(Some(text)) = declare(&shared, &front(), false) else { panic!("it was to be removed") };
    value = serde_json::from_str(&text).unwrap();
    assert_eq!(value, others);
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    for broken in ["{", "[]", "7", r#"{"expectedFinalizers": ["a"]}"#] {
        let mut pod = pod("a", true, None);
        pod.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), broken.to_owned());
        assert_eq!(declare(&pod, &front(), true), Becomes::Unreadable, "{broken}");
        assert_eq!(next(&pod, &Standing::Unknown), json!("on"), "{broken}");
    }
}

#[test]
fn employers_of_the_same_name_have_finalizers_of_their_own() {
    let service = Employer::new("nginx", "Service", "shop", "front");
    let elsewhere = Employer::new("nginx", "Upstream", "yard", "front");
    assert_ne!(service.finalizer(), front().finalizer());
    assert_ne!(elsewhere.finalizer(), front().finalizer());
    // Those on pods have to be found again by every later version.
    assert_eq!(front().finalizer(), "prot.podopslifecycle.kusionstack.io/nginx-dd782841f60a149d");
}

#[test]
fn an_employer_without_a_selector_employs_nobody() {
    let nobody = Employer::new("nginx", "Upstream", "shop", "front");
    assert!(!concerns(&pod("a", true, None), &nobody));
    assert!(concerns(&pod("a", true, None), &front()));
    assert!(front().employs(&pod("a", false, None)));
}

/// The template was copied, and `turn_off` was called for a pod whose name another one has in the employer's namespace.
#[test]
fn a_pod_of_another_namespace_is_left_alone_whatever_it_declares() {
    let mut copied = finalized(declared(pod("a", true, None)), &[front().finalizer()]);
    assert!(concerns(&copied, &front()));
    copied.metadata.namespace = Some("yard".into());
    assert!(!concerns(&copied, &front()));
}

#[test]
fn a_long_name_of_a_controller_still_makes_a_finalizer() {
    let long = Employer::new(&"ä".repeat(60), "Upstream", "shop", "front");
    assert!(matches!(long.check(), Err(Error::Finalizer { .. })));
    let long = Employer::new(&"a".repeat(100), "Upstream", "shop", "front");
    assert!(long.check().is_ok());
    for bad in
        ["example.com/x", "prot.podopslifecycle.kusionstack.io", "prot.podopslifecycle.kusionstack.io/"]
    {
        assert!(front().with_finalizer(bad).check().is_err(), "{bad}");
    }
}

struct Nothing;

impl Cooperation for Nothing {
    async fn turn_on(&self, _: &Employer, _: &Pod) -> Result<(), BoxError> {
        Ok(())
    }

    async fn turn_off(&self, _: &Employer, _: &Member) -> Result<(), BoxError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_frame_that_cannot_work_says_what_to_change() {
    // Nobody listens there, and nobody is asked.
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let frame = || Frame::new(client.clone(), Nothing);
    let run = async |frame: Frame<Nothing>| frame.run(std::future::ready(())).await.unwrap_err();
    assert!(matches!(run(frame()).await, Error::NoEmployer));
    let twice = run(frame().employer(front()).employer(front())).await;
    assert!(twice.to_string().contains("Upstream/shop/front"), "{twice}");
    let other = Employer::new("x", "Upstream", "shop", "back").with_finalizer(front().finalizer());
    assert!(matches!(run(frame().employer(front()).employer(other)).await, Error::Twice { .. }));
    let service = Employer::new("nginx", "Service", "shop", "front").selecting([("app", "web")]);
    for frame in [frame().employer(service.clone()), frame().services("nginx").employer(service.clone())] {
        let refused = run(frame).await;
        assert!(matches!(refused, Error::Service { .. }), "{refused}");
    }
    let outside = run(frame().employer(front()).namespace("yard")).await;
    assert!(matches!(outside, Error::Namespace { .. }), "{outside}");
    let bad = run(frame().services("ends with a dash-")).await;
    assert!(matches!(bad, Error::Finalizer { .. }), "{bad}");
}

#[tokio::test(start_paused = true)]
async fn what_fails_waits_twice_as_long_each_time_and_a_change_does_not_wait() {
    let (first, most) = (Duration::from_secs(1), Duration::from_secs(5));
    let mut queue = Queue::new(first, most);
    let now = Instant::now();
    queue.add("a");
    for expected in [1, 2, 4, 5, 5] {
        assert_eq!(queue.take(now + Duration::from_secs(60)), Some("a"));
        assert_eq!(queue.done("a", false, now), Some(Duration::from_secs(expected)));
        assert_eq!(queue.due(), Some(now + Duration::from_secs(expected)));
    }
    assert_eq!(queue.take(now), None);
    queue.add("a");
    assert_eq!(queue.take(now), Some("a"));
    assert_eq!(queue.done("a", true, now), None);
    assert_eq!((queue.due(), queue.take(now)), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_key_is_never_looked_at_twice_at_a_time_and_no_change_is_lost() {
    let mut queue = Queue::new(Duration::from_secs(1), Duration::from_secs(1));
    let now = Instant::now();
    queue.add("a");
    queue.add("a");
    assert_eq!(queue.take(now), Some("a"));
    queue.add("a");
    assert_eq!(queue.take(now), None);
    assert_eq!(queue.done("a", false, now), None, "it has changed meanwhile, so it does not wait");
    assert_eq!(queue.take(now), Some("a"));
    queue.done("a", true, now);
    assert_eq!(queue.take(now), None);
}
