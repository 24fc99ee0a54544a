//! R10: restarts leak nothing. Alone in its process, because it counts what the whole process has open.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
};

use safepoint_supervisor::{Config, Ctx, Exit, Fault, Spec, State, Supervisor};
use tokio::{runtime::Handle, task::JoinSet};
use tokio_util::sync::CancellationToken;

const RESTARTS: u64 = 10_000;

fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").expect("this test needs /proc").count()
}

/// Opens a file, and spawns a child that has a child, so that there is something to leak. Every twentieth run
/// panics, in a task that leaves the others running.
async fn run(ctx: Ctx, start: u64) -> Result<(), Fault> {
    let file = fs::File::open("/dev/null")?;
    let child = ctx.clone();
    ctx.spawn("child", async move {
        let grandchild = child.clone();
        child.spawn("grandchild", async move {
            let _file = file;
            grandchild.cancelled().await;
            Ok(())
        });
        child.cancelled().await;
        Ok(())
    });
    tokio::task::yield_now().await;
    assert!(!start.is_multiple_of(20), "one of those runs");
    ctx.ready();
    ctx.cancelled().await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_forced_restarts_leave_tasks_and_file_handles_where_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let starts = AtomicU64::new(0);
    let uplink = Spec::new("uplink").runs(move |ctx| run(ctx, starts.fetch_add(1, Ordering::SeqCst) + 1));
    let supervisor =
        Supervisor::builder(Config::default()).module(uplink).record_failures_in(dir.path()).build().unwrap();
    let (handle, mut health) = (supervisor.handle(), supervisor.handle().health());
    let mut process = JoinSet::new();
    process.spawn(supervisor.run(CancellationToken::new()));

    let (mut before, mut restarts) = (None, 0);
    while restarts < RESTARTS {
        let ready = health.wait_for(|health| {
            let uplink = &health.modules["uplink"];
            uplink.restarts >= restarts && uplink.state == State::Ready
        });
        restarts = ready.await.unwrap().modules["uplink"].restarts + 1;
        // The keeper of the old run has sent its last word, but may still have to return.
        tokio::task::yield_now().await;
        let now = (alive_tasks(), open_files());
        assert_eq!(*before.get_or_insert(now), now, "before restart {restarts}");
        handle.restart("uplink").await.unwrap();
    }
    handle.stop().await;
    assert_eq!(process.join_next().await.unwrap().unwrap(), Exit::Stopped);
    assert_eq!(alive_tasks(), 0);
}
