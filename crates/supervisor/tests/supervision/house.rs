//! A house full of modules for tests to live in.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use safepoint_supervisor::{Builder, Config, Ctx, Exit, Fault, Handle, Health, ModuleHealth, State};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// A running supervisor.
pub(crate) struct House {
    pub(crate) handle: Handle,
    pub(crate) shutdown: CancellationToken,
    health: watch::Receiver<Health>,
    run: JoinSet<Exit>,
}

/// What happened when, in seconds since the diary was begun.
#[derive(Clone)]
pub(crate) struct Diary {
    begun: Instant,
    entries: Arc<Mutex<Vec<(f64, String)>>>,
}

/// Counts across restarts, as state outside of a module does.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

/// A configuration as a file has it.
pub(crate) fn config(file: serde_json::Value) -> Config {
    serde_json::from_value(file).expect("the configuration parses")
}

/// A production configuration in which the module `name` waits without jitter.
pub(crate) fn without_jitter(name: &str) -> Config {
    config(serde_json::json!({ "modules": { name: { "jitter": 0.0 } } }))
}

/// What a well-behaved module does.
pub(crate) async fn serve(ctx: Ctx) -> Result<(), Fault> {
    ctx.ready();
    ctx.cancelled().await;
    Ok(())
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// === impl House ===

impl House {
    pub(crate) fn open(builder: Builder) -> Self {
        let supervisor = builder.build().expect("the modules fit together");
        let (handle, shutdown) = (supervisor.handle(), CancellationToken::new());
        let mut run = JoinSet::new();
        run.spawn(supervisor.run(shutdown.clone()));
        Self { health: handle.health(), handle, shutdown, run }
    }

    /// Waits until all of it looks as described.
    pub(crate) async fn until(&mut self, description: impl FnMut(&Health) -> bool) -> Health {
        let seen = timeout(seconds(86_400), self.health.wait_for(description)).await;
        seen.expect("it happens within a day").expect("the supervisor is still there").clone()
    }

    /// Waits until one module looks as described.
    pub(crate) async fn until_module(
        &mut self,
        name: &str,
        mut description: impl FnMut(&ModuleHealth) -> bool,
    ) -> ModuleHealth {
        self.until(|health| description(&health.modules[name])).await.modules[name].clone()
    }

    pub(crate) async fn until_ready(&mut self, name: &str) -> ModuleHealth {
        self.until_module(name, |module| module.state == State::Ready).await
    }

    pub(crate) fn module(&self, name: &str) -> ModuleHealth {
        self.health.borrow().modules[name].clone()
    }

    /// How it ends, if nobody does anything about it.
    pub(crate) async fn exit(&mut self) -> Exit {
        self.run.join_next().await.expect("it has not ended before").expect("it does not panic")
    }

    pub(crate) async fn stop(&mut self) -> Exit {
        self.shutdown.cancel();
        self.exit().await
    }

    /// Drops the supervisor in the middle of things.
    pub(crate) async fn collapse(&mut self) {
        self.run.shutdown().await;
    }
}

// === impl Diary ===

impl Diary {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now(), entries: Arc::default() }
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        self.entries.lock().unwrap().push((self.begun.elapsed().as_secs_f64(), what.into()));
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.entries.lock().unwrap().iter().map(|(_, what)| what.clone()).collect()
    }

    /// The seconds between one entry and the next.
    pub(crate) fn pauses(&self) -> Vec<f64> {
        self.entries.lock().unwrap().windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
    }

    /// Notes the start and the end of a run around what it does, also if it is aborted.
    pub(crate) async fn around<T>(&self, name: &str, run: impl Future<Output = T>) -> T {
        struct Farewell(Diary, String);
        impl Drop for Farewell {
            fn drop(&mut self) {
                self.0.note(format!("{} stops", self.1));
            }
        }
        self.note(format!("{name} starts"));
        let _farewell = Farewell(self.clone(), name.to_owned());
        run.await
    }
}

// === impl Counter ===

impl Counter {
    /// Counts, and returns the new number.
    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Seconds of paused time are exact but for the millisecond that tokio's timer rounds to.
#[track_caller]
pub(crate) fn assert_about(measured: &[f64], expected: &[f64]) {
    let close = |(measured, expected): (&f64, &f64)| (measured - expected).abs() <= 0.005;
    assert!(
        measured.len() == expected.len() && measured.iter().zip(expected).all(close),
        "measured {measured:?}, expected {expected:?}"
    );
}
