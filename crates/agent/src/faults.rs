//! Points at which a build for tests can be made to die.
//!
//! In a release a point is nothing. In a build with debug assertions the process ends at the n-th point it comes to, as if the
//! power had failed: `SAFEPOINT_DIE_AT=n`. A test walks n from one until a run comes through alive.

use safepoint_supervisor::{Ctx, Fault};

/// Dies here if it is this point's turn.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static TURN: AtomicU64 = AtomicU64::new(0);
    static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
    let turn = TURN.fetch_add(1, Ordering::SeqCst) + 1;
    let die_at = DIE_AT.get_or_init(|| std::env::var("SAFEPOINT_DIE_AT").ok()?.parse().ok());
    if *die_at == Some(turn) {
        eprintln!("died at point {turn}: {name}");
        std::process::abort();
    }
}

/// Nothing, in a build that is shipped.
#[cfg(not(debug_assertions))]
pub(crate) const fn point(_name: &str) {}

/// Makes a module misbehave once, where a test asks for it: `SAFEPOINT_MISBEHAVE=uplink=panic`.
#[cfg(debug_assertions)]
pub(crate) async fn misbehave(ctx: &Ctx) -> Result<(), Fault> {
    use std::sync::atomic::{AtomicBool, Ordering};

    static DONE: AtomicBool = AtomicBool::new(false);
    let asked = std::env::var("SAFEPOINT_MISBEHAVE").unwrap_or_default();
    let Some((_, how)) = asked.split_once('=').filter(|(name, _)| *name == ctx.name()) else { return Ok(()) };
    if DONE.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    ctx.ready();
    match how {
        "panic" => panic!("asked to panic"),
        "panic-in-a-task" => {
            ctx.spawn("misbehaving", async { panic!("asked to panic in a task") });
            std::future::pending().await
        }
        "hang" => std::future::pending().await,
        _ => Err(Fault::transient("asked to return")),
    }
}

/// Nothing, in a build that is shipped.
#[cfg(not(debug_assertions))]
pub(crate) async fn misbehave(_ctx: &Ctx) -> Result<(), Fault> {
    Ok(())
}
