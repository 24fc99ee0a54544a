//! How fast the store is on this disk: `cargo run --release -p safepoint-store --example throughput -- FOLDER`.

use std::path::Path;
use std::time::{Duration, Instant};

use safepoint_store::{Key, Options, Scope, Start, Store, Write};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// How long each number of writers writes.
const WHILE: Duration = Duration::from_secs(3);

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn now() -> Instant {
    Instant::now()
}

/// A Kubernetes object of 2 KiB, many small strings as they have.
fn object(name: &str) -> Value {
    let env: Vec<_> =
        (0..30).map(|n| json!({ "name": format!("VARIABLE_{n}"), "value": "some value" })).collect();
    let metadata =
        json!({ "name": name, "namespace": "default", "uid": "6c3b5d0e-8a63-4c3e-9d07-2f1f0b7a9f10" });
    let mut object = json!({ "kind": "Pod", "metadata": metadata, "spec": { "env": env } });
    let missing = 2_048_usize.saturating_sub(object.to_string().len());
    object["metadata"]["annotations"] = json!({ "padding": "x".repeat(missing) });
    object
}

/// Creates objects one after another until the time is over, and returns how long each took.
async fn create(store: Store, writers: usize, writer: usize, until: Instant) -> Vec<Duration> {
    let mut took = Vec::new();
    while now() < until {
        let name = format!("{writers}-{writer}-{}", took.len());
        let write = Write::create(Key::new("pods", "default", &*name), object(&name));
        let began = now();
        store.write(write).await.expect("the disk works");
        took.push(now() - began);
    }
    took
}

async fn measure(path: &Path, writers: usize) {
    let store = Store::open(path, Options::default()).expect("the store opens");
    let before = store.stats();
    let mut tasks = JoinSet::new();
    let began = now();
    for writer in 0..writers {
        tasks.spawn(create(store.clone(), writers, writer, began + WHILE));
    }
    let mut took = tasks.join_all().await.concat();
    let seconds = (now() - began).as_secs_f64();
    took.sort_unstable();
    let after = store.stats();
    println!(
        "{writers:>4} writers: {:>7.0} writes/s, {:>5.0} commits/s, p50 {:>9.3?}, p99 {:>9.3?}",
        (after.writes - before.writes) as f64 / seconds,
        (after.commits - before.commits) as f64 / seconds,
        took[took.len() / 2],
        took[took.len() * 99 / 100],
    );
}

fn read(path: &Path) {
    let began = now();
    let store = Store::open(path, Options::default()).expect("the store opens");
    let opened = now() - began;
    let began = now();
    let listing = store.list(&Scope::collection("pods"), None, 0);
    let listed = now() - began;
    let began = now();
    let watches: Vec<_> =
        (0..1_000).map(|_| store.watch(Scope::collection("pods"), Start::Listing).map(drop)).collect();
    println!(
        "{} objects, file of {} MiB: opened in {opened:.3?}, listed in {listed:.3?}, watched with a listing in {:.3?}",
        listing.objects.len(),
        std::fs::metadata(path).map_or(0, |file| file.len() >> 20),
        (now() - began) / watches.len() as u32,
    );
}

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).expect("the folder to measure in");
    let path = Path::new(&folder).join("throughput.redb");
    for writers in [1, 16, 256] {
        measure(&path, writers).await;
    }
    read(&path);
    std::fs::remove_file(&path).expect("the file was there");
}
