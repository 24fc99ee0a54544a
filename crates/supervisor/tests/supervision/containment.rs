//! R2 and R4: what goes wrong in a module stays in it, and is never the last that is heard of it.

use std::time::Duration;

use safepoint_supervisor::{Ctx, FailureKind, Fault, Module, Spec, State, Supervisor};
use tokio::{
    sync::mpsc,
    time::{interval, sleep},
};

use crate::house::{Counter, Diary, House, assert_about, config, seconds, serve, without_jitter};

/// A module that ends in the way given at its first start, and is well afterwards.
fn ends_once<F>(end: impl Fn(Ctx) -> F + Send + Sync + 'static) -> impl Module
where
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let starts = Counter::default();
    Spec::new("uplink").runs(move |ctx: Ctx| {
        let first = starts.next() == 1;
        let end = end(ctx.clone());
        async move { if first { end.await } else { serve(ctx).await } }
    })
}

/// A module that counts ten times per second.
fn counting(counter: &Counter) -> impl Module + use<> {
    let counter = counter.clone();
    Spec::new("sibling").runs(move |ctx: Ctx| {
        let counter = counter.clone();
        async move {
            ctx.ready();
            let mut ticks = interval(Duration::from_millis(100));
            loop {
                tokio::select! {
                    _ = ticks.tick() => { counter.next(); }
                    () = ctx.cancelled() => return Ok(()),
                }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_child_task_restarts_its_module_while_the_siblings_go_on() {
    let counter = Counter::default();
    let uplink = ends_once(|ctx| async move {
        ctx.ready();
        ctx.spawn("reader", async {
            sleep(seconds(5)).await;
            panic!("frame {} is too long", 7)
        });
        ctx.cancelled().await;
        Ok(())
    });
    let mut house =
        House::open(Supervisor::builder(without_jitter("uplink")).module(uplink).module(counting(&counter)));
    let uplink =
        house.until_module("uplink", |module| module.restarts == 1 && module.state == State::Ready).await;
    sleep(seconds(4)).await;

    let failure = uplink.last_failure().unwrap();
    assert_eq!((failure.kind, failure.cause.as_str()), (FailureKind::Panic, "frame 7 is too long"));
    assert_eq!(failure.task.as_deref(), Some("reader"));
    assert!(failure.location.as_ref().unwrap().contains("containment.rs"));
    let sibling = house.module("sibling");
    assert_eq!((sibling.state, sibling.restarts, sibling.failures.len()), (State::Ready, 0, 0));
    assert!(
        (100..=102).contains(&counter.get()),
        "ten seconds have passed, and it counted {}",
        counter.get()
    );
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_unplanned_end_leads_to_a_restart() {
    async fn restarts_after(kind: FailureKind, task: Option<&str>, module: impl Module) {
        let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
        let uplink =
            house.until_module("uplink", |module| module.restarts == 1 && module.state == State::Ready).await;
        let failure = uplink.last_failure().unwrap();
        assert_eq!((failure.kind, failure.task.as_deref()), (kind, task), "{failure:?}");
        assert_eq!(failure.next_wait, Some(seconds(1)));
        house.stop().await;
    }
    restarts_after(
        FailureKind::Transient,
        Some("main"),
        ends_once(|_| async { Err(Fault::transient("reset")) }),
    )
    .await;
    restarts_after(FailureKind::Panic, Some("main"), ends_once(|_| async { panic!("index out of bounds") }))
        .await;
    restarts_after(FailureKind::UnexpectedReturn, None, ends_once(|_| async { Ok(()) })).await;
    let child_fails = ends_once(|ctx| async move {
        ctx.spawn("writer", async { Err(Fault::transient("broken pipe")) });
        serve(ctx).await
    });
    restarts_after(FailureKind::Transient, Some("writer"), child_fails).await;
    let thread_panics = ends_once(|ctx| async move {
        ctx.scope().spawn_blocking("fsync", || panic!("no space left"));
        serve(ctx).await
    });
    restarts_after(FailureKind::Panic, Some("fsync"), thread_panics).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_one_of_the_module_and_not_of_the_supervisor() {
    let starts = Counter::default();
    let module = Spec::new("uplink").runs(move |ctx| {
        assert!(starts.next() > 1, "not even a future");
        serve(ctx)
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    assert_eq!(house.until_ready("uplink").await.last_failure().unwrap().cause, "not even a future");
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_task_may_be_done_before_its_module_is() {
    let module = Spec::new("uplink").runs(|ctx: Ctx| async move {
        ctx.spawn("connection", async { Ok(()) });
        ctx.spawn("main", async { Ok(()) });
        serve(ctx).await
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    house.until_ready("uplink").await;
    sleep(seconds(60)).await;
    assert_eq!(house.module("uplink").restarts, 0);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn messages_a_sibling_has_acknowledged_are_not_lost_when_a_module_panics() {
    // The queue is state that survives restarts, so it belongs to neither module.
    let (acknowledged, stored) = (Counter::default(), Counter::default());
    let (tx, rx) = mpsc::channel::<u32>(8);
    let rx = std::sync::Arc::new(tokio::sync::Mutex::new(rx));
    let sender = {
        let acknowledged = acknowledged.clone();
        Spec::new("cloud").runs(move |ctx: Ctx| {
            let (tx, acknowledged) = (tx.clone(), acknowledged.clone());
            async move {
                ctx.ready();
                while !ctx.is_cancelled() {
                    sleep(Duration::from_millis(10)).await;
                    tx.send(1).await?;
                    acknowledged.next();
                }
                Ok(())
            }
        })
    };
    let store = {
        let stored = stored.clone();
        Spec::new("store").runs(move |ctx: Ctx| {
            let (rx, stored) = (rx.clone(), stored.clone());
            async move {
                ctx.ready();
                let mut rx = rx.lock().await;
                loop {
                    tokio::select! {
                        Some(_) = rx.recv() => assert!(stored.next() % 50 != 0, "every fiftieth"),
                        () = ctx.cancelled() => return Ok(()),
                    }
                }
            }
        })
    };
    let mut house = House::open(Supervisor::builder(without_jitter("store")).module(sender).module(store));
    house.until_module("store", |module| module.restarts == 4).await;
    sleep(seconds(1)).await;
    assert!(acknowledged.get() >= 200);
    // Those still in the queue are not lost either: it holds eight.
    assert!(stored.get() + 8 >= acknowledged.get(), "{} of {}", stored.get(), acknowledged.get());
    assert_eq!(house.module("cloud").restarts, 0);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_tasks_of_a_module_are_gone_before_it_is_started_again() {
    let diary = Diary::begin();
    let noted = diary.clone();
    let uplink = ends_once(move |ctx| {
        let diary = noted.clone();
        async move {
            let inner = ctx.clone();
            // Tasks of tasks belong to the module as well.
            ctx.spawn("outer", async move {
                inner.spawn("inner", async move { diary.around("inner", std::future::pending()).await });
                std::future::pending().await
            });
            sleep(seconds(1)).await;
            Err(Fault::transient("reset"))
        }
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink));
    house.until_module("uplink", |module| module.state == State::Stopping).await;
    house.until_ready("uplink").await;
    diary.note("ready again");
    assert_eq!(diary.entries(), ["inner starts", "inner stops", "ready again"]);
    // It ignored the cancellation, so the stop deadline of ten seconds had to pass; the
    // wait of 1 s ran meanwhile.
    assert_about(&diary.pauses(), &[1.0 + 10.0, 0.0]);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_stays_visible_until_somebody_asks() {
    let starts = Counter::default();
    let counted = starts.clone();
    let uplink =
        Spec::new("uplink").critical().runs(move |ctx| {
            let start = counted.next();
            async move {
                if start == 1 { Err(Fault::permanent("`server` is not a URL")) } else { serve(ctx).await }
            }
        });
    let mut house = House::open(
        Supervisor::builder(config(serde_json::json!({})))
            .module(uplink)
            .module(Spec::new("api").runs(serve)),
    );
    let failed = house.until_module("uplink", |module| matches!(module.state, State::Failed { .. })).await;
    assert_eq!(failed.state, State::Failed { cause: "`server` is not a URL".into() });
    sleep(seconds(86_400)).await;
    assert_eq!(starts.get(), 1, "a day later nobody has asked");

    house.handle.restart("uplink").await.unwrap();
    house.until_ready("uplink").await;
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_supervisor_takes_all_tasks_with_it() {
    let diary = Diary::begin();
    let noted = diary.clone();
    let module = Spec::new("uplink").runs(move |ctx: Ctx| {
        let diary = noted.clone();
        async move {
            let child = diary.clone();
            ctx.spawn("child", async move { child.around("child", std::future::pending()).await });
            ctx.ready();
            diary.around("main", std::future::pending()).await
        }
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    house.until_ready("uplink").await;
    house.collapse().await;
    sleep(seconds(1)).await;
    assert_eq!(diary.entries().iter().filter(|entry| entry.ends_with("stops")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_outlives_its_run_spawns_nothing_any_more() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let uplink = Spec::new("uplink").runs(move |ctx: Ctx| {
        tx.send(ctx.scope().clone()).unwrap();
        serve(ctx)
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink));
    house.until_ready("uplink").await;
    let old = rx.recv().await.unwrap();
    house.handle.restart("uplink").await.unwrap();
    house.until_module("uplink", |module| module.restarts == 1).await;

    let (alive, dropped) = tokio::sync::oneshot::channel::<()>();
    old.spawn("late", async move {
        let _alive = alive;
        std::future::pending().await
    });
    assert!(dropped.await.is_err(), "the future was dropped");
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_module_cannot_stop_itself_by_accident_with_its_token() {
    let uplink = Spec::new("uplink").runs(|ctx: Ctx| async move {
        ctx.token().cancel();
        assert!(!ctx.is_cancelled());
        serve(ctx).await
    });
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(uplink));
    house.until_ready("uplink").await;
    house.stop().await;
}
