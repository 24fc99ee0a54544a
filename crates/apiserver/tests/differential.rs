//! The embedded server against Kubernetes' own, by chance: made-up objects, patches, selectors and writes are sent to both,
//! and what comes back must be the same.
//!
//! What differs on purpose is left out: unknown fields of built-in kinds are kept here and dropped there, managed fields
//! are tracked there only, and what a server makes itself (uids, revisions, moments) is not compared.
//!
//! A run is decided by its seed, which a failure prints. `SAFEPOINT_SEED` sets it, and `SAFEPOINT_DIFFERENCES` how many
//! requests are compared, for a long night.

mod differential {
    pub(crate) mod ask;
    pub(crate) mod dice;
    pub(crate) mod findings;
    pub(crate) mod kinds;
    pub(crate) mod patches;
    pub(crate) mod pods;
    pub(crate) mod selectors;
    pub(crate) mod servers;
    pub(crate) mod shape;
    pub(crate) mod shrink;
    pub(crate) mod watches;
    pub(crate) mod writes;
}

use anyhow::Result;
use differential::selectors;
use differential::servers::Servers;
use differential::watches;
use differential::writes::Writes;

/// The seed of a run that is not told one. It is fixed, so that nobody's change fails by another's bad luck.
const SEED: u64 = 20_251_115;
/// How many requests of each test are compared in a run that is not told.
const REQUESTS: usize = 400;

fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn seed() -> u64 {
    setting("SAFEPOINT_SEED", SEED)
}

fn requests() -> usize {
    setting("SAFEPOINT_DIFFERENCES", REQUESTS)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_make_the_same_of_an_object_and_a_patch() -> Result<()> {
    let servers = Servers::start("writes").await?;
    let (n_compared, findings) = Writes::compare(&servers, seed(), requests()).await?;
    println!("{n_compared} requests were compared");
    findings.into_result(seed())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_select_the_same_objects() -> Result<()> {
    let servers = Servers::start("selectors").await?;
    selectors::compare(&servers, seed(), requests()).await?.into_result(seed())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_show_the_same_events() -> Result<()> {
    let servers = Servers::start("watches").await?;
    let n_events = watches::compare(&servers, seed(), requests().div_ceil(100)).await?;
    println!("{n_events} events were compared");
    Ok(())
}
