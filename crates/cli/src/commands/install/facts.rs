//! What is known of this machine before anything is changed: how its kubelet is run, and who it is to the cluster.
//!
//! Two layouts are known. **kubeadm**: a kubelet of its own, `kubelet.service`, whose command line kubeadm's drop-in makes of
//! variables. **K3s**: the kubelet is part of `k3s` or `k3s-agent`, and its flags are in files below `/etc/rancher/k3s`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::kubeconfig::NodeAccess;
use super::root::Root;
use super::unit::Unit;
use crate::problem::{Exit, Problem};

/// The variable of kubeadm's drop-in that says where the kubelet's kubeconfig is.
pub(super) const KUBEADM_VARIABLE: &str = "KUBELET_KUBECONFIG_ARGS";
/// The oldest kubelet that this is meant for.
const OLDEST: (u32, u32) = (1, 28);
/// From here on a pod's status says which generation the kubelet has seen.
const OBSERVING: (u32, u32) = (1, 34);

const KUBEADM_KUBECONFIG: &str = "/etc/kubernetes/kubelet.conf";
const KUBEADM_CA: &str = "/etc/kubernetes/pki/ca.crt";
const K3S_KUBECONFIG: &str = "/var/lib/rancher/k3s/agent/kubelet.kubeconfig";
const K3S_CLIENT_CA: &str = "/var/lib/rancher/k3s/agent/client-ca.crt";
const KUBELET_ROOT: &str = "/var/lib/kubelet";

/// How the kubelet of a machine is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Layout {
    /// A service of its own, set up by kubeadm or in its way.
    Kubeadm,
    /// In the process of K3s, server or agent.
    K3s,
    /// Whichever of them is there.
    Auto,
}

/// How the kubelet is pointed elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Pointing {
    /// By a variable of its command line.
    Variable,
    /// By the command line itself, with more flags at its end.
    Command(String),
    /// By a file that K3s reads.
    K3s,
}

/// What is known.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) unit: String,
    pub(super) pointing: Pointing,
    /// The kubelet's kubeconfig as it is.
    pub(super) kubeconfig: PathBuf,
    pub(super) access: NodeAccess,
    pub(super) node: String,
    /// Who signs the certificates of kubelets, if not the certificate authority of the kubeconfig.
    pub(super) client_ca: Option<PathBuf>,
    pub(super) kubelet_root: PathBuf,
    /// What should be known, and does not stand in the way.
    pub(super) warnings: Vec<String>,
}

// === impl Facts ===

impl Facts {
    /// Looks around. Changes nothing.
    pub(super) fn gather(root: &Root, layout: Layout, node: Option<&str>) -> Result<Self, Problem> {
        let there = |path: &str| root.at(path).exists();
        let layout = match (layout, there(KUBEADM_KUBECONFIG), there(K3S_KUBECONFIG)) {
            (Layout::Auto, true, false) => Layout::Kubeadm,
            (Layout::Auto, false, true) => Layout::K3s,
            (Layout::Auto, true, true) => {
                return Err(Problem::usage("this machine has files of kubeadm and of K3s")
                    .hint("say whose kubelet is meant: --layout kubeadm or --layout k3s"));
            }
            (Layout::Auto, false, false) => return Err(no_kubelet(root)),
            (chosen, ..) => chosen,
        };
        let (unit, service) = service(root, layout).ok_or_else(|| no_kubelet(root))?;
        let named = service.flag("kubeconfig").map(PathBuf::from);
        let (pointing, kubeconfig, client_ca) = if layout == Layout::K3s {
            check_k3s(&unit, &service)?;
            (Pointing::K3s, root.at(K3S_KUBECONFIG), Some(root.at(K3S_CLIENT_CA)))
        } else {
            let by_variable = service.environment.get(KUBEADM_VARIABLE);
            let is_by_variable = service.uses(KUBEADM_VARIABLE)
                && by_variable.is_some_and(|value| {
                    named.as_ref().is_some_and(|named| value.contains(&*named.to_string_lossy()))
                });
            let pointing = match is_by_variable {
                true => Pointing::Variable,
                false => Pointing::Command(service.exec_start.clone()),
            };
            let kubeconfig = named.unwrap_or_else(|| KUBEADM_KUBECONFIG.into());
            (pointing, root.at(kubeconfig), Some(root.at(KUBEADM_CA)))
        };
        let kubelet_root = service.flag("root-dir").map_or_else(|| KUBELET_ROOT.into(), PathBuf::from);
        let rotating = root.at(&kubelet_root).join("pki/kubelet-client-current.pem");
        let access = NodeAccess::read(&kubeconfig, root, &rotating)?;
        let node = node
            .map(str::to_owned)
            .or_else(|| access.node())
            .or_else(|| service.flag("hostname-override"))
            .ok_or_else(|| {
                Problem::usage("cannot tell the name of this node from its certificate")
                    .hint("give it with --node-name, as `kubectl get nodes` shows it")
            })?;
        let mut warnings = Vec::new();
        let version = service.program().and_then(|program| ask_version(&root.found(&program)));
        check_version(version.as_deref(), &mut warnings)?;
        Ok(Self {
            unit,
            pointing,
            kubeconfig,
            access,
            node,
            client_ca: client_ca.filter(|path| path.exists()),
            kubelet_root: root.found(&kubelet_root),
            warnings,
        })
    }
}

fn service(root: &Root, layout: Layout) -> Option<(String, Unit)> {
    let names: &[&str] = match layout {
        Layout::K3s => &["k3s.service", "k3s-agent.service"],
        Layout::Kubeadm | Layout::Auto => &["kubelet.service"],
    };
    names.iter().find_map(|name| Some(((*name).to_owned(), Unit::read(root, name)?)))
}

fn no_kubelet(root: &Root) -> Problem {
    let shown = |path: &str| root.at(path).display().to_string();
    Problem::new(
        Exit::NotFound,
        format!(
            "no kubelet found: there is neither {} with a kubelet.service, nor {} with a k3s.service or k3s-agent.service",
            shown(KUBEADM_KUBECONFIG),
            shown(K3S_KUBECONFIG)
        ),
    )
    .hint("this is for nodes that have joined a cluster; on a machine without a kubelet, `safepoint agent` runs pods itself")
}

/// K3s reads its settings from one file and the folder beside it. Where that is not the usual one, ours would not be read.
fn check_k3s(unit: &str, service: &Unit) -> Result<(), Problem> {
    let elsewhere = service.flag("config").or_else(|| service.environment.get("K3S_CONFIG_FILE").cloned());
    if let Some(file) = elsewhere {
        return Err(Problem::failed(format!(
            "{unit} reads its settings from {file}, and not from /etc/rancher/k3s"
        ))
        .hint("move them to /etc/rancher/k3s/config.yaml, which needs no flag"));
    }
    if service.words().iter().any(|word| word.contains("kubeconfig=") && !word.starts_with("--write")) {
        return Err(Problem::failed(format!(
            "the command line of {unit} sets the kubelet's kubeconfig itself"
        ))
        .hint("take --kubelet-arg=kubeconfig=… out of it first"));
    }
    Ok(())
}

fn ask_version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check_version(said: Option<&str>, warnings: &mut Vec<String>) -> Result<(), Problem> {
    let Some(version) = said.and_then(version) else {
        warnings.push("cannot tell the version of the kubelet; it should be 1.28 or newer".to_owned());
        return Ok(());
    };
    let shown = format!("{}.{}", version.0, version.1);
    if version < OLDEST {
        return Err(Problem::failed(format!(
            "the kubelet is of version {shown}, and 1.28 is the oldest that is supported"
        ))
        .hint("upgrade the node first"));
    }
    if version < OBSERVING {
        warnings.push(format!(
            "the kubelet is of version {shown}: only from 1.34 on does the status of a pod say which generation it has seen, \
             so that `kubectl` alone does not show a held change; `safepoint why` does"
        ));
    }
    Ok(())
}

/// The first `vMAJOR.MINOR` of a text, as in `Kubernetes v1.34.2` and `k3s version v1.34.2+k3s1 (abc)`.
fn version(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.strip_prefix('v')?.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_kubelet_and_k3s_print_them() {
        assert_eq!(version("Kubernetes v1.36.4\n"), Some((1, 36)));
        assert_eq!(version("k3s version v1.31.2+k3s1 (6da20424)\ngo version go1.22.8\n"), Some((1, 31)));
        assert_eq!(version("what?"), None);
    }

    #[test]
    fn an_old_kubelet_is_refused_and_one_that_says_less_is_warned_of() {
        let warned = |said| {
            let mut warnings = Vec::new();
            check_version(said, &mut warnings).map(|()| warnings.len())
        };
        assert!(warned(Some("Kubernetes v1.27.9")).is_err());
        assert_eq!(warned(Some("Kubernetes v1.28.0")), Ok(1));
        assert_eq!(warned(Some("Kubernetes v1.34.0")), Ok(0));
        assert_eq!(warned(None), Ok(1));
    }
}
