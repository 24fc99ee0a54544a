//! Starts on nothing and on a thousand pods, and memory.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::blocks::{Pair, Side};
use super::client::now;
use super::pods::revision;
use super::report::{Report, Unit};
use super::watching::{WATCHES, by_node, watch};
use super::writing::{CLIENTS, Load, create_namespace};

const BLOCKS: usize = 5;
/// How many pods a server has when it is not empty.
pub(crate) const PODS: u64 = 1_000;
/// Memory is looked at when whatever a server does after its start is done.
const SETTLE: Duration = Duration::from_secs(3);

/// What one start from nothing, and one more on what that left, tell.
struct Story {
    empty_start: f64,
    idle: f64,
    filled: f64,
    filled_start: f64,
    filled_idle: f64,
    watched: f64,
}

pub(crate) async fn measure(sides: &Pair<Side>, folder: &Path, report: &mut Report) -> Result<()> {
    for block in 0..BLOCKS {
        let stories =
            sides.try_map(async |side| story(side, &folder.join(side.name()).join(block.to_string())).await);
        let Pair { safepoint, kubernetes } = stories.await?;
        let mut add = |name, unit, of: fn(&Story) -> f64| {
            report.add(name, unit, &Pair::of(of(&safepoint), of(&kubernetes)));
        };
        add("start on an empty folder, to ready", Unit::Milliseconds, |story| story.empty_start);
        add("start with 1,000 pods, to ready", Unit::Milliseconds, |story| story.filled_start);
        add("memory, nothing in it", Unit::Mebibytes, |story| story.idle);
        add("memory, after 1,000 pods were created", Unit::Mebibytes, |story| story.filled);
        add("memory, started with 1,000 pods", Unit::Mebibytes, |story| story.filled_idle);
        add("memory, then with 1,000 watches", Unit::Mebibytes, |story| story.watched);
    }
    Ok(())
}

async fn story(side: &Side, data: &Path) -> Result<Story> {
    let begin = now();
    let server = side.start(data).await?;
    let empty_start = 1e3 * begin.elapsed().as_secs_f64();
    tokio::time::sleep(SETTLE).await;
    let idle = server.memory()?;
    create_namespace(&server, "many").await?;
    let mut load = Load::connect(&server, CLIENTS).await?;
    load.create("many", "pod", PODS).await?;
    drop(load);
    tokio::time::sleep(SETTLE).await;
    let filled = server.memory()?;
    drop(server);

    let begin = now();
    let server = side.start(data).await.context("the second start")?;
    let filled_start = 1e3 * begin.elapsed().as_secs_f64();
    tokio::time::sleep(SETTLE).await;
    let filled_idle = server.memory()?;
    let list = server.access.connect().await?.get("/api/v1/pods?limit=1").await?;
    let watches = watch(&server.access, WATCHES, &revision(&list)?, by_node).await?;
    tokio::time::sleep(SETTLE).await;
    let watched = server.memory()?;
    drop((watches, server));
    fs::remove_dir_all(data)?;
    Ok(Story { empty_start, idle, filled, filled_start, filled_idle, watched })
}
