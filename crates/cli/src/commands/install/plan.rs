//! What an installation does, decided before anything is done: the same facts always give the same steps.
//!
//! The order is the safety of it. The agent works, and has taken over what runs, before the kubelet is pointed at it; what
//! points the kubelet comes last, so that everything before can be taken back without touching the kubelet at all.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::facts::{Facts, KUBEADM_VARIABLE, Pointing};
use super::root::Root;

/// The agent's unit.
pub(super) const AGENT_UNIT: &str = "safepoint-agent.service";
/// What the agent knows of its machine, in its data folder.
const JOURNAL: &str = "journal.redb";
/// The name of what is put beside the settings of others: read after theirs.
const LAST: &str = "zz-safepoint";

/// What was asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) root: Root,
    /// This program, as the agent's unit starts it.
    pub(super) program: PathBuf,
    /// Of the machine, not below the root yet; so is the socket.
    pub(super) data: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) listen: SocketAddr,
    pub(super) group: Option<String>,
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A folder, if it is not there.
    Folder { path: PathBuf, mode: u32 },
    /// A file, whatever was there before.
    Write(Text),
    /// The certificate of the door, in a folder of its own.
    Certificate { folder: PathBuf },
    /// A file is moved out of the way, if there is one.
    SetAside { path: PathBuf },
    /// Something other than a file.
    Do(Action),
}

/// A file to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) mode: u32,
    /// What it is, for the announcement.
    pub(super) what: &'static str,
    /// It points the kubelet at the door.
    pub(super) points: bool,
}

/// Something other than a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// The node is ready now, and can be asked for.
    CheckNode,
    Reload,
    Enable,
    Start,
    /// Stops and disables the agent.
    Remove,
    /// Restarts the kubelet.
    Restart {
        unit: String,
    },
    /// The agent says that it is ready.
    AwaitAgent,
    /// The node is ready, with a lease that was renewed since.
    AwaitNode,
    /// The kubelet watches its pods at the door.
    AwaitWatch,
}

/// Where things go.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) folder: PathBuf,
    pub(super) upstream: PathBuf,
    pub(super) kubelet: PathBuf,
    pub(super) door: PathBuf,
    pub(super) data: PathBuf,
    pub(super) socket: PathBuf,
}

// === impl Places ===

impl Places {
    pub(super) fn new(wanted: &Wanted) -> Self {
        let at = |path: &str| wanted.root.at(path);
        Self {
            folder: at("/etc/safepoint"),
            upstream: at("/etc/safepoint/upstream.kubeconfig"),
            kubelet: at("/etc/safepoint/kubelet.kubeconfig"),
            door: at("/etc/safepoint/door"),
            data: wanted.root.at(&wanted.data),
            socket: wanted.root.at(&wanted.socket),
        }
    }
}

/// All steps, in order.
pub(super) fn plan(facts: &Facts, wanted: &Wanted) -> Vec<Step> {
    let places = Places::new(wanted);
    let root = &wanted.root;
    let door = format!("https://{}", wanted.listen);
    let authority = places.door.join(safepoint_daemon::door::AUTHORITY);
    let write = |path: PathBuf, mode: u32, what: &'static str, text: String| {
        Step::Write(Text { path, text, mode, what, points: false })
    };
    let mut steps = vec![
        Step::Folder { path: places.folder.clone(), mode: 0o755 },
        write(
            places.upstream.clone(),
            0o600,
            "the agent's kubeconfig: the cluster, as this node",
            facts.access.upstream(),
        ),
        Step::Do(Action::CheckNode),
        Step::Certificate { folder: places.door.clone() },
        write(
            places.kubelet.clone(),
            0o600,
            "the kubelet's new kubeconfig: the agent instead of the cluster, the same certificate",
            facts.access.door(&door, &authority),
        ),
        write(
            root.at("/etc/systemd/system").join(AGENT_UNIT),
            0o644,
            "the agent as a service, started before the kubelet",
            agent_unit(facts, wanted, &places),
        ),
        // A kubelet that was shown what ran at an earlier time would end whatever has come since.
        Step::SetAside { path: places.data.join(JOURNAL) },
        Step::Do(Action::Reload),
        Step::Do(Action::Enable),
        Step::Do(Action::Start),
        Step::Do(Action::AwaitAgent),
    ];
    steps.extend(pointing(facts, root, &places).into_iter().map(Step::Write));
    steps.extend([
        Step::Do(Action::Reload),
        Step::Do(Action::Restart { unit: facts.unit.clone() }),
        Step::Do(Action::AwaitNode),
        Step::Do(Action::AwaitWatch),
    ]);
    steps
}

/// What points the kubelet at the door.
fn pointing(facts: &Facts, root: &Root, places: &Places) -> Vec<Text> {
    let kubeconfig = places.kubelet.display();
    let drop_in =
        root.at("/etc/systemd/system").join(format!("{}.d", facts.unit)).join(format!("{LAST}.conf"));
    let head = format!(
        "# Written by `safepoint agent install`; `safepoint agent uninstall` removes it.\n[Unit]\n\
         # Wanted, not required: the kubelet runs its pods on while the agent is away.\n\
         Wants={AGENT_UNIT}\nAfter={AGENT_UNIT}\n"
    );
    let text = |path, text, what| Text { path, text, mode: 0o644, what, points: true };
    match &facts.pointing {
        Pointing::Variable => {
            let body = format!("\n[Service]\nEnvironment=\"{KUBEADM_VARIABLE}=--kubeconfig={kubeconfig}\"\n");
            vec![text(drop_in, head + &body, "the kubelet's kubeconfig is the new one")]
        }
        Pointing::Command(command) => {
            let body = format!(
                "\n[Service]\n# The same command, with two flags more.\nExecStart=\nExecStart={command} \
                 --kubeconfig={kubeconfig} --bootstrap-kubeconfig=\n"
            );
            vec![text(drop_in, head + &body, "the kubelet's kubeconfig is the new one")]
        }
        Pointing::K3s => {
            let settings = root.at("/etc/rancher/k3s/config.yaml.d").join(format!("{LAST}.yaml"));
            let body = format!(
                "# Written by `safepoint agent install`; `safepoint agent uninstall` removes it.\n\
                 # With the plus sign it is added to what other files say of the kubelet.\n\
                 kubelet-arg+:\n  - \"kubeconfig={kubeconfig}\"\n"
            );
            vec![
                text(drop_in, head, "K3s is started after the agent"),
                text(settings, body, "the kubelet's kubeconfig is the new one"),
            ]
        }
    }
}

fn agent_unit(facts: &Facts, wanted: &Wanted, places: &Places) -> String {
    let mut words = vec![
        wanted.program.display().to_string(),
        "agent --door kubelet".to_owned(),
        format!("--node-name {}", facts.node),
        format!("--kubeconfig {}", places.upstream.display()),
        format!("--data {}", places.data.display()),
        format!("--listen-socket {}", places.socket.display()),
        format!("--door-listen {}", wanted.listen),
        format!("--door-certificates {}", places.door.display()),
        format!("--kubelet-root {}", facts.kubelet_root.display()),
    ];
    words.extend(facts.client_ca.as_ref().map(|path| format!("--client-ca {}", path.display())));
    words.extend(wanted.group.as_ref().map(|group| format!("--group {group}")));
    let runtime = wanted.socket.parent().and_then(|folder| folder.strip_prefix("/run").ok());
    let runtime =
        runtime.filter(|folder| folder.components().count() == 1).map_or_else(String::new, |folder| {
            format!("RuntimeDirectory={}\nRuntimeDirectoryPreserve=restart\n", folder.display())
        });
    format!(
        "# Written by `safepoint agent install`; `safepoint agent uninstall` removes it.
[Unit]
Description=Safepoint agent: decides when a change may reach this node's kubelet
After=network.target
Before={kubelet}
# However often it fails: a kubelet without its API server waits for it.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
EnvironmentFile=-{folder}/agent.env
ExecStart={exec}
Restart=always
RestartSec=1
TimeoutStartSec=90
WatchdogSec=30
# Whatever else it started is no business of a restart.
KillMode=process
{runtime}LimitNOFILE=65536
# What is protected must not outlive what protects it.
OOMScoreAdjust=-999
NoNewPrivileges=yes
ProtectSystem=true
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
",
        kubelet = facts.unit,
        folder = places.folder.display(),
        exec = words.join(" \\\n    "),
    )
}

// === impl Step ===

impl Step {
    /// What is about to be done, for whoever watches.
    pub(super) fn announcement(&self) -> String {
        match self {
            Self::Folder { path, .. } => format!("make the folder {}", path.display()),
            Self::Write(Text { path, what, .. }) => format!("write {} ({what})", path.display()),
            Self::Certificate { folder } => {
                format!(
                    "make the door's certificate in {} (door.crt, door.key, door-ca.crt)",
                    folder.display()
                )
            }
            Self::SetAside { path } => format!(
                "set {} aside, if there is one: what an earlier agent knew of this machine is out of date",
                path.display()
            ),
            Self::Do(action) => action.announcement(),
        }
    }
}

// === impl Action ===

impl Action {
    pub(super) fn announcement(&self) -> String {
        match self {
            Self::CheckNode => "check that the node is ready now, asking as the agent will".to_owned(),
            Self::AwaitAgent => "wait until the agent is ready".to_owned(),
            Self::AwaitNode => "wait until the node is ready, with its lease renewed since".to_owned(),
            Self::AwaitWatch => "wait until the kubelet watches its pods through the agent".to_owned(),
            Self::Reload | Self::Enable | Self::Start | Self::Remove | Self::Restart { .. } => {
                format!("run `systemctl {}`", self.systemctl().join(" "))
            }
        }
    }

    /// The arguments of systemctl; none if it has no part in this.
    pub(super) fn systemctl(&self) -> Vec<&str> {
        match self {
            Self::Reload => vec!["daemon-reload"],
            Self::Enable => vec!["enable", AGENT_UNIT],
            Self::Start => vec!["start", AGENT_UNIT],
            Self::Remove => vec!["disable", "--now", AGENT_UNIT],
            Self::Restart { unit } => vec!["restart", unit],
            Self::CheckNode | Self::AwaitAgent | Self::AwaitNode | Self::AwaitWatch => Vec::new(),
        }
    }
}
