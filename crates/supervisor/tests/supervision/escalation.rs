//! R6: when a restart does not help, and what then.

use safepoint_supervisor::{Config, Ctx, Exit, Fault, Liveness, Module, Spec, State, Supervisor};
use serde_json::json;
use tokio::time::sleep;

use crate::house::{Counter, Diary, House, assert_about, config, seconds, serve, without_jitter};

fn failing(spec: Spec, starts: &Counter) -> impl Module + use<> {
    let starts = starts.clone();
    spec.runs(move |_ctx| {
        starts.next();
        async { Err(Fault::transient("no route to host")) }
    })
}

fn escalated_by_uplink(cause: &str) -> Exit {
    Exit::Escalated { module: "uplink".into(), cause: cause.into() }
}

#[tokio::test(start_paused = true)]
async fn a_critical_module_that_fails_too_often_ends_the_process_after_a_clean_stop() {
    let (diary, starts) = (Diary::begin(), Counter::default());
    let noted = diary.clone();
    let door = Spec::new("door").runs(move |ctx: Ctx| {
        let diary = noted.clone();
        async move {
            ctx.ready();
            ctx.cancelled().await;
            sleep(seconds(2)).await;
            diary.note("door drained");
            Ok(())
        }
    });
    let uplink = failing(Spec::new("uplink").critical(), &starts);
    diary.note("begin");
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink).module(door));
    let exit = house.exit().await;
    assert_eq!(exit, escalated_by_uplink("no route to host"));
    assert_eq!(starts.get(), 10, "production bears nine failures in ten minutes");
    // 1 + 2 + 4 + 8 + 16 + 30 * 4 = 151 s of waits, and then the two seconds that the door took.
    assert_about(&diary.pauses(), &[151.0 + 2.0]);
    assert_eq!(house.handle.check().await, Liveness::Gone);
}

#[tokio::test(start_paused = true)]
async fn failures_that_are_spread_out_never_escalate() {
    let uplink = Spec::new("uplink").critical().runs(|ctx: Ctx| async move {
        ctx.ready();
        sleep(seconds(300)).await;
        Err(Fault::transient("connection reset"))
    });
    let mut house = House::open(Supervisor::builder(Config::default()).module(uplink));
    house.until_module("uplink", |module| module.restarts == 100).await;
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_is_not_critical_pauses_for_a_window_instead_and_tries_again() {
    let starts = Counter::default();
    let uplink = failing(Spec::new("uplink"), &starts);
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink));
    let paused = house.until_module("uplink", |module| module.failures.len() == 10).await;
    assert_eq!(paused.last_failure().unwrap().next_wait, Some(seconds(600)));
    house.until_module("uplink", |module| module.failures.len() == 11).await;
    assert_eq!(house.handle.check().await, Liveness::Live);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_process_in_dev_and_not_in_production() {
    for (profile, exits) in [("dev", true), ("production", false)] {
        let starts = Counter::default();
        let uplink = Spec::new("uplink").runs(move |ctx| {
            let first = starts.next() == 1;
            async move {
                assert!(!first, "a bug");
                serve(ctx).await
            }
        });
        let mut house =
            House::open(Supervisor::builder(config(json!({ "profile": profile }))).module(uplink));
        if exits {
            assert_eq!(house.exit().await, escalated_by_uplink("a bug"));
        } else {
            house.until_ready("uplink").await;
            house.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dev_gives_up_at_the_third_failure_in_a_minute() {
    let starts = Counter::default();
    let uplink = failing(Spec::new("uplink").critical(), &starts);
    let mut house = House::open(Supervisor::builder(config(json!({ "profile": "dev" }))).module(uplink));
    assert_eq!(house.exit().await, escalated_by_uplink("no route to host"));
    assert_eq!(starts.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn with_the_gate_off_nothing_restarts_but_nothing_is_silently_absent_either() {
    let file = || config(json!({ "featureGates": { "moduleRestart": false } }));
    let starts = Counter::default();

    let (uplink, api) = (failing(Spec::new("uplink"), &starts), Spec::new("api").runs(serve));
    let mut house = House::open(Supervisor::builder(file()).module(uplink).module(api));
    let uplink = house.until_module("uplink", |module| matches!(module.state, State::Failed { .. })).await;
    assert_eq!(uplink.state, State::Failed { cause: "no route to host".into() });
    assert!(!house.handle.health().borrow().module_restart);
    house.stop().await;

    let (uplink, api) = (failing(Spec::new("uplink").critical(), &starts), Spec::new("api").runs(serve));
    let mut house = House::open(Supervisor::builder(file()).module(uplink).module(api));
    assert_eq!(house.exit().await, escalated_by_uplink("no route to host"));
    assert_eq!(starts.get(), 2, "one start in each process");
}

#[tokio::test(start_paused = true)]
async fn a_critical_module_that_has_used_up_its_retries_ends_the_process() {
    let starts = Counter::default();
    let uplink = failing(Spec::new("uplink").critical(), &starts);
    let mut house = House::open(
        Supervisor::builder(config(json!({ "modules": { "uplink": { "retries": 1 } } }))).module(uplink),
    );
    assert_eq!(house.exit().await, escalated_by_uplink("no route to host"));
    assert_eq!(starts.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_configuration_of_a_critical_module_does_not_end_the_process_while_others_can_tell_of_it() {
    let uplink = Spec::new("uplink").critical().runs(|_| async { Err(Fault::permanent("no server given")) });
    let mut house = House::open(
        Supervisor::builder(Config::default()).module(uplink).module(Spec::new("api").runs(serve)),
    );
    house.until_module("uplink", |module| matches!(module.state, State::Failed { .. })).await;
    sleep(seconds(3_600)).await;
    let health = house.handle.health().borrow().clone();
    assert!(health.live && !health.ready);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_in_which_nothing_runs_and_nothing_will_is_left() {
    let uplink = Spec::new("uplink").runs(|_| async { Err(Fault::permanent("no server given")) });
    let waits_in_vain = Spec::new("door").after(["uplink"]).runs(serve);
    let mut house = House::open(Supervisor::builder(Config::default()).module(uplink).module(waits_in_vain));
    assert_eq!(house.exit().await, escalated_by_uplink("no server given"));

    let migration = Spec::new("migration").one_shot().runs(|_| async { Ok(()) });
    let mut house = House::open(Supervisor::builder(Config::default()).module(migration));
    assert_eq!(house.exit().await, Exit::Completed);
}
