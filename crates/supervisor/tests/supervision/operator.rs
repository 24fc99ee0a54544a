//! What an operator sees and can do while everything runs.

use safepoint_supervisor::{
    Config, Ctx, Fault, Health, Liveness, ReconfigureError, RestartError, Spec, State, Supervisor,
};
use serde_json::json;
use tokio::time::sleep;

use crate::house::{Counter, House, config, seconds, serve, without_jitter};

#[tokio::test(start_paused = true)]
async fn health_is_a_value_that_an_api_can_serve() {
    let starts = Counter::default();
    let uplink = Spec::new("uplink").critical().runs(move |ctx| {
        let first = starts.next() == 1;
        async move { if first { Err(Fault::transient("refused")) } else { serve(ctx).await } }
    });
    let mut house = House::open(
        Supervisor::builder(without_jitter("uplink"))
            .module(uplink)
            .wall_clock(|| "2026-11-15T10:00:00Z".parse().unwrap()),
    );
    let health = house.until(|health| health.modules["uplink"].next_retry().is_some()).await;
    let served = serde_json::to_value(&health).unwrap();
    let expected = json!({
        "live": true,
        "ready": false,
        "profile": "production",
        "moduleRestart": true,
        "modules": { "uplink": {
            "state": "Backoff",
            "attempt": 1,
            "until": "2026-11-15T10:00:01Z",
            "cause": "refused",
            "critical": true,
            "restarts": 0,
            "consecutiveFailures": 1,
            "failures": [{
                "at": "2026-11-15T10:00:00Z",
                "kind": "Transient",
                "cause": "refused",
                "task": "main",
                "attempt": 1,
                "nextWait": "1s",
            }],
            "policy": {
                "restartType": "OnFailure",
                "retries": 0,
                "intervalSecond": 1,
                "intervalTimeGrowthRate": 2.0,
                "restartIntervalLimit": "30s",
                "jitter": 0.0,
                "healthyWindow": "10m",
                "intensity": { "failures": 10, "window": "10m" },
                "startDeadline": "1m",
                "stopDeadline": "10s",
                "exitOnPanic": false,
            },
        } },
    });
    assert_eq!(served, expected);
    assert_eq!(serde_json::from_value::<Health>(served).unwrap(), health);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_process_is_ready_when_every_critical_module_is() {
    let late = Spec::new("late").critical().runs(|ctx: Ctx| async move {
        sleep(seconds(7)).await;
        ctx.degraded("only half of the disks are there");
        ctx.cancelled().await;
        Ok(())
    });
    let never = Spec::new("extra").runs(|ctx: Ctx| async move {
        ctx.waiting_for("broker");
        ctx.cancelled().await;
        Ok(())
    });
    let mut house = House::open(Supervisor::builder(Config::default()).module(late).module(never));
    assert!(!house.handle.health().borrow().ready);
    let health = house.until(|health| health.ready).await;
    assert_eq!(
        health.modules["late"].state,
        State::Degraded { reason: "only half of the disks are there".into() }
    );
    assert_eq!(house.handle.check().await, Liveness::Live);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_on_request_ends_a_wait_and_counts_as_no_failure() {
    let starts = Counter::default();
    let uplink = Spec::new("uplink").runs(move |ctx| {
        let start = starts.next();
        async move { if start <= 5 { Err(Fault::transient("refused")) } else { serve(ctx).await } }
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink));
    house
        .until_module("uplink", |module| module.consecutive_failures == 5 && module.next_retry().is_some())
        .await;
    let asked = tokio::time::Instant::now();
    house.handle.restart("uplink").await.unwrap();
    let uplink = house.until_ready("uplink").await;
    assert!(asked.elapsed() < seconds(1), "not after the 16 s of the wait");
    assert_eq!((uplink.consecutive_failures, uplink.failures.len()), (0, 5));
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_met_is_answered_with_the_reason() {
    let mut house =
        House::open(Supervisor::builder(Config::default()).module(Spec::new("uplink").runs(serve)));
    house.until_ready("uplink").await;
    let error = house.handle.restart("uplnk").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no module `uplnk`; there are: uplink");
    let error = house.handle.reconfigure(without_jitter("uplnk")).await.unwrap_err();
    assert!(matches!(error, ReconfigureError::Config(_)), "{error}");
    house.stop().await;
    assert_eq!(house.handle.restart("uplink").await, Err(RestartError::Stopping));
    assert_eq!(house.handle.reconfigure(Config::default()).await, Err(ReconfigureError::Stopping));
    assert_eq!(house.handle.check().await, Liveness::Gone);
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_is_visible_at_once_and_gives_failed_modules_another_chance() {
    let starts = Counter::default();
    let uplink = Spec::new("uplink").runs(move |ctx| {
        let first = starts.next() == 1;
        async move { if first { Err(Fault::permanent("no server given")) } else { serve(ctx).await } }
    });
    let mut house = House::open(
        Supervisor::builder(Config::default()).module(uplink).module(Spec::new("api").runs(serve)),
    );
    house.until_module("uplink", |module| matches!(module.state, State::Failed { .. })).await;
    let file = json!({ "profile": "dev", "modules": { "uplink": { "retries": 3 } } });
    house.handle.reconfigure(config(file)).await.unwrap();
    let uplink = house.until_ready("uplink").await;
    assert_eq!((uplink.policy.retries, uplink.policy.exit_on_panic), (3, true));
    assert_eq!(house.module("api").restarts, 0);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stop_by_handle_and_stop_by_token_are_the_same() {
    let mut house =
        House::open(Supervisor::builder(Config::default()).module(Spec::new("uplink").runs(serve)));
    house.until_ready("uplink").await;
    house.handle.stop().await;
    assert_eq!(house.exit().await, safepoint_supervisor::Exit::Stopped);
}
