//! Where the programs of Kubernetes are.
//!
//! They are looked for in `KUBEBUILDER_ASSETS` (upstream's own, as other Kubernetes projects use them), then in
//! `SAFEPOINT_KUBERNETES` (a folder that this project's build made, brought from elsewhere), then in the cache, under a
//! name that says what they were built from: a change of version or of the build never meets an old binary.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

#[cfg(test)]
mod tests;

/// The programs that `cargo xtask kubernetes build` makes: names of one file, which becomes what it is called.
pub const PROGRAMS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet"];

const GO_MOD: &str = include_str!("../../../xtask/kubernetes/go.mod");
const MAIN_GO: &str = include_str!("../../../xtask/kubernetes/main.go");

/// A folder with programs of Kubernetes.
#[derive(Clone, Debug)]
pub struct Assets {
    pub(crate) folder: PathBuf,
    /// Whether the programs end by themselves when their standard input does: those of this project's build.
    pub(crate) leashed: bool,
}

impl Assets {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one program.
    ///
    /// # Errors
    /// When the folder has no such program. `KUBEBUILDER_ASSETS` usually has no controller manager, scheduler or kubelet.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        if !path.exists() {
            let how = if self.leashed {
                "build it with `cargo xtask kubernetes build`"
            } else {
                "unset KUBEBUILDER_ASSETS and run `cargo xtask kubernetes build`, which builds every program"
            };
            bail!("no {name} in {}: {how}", self.folder.display());
        }
        Ok(path)
    }
}

/// The programs that tests use.
///
/// # Errors
/// When there are none, with the command that builds them.
pub fn assets() -> Result<Assets> {
    let assets = locate(|name| env::var_os(name))?;
    assets.program("kube-apiserver")?;
    Ok(assets)
}

/// Where the programs are, or would be: nothing is looked at.
fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Result<Assets> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("KUBEBUILDER_ASSETS") {
        return Ok(Assets { folder, leashed: false });
    }
    let folder = match set("SAFEPOINT_KUBERNETES") {
        Some(folder) => folder,
        None => cache_from(variable)?.join("kubernetes").join(build_name()).join("bin"),
    };
    Ok(Assets { folder, leashed: true })
}

/// The folder that `cargo xtask kubernetes build` makes; the programs are in its `bin`.
///
/// # Errors
/// When the user has no cache folder.
pub fn build_folder() -> Result<PathBuf> {
    Ok(cache()?.join("kubernetes").join(build_name()))
}

/// Where things that are slow to build are kept: `SAFEPOINT_CACHE`, or `safepoint` in the user's cache folder.
///
/// # Errors
/// When the environment names neither a cache nor a home.
pub fn cache() -> Result<PathBuf> {
    cache_from(|name| env::var_os(name))
}

fn cache_from(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path("SAFEPOINT_CACHE")
        .or_else(|| Some(path("XDG_CACHE_HOME")?.join("safepoint")))
        .or_else(|| Some(path("HOME")?.join(".cache/safepoint")))
        .context("no place to keep built tools: set SAFEPOINT_CACHE to a folder")
}

/// The version of Helm with which the chart is tested.
pub const HELM: &str = "4.3.1";

/// Where Helm is, or will be when `cargo xtask test` has built it.
///
/// # Errors
/// When there is no place to keep it.
pub fn helm() -> Result<PathBuf> {
    Ok(cache()?.join(format!("tools/helm-{HELM}/bin/helm")))
}

/// The version of axe-core, which finds what keeps people out of a page.
pub const AXE: &str = "4.14.0";

/// Where axe-core is, or will be when `cargo xtask test` has fetched it.
///
/// # Errors
/// When there is no place to keep it.
pub fn axe() -> Result<PathBuf> {
    Ok(cache()?.join(format!("tools/axe-core-{AXE}/node_modules/axe-core/axe.min.js")))
}

/// The version of Kubernetes that the build makes, such as `v1.36.4`: the one that its `go.mod` requires.
pub fn version() -> &'static str {
    let requirement = GO_MOD.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    requirement.expect("go.mod requires k8s.io/kubernetes").trim()
}

/// The version, and what identifies the sources that it is built from.
fn build_name() -> String {
    let sources = GO_MOD.bytes().chain(MAIN_GO.bytes());
    // FNV-1a: names have to differ, nobody is being kept from forging them.
    let hash = sources
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{}-{hash:016x}", version())
}
