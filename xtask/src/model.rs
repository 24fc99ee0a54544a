//! The model as a command: explore, report, and replay what failed.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use safepoint_model::explore::explore;
use safepoint_model::lifecycle;
use safepoint_model::replay::Log;
use safepoint_model::rollout;
use safepoint_model::{Invariant, Setting};

use crate::steps::stopwatch;

/// Fewer states than this, and somebody has narrowed the bound until nothing was left of it.
const ENOUGH_STATES: usize = 100_000;

/// Explores every small world and prints its bound, its size and what was checked.
pub(crate) fn run(root: &Path, deep: bool) -> Result<()> {
    let threads = available_parallelism().map_or(1, Into::into);
    let worlds = if deep { Setting::deep() } else { Setting::small() };
    let mut states = 0;
    for setting in &worlds {
        println!("world: {}\n  bound: {} workloads, {}", setting.name, setting.plans.len(), setting.budget);
        let (found, took) = stopwatch(|| explore(setting, None, threads));
        println!("  {} distinct states, {} steps deep, {took:.1?}", found.states, found.depth);
        if let Some((broken, log)) = found.counterexample {
            let file = root.join("target").join("counterexample.json");
            fs::write(&file, log.to_json()).with_context(|| format!("cannot write {}", file.display()))?;
            print!("{}", log.replay().story);
            bail!(
                "{} does not hold; replay it with: cargo xtask replay {}",
                broken.invariant.name(),
                file.display()
            );
        }
        states += found.states;
    }
    if states < ENOUGH_STATES {
        bail!("only {states} states were explored: the bound is too small to mean anything");
    }
    println!("{} worlds, {states} distinct states; in each of them hold", worlds.len());
    for (number, invariant) in Invariant::ALL.into_iter().enumerate() {
        println!("  {}. {}", number + 1, invariant.functions().join(", "));
    }
    fleets(deep, threads)?;
    lifecycles(threads)
}

/// Explores every small fleet that is rolled out.
fn fleets(deep: bool, threads: usize) -> Result<()> {
    let fleets = if deep { rollout::Setting::deep() } else { rollout::Setting::small() };
    let mut states = 0;
    for setting in &fleets {
        println!("fleet: {}\n  bound: {}", setting.name, setting.chances);
        let (found, took) = stopwatch(|| rollout::explore::explore(setting, None, threads));
        println!("  {} distinct states, {} steps deep, {took:.1?}", found.states, found.depth);
        if let Some((broken, actions)) = found.counterexample {
            print!("{}", rollout::explore::replay(setting, None, &actions).1);
            bail!("{} does not hold", broken.invariant.functions()[0]);
        }
        states += found.states;
    }
    if states < ENOUGH_STATES {
        bail!("only {states} states of fleets were explored: the bound is too small to mean anything");
    }
    println!("{} fleets, {states} distinct states; in each of them hold", fleets.len());
    for (number, invariant) in rollout::Invariant::ALL.into_iter().enumerate() {
        println!("  {}. {}", number + 1, invariant.functions().join(", "));
    }
    Ok(())
}

/// Explores the worlds of the pod operations lifecycle.
fn lifecycles(threads: usize) -> Result<()> {
    for setting in &lifecycle::Setting::small() {
        println!("lifecycle: {}\n  bound: {}", setting.name, setting.budget);
        let (found, took) = stopwatch(|| lifecycle::explore(setting, None, threads));
        println!("  {} distinct states, {} steps deep, {took:.1?}", found.states, found.depth);
        if let Some((broken, actions)) = found.counterexample {
            actions.iter().enumerate().for_each(|(number, action)| println!("{:>3}. {action:?}", number + 1));
            bail!("not kept: {} ({})", broken.promise.name(), broken.why);
        }
    }
    let promises = lifecycle::Promise::ALL.map(lifecycle::Promise::name);
    println!("of the lifecycle hold: {}", promises.join("; "));
    Ok(())
}

/// Tells the story of a log.
pub(crate) fn replay(log: &Path) -> Result<()> {
    let text = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let log = Log::from_json(&text).context("this is not an event log of this version of the model")?;
    let replayed = log.replay();
    print!("{}", replayed.story);
    if let Some(broken) = replayed.broken {
        bail!("{} does not hold", broken.invariant.name());
    }
    Ok(())
}
