//! Points at which a build for tests can be made to die.
//!
//! In a release a point is nothing. In a build with debug assertions the process ends at the n-th point it comes to, as if it
//! had been killed: `SAFEPOINT_DIE_AT=n`. A test walks n from one until a run comes through alive.

/// Dies here if it is this point's turn.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static TURN: AtomicU64 = AtomicU64::new(0);
    static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
    let Some(die_at) = *DIE_AT.get_or_init(|| std::env::var("SAFEPOINT_DIE_AT").ok()?.parse().ok()) else {
        return;
    };
    let turn = TURN.fetch_add(1, Ordering::SeqCst) + 1;
    if die_at == turn {
        eprintln!("died at point {turn}: {name}");
        // Not an orderly end: no destructor runs and no lock is given back but by the system.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Nothing, in a build that is shipped.
#[cfg(not(debug_assertions))]
pub(crate) const fn point(_name: &str) {}
