//! `safepoint up`, as a process that cannot outlive this one.
//!
//! It hangs on a pipe whose other end is held here. A shell beside it reads that pipe; when it ends, because the server
//! was dropped or because this process has ended, however it has ended, the shell kills the server and removes its folder.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use safepoint_testkit::{ControlPlane, Options};

use super::Lines;

/// Becomes the program named by the arguments after the first. The shell that stays beside it looks first whether that
/// program is still its parent: the number of a process that has ended may be another's by now.
const LEASH: &str = r#"
exec 3<&0
( cat <&3 >/dev/null
  read -r _ _ _ parent _ </proc/self/stat
  [ "$parent" = $$ ] && kill -9 $$
  for attempt in 1 2 3; do rm -rf "$1" && break; done
) >/dev/null 2>&1 &
shift
exec "$@" 3<&- </dev/null"#;

/// What kubectl talks to.
pub(crate) struct Server {
    kubeconfig: PathBuf,
    /// Where it keeps its data, and others may keep what should go with it.
    folder: PathBuf,
    running: Running,
}

enum Running {
    Safepoint(Child),
    /// Held, so that it runs.
    Kubernetes {
        _plane: Box<ControlPlane>,
    },
}

impl Server {
    /// The one that all tests share: started by the first that asks, ended with the process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| match env::var("SAFEPOINT_TEST_KUBECTL").as_deref() {
            Ok("kubernetes") => Self::kubernetes(),
            _ => {
                let folder = tempfile::Builder::new().prefix("safepoint-kubectl-").tempdir().unwrap().keep();
                Self::launch(&folder, Some(&folder))
            }
        })
    }

    /// Another one, in a folder of the caller's.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::launch(folder, None)
    }

    /// A real control plane. Its pods need no service account, as those of Safepoint do not.
    fn kubernetes() -> Self {
        let flags = vec!["--disable-admission-plugins=ServiceAccount".to_owned()];
        let options = Options { controllers: true, apiserver_flags: flags, ..Options::default() };
        let plane = ControlPlane::start_with(&options).unwrap();
        // Its controllers delete pods whose node is not there.
        let rover = tempfile::NamedTempFile::new().unwrap();
        fs::write(rover.path(), super::node("rover")).unwrap();
        plane.run(&["create", "-f", &rover.path().to_string_lossy()]).unwrap();
        Self {
            kubeconfig: plane.kubeconfig_path().to_owned(),
            folder: plane.kubeconfig_path().parent().unwrap().to_owned(),
            running: Running::Kubernetes { _plane: Box::new(plane) },
        }
    }

    fn launch(folder: &Path, removed: Option<&Path>) -> Self {
        let log = folder.join("log");
        let mut child = Command::new("sh")
            .args(["-c", LEASH, "leash"])
            .arg(removed.unwrap_or(Path::new("")))
            .arg(env!("CARGO_BIN_EXE_safepoint"))
            .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            // Ctrl-C goes to everything in the foreground; this ends when its owner does.
            .process_group(0)
            .spawn()
            .unwrap();
        let mut lines = Lines::of(child.stdout.take().unwrap());
        let mut line = |start: &str| {
            let found = lines.find(&format!("beginning with {start:?}"), |line| line.starts_with(start));
            found.unwrap_or_else(|why| panic!("{why}\n{}", fs::read_to_string(&log).unwrap()))
        };
        let kubeconfig = line("kubeconfig ");
        line("ready in ");
        let (_, path) = kubeconfig.split_once(' ').unwrap();
        Self { kubeconfig: path.trim().into(), folder: folder.to_owned(), running: Running::Safepoint(child) }
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A folder that is gone when the server is, at the latest.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether this is Safepoint, and not the Kubernetes that it is compared with.
    pub(crate) fn is_safepoint(&self) -> bool {
        matches!(self.running, Running::Safepoint(_))
    }

    /// Asks it to stop, as an init system would, and waits until it has. Returns whether it did so well, and its log.
    pub(crate) fn stop(mut self) -> (bool, String) {
        let Running::Safepoint(child) = &mut self.running else { panic!("only Safepoint is stopped") };
        let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success(), "it has ended by itself");
        // To wait for a child is to close its pipe, which would kill it before it has stopped.
        let _held = child.stdin.take();
        let status = child.wait().unwrap();
        (status.success(), fs::read_to_string(self.folder.join("log")).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Running::Safepoint(child) = &mut self.running {
            // Both fail only for a process that has ended, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
