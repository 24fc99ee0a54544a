//! R5: how long a module waits before it is started again.

use safepoint_supervisor::{Ctx, Fault, Spec, State, Supervisor};
use serde_json::json;
use tokio::time::sleep;

use crate::house::{Counter, Diary, House, assert_about, config, seconds, serve, without_jitter};

/// A module that fails as soon as it has noted its start.
fn failing(diary: &Diary) -> impl safepoint_supervisor::Module + use<> {
    let diary = diary.clone();
    Spec::new("uplink").runs(move |_ctx| {
        diary.note("start");
        async { Err(Fault::transient("no route to host")) }
    })
}

#[tokio::test(start_paused = true)]
async fn the_waits_between_restarts_are_1_2_4_8_16_30_30_seconds() {
    let diary = Diary::begin();
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(failing(&diary)));
    house.until_module("uplink", |module| module.restarts == 7).await;
    house.stop().await;
    // Also R10: no restart comes later than its wait and 5 ms.
    assert_about(&diary.pauses(), &[1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]);
}

#[tokio::test(start_paused = true)]
async fn jitter_spreads_the_waits_within_its_share_and_a_seed_repeats_them() {
    let waits = async |seed| {
        let diary = Diary::begin();
        let patience = json!({ "failures": 100, "window": "1h" });
        let file = json!({ "modules": { "uplink": { "jitter": 0.25, "intensity": patience } } });
        let builder = Supervisor::builder(config(file)).module(failing(&diary)).jitter_seed(seed);
        let mut house = House::open(builder);
        house.until_module("uplink", |module| module.restarts == 12).await;
        house.stop().await;
        diary.pauses()
    };
    let first = waits(1).await;
    let expected = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0];
    for (wait, expected) in first.iter().zip(expected) {
        assert!((expected * 0.75..=expected * 1.25 + 0.005).contains(wait), "{wait} for {expected}");
    }
    assert_about(&waits(1).await, &first);
    assert_ne!(waits(2).await, first);
}

#[tokio::test(start_paused = true)]
async fn after_a_healthy_window_the_first_wait_is_the_shortest_again() {
    let diary = Diary::begin();
    let (noted, starts) = (diary.clone(), Counter::default());
    let module = Spec::new("uplink").runs(move |ctx: Ctx| {
        noted.note("start");
        let start = starts.next();
        async move {
            match start {
                // Healthy for the window of ten minutes, and then for a little less than that.
                4 => (ctx.ready(), sleep(seconds(600)).await),
                5 => (ctx.ready(), sleep(seconds(599)).await),
                _ => ((), ()),
            };
            Err(Fault::transient("connection reset"))
        }
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    house.until_module("uplink", |module| module.restarts == 6).await;
    house.stop().await;
    assert_about(&diary.pauses(), &[1.0, 2.0, 4.0, 600.0 + 1.0, 599.0 + 2.0, 4.0]);
}

#[tokio::test(start_paused = true)]
async fn health_forgets_the_failures_of_a_module_once_it_has_been_ready_for_long_enough() {
    let starts = Counter::default();
    let module = Spec::new("uplink").runs(move |ctx| {
        let start = starts.next();
        async move { if start <= 2 { Err(Fault::transient("refused")) } else { serve(ctx).await } }
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    assert_eq!(house.until_ready("uplink").await.consecutive_failures, 2);
    let healthy = house.until_module("uplink", |module| module.consecutive_failures == 0).await;
    assert_eq!((healthy.restarts, healthy.failures.len()), (2, 2), "what happened stays on record");
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn while_it_waits_a_module_shows_when_it_will_be_started_and_why_not_now() {
    let diary = Diary::begin();
    let mut house = House::open(
        Supervisor::builder(without_jitter("uplink"))
            .module(failing(&diary))
            .wall_clock(|| "2026-11-15T10:00:00Z".parse().unwrap()),
    );
    let module = house.until_module("uplink", |module| module.consecutive_failures == 3).await;
    let until = "2026-11-15T10:00:04Z".parse().unwrap();
    assert_eq!(module.next_retry(), Some(until).filter(|_| module.state != State::Stopping));
    let module = house.until_module("uplink", |module| module.next_retry().is_some()).await;
    assert_eq!(module.state, State::Backoff { attempt: 3, until, cause: "no route to host".into() });
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_first_wait_above_the_limit_is_kept_and_does_not_shrink() {
    let diary = Diary::begin();
    let own = json!({ "jitter": 0.0, "IntervalSecond": 60, "RestartIntervalLimit": "30s" });
    let file = json!({ "modules": { "uplink": own } });
    let mut house = House::open(Supervisor::builder(config(file)).module(failing(&diary)));
    house.until_module("uplink", |module| module.restarts == 3).await;
    house.stop().await;
    assert_about(&diary.pauses(), &[60.0, 60.0, 60.0]);
}

#[tokio::test(start_paused = true)]
async fn as_many_retries_are_made_as_allowed_and_then_the_module_is_visibly_failed() {
    let diary = Diary::begin();
    let file = json!({ "modules": { "uplink": { "retries": 2 } } });
    let mut house = House::open(
        Supervisor::builder(config(file)).module(failing(&diary)).module(Spec::new("api").runs(serve)),
    );
    house.until_module("uplink", |module| matches!(module.state, State::Failed { .. })).await;
    assert_eq!(diary.entries().len(), 3, "starts are retries + 1");
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_one_shot_module_is_done_when_it_returns_and_starts_again_only_if_the_policy_is_always() {
    for (restart_type, states) in [("OnFailure", 1), ("Always", 4)] {
        let runs = Counter::default();
        let counted = runs.clone();
        let migration = Spec::new("migration").one_shot().runs(move |_ctx| {
            counted.next();
            async { Ok(()) }
        });
        let file = json!({ "modules": { "migration": { "restartType": restart_type, "jitter": 0.0 } } });
        let mut house = House::open(
            Supervisor::builder(config(file)).module(migration).module(Spec::new("api").runs(serve)),
        );
        // Completing is no failure, so the wait stays at one second.
        sleep(std::time::Duration::from_millis(3_500)).await;
        assert_eq!(runs.get(), states);
        let module = house.module("migration");
        assert_eq!((module.consecutive_failures, module.failures.len()), (0, 0));
        assert_eq!(module.state == State::Completed, restart_type == "OnFailure");
        house.stop().await;
    }
}
