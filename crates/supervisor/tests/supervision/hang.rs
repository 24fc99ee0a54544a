//! R8: a module that is alive but does nothing is found out.

use std::{sync::mpsc, time::Duration};

use safepoint_supervisor::{
    Config, Ctx, Exit, FailureKind, Liveness, Module, RestartError, Spec, State, Supervisor,
};
use tokio::time::{advance, sleep};

use crate::house::{Counter, Diary, House, assert_about, config, seconds, serve, without_jitter};

/// A module whose loop turns every second until its turn number `stops_at`, and then
/// hangs, deaf to cancellation.
fn hangs(stops_at: u32, diary: &Diary) -> impl Module + use<> {
    let (diary, starts) = (diary.clone(), Counter::default());
    Spec::new("uplink").critical().heartbeat(seconds(5)).runs(move |ctx: Ctx| {
        let (diary, first) = (diary.clone(), starts.next() == 1);
        async move {
            ctx.ready();
            let mut turn = 0;
            while !ctx.is_cancelled() {
                turn += 1;
                if first && turn > stops_at {
                    diary.around("hang", std::future::pending::<()>()).await;
                }
                ctx.heartbeat();
                sleep(seconds(1)).await;
            }
            Ok(())
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_hang_is_found_within_the_heartbeat_deadline_and_the_module_is_aborted_and_restarted() {
    let diary = Diary::begin();
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(hangs(30, &diary)));
    let uplink = house.until_module("uplink", |module| !module.failures.is_empty()).await;
    diary.note("found");
    assert_eq!(uplink.last_failure().unwrap().kind, FailureKind::Hang);
    house.until_module("uplink", |module| module.state == State::Ready).await;
    diary.note("back");
    assert_eq!(diary.entries(), ["hang starts", "found", "hang stops", "back"]);
    // The last heartbeat was a second before it hung, the deadline is 5 s, the stop deadline 10 s.
    assert_about(&diary.pauses(), &[4.0, 10.0, 0.0]);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_gives_its_heartbeat_is_left_alone_and_so_is_one_that_never_promised_any() {
    let diary = Diary::begin();
    let mut house = House::open(
        Supervisor::builder(Config::default())
            .module(hangs(u32::MAX, &diary))
            .module(Spec::new("quiet").runs(serve)),
    );
    house.until_ready("quiet").await;
    sleep(seconds(3_600)).await;
    assert_eq!((house.module("uplink").failures.len(), house.module("quiet").failures.len()), (0, 0));
    house.stop().await;
}

/// A module with a thread that nobody can end before `release` is dropped.
fn blocked(spec: Spec) -> (impl Module, mpsc::Sender<()>) {
    let (release, blocker) = mpsc::channel::<()>();
    let blocker = std::sync::Arc::new(std::sync::Mutex::new(blocker));
    let module = spec.runs(move |ctx: Ctx| {
        let blocker = blocker.clone();
        async move {
            // One that has not begun can be taken back, so it is not ready before it is blocked.
            let (begin, begun) = tokio::sync::oneshot::channel();
            ctx.scope().spawn_blocking("deaf", move || {
                let _ = begin.send(());
                let _ = blocker.lock().unwrap().recv();
                Ok(())
            });
            let _ = begun.await;
            serve(ctx).await
        }
    });
    (module, release)
}

/// Tokio holds a paused clock while a thread is blocked, so that the hands have to be turned.
async fn turn_the_clock_until(house: &House, mut reached: impl FnMut(&House) -> bool) {
    while !reached(house) {
        advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_module_whose_thread_is_blocked_is_visibly_stuck_and_can_be_restarted_only_once_it_is_free() {
    let (module, release) = blocked(Spec::new("journal"));
    let mut house = House::open(
        Supervisor::builder(without_jitter("journal")).module(module).module(Spec::new("api").runs(serve)),
    );
    house.until_ready("journal").await;
    house.handle.restart("journal").await.unwrap();
    turn_the_clock_until(&house, |house| matches!(house.module("journal").state, State::Failed { .. })).await;

    let stuck = house.module("journal");
    assert_eq!(stuck.last_failure().unwrap().kind, FailureKind::Stuck);
    assert!(stuck.last_failure().unwrap().cause.contains("deaf"), "it names the task");
    assert_eq!(house.handle.restart("journal").await, Err(RestartError::Stuck { name: "journal".into() }));
    assert_eq!(house.handle.check().await, Liveness::Live, "others can live without it");

    drop(release);
    while house.handle.restart("journal").await.is_err() {
        tokio::task::yield_now().await;
    }
    house.until_module("journal", |module| module.restarts == 1 && module.state == State::Ready).await;
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_critical_module_whose_thread_is_blocked_ends_the_process() {
    let (module, release) = blocked(Spec::new("journal").critical());
    let mut house = House::open(Supervisor::builder(without_jitter("journal")).module(module));
    house.until_ready("journal").await;
    house.handle.restart("journal").await.unwrap();
    turn_the_clock_until(&house, |house| !house.handle.health().borrow().live).await;
    assert!(matches!(house.exit().await, Exit::Escalated { module, .. } if module == "journal"));
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn the_heartbeat_deadline_of_the_file_wins_over_the_declared_one() {
    let diary = Diary::begin();
    let file = config(serde_json::json!({ "modules": { "uplink": { "heartbeatDeadline": "2m" } } }));
    let mut house = House::open(Supervisor::builder(file).module(hangs(1, &diary)));
    house.until_module("uplink", |module| !module.failures.is_empty()).await;
    diary.note("found");
    assert_about(&diary.pauses(), &[119.0]);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deadlines_beyond_the_end_of_all_clocks_are_simply_never_reached() {
    let forever = "100000000000h";
    let own =
        serde_json::json!({ "startDeadline": forever, "healthyWindow": forever, "stopDeadline": forever });
    let uplink = Spec::new("uplink").heartbeat(Duration::MAX).runs(serve);
    let file = config(serde_json::json!({ "modules": { "uplink": own } }));
    let mut house = House::open(Supervisor::builder(file).module(uplink));
    house.until_ready("uplink").await;
    sleep(seconds(60)).await;
    assert_eq!(house.stop().await, Exit::Stopped);
}
