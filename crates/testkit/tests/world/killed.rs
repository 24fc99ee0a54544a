//! A process that is killed, and what is left of its world.

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use safepoint_testkit::{Part, World, WorldOptions, sweep};

use crate::support::{deploy, only};

/// Set for the process that the test starts.
const VICTIM: &str = "SAFEPOINT_TESTKIT_WORLD_VICTIM";

/// Whether a process runs; one that has ended and is not yet collected does not.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// All processes of which something is true.
fn processes(is: impl Fn(&Path) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = entries.filter(|entry| is(&entry.path()));
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| runs(*pid)).collect()
}

/// Ends with a container running, a part that stands still and cannot notice anything, and nobody left to clean up.
fn victim(report: &Path) -> Result<()> {
    let mut world = World::start(&WorldOptions::default())?;
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig)?;
    world.wait_node_ready()?;
    let namespace = deploy(&world)?;
    let container = only(&world, &namespace)?.pid().context("it runs")?;
    // Everything but pods is in the world's network, and no name keeps that when nobody is in it.
    let network = world.in_namespace(|| fs::read_link("/proc/thread-self/ns/net"))?;
    let mut pids =
        processes(|process| fs::read_link(process.join("ns/net")).is_ok_and(|found| found == network));
    pids.push(container);
    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
    fs::write(report, format!("{}\n{}", world.folder().display(), pids.join("\n")))?;
    world.control_plane_mut().pause(Part::ApiServer)?;
    let folder = world.folder().to_string_lossy().into_owned();
    for janitor in processes(|process| {
        let words = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        words.contains("\0janitor\0") && words.contains(&folder)
    }) {
        ensure!(Command::new("kill").args(["-9", &janitor.to_string()]).status()?.success());
    }
    ensure!(Command::new("kill").args(["-9", &std::process::id().to_string()]).status()?.success());
    thread::sleep(Duration::from_secs(60));
    Ok(())
}

#[test]
fn a_killed_process_leaves_nothing_that_the_next_sweep_does_not_remove() -> Result<()> {
    if let Some(report) = env::var_os(VICTIM) {
        // The second process finds the report of the first.
        return if Path::new(&report).exists() { sweep() } else { victim(Path::new(&report)) };
    }
    let folder = tempfile::tempdir()?;
    let report = folder.path().join("report");
    let run = || {
        let name = "killed::a_killed_process_leaves_nothing_that_the_next_sweep_does_not_remove";
        let mut command = Command::new(env::current_exe()?);
        // With a folder for worlds of its own, so that no other test sweeps it before the time.
        command.args(["--exact", name]).env(VICTIM, &report).env("TMPDIR", folder.path());
        command.stdin(Stdio::null()).output()
    };
    let output = run()?;
    ensure!(output.status.signal() == Some(9), "{}", String::from_utf8_lossy(&output.stdout));
    let said = fs::read_to_string(&report)?;
    let mut lines = said.lines();
    let world = Path::new(lines.next().context("the report is empty")?);
    let pids = lines.map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    ensure!(pids.len() > 6, "{pids:?}");
    ensure!(world.exists(), "there is nothing to do");

    let output = run()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    ensure!(!world.exists());
    // Those that nobody is left to collect are collected by the system, in its own time.
    let mut looks = 0..2400;
    while pids.iter().any(|pid| runs(*pid)) {
        ensure!(looks.next().is_some(), "{pids:?}");
        thread::sleep(Duration::from_millis(25));
    }
    let mark = format!("SAFEPOINT_WORLD={}", world.display());
    let left = processes(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    });
    ensure!(left.is_empty(), "{left:?}");
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    ensure!(!mounts.contains(&*world.to_string_lossy()), "{mounts}");
    let group = world.file_name().context("a folder has a name")?;
    for hierarchy in fs::read_dir("/sys/fs/cgroup")? {
        ensure!(!hierarchy?.path().join(group).exists());
    }
    Ok(())
}
