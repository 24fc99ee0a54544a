//! Operations on a thousand pods, on one real kube-apiserver: with this hub, and as the reference implementation writes them.
//!
//! The hub is the binary as it is shipped, a process of its own. The reference is a replay of its writes by a plain client
//! (`replay.rs`): it makes no webhook calls, which the real one makes for every write, so its times flatter it. Around both, the same
//! kubelet, cooperation and operation controllers act at once. Both take turns in one run; nothing here asserts a time.
//!
//! `cargo xtask bench lifecycle` builds what is needed and runs this. `SAFEPOINT_LIFECYCLE=100` operates on so many pods,
//! `SAFEPOINT_LIFECYCLE_MEMORY=1000` looks at the hub's memory with so many.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "it measures with the machine's clock, and what fails says where"
)]

mod lifecycle {
    pub(crate) mod cluster;
    pub(crate) mod hub;
    pub(crate) mod play;
    pub(crate) mod replay;
}

use std::time::{Duration, Instant};

use lifecycle::cluster::Cluster;
use lifecycle::hub::Process;
use lifecycle::{play, replay};

/// How often each takes its turn.
const ROUNDS: usize = 2;

/// What a round has shown.
pub(crate) struct Round {
    /// How long it took from the first begin to the last end.
    pub(crate) took: Duration,
    /// How long each operation took.
    pub(crate) each: Vec<Duration>,
    /// How often the pods were written, as their watch tells; what changes nothing is not told.
    pub(crate) stored: usize,
    /// How many writes were sent.
    pub(crate) sent: usize,
}

fn main() {
    let Some(binary) = std::env::var_os("SAFEPOINT_BINARY") else {
        println!("run `cargo xtask bench lifecycle`: this needs a release build of the binary");
        return;
    };
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let (pods, many) = (number("SAFEPOINT_LIFECYCLE", 1_000), number("SAFEPOINT_LIFECYCLE_MEMORY", 10_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::start().await;
        for round in 0..ROUNDS {
            let hub = Process::start(&binary, &cluster).await;
            let shown = play::operate(&cluster, &format!("ours-{round}"), pods).await;
            tell("safepoint", pods, &shown);
            println!("    memory of the hub   {:.1} MiB", hub.memory("VmRSS:"));
            hub.stop(&cluster).await;
            tell("reference", pods, &replay::operate(&cluster, &format!("reference-{round}"), pods).await);
        }
        let hub = Process::start(&binary, &cluster).await;
        let begun = Instant::now();
        play::stand(&cluster, "many", many).await;
        hub.until_seen(many).await;
        let (now, most) = (hub.memory("VmRSS:"), hub.memory("VmHWM:"));
        println!("{many} pods that take part   made and seen in {:.1} s", begun.elapsed().as_secs_f64());
        println!("    memory of the hub   {now:.1} MiB, at the most {most:.1} MiB (aim: 60)");
        hub.stop(&cluster).await;
        let hub = Process::start(&binary, &cluster).await;
        hub.until_seen(many).await;
        println!(
            "    of one that is started beside them   {:.1} MiB, at the most {:.1} MiB",
            hub.memory("VmRSS:"),
            hub.memory("VmHWM:")
        );
        hub.stop(&cluster).await;
    });
}

fn tell(who: &str, pods: usize, round: &Round) {
    let mut each = round.each.clone();
    each.sort();
    let at = |part: usize| each[(each.len() - 1) * part / 100].as_secs_f64() * 1_000.0;
    let per = |count: usize| count as f64 / pods as f64;
    println!(
        "{who}: {pods} operations   {:.2} s, {:.1} a second",
        round.took.as_secs_f64(),
        pods as f64 / round.took.as_secs_f64()
    );
    println!(
        "    writes of pods per operation   {:.2} sent, {:.2} stored",
        per(round.sent),
        per(round.stored)
    );
    println!("    time per operation   median {:.0} ms, 99 % {:.0} ms", at(50), at(99));
}
