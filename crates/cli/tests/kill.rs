//! `kill -9` in the middle of writing, again and again, on the same data: what was acknowledged is there.
//!
//! In every round eight writers create, update, patch and delete over TLS, and two watches look on, until the server is
//! killed after a random number of acknowledgements. After every start:
//!
//! - every acknowledged write is there, and what was deleted stays deleted;
//! - a write without an answer is there as a whole, or not at all;
//! - nothing that anybody was shown, in an answer, a listing or a watch, has become untrue;
//! - the revision is not below any that anybody was shown, and no revision ever stands for two states.
//!
//! A kill leaves the kernel alive, and with it what was written and not synced. What a power cut leaves is tested in the
//! store, on a disk that forgets.
//!
//! `SAFEPOINT_KILLS` is the number of rounds. A failure says which `SAFEPOINT_KILL_SEED` repeats the same choices; when
//! exactly the kill hits is up to the machine.

mod kill {
    pub(crate) mod client;
    pub(crate) mod content;
    pub(crate) mod counters;
    pub(crate) mod ledger;
    pub(crate) mod random;
    pub(crate) mod server;
    pub(crate) mod slot;
    pub(crate) mod trial;
    pub(crate) mod watcher;
    pub(crate) mod writer;
}

use std::env;

use kill::trial::Trial;

/// As many as the promise names.
const ROUNDS: u64 = 500;

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let rounds = number("SAFEPOINT_KILLS").unwrap_or(ROUNDS);
    let seed = number("SAFEPOINT_KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 16);
    // Beside the build: a folder in memory would be no place to survive in.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut trial = Trial::new(folder.path().join("data"), seed);
    let result = runtime.block_on(trial.run(rounds));
    println!("{}", trial.tally());
    if let Err(error) = result {
        let folder = folder.keep();
        panic!(
            "{error:#}\n\nThe data and the log are in {}. To repeat it:\n  SAFEPOINT_KILL_SEED={seed} \
             SAFEPOINT_KILLS={rounds} cargo test --package safepoint --test kill",
            folder.display()
        );
    }
    // Otherwise the kills never hit what they are meant to hit.
    if rounds >= 100 {
        let tally = trial.tally();
        assert!(tally.arrived > 0 && tally.lost > 0 && tally.events > 0, "{tally}");
    }
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {value}")))
}
