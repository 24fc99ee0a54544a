//! What is remembered of employers that come and go, and for how long.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::runtime::watcher::Event;
use serde_json::json;
use tokio::time::Instant;

use super::{Job, Key, State};
use crate::cooperation::decide::Standing;
use crate::cooperation::work::Found;
use crate::cooperation::{Employer, Member};
use crate::pods::PodName;

const FRONT: &str = "Service/shop/front";

fn service() -> Service {
    let service = json!({"metadata": {"name": "front", "namespace": "shop",
            "labels": {"kusionstack.io/control": "true"}, "finalizers": ["cooperation.safepoint.dev/board"]},
        "spec": {"selector": {"app": "web"}}});
    serde_json::from_value(service).unwrap()
}

fn pod() -> Pod {
    let pod = json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "a", "resourceVersion": "7",
            "labels": {"app": "web", "kusionstack.io/control": "true"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    serde_json::from_value(pod).unwrap()
}

fn web() -> PodName {
    PodName::of(&pod())
}

fn member() -> Key {
    Key::Member(FRONT.to_owned(), web())
}

/// One that knows a Service and these pods, and has asked what is on for it.
fn asked(pods: impl IntoIterator<Item = Pod>, found: Found) -> State {
    let second = Duration::from_secs(1);
    let mut state = State::new([], Some("board".into()), (second, second));
    state.pod_event(Event::Init);
    pods.into_iter().for_each(|pod| state.pod_event(Event::InitApply(pod)));
    state.pod_event(Event::InitDone);
    state.service_event(Event::Init);
    state.service_event(Event::InitApply(service()));
    state.service_event(Event::InitDone);
    let (key, job) = next(&mut state).unwrap();
    assert!(matches!(job, Job::Left));
    done(&mut state, key);
    let (key, job) = next(&mut state).unwrap();
    assert!(matches!(job, Job::Ask(..)));
    state.asked(FRONT, found);
    done(&mut state, key);
    state
}

fn next(state: &mut State) -> Option<(Key, Job)> {
    state.next(Instant::now())
}

fn done(state: &mut State, key: Key) {
    state.queue.done(key, true, Instant::now());
}

/// Takes looks until there is one at a member. What may go meanwhile is let go.
fn next_member(state: &mut State) -> Option<(Key, Job)> {
    loop {
        let (key, job) = next(state)?;
        match job {
            Job::Member(..) => return Some((key, job)),
            Job::LetGo(employer) => state.forget(&employer.to_string()),
            Job::Ask(..) | Job::Left | Job::Nothing => {}
        }
        done(state, key);
    }
}

/// The Service went while the first call ran, nobody knew of the pod any more, and its finalizer stayed for ever.
#[tokio::test(start_paused = true)]
async fn a_service_that_leaves_during_the_first_call_waits_for_it_and_switches_off() {
    let mut state = asked([pod()], Found::default());
    let (key, job) = next_member(&mut state).unwrap();
    assert!(matches!(job, Job::Member(..)));
    state.service_event(Event::Delete(service()));
    assert!(next_member(&mut state).is_none(), "never two looks at one pod at a time");
    let on = Standing::On(Member::of(&Arc::new(pod())), Vec::new());
    state.stands(FRONT, &web(), on);
    done(&mut state, key);
    let Some((key, Job::Member(employer, _, _, standing))) = next_member(&mut state) else {
        panic!("the pod is forgotten, with the finalizer on it")
    };
    assert!(key == member() && employer.is_leaving() && matches!(standing, Standing::On(..)));
    state.stands(FRONT, &web(), Standing::Off);
    done(&mut state, key);
    assert!(next_member(&mut state).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_off_counts_as_on_while_it_is_looked_at() {
    let mut state = asked([pod()], Found::default());
    let (key, _) = next_member(&mut state).unwrap();
    state.stands(FRONT, &web(), Standing::Off);
    done(&mut state, key);
    state.pod_event(Event::Apply(pod()));
    let (key, job) = next_member(&mut state).unwrap();
    assert!(matches!(job, Job::Member(_, _, _, Standing::Off)), "the look itself knows what was known");
    state.service_event(Event::Delete(service()));
    assert!(next_member(&mut state).is_none());
    state.stands(FRONT, &web(), Standing::On(Member::of(&Arc::new(pod())), Vec::new()));
    done(&mut state, key);
    assert!(matches!(next_member(&mut state), Some((key, Job::Member(..))) if key == member()));
}

#[tokio::test(start_paused = true)]
async fn a_stray_is_let_go_also_when_its_service_leaves_first() {
    let mut state = asked([], Found { strays: vec![web()], ..Found::default() });
    state.service_event(Event::Delete(service()));
    let found = next_member(&mut state);
    assert!(
        matches!(found, Some((key, Job::Member(_, _, None, _))) if key == member()),
        "nobody looks at it"
    );
    // The look is under way.
    while let Some((key, job)) = next(&mut state) {
        assert!(!matches!(job, Job::LetGo(_)), "the Service goes before its pod is off");
        done(&mut state, key);
    }
    state.stands(FRONT, &web(), Standing::Off);
    done(&mut state, member());
    assert!(matches!(next(&mut state), Some((_, Job::LetGo(_)))));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_left_is_let_go_once_and_one_that_came_back_is_asked_again() {
    let mut state = asked([], Found::default());
    while let Some((key, _)) = next(&mut state) {
        done(&mut state, key);
    }
    state.service_event(Event::Delete(service()));
    let Some((key, Job::LetGo(employer))) = next(&mut state) else { panic!("its finalizer stays") };
    assert_eq!(employer.to_string(), FRONT);
    state.forget(FRONT);
    done(&mut state, key);
    assert!(next(&mut state).is_none());
    state.service_event(Event::Apply(service()));
    assert!(matches!(next(&mut state), Some((_, Job::Ask(..)))));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_left_while_nobody_looked_is_asked_and_then_let_go() {
    let mut state = asked([], Found::default());
    state.left(vec![
        Employer::of_former_service("board", "shop", "front"),
        Employer::of_former_service("board", "shop", "former"),
    ]);
    let mut jobs = Vec::new();
    while let Some((key, job)) = next(&mut state) {
        match &job {
            Job::Ask(employer, None) => {
                jobs.push(format!("ask {employer}"));
                state.asked(&employer.to_string(), Found::default());
            }
            Job::LetGo(employer) => {
                jobs.push(format!("let go {employer}"));
                state.forget(&employer.to_string());
            }
            _ => {}
        }
        done(&mut state, key);
    }
    // The one that is known is an employer again.
    assert_eq!(jobs, ["ask Service/shop/former", "let go Service/shop/former"]);
}
