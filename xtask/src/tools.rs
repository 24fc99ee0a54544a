//! Tools that the checks need: those with a source of their own are built once per version into a cache outside the checkout,
//! those of the system are installed with its own means.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use safepoint_testkit::{AXE, HELM, axe, cache, helm, is_root, missing_packages};

const CARGO_DENY: &str = "0.20.2";
const MDBOOK: &str = "0.5.4";
/// Must be the version of the `gungraun` crate in the lock file: the two speak a private protocol.
const GUNGRAUN_RUNNER: &str = "0.20.0";

/// The path of a tool from crates.io, which is built first if it is not there.
fn tool(name: &str, version: &str) -> Result<PathBuf> {
    let root = cache()?.join("tools").join(format!("{name}-{version}"));
    let binary = root.join("bin").join(name);
    if !binary.exists() {
        println!("installing {name} {version} into {}: this takes some minutes, once", root.display());
        let status = Command::new(env!("CARGO"))
            .args(["install", name, "--version", version, "--locked", "--quiet", "--root"])
            .arg(&root)
            // The checkout's own settings are not meant for somebody else's tool.
            .env_remove("RUSTFLAGS")
            .status()
            .with_context(|| format!("cannot run cargo to install {name}"))?;
        if !status.success() {
            bail!("cannot install {name} {version}: see above");
        }
    }
    Ok(binary)
}

/// Runs some of the checks of cargo-deny.
pub(crate) fn deny(root: &Path, checks: &[&str]) -> Result<()> {
    let status = Command::new(tool("cargo-deny", CARGO_DENY)?)
        .args(["--workspace", "--all-features", "check", "--hide-inclusion-graph"])
        .args(checks)
        .current_dir(root)
        .status()
        .context("cannot run cargo-deny")?;
    if !status.success() {
        bail!("the dependencies break a rule of deny.toml: see above");
    }
    Ok(())
}

/// What makes a book of pages.
pub(crate) fn mdbook() -> Result<PathBuf> {
    tool("mdbook", MDBOOK)
}

/// The runner of the instruction-count benchmarks.
pub(crate) fn gungraun_runner() -> Result<PathBuf> {
    tool("gungraun-runner", GUNGRAUN_RUNNER)
}

/// Builds Helm from its Go module, unless that was done already: the chart is tested with it.
pub(crate) fn build_helm() -> Result<()> {
    let program = helm()?;
    if program.exists() {
        return Ok(());
    }
    let folder = program.parent().context("it is in a folder")?;
    println!("building helm {HELM} into {}: this takes some minutes, once", folder.display());
    let module = format!("helm.sh/helm/v4/cmd/helm@v{HELM}");
    let status = Command::new("go").args(["install", &module]).env("GOBIN", folder).status();
    if !status.context("cannot run go, which is needed to build helm")?.success() {
        bail!("cannot build helm {HELM}: see above");
    }
    Ok(())
}

/// What tests beside those of a node need of the system: the program, its package, and what it is for.
const MORE_PROGRAMS: [(&str, &str, &str); 7] = [
    ("curl", "curl", "asks over HTTP what guides and tests ask"),
    ("pgrep", "procps", "finds the programs that guides and tests end, and has the `kill` that ends them"),
    ("chromedriver", "chromium-driver", "steers the browser in which the dashboard is tested"),
    ("chromium", "chromium", "is that browser"),
    ("npm", "npm", "fetches axe-core, which finds what keeps people out of a page"),
    ("nginx", "nginx", "is the load balancer that the example of a cooperation controller keeps in step"),
    ("tmux", "tmux", "is the terminal in which `safepoint top` is tested"),
];

/// Fetches axe-core, unless that was done already: pages of the dashboard are checked with it.
pub(crate) fn axe_core() -> Result<()> {
    let script = axe()?;
    if script.exists() {
        return Ok(());
    }
    let folder = cache()?.join("tools").join(format!("axe-core-{AXE}"));
    println!("fetching axe-core {AXE} into {}", folder.display());
    let status = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .arg(format!("axe-core@{AXE}"))
        .status();
    if !status.context("cannot run npm, which is needed to fetch axe-core")?.success() || !script.exists() {
        bail!("cannot fetch axe-core {AXE}: see above");
    }
    Ok(())
}

/// What packages are made and checked with, in the same order.
const PACKAGING: [(&str, &str, &str); 7] = [
    ("curl", "curl", "asks the program what it measures"),
    ("dpkg-deb", "dpkg", "makes the Debian package"),
    ("dpkg-shlibdeps", "dpkg-dev", "finds out which libraries the Debian package needs"),
    ("lintian", "lintian", "knows what a Debian package has to be like"),
    ("promtool", "prometheus", "reads and tests alert rules"),
    ("strip", "binutils", "takes what nobody runs out of programs"),
    ("systemd-analyze", "systemd", "reads units"),
];

/// Installs what a node with real containers, and what runs beside it, needs of the system, unless it is there.
pub(crate) fn node_packages() -> Result<()> {
    install("tests that run real containers", || {
        let more = missing(&MORE_PROGRAMS);
        missing_packages().into_iter().chain(more).collect()
    })
}

/// Installs what packages are made and checked with, unless it is there.
pub(crate) fn package_programs() -> Result<()> {
    install("packages", || missing(&PACKAGING))
}

/// Installs what is missing for something. What is missing is looked for again afterwards.
fn install(purpose: &str, missing: impl Fn() -> Vec<(&'static str, &'static str)>) -> Result<()> {
    if !is_root() {
        bail!("{purpose} need root and a few packages: run this as root");
    }
    let needed = missing();
    if needed.is_empty() {
        return Ok(());
    }
    println!("installing with apt-get, once, for {purpose}:");
    for (package, purpose) in &needed {
        println!("  {package} {purpose}");
    }
    let names = needed.iter().map(|(package, _)| *package).collect::<Vec<_>>().join(" ");
    // A fresh machine knows no packages until it has asked which there are.
    if apt_get(&format!("install --yes --no-install-recommends {names}")).is_err() {
        apt_get("update")?;
        apt_get(&format!("install --yes --no-install-recommends {names}"))?;
    }
    if let Some((package, purpose)) = missing().first() {
        bail!("{package} is installed and yet not found: it {purpose}");
    }
    Ok(())
}

/// The packages of programs that are missing, each with what it is for.
fn missing(programs: &[(&str, &'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    // Programs of administrators are found by every way to become root.
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    let is_there = |program: &str| env::split_paths(&path).any(|folder| folder.join(program).exists());
    programs.iter().filter(|need| !is_there(need.0)).map(|need| (need.1, need.2)).collect()
}

fn apt_get(arguments: &str) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(["--quiet", "--quiet"]).args(arguments.split(' ')).env("DEBIAN_FRONTEND", "noninteractive");
    // A package may bring a service. Outside of systemd this keeps it from being started: only its program is wanted.
    command.env("RUNLEVEL", "1");
    let status = match command.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "there is no apt-get here: do what `apt-get {arguments}` would do, by the means of this system"
            )
        }
        other => other.context("cannot run apt-get")?,
    };
    if !status.success() {
        bail!("`apt-get {arguments}` failed: see above");
    }
    Ok(())
}
