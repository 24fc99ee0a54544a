//! A static pod rolls over ten thousand simulated nodes in one process: how long it takes, what it needs, what it writes.
//!
//! Of the nodes 5 % are away, 5 % are frozen and 1 % fail. `SAFEPOINT_FLEET` says how many nodes there are. The figures of
//! memory are of the whole process, with the embedded API and the nodes themselves; what the hub adds is told apart.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    dead_code,
    reason = "it measures with the machine's clock, and what is shared with the tests is not all used here"
)]

use std::time::Instant;

use safepoint_hub::simulated::{Nature, Pace};
use serde_json::json;

use crate::fleet::{Scene, template};

#[path = "../tests/support/fleet.rs"]
mod fleet;

/// As fast as an upgrade can possibly be: what is left is the hub and the API.
const PACE: Pace = fleet::QUICK;

fn main() {
    let nodes: usize =
        std::env::var("SAFEPOINT_FLEET").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(roll(nodes));
}

async fn roll(nodes: usize) {
    let data = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let scene = Scene::new(data.path(), nodes, PACE).await;
    println!("{nodes} nodes and a hub that has seen them   {:.1} s", begun.elapsed().as_secs_f64());
    println!("memory without the hub   {:.0} MB, with it {:.0} MB", scene.memory_before, memory());
    for number in 0..nodes {
        match number {
            _ if number % 20 == 3 => scene.fleet.set_ready(number, false).await.unwrap(),
            _ if number % 20 == 7 => scene.fleet.set_frozen(number, true).await.unwrap(),
            _ if number % 100 == 50 => scene.fleet.set_nature(number, Nature::Fails),
            _ => {}
        }
    }
    let (away, failing) = (nodes / 10, nodes / 100);
    let number = |count: usize| i32::try_from(count).unwrap();
    let written = scene.written();
    let begun = Instant::now();
    scene.make(template("proxy:2"), json!({"maxUnavailable": "10%", "retry": {"limit": 0}})).await;
    let status = scene
        .status("the others are upgraded", |status| {
            status.upgraded_number == number(nodes - away - failing)
                && status.failed_number == number(failing)
        })
        .await;
    let took = begun.elapsed().as_secs_f64();
    println!(
        "upgraded {}, failed {}, put off {}",
        status.upgraded_number, status.failed_number, status.deferred_number
    );
    println!("the roll-out   {took:.1} s, {:.0} nodes a second", f64::from(status.upgraded_number) / took);
    println!("written by the hub   {} ({:?})", scene.written() - written, scene.writes());
    println!("written by the nodes   {}", scene.fleet.counts().writes);
    let (most, events) = scene.witness.most();
    println!("most down at any of {events} events   {most} (allowed: {})", nodes / 10);
    assert!(most <= nodes / 10, "the budget was exceeded");
    println!("memory   {:.0} MB, at the most {:.0} MB", memory(), peak());
    for line in scene.metrics().await.lines().filter(|line| line.starts_with("safepoint_static_pod_pass")) {
        println!("{line}");
    }
    let begun = Instant::now();
    for number in 0..nodes {
        match number % 20 {
            3 => scene.fleet.set_ready(number, true).await.unwrap(),
            7 => scene.fleet.set_frozen(number, false).await.unwrap(),
            _ => {}
        }
    }
    scene.status("they are caught up", |status| status.upgraded_number == number(nodes - failing)).await;
    println!("the others return and are caught up   {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    (0..nodes)
        .filter(|number| number % 100 == 50)
        .for_each(|number| scene.fleet.set_nature(number, Nature::Works));
    scene.change(json!({"restartedAt": jiff::Timestamp::now().to_string()})).await;
    let status = scene.status("all are upgraded", |status| status.upgraded_number == number(nodes)).await;
    println!("the failing ones are mended and tried again   {:.1} s", begun.elapsed().as_secs_f64());
    println!(
        "upgraded {}, failed {}, put off {}",
        status.upgraded_number, status.failed_number, status.deferred_number
    );
    let (most, _) = scene.witness.most();
    assert!(most <= nodes / 10, "the budget was exceeded: {most}");
}

fn memory() -> f64 {
    fleet::memory("VmRSS:")
}

fn peak() -> f64 {
    fleet::memory("VmHWM:")
}
