//! R3: what is missing outside is waited for, and is nobody's failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use safepoint_supervisor::{Ctx, FailureKind, Fault, Module, Spec, State, Supervisor};
use tokio::time::{Instant, sleep};

use crate::house::{Diary, House, assert_about, seconds, serve, without_jitter};

/// The socket of a container runtime, which may not be there yet.
#[derive(Clone, Default)]
struct Socket(Arc<AtomicBool>);

impl Socket {
    fn appear(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_there(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Ends for want of the socket, and leaves it to the supervisor to look again.
fn ends_without(socket: &Socket) -> impl Module + use<> {
    let socket = socket.clone();
    Spec::new("runtime").critical().runs(move |ctx| {
        let there = socket.is_there();
        async move {
            match there {
                true => serve(ctx).await,
                false => Err(Fault::dependency("containerRuntime", "no such file")),
            }
        }
    })
}

/// Looks for the socket itself.
fn polls_for(socket: &Socket) -> impl Module + use<> {
    let socket = socket.clone();
    Spec::new("runtime").critical().heartbeat(seconds(5)).runs(move |ctx: Ctx| {
        let socket = socket.clone();
        async move {
            ctx.waiting_for("containerRuntime");
            while !socket.is_there() {
                sleep(Duration::from_millis(200)).await;
            }
            serve(ctx).await
        }
    })
}

async fn recovers_within_a_second_of_the_thing_appearing(socket: Socket, module: impl Module) {
    let mut house = House::open(Supervisor::builder(without_jitter("runtime")).module(module));
    let waiting = State::WaitingFor { what: "containerRuntime".into() };
    house.until_module("runtime", |module| module.state == waiting).await;
    // Longer than every deadline and window there is, and nobody who watches is woken in vain.
    let mut watched = house.handle.health();
    watched.mark_unchanged();
    sleep(seconds(3_600)).await;
    assert_eq!(house.module("runtime").state, waiting);
    assert!(!watched.has_changed().unwrap());

    socket.appear();
    let appeared = Instant::now();
    let runtime = house.until_ready("runtime").await;
    assert!(appeared.elapsed() < seconds(1), "took {:?}", appeared.elapsed());
    assert_eq!((runtime.failures.len(), runtime.restarts, runtime.consecutive_failures), (0, 0, 0));
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_ended_for_want_of_something_recovers_within_a_second_and_has_not_failed() {
    let socket = Socket::default();
    recovers_within_a_second_of_the_thing_appearing(socket.clone(), ends_without(&socket)).await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_waits_by_itself_recovers_within_a_second_and_has_not_failed() {
    let socket = Socket::default();
    recovers_within_a_second_of_the_thing_appearing(socket.clone(), polls_for(&socket)).await;
}

#[tokio::test(start_paused = true)]
async fn the_start_deadline_stands_still_while_a_module_waits_and_begins_anew_afterwards() {
    let module = Spec::new("runtime").runs(|ctx: Ctx| async move {
        sleep(seconds(59)).await;
        ctx.waiting_for("containerRuntime");
        sleep(seconds(3_600)).await;
        ctx.starting();
        ctx.cancelled().await;
        Ok(())
    });
    let diary = Diary::begin();
    diary.note("begin");
    let mut house = House::open(Supervisor::builder(without_jitter("runtime")).module(module));
    let failed = house.until_module("runtime", |module| !module.failures.is_empty()).await;
    diary.note("failed");
    assert_eq!(failed.last_failure().unwrap().kind, FailureKind::StartDeadline);
    assert_about(&diary.pauses(), &[59.0 + 3_600.0 + 60.0]);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn losing_something_outside_takes_down_what_requires_the_module_until_it_is_back() {
    let socket = Socket::default();
    socket.appear();
    let runtime = {
        let socket = socket.clone();
        Spec::new("runtime").runs(move |ctx: Ctx| {
            let socket = socket.clone();
            async move {
                while socket.is_there() {
                    ctx.ready();
                    sleep(Duration::from_millis(100)).await;
                }
                Err(Fault::dependency("containerRuntime", "connection refused"))
            }
        })
    };
    let door = Spec::new("door").requires(["runtime"]).runs(serve);
    let mut house = House::open(Supervisor::builder(without_jitter("runtime")).module(runtime).module(door));
    house.until_ready("door").await;
    socket.0.store(false, Ordering::SeqCst);
    house.until_module("door", |door| door.state == State::WaitingFor { what: "runtime".into() }).await;
    socket.appear();
    house.until_ready("door").await;
    assert_eq!((house.module("runtime").failures.len(), house.module("door").failures.len()), (0, 0));
    house.stop().await;
}
