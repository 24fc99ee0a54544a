//! R7: dependencies decide who starts first and who stops last.

use safepoint_supervisor::{
    BuildError, Config, Ctx, Exit, FailureKind, Fault, GraphError, Module, Spec, State, Supervisor,
};
use serde_json::json;
use tokio::time::sleep;

use crate::house::{Diary, House, assert_about, config, seconds, serve, without_jitter};

/// A module that takes a second to become ready and a second to stop, and notes both.
fn slow(spec: Spec, name: &'static str, diary: &Diary) -> impl Module + use<> {
    let diary = diary.clone();
    spec.runs(move |ctx: Ctx| {
        let diary = diary.clone();
        async move {
            let run = async {
                sleep(seconds(1)).await;
                ctx.ready();
                diary.note(format!("{name} ready"));
                ctx.cancelled().await;
                sleep(seconds(1)).await;
                Ok(())
            };
            diary.around(name, run).await
        }
    })
}

fn journal_gate_and_door(diary: &Diary) -> House {
    House::open(
        Supervisor::builder(Config::default())
            .module(slow(Spec::new("door").requires(["gate"]), "door", diary))
            .module(slow(Spec::new("gate").requires(["journal"]), "gate", diary))
            .module(slow(Spec::new("api").after(["journal"]), "api", diary))
            .module(slow(Spec::new("journal"), "journal", diary)),
    )
}

#[tokio::test(start_paused = true)]
async fn a_module_starts_only_when_what_it_depends_on_is_ready() {
    let diary = Diary::begin();
    let mut house = journal_gate_and_door(&diary);
    assert_eq!(house.module("door").state, State::WaitingFor { what: "gate".into() });
    house.until_ready("door").await;
    let entries = diary.entries();
    let at = |entry| entries.iter().position(|seen| seen == entry).unwrap();
    assert!(at("journal ready") < at("gate starts") && at("gate ready") < at("door starts"));
    assert!(at("journal ready") < at("api starts"));
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn modules_stop_in_reverse_order_and_each_waits_for_those_that_use_it() {
    let diary = Diary::begin();
    let mut house = journal_gate_and_door(&diary);
    house.until(|health| health.modules.values().all(|module| module.state == State::Ready)).await;
    let so_far = diary.entries().len();
    assert_eq!(house.stop().await, Exit::Stopped);
    // `api` and `door` have nothing to do with each other and stop at the same time.
    let mut stops = diary.entries().split_off(so_far);
    stops[..2].sort();
    assert_eq!(stops, ["api stops", "door stops", "gate stops", "journal stops"]);
    assert_about(&diary.pauses()[so_far..], &[0.0, 1.0, 1.0]);
}

#[tokio::test(start_paused = true)]
async fn a_module_that_does_not_stop_in_time_is_aborted_and_the_rest_still_stops() {
    let diary = Diary::begin();
    let noted = diary.clone();
    let stubborn = Spec::new("stubborn").after(["journal"]).runs(move |ctx: Ctx| {
        let diary = noted.clone();
        async move {
            ctx.ready();
            diary.around("stubborn", std::future::pending()).await
        }
    });
    let file = json!({ "modules": { "stubborn": { "stopDeadline": "3s" } } });
    let journal = slow(Spec::new("journal"), "journal", &diary);
    let mut house = House::open(Supervisor::builder(config(file)).module(stubborn).module(journal));
    house.until_ready("stubborn").await;
    assert_eq!(house.stop().await, Exit::Stopped);
    let entries = diary.entries();
    assert_eq!(entries[entries.len() - 2..], ["stubborn stops", "journal stops"]);
    assert_about(&diary.pauses()[2..], &[3.0, 1.0]);
}

#[tokio::test(start_paused = true)]
async fn a_restart_takes_down_those_that_require_the_module_first_and_leaves_those_that_only_come_after() {
    let diary = Diary::begin();
    let mut house = journal_gate_and_door(&diary);
    house.until(|health| health.modules.values().all(|module| module.state == State::Ready)).await;
    let so_far = diary.entries().len();
    house.handle.restart("journal").await.unwrap();
    house.until_module("door", |door| door.restarts == 1 && door.state == State::Ready).await;
    assert_eq!(
        diary.entries().split_off(so_far),
        [
            "door stops",
            "gate stops",
            "journal stops",
            "journal starts",
            "journal ready",
            "gate starts",
            "gate ready",
            "door starts",
            "door ready"
        ]
    );
    assert_eq!(house.module("api").restarts, 0);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn when_a_required_module_fails_those_that_require_it_are_gone_before_it_is_back() {
    let diary = Diary::begin();
    let starts = crate::house::Counter::default();
    let noted = diary.clone();
    let journal = Spec::new("journal").runs(move |ctx: Ctx| {
        noted.note("journal starts");
        let first = starts.next() == 1;
        async move {
            ctx.ready();
            match first {
                true => sleep(seconds(10)).await,
                false => ctx.cancelled().await,
            }
            Err(Fault::transient("disk is gone"))
        }
    });
    let gate = slow(Spec::new("gate").requires(["journal"]), "gate", &diary);
    let mut house = House::open(Supervisor::builder(without_jitter("journal")).module(journal).module(gate));
    house.until_module("gate", |gate| gate.restarts == 1 && gate.state == State::Ready).await;
    let expected = [
        "journal starts",
        "gate starts",
        "gate ready",
        "gate stops",
        "journal starts",
        "gate starts",
        "gate ready",
    ];
    assert_eq!(diary.entries(), expected);
    assert_eq!(house.module("gate").failures.len(), 0, "it did nothing wrong");
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_is_not_ready_in_time_has_failed() {
    let module = Spec::new("uplink").runs(|ctx: Ctx| async move {
        ctx.cancelled().await;
        Ok(())
    });
    let diary = Diary::begin();
    let mut house = House::open(Supervisor::builder(without_jitter("uplink")).module(module));
    house.until_module("uplink", |module| matches!(module.state, State::Starting { .. })).await;
    diary.note("starting");
    let uplink = house.until_module("uplink", |module| !module.failures.is_empty()).await;
    diary.note("failed");
    assert_eq!(uplink.last_failure().unwrap().kind, FailureKind::StartDeadline);
    assert_about(&diary.pauses(), &[60.0]);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn modules_that_do_not_fit_together_are_refused_before_anything_starts() {
    let started = Diary::begin();
    let builder = Supervisor::builder(Config::default())
        .module(slow(Spec::new("gate").after(["door"]), "gate", &started))
        .module(slow(Spec::new("door").after(["gate"]), "door", &started));
    assert!(matches!(builder.build(), Err(BuildError::Graph(GraphError::Cycle { .. }))));
    let builder =
        Supervisor::builder(Config::default()).module(Spec::new("gate").after(["jurnal"]).runs(serve));
    let error = builder.build().unwrap_err().to_string();
    assert_eq!(
        error,
        "module `gate` depends on `jurnal`, which does not exist: register it or correct the name"
    );
    let builder = Supervisor::builder(without_jitter("gaet")).module(Spec::new("gate").runs(serve));
    assert!(matches!(builder.build(), Err(BuildError::Config(_))));
    assert!(started.entries().is_empty());
}
