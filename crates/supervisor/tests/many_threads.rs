//! The same under real concurrency: modules spawn on other threads while they are torn down. Alone in its
//! process, because it counts tasks.

use safepoint_supervisor::{Config, Ctx, Exit, Fault, Spec, State, Supervisor};
use tokio::{runtime::Handle, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Spawns children as fast as it can, until it is cancelled and beyond.
async fn breed(ctx: Ctx) -> Result<(), Fault> {
    ctx.ready();
    for _ in 0..4 {
        let parent = ctx.clone();
        ctx.spawn("parent", async move {
            while !parent.is_cancelled() {
                let child = parent.clone();
                parent.spawn("child", async move {
                    child.spawn("grandchild", async { Ok(()) });
                    Ok(())
                });
                tokio::task::yield_now().await;
            }
            Ok(())
        });
    }
    ctx.cancelled().await;
    ctx.spawn("farewell", async { Ok(()) });
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn restarts_leave_no_task_behind_while_tasks_are_being_spawned() {
    let supervisor =
        Supervisor::builder(Config::default()).module(Spec::new("uplink").runs(breed)).build().unwrap();
    let (handle, mut health) = (supervisor.handle(), supervisor.handle().health());
    let mut process = JoinSet::new();
    process.spawn(supervisor.run(CancellationToken::new()));
    for restarts in 0..200 {
        let ready = health.wait_for(|health| {
            let uplink = &health.modules["uplink"];
            uplink.restarts == restarts && uplink.state == State::Ready
        });
        ready.await.unwrap();
        handle.restart("uplink").await.unwrap();
    }
    handle.stop().await;
    assert_eq!(process.join_next().await.unwrap().unwrap(), Exit::Stopped);
    // What is gone from the supervisor may be a moment away from being gone from the runtime's books.
    while Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}
