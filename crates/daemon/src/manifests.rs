//! The static pods of this machine, as the command line wants them.

use std::path::PathBuf;

use clap::Args;
use safepoint_agent::ManifestOptions;
use safepoint_api::Span;
use safepoint_manifest::Rules;

use crate::door::DoorArgs;

/// The kubelet's credentials for registries, below its folder.
pub(crate) const CREDENTIALS: &str = "config.json";

/// Static pods.
#[derive(Args, Debug)]
pub struct ManifestArgs {
    /// Static pods: the folder of manifests that the kubelet reads. Left out: the one that the running kubelet was told; with
    /// pods as processes `manifests` below the data folder.
    #[arg(long, value_name = "DIR", env = "SAFEPOINT_MANIFESTS")]
    pub manifests: Option<PathBuf>,
    /// Static pods: the container runtime's socket. Left out: the one that the running kubelet uses, else the usual ones.
    #[arg(long, value_name = "PATH", env = "SAFEPOINT_RUNTIME_ENDPOINT")]
    pub runtime_endpoint: Option<PathBuf>,
    /// When a pod is good.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// When the pod of a new manifest is good.
#[derive(Args, Clone, Copy, Debug)]
pub struct RulesArgs {
    /// Static pods: for how long the pod of a new manifest has to be ready. A restart of its containers takes it back.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub ready_for: Span,
    /// Static pods: within which time it has to have become ready, beside what the old pod takes to end.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    pub ready_within: Span,
}

// === impl RulesArgs ===

impl RulesArgs {
    /// The same as the manifest door has it.
    #[must_use]
    pub fn rules(self) -> Rules {
        Rules { stretch: self.ready_for.into(), within: self.ready_within.into(), ..Rules::default() }
    }
}

// === impl ManifestArgs ===

impl ManifestArgs {
    /// What the agent is to do about static pods.
    #[must_use]
    pub fn options(&self, door: &DoorArgs) -> ManifestOptions {
        ManifestOptions {
            folder: self.manifests.clone(),
            runtime: self.runtime_endpoint.clone(),
            credentials: door.kubelet_root.join(CREDENTIALS),
            rules: self.rules.rules(),
        }
    }
}
