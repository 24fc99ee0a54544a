//! Modules that start in order, restart with backoff, report health and stop in reverse.
//!
//! A [`Module`] is a task tree with one cancellation: whatever goes wrong in any of its tasks, an
//! error, a panic, a hang, ends that module and no other, and every task of it is gone before it is
//! started again. What a module needs outside of itself and does not find is a state
//! ([`State::WaitingFor`]) and not a failure. A module that cannot be kept running is never just
//! absent: it is restarted, or visibly [`State::Failed`], or, if the process is of no use without it,
//! the process is left cleanly ([`Exit::Escalated`]) so that init starts a fresh one. Workloads are not
//! ours to stop; they run on through all of it.
//!
//! ```
//! use safepoint_supervisor::{Config, Ctx, Exit, Fault, Module, Spec, Supervisor};
//! use tokio_util::sync::CancellationToken;
//!
//! /// State that outlives a restart is held from outside; this module has none.
//! struct Uplink;
//!
//! impl Module for Uplink {
//!     fn spec(&self) -> Spec {
//!         Spec::new("uplink").critical().after(["journal"])
//!     }
//!
//!     async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
//!         ctx.spawn("reader", async { Ok(()) }); // a panic in here would restart `uplink`, and nothing else
//!         ctx.ready();
//!         ctx.cancelled().await;
//!         Ok(())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let journal = Spec::new("journal").critical().runs(|ctx: Ctx| async move {
//!     ctx.ready();
//!     ctx.cancelled().await;
//!     Ok(())
//! });
//! let supervisor = Supervisor::builder(Config::default()).module(Uplink).module(journal).build()?;
//!
//! let handle = supervisor.handle();
//! let mut health = handle.health();
//! let operator = async {
//!     health.wait_for(|health| health.ready).await.unwrap(); // first the journal, then the uplink
//!     handle.restart("uplink").await.unwrap();
//!     handle.stop().await;
//! };
//! let (exit, ()) = tokio::join!(supervisor.run(CancellationToken::new()), operator);
//! assert_eq!(exit, Exit::Stopped);
//! # Ok::<(), safepoint_supervisor::BuildError>(())
//! # }).unwrap();
//! ```
//!
//! # What follows from what
//!
//! | a module … | then |
//! |---|---|
//! | returns [`Fault::Transient`], panics, hangs, misses its start deadline, or returns although it is long-running | a failure: it is restarted after 1, 2, 4 … 30 s ± jitter; the waits begin anew after a healthy window |
//! | returns [`Fault::Dependency`] or calls [`Ctx::waiting_for`] | no failure: `WaitingFor`; an ended one looks again every half second |
//! | returns [`Fault::Permanent`] | `Failed`, until [`Handle::restart`] or [`Handle::reconfigure`] |
//! | fails too often within the sliding window of its [`Intensity`] | critical: the process exits; otherwise it pauses for one window |
//! | has used up its `retries`, or fails with the gate `moduleRestart` off | critical: the process exits; otherwise `Failed` |
//! | has a task that blocks its thread and cannot be ended | critical: the process exits; otherwise `Failed`, and not restartable |
//! | panics under the profile `dev` | the process exits |
//!
//! If no module is left that runs or will run again, the process exits as well.
//!
//! # What is measured by what
//!
//! A hang is found when the heartbeat deadline has passed since the last [`Ctx::heartbeat`], not later than
//! the timer's millisecond. The restart costs at most the stop deadline and five seconds more for the abort.
//! If not a task but the whole runtime is blocked, the supervisor is as well; then [`Handle::check`] does not
//! return, and the watchdog of init, fed only after it has returned [`Liveness::Live`], ends the process.

mod backoff;
mod builder;
mod clock;
mod config;
mod ctx;
mod exit;
mod failure;
mod fault;
mod graph;
mod handle;
mod health;
mod keeper;
mod machine;
mod metrics;
mod module;
mod panics;
mod policy;
mod record;
mod scope;
mod supervisor;

pub use builder::{BuildError, Builder};
pub use config::{Config, ConfigError, FeatureGates, Problem, RestartPolicy};
pub use ctx::Ctx;
pub use exit::Exit;
pub use failure::{Failure, FailureKind, KEPT_PER_MODULE};
pub use fault::Fault;
pub use graph::GraphError;
pub use handle::{Handle, ReconfigureError, RestartError};
pub use health::{Health, Liveness, ModuleHealth, State};
pub use metrics::Page;
pub use module::{FnModule, Module, Spec};
pub use policy::{Intensity, Policy, Profile, RestartType};
pub use scope::Scope;
pub use supervisor::Supervisor;
