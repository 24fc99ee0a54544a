//! The embedded API beside kube-apiserver and etcd: the same requests, by the same client, in one run.
//!
//! Times on a shared machine are noise, so the two take turns in short blocks: what disturbs one disturbs the other, and
//! the ratio of the medians means something where the times themselves do not. Nothing here asserts a time.
//!
//! Both are real processes, both speak TLS and HTTP/1.1, and both wait for the disk before they answer a write.
//! `cargo xtask bench apiserver` builds what is needed and runs this.

mod beside_kubernetes {
    pub(crate) mod blocks;
    pub(crate) mod client;
    pub(crate) mod kubernetes;
    pub(crate) mod pods;
    pub(crate) mod process;
    pub(crate) mod report;
    pub(crate) mod safepoint;
    pub(crate) mod starting;
    pub(crate) mod watching;
    pub(crate) mod writing;
}

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use beside_kubernetes::blocks::{Pair, Side};
use beside_kubernetes::kubernetes::Recipe;
use beside_kubernetes::process::most_open_files;
use beside_kubernetes::report::Report;
use beside_kubernetes::safepoint::Binary;
use beside_kubernetes::{starting, watching, writing};

/// Each of a thousand watches is a connection, to each of the two servers, and a few files are open besides.
const OPEN_FILES: u64 = 2_500;

fn main() -> Result<()> {
    let Some(binary) = std::env::var_os("SAFEPOINT_BINARY") else {
        println!("run `cargo xtask bench apiserver`: this needs a release build of the binary");
        return Ok(());
    };
    ensure!(
        most_open_files()? >= OPEN_FILES,
        "a process may not open enough files: run `ulimit -n {OPEN_FILES}` in this shell and try again"
    );
    // Beside the build and not in a temporary folder, which on some systems is in memory: syncs are to be real.
    let folder =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).context("cannot make a folder for data")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let report = runtime.block_on(run(Path::new(&binary), folder.path()))?;
    println!("\n{report}");
    Ok(())
}

async fn run(binary: &Path, folder: &Path) -> Result<Report> {
    let sides = Pair::of(
        Side::Safepoint(Binary::at(binary)),
        Side::Kubernetes(Recipe::take(folder).context("cannot prepare Kubernetes")?),
    );
    let mut report = Report::default();
    starting::measure(&sides, folder, &mut report).await?;
    let servers =
        sides.try_map(async |side| side.start(&folder.join(side.name()).join("running")).await).await?;
    writing::measure(&servers, &mut report).await?;
    watching::measure(&servers, &mut report).await?;
    Ok(report)
}
