//! What many pods cost: starts them, waits until all are ready, and prints memory and processor time.
//!
//! ```text
//! cargo run --release -p safepoint-runtime --example many -- FOLDER 110
//! ```
//!
//! Run it again on the same folder to see what a restart costs. End what it started with `many FOLDER 0`.

use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

use safepoint_runtime::{Configs, Health, Options, Runtime, Wanted};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    let n_pods = arguments.next().and_then(|n| n.into_string().ok()?.parse().ok()).unwrap_or(110);
    let shim = std::env::current_exe().expect("the system knows it").with_file_name("../safepoint-shim");
    let runtime = Runtime::open(Options::new(first, vec![shim.into()])).expect("the folder can be used");
    let runtime = Arc::new(runtime);
    let pod = |n: usize| {
        let container = json!({"name": "main", "image": "none", "command": ["sleep", "100000"]});
        json!({"metadata": {"name": format!("p{n}"), "namespace": "many"}, "spec": {"containers": [container]}})
    };
    let want = |n: usize, ending: Option<Duration>| {
        runtime.want(Wanted {
            namespace: "many".into(),
            name: format!("p{n}"),
            uid: format!("p{n}"),
            version: "1".into(),
            manifest: Arc::new(pod(n)),
            configs: Arc::new(Configs::default()),
            ending,
        });
    };
    let all = if n_pods == 0 { runtime.found().map_or(0, |found| found.len()) } else { n_pods };
    (0..all).for_each(|n| want(n, (n_pods == 0).then_some(Duration::from_secs(1))));
    let reports = async {
        let mut done = BTreeSet::new();
        while done.len() < all {
            let report = runtime.next_report().await;
            if report.health == Health::Ready && n_pods > 0 || report.ended {
                done.insert(report.uid);
            }
        }
        println!("{all} pods are as wanted: {}", cost());
        if n_pods > 0 {
            let before = ticks();
            tokio::time::sleep(Duration::from_secs(10)).await;
            println!("ten idle seconds took {} ticks of the processor: {}", ticks() - before, cost());
        }
    };
    tokio::select! {
        () = runtime.run(CancellationToken::new()) => {}
        () = reports => {}
    }
}

fn cost() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    stat.split(' ').skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
