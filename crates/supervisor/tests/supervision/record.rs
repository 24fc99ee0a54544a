//! R9: a device that was power-cycled can still tell why.

use std::{fs, path::Path};

use safepoint_supervisor::{
    Config, Exit, Failure, FailureKind, Fault, KEPT_PER_MODULE, Module, Spec, Supervisor,
};
use serde_json::json;
use tempfile::TempDir;

use crate::house::{Counter, House, config, serve, without_jitter};

fn dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A module that fails `n` times, each time for another reason, and is well afterwards.
fn failing(n: u32) -> impl Module {
    let starts = Counter::default();
    Spec::new("uplink").runs(move |ctx| {
        let start = starts.next();
        async move {
            match start <= n {
                true => Err(Fault::transient(format!("reason {start}"))),
                false => serve(ctx).await,
            }
        }
    })
}

/// What another process finds in the directory before anything has happened in it.
fn failures_found_in(dir: &Path) -> Vec<Failure> {
    let supervisor =
        Supervisor::builder(Config::default()).module(failing(0)).record_failures_in(dir).build().unwrap();
    supervisor.handle().health().borrow().modules["uplink"].failures.to_vec()
}

async fn fail_in(dir: &Path, n: u32) {
    let builder = Supervisor::builder(without_jitter("uplink")).module(failing(n)).record_failures_in(dir);
    let mut house = House::open(builder);
    house.until_ready("uplink").await;
    assert_eq!(house.stop().await, Exit::Stopped);
}

#[tokio::test(start_paused = true)]
async fn failures_survive_the_process() {
    let dir = dir();
    fail_in(dir.path(), 2).await;
    let failures = failures_found_in(dir.path());
    let told: Vec<_> = failures.iter().map(|failure| (failure.cause.as_str(), failure.attempt)).collect();
    assert_eq!(told, [("reason 1", 1), ("reason 2", 2)]);
    assert_eq!(failures[1].kind, FailureKind::Transient);
    assert_eq!(failures[1].next_wait, Some(std::time::Duration::from_secs(2)));

    fail_in(dir.path(), 1).await;
    let causes: Vec<_> = failures_found_in(dir.path()).into_iter().map(|failure| failure.cause).collect();
    assert_eq!(causes, ["reason 1", "reason 2", "reason 1"], "the next process adds its own");
}

#[tokio::test(start_paused = true)]
async fn the_failure_that_ends_the_process_is_on_disk_before_it_does() {
    let dir = dir();
    let uplink = Spec::new("uplink").critical().runs(|_| async { panic!("a bug") });
    let builder = Supervisor::builder(config(json!({ "profile": "dev" })))
        .module(uplink)
        .record_failures_in(dir.path());
    assert!(matches!(House::open(builder).exit().await, Exit::Escalated { .. }));
    let failures = failures_found_in(dir.path());
    assert_eq!((failures[0].kind, failures[0].next_wait), (FailureKind::Panic, None));
    assert!(failures[0].location.as_ref().unwrap().contains("record.rs"));
}

#[tokio::test(start_paused = true)]
async fn only_the_last_failures_are_kept_and_only_one_file() {
    let dir = dir();
    let n = KEPT_PER_MODULE as u32 + 4;
    fail_in(dir.path(), n).await;
    let failures = failures_found_in(dir.path());
    assert_eq!(failures.len(), KEPT_PER_MODULE);
    assert_eq!(failures.last().unwrap().cause, format!("reason {n}"));
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["module-failures.json"]);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_record_is_set_aside_and_prevents_nothing() {
    let damaged =
        ["{ \"version\": 1, \"modules\": { \"upl", "", "{\"version\": 2, \"modules\": {}}", "\u{0}\u{0}"];
    for content in damaged {
        let dir = dir();
        fs::write(dir.path().join("module-failures.json"), content).unwrap();
        assert_eq!(failures_found_in(dir.path()), []);
        let aside = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
        assert!(aside.to_string_lossy().contains("module-failures.json.corrupt-"), "{aside:?}");
        assert_eq!(fs::read_to_string(aside).unwrap(), content, "for whoever wants to look into it");

        fail_in(dir.path(), 1).await;
        assert_eq!(failures_found_in(dir.path()).len(), 1, "and a new record is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn modules_run_also_where_nothing_can_be_written() {
    let dir = dir();
    let file = dir.path().join("not-a-directory");
    fs::write(&file, "").unwrap();
    fail_in(&file, 2).await;
}

#[tokio::test(start_paused = true)]
async fn the_failures_of_modules_that_this_process_does_not_have_stay_on_record() {
    let dir = dir();
    fail_in(dir.path(), 1).await;
    let other = Spec::new("hub").critical().runs(|_| async { Err(Fault::permanent("no kubeconfig")) });
    let builder = Supervisor::builder(Config::default()).module(other).record_failures_in(dir.path());
    House::open(builder).exit().await;
    assert_eq!(failures_found_in(dir.path()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cause_of_any_length_takes_a_bounded_place() {
    let dir = dir();
    let uplink = Spec::new("uplink").runs(|_| async { Err(Fault::permanent("ä".repeat(1_000_000))) });
    let builder = Supervisor::builder(Config::default()).module(uplink).record_failures_in(dir.path());
    House::open(builder).exit().await;
    assert!(failures_found_in(dir.path())[0].cause.len() < 2_100);
}
