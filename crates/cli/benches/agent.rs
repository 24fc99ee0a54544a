//! What the agent costs a machine: memory, the processor when nothing happens, and what stands between a release and its
//! answer. `cargo xtask bench agent` runs this.
//!
//! The agent is the binary as it is shipped, with 110 pods admitted, against an embedded API in this process.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement that fails says where")]

#[path = "../tests/node/world.rs"]
#[expect(dead_code, reason = "made for tests")]
mod world;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use world::{World, held};

/// As many as a node takes.
const PODS: u64 = 110;
/// Long enough that a tick of the clock is nothing.
const IDLE: Duration = Duration::from_secs(60);

fn main() {
    // `cargo test --benches` calls this as well.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run `cargo xtask bench agent`");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    // For whoever looks for what costs so much: fewer pods and less patience give an answer sooner.
    let pods = number("SAFEPOINT_BENCH_PODS").unwrap_or(PODS);
    let idle = number("SAFEPOINT_BENCH_SECONDS").map_or(IDLE, Duration::from_secs);
    let mut world = World::new().await;
    let empty = resident(world.agent_pid());
    for number in 0..pods {
        world.pod(&format!("pod-{number}"), held()).await;
    }
    for number in 0..pods {
        world.until_ready(&format!("pod-{number}")).await;
    }
    let full = resident(world.agent_pid());
    println!("resident memory with no pod           {empty}");
    println!("resident memory with {pods} pods         {full}");
    // Not what is left of starting them: what it takes to know them.
    world.kill_agent();
    world.start_agent();
    world
        .until("everything is reported again", async |world| {
            (world.local("GET", "/v1/status", None).await.1["pods"] == pods).then_some(())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("the same after a restart of the agent {}", resident(world.agent_pid()));

    let (before, begun) = (ticks(world.agent_pid()), Instant::now());
    tokio::time::sleep(idle).await;
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let used = (ticks(world.agent_pid()) - before) as f64 / per_second;
    println!(
        "processor when nothing happens        {:>8.3} % of a core, over {} s",
        used / begun.elapsed().as_secs_f64() * 100.0,
        idle.as_secs()
    );
    println!("resident memory after that            {}", resident(world.agent_pid()));
    release(&world).await;
}

/// Counts the syncs between a release that comes in and its answer that goes out.
async fn release(world: &World) {
    let trace = world.folder.path().join("trace");
    let calls = "trace=fsync,fdatasync,sync_file_range,read,recvfrom,recvmsg,write,writev,sendto,sendmsg";
    let pid = world.agent_pid().to_string();
    let tracer = Command::new("strace")
        .args(["-f", "-s", "64", "-e", calls, "-p", &pid, "-o"])
        .arg(&trace)
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut tracer) = tracer else {
        println!("syncs before a release is answered         (not counted: strace is not installed)");
        return;
    };
    world.push("pod-7", "rover:v2").await;
    world.until_held("pod-7").await;
    while fs::metadata(&trace).map_or(0, |trace| trace.len()) == 0 {
        world.local("GET", "/v1/freeze", None).await;
    }
    let (code, answer) = world
        .local("POST", "/v1/releases", Some(json!({"pod": {"namespace": "default", "name": "pod-7"}})))
        .await;
    assert_eq!(code, 200, "{answer}");
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    let text = fs::read_to_string(&trace).unwrap();
    let between = text
        .lines()
        .skip_while(|line| !line.contains("POST /v1/releases"))
        .take_while(|line| !line.contains("HTTP/1.1 200"));
    let syncs = between.filter(|line| line.contains("sync(")).count();
    println!("syncs before a release is answered    {syncs:>8}");
}

/// In MiB, and how much of it is the agent's own: the rest is pages of files, the program's for the most part.
fn resident(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    };
    format!("{:>8.1} MiB, of it {:.1} MiB anonymous", read("VmRSS:"), read("RssAnon:"))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Of the processor, in its own unit.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
