//! The program of an upgrade task: it brings one static pod of one node to a revision, or takes it away.
//!
//! Where an agent looks after the node's static pods, it is given the manifest and asked what became of it: what may change
//! now is the gate's to decide. Where there is none, the manifest is swapped from here. Either way the swap is kept in a
//! journal on the node: killed at any moment, the next one goes on, or goes back.
//!
//! It ends with the exit code of its outcome and leaves the outcome behind where the kubelet looks for last words.

mod agent;
mod direct;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use safepoint_api::Span;
use safepoint_api::names::safepoint::SOCKET;
use safepoint_manifest::{Code, Digest, FileName, Host, Manifest, Outcome, PodKey};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::manifests::RulesArgs;

/// For `--help`.
pub const TASK_EXAMPLES: &str = "Examples:
  # what the hub runs in a pod that has the node's file system at /host
  safepoint static-pod-upgrade --namespace kube-system --name nginx --manifest nginx --file /data/manifest.yaml \\
    --revision bcdfghjklmnp --host /host --data /var/lib/safepoint --mode upgrade --node rover-7

Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 refused or put off: nothing was touched, 4 rolled back,
5 somebody has to look, 6 somebody else's manifest stands. The termination message says the same as JSON.";

/// The unit of an agent that was installed.
const AGENT_UNIT: &str = "/etc/systemd/system/safepoint-agent.service";

/// What `safepoint static-pod-upgrade` was asked for.
#[derive(Args, Debug)]
pub struct TaskArgs {
    /// The static pod's namespace.
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: String,
    /// The static pod's name, without that of the node.
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// The file in the kubelet's folder, with or without .yaml.
    #[arg(long, value_name = "FILE")]
    pub manifest: String,
    /// Where the new manifest is.
    #[arg(long, value_name = "PATH", default_value = "/data/manifest.yaml")]
    pub file: PathBuf,
    /// The revision that the new manifest has to say it is.
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// The SHA-256 of the new manifest's file. Another file is not brought.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// Where the node's file system is.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub host: PathBuf,
    /// The folder of the node that keeps what must survive.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/safepoint")]
    pub data: PathBuf,
    /// What to do.
    #[arg(long, value_enum, default_value = "upgrade")]
    pub mode: TaskMode,
    /// The node.
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// The agent's socket on the node. `agent.sock` in the data folder is looked at as well.
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub agent_socket: PathBuf,
    /// How long a manifest that the node holds may wait at its gate before the task gives way.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub patience: Span,
    /// The kubelet's folder on the node. Left out: the one that the running kubelet was told.
    #[arg(long, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
    /// Where the last words go.
    #[arg(long, value_name = "PATH", default_value = "/dev/termination-log")]
    pub termination_log: PathBuf,
    /// When a pod is good.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TaskMode {
    /// Put the manifest in the place of the one that is there.
    Upgrade,
    /// Put the manifest where none is.
    Install,
    /// Take the manifest away.
    Remove,
    /// Pull its images and lay the manifest ready for the node's owner.
    Stage,
}

/// A task, read.
struct Task {
    pod: PodKey,
    file: FileName,
    mode: TaskMode,
    /// None where a manifest is to be taken away.
    manifest: Option<Manifest>,
}

/// How a task ended.
enum End {
    Outcome(Outcome),
    /// The node does not let it now, and nothing was touched: a word for programs, and a sentence.
    PutOff(&'static str, String),
}

/// Brings a static pod to a revision.
///
/// # Errors
///
/// If it cannot even begin: what goes wrong afterwards is an outcome.
pub fn upgrade_static_pod(args: &TaskArgs) -> Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let end = runtime.block_on(async {
        let stop = CancellationToken::new();
        let mut asked = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        tokio::select! {
            end = run(args, &stop) => Ok::<_, anyhow::Error>(end),
            end = async {
                asked.recv().await;
                tracing::info!("asked to stop: what has begun is finished first");
                stop.cancel();
                std::future::pending().await
            } => Ok(end),
        }
    });
    let end = end?;
    let (code, message) = end.last_words();
    // In a pod the kubelet keeps it; elsewhere there may be no such file, and it is printed all the same.
    if let Err(error) = leave(&args.termination_log, &message) {
        tracing::debug!(%error, "no last words were left");
    }
    println!("{message}");
    Ok(ExitCode::from(code))
}

fn leave(path: &Path, message: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .create(path.parent().is_some_and(|folder| folder != Path::new("/dev")))
        .open(path)?;
    file.write_all(message.as_bytes())
}

async fn run(args: &TaskArgs, stop: &CancellationToken) -> End {
    // Both run at once, so that a signal is heard: the task itself decides what it means.
    let task = match Task::read(args) {
        Ok(task) => task,
        Err(outcome) => return End::Outcome(outcome),
    };
    let host = Host::below(&args.host);
    match agent::find(&host, args, stop).await {
        agent::Agent::Answers(client) => agent::upgrade(&client, task, args, stop).await,
        agent::Agent::Absent => direct::upgrade(&host, task, args, stop).await,
        agent::Agent::Silent(why) => End::PutOff("Busy", why),
    }
}

// === impl Task ===

impl Task {
    fn read(args: &TaskArgs) -> Result<Self, Outcome> {
        let bad = |error: safepoint_manifest::BadName| Outcome::new(Code::ManifestInvalid, error.to_string());
        let pod = PodKey::new(&args.namespace, &args.name).map_err(bad)?;
        let file = FileName::new(&args.manifest).map_err(bad)?;
        let manifest = match args.mode {
            TaskMode::Remove => None,
            TaskMode::Upgrade | TaskMode::Install | TaskMode::Stage => Some(manifest(args)?),
        };
        Ok(Self { pod, file, mode: args.mode, manifest })
    }
}

fn manifest(args: &TaskArgs) -> Result<Manifest, Outcome> {
    let invalid = |why: String| Outcome::new(Code::ManifestInvalid, why);
    let text = fs::read_to_string(&args.file)
        .map_err(|error| invalid(format!("cannot read {}: {error}", args.file.display())))?;
    if let Some(wanted) = &args.sha256 {
        let found = Digest::of(text.as_bytes());
        if found.as_str().strip_prefix("sha256:") != Some(wanted.to_ascii_lowercase().as_str()) {
            return Err(invalid(format!(
                "{} is not what the hub has written into the ConfigMap that this task mounts ({found}, not sha256:{wanted}): \
                 somebody who may write ConfigMaps may have replaced it; deleted, it is made anew",
                args.file.display()
            )));
        }
    }
    let manifest = Manifest::parse(text)
        .map_err(|error| invalid(format!("{} cannot be used: {error}", args.file.display())))?;
    match (&args.revision, manifest.revision()) {
        (Some(wanted), found) if found != Some(wanted) => {
            let found = found.unwrap_or("none");
            Err(invalid(format!("{} is of revision {found}, not {wanted}", args.file.display())))
        }
        _ => Ok(manifest),
    }
}

// === impl End ===

impl End {
    /// The exit code and what is left behind.
    fn last_words(&self) -> (u8, String) {
        match self {
            Self::Outcome(outcome) => (outcome.exit_code(), outcome.termination_message()),
            // Refused: nothing was touched.
            Self::PutOff(code, why) => (3, json!({"code": code, "message": why}).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        task: TaskArgs,
    }

    const TEXT: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: nginx\n  annotations: {openyurt.io/static-pod-hash: \
        one}\nspec: {containers: [{name: a, image: b}]}\n";

    fn args(file: &Path, more: &[&str]) -> TaskArgs {
        let file = file.display().to_string();
        let line = ["task", "--namespace=default", "--name=nginx", "--manifest=nginx", "--file", &file];
        Line::try_parse_from(line.iter().chain(more)).unwrap().task
    }

    /// These are the hub's.
    #[test]
    fn the_arguments_of_a_task_are_read() {
        let line = "task --namespace kube-system --name nginx --manifest nginx --file /data/manifest.yaml --revision \
            bcdfghjklmnp --host /host --data /var/lib/safepoint --mode stage --node rover-7";
        let task = Line::try_parse_from(line.split_whitespace()).unwrap().task;
        assert_eq!((task.mode, task.node.as_deref()), (TaskMode::Stage, Some("rover-7")));
        assert_eq!(
            (task.host.as_path(), task.revision.as_deref()),
            (Path::new("/host"), Some("bcdfghjklmnp"))
        );
    }

    #[test]
    fn a_manifest_of_another_revision_than_was_meant_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let file = folder.join("manifest.yaml");
        fs::write(&file, TEXT).unwrap();
        assert!(Task::read(&args(&file, &["--revision=one"])).is_ok());
        assert!(Task::read(&args(&file, &[])).is_ok());
        let refused = Task::read(&args(&file, &["--revision=two"])).err().unwrap();
        assert_eq!((refused.code, refused.exit_code()), (Code::ManifestInvalid, 3));
        assert!(Task::read(&args(&folder.join("none"), &[])).is_err());
        // What is taken away needs none.
        assert!(Task::read(&args(&folder.join("none"), &["--mode=remove"])).is_ok());
    }

    /// A task is root on its node, and the ConfigMap that it mounts can be written by more people than a StaticPod.
    #[test]
    fn a_manifest_that_the_hub_has_not_written_is_brought_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("manifest.yaml");
        fs::write(&file, TEXT).unwrap();
        let sum = Digest::of(TEXT.as_bytes()).as_str().trim_start_matches("sha256:").to_owned();
        for sum in [sum.clone(), sum.to_ascii_uppercase()] {
            assert!(Task::read(&args(&file, &["--revision=one", "--sha256", &sum])).is_ok());
        }
        fs::write(&file, TEXT.replace("image: b", "image: c")).unwrap();
        for mode in ["upgrade", "install", "stage"] {
            let line = ["--revision=one", "--sha256", &sum, "--mode", mode];
            let refused = Task::read(&args(&file, &line)).err().unwrap();
            assert_eq!((refused.code, refused.exit_code()), (Code::ManifestInvalid, 3), "{mode}");
            assert!(refused.message.contains("may have replaced it"), "{}", refused.message);
        }
        assert!(Task::read(&args(&file, &["--revision=one", "--sha256="])).is_err(), "nothing is no sum");
    }

    #[test]
    fn a_task_that_is_put_off_says_so_in_a_word() {
        let (code, message) = End::PutOff("Frozen", "in flight".to_owned()).last_words();
        assert_eq!((code, message.as_str()), (3, r#"{"code":"Frozen","message":"in flight"}"#));
        let (code, message) = End::Outcome(Outcome::new(Code::Upgraded, "done")).last_words();
        assert_eq!((code, Outcome::parse(&message).unwrap().code), (0, Code::Upgraded));
    }
}
