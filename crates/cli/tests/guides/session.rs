//! Somebody at a machine: a folder, a network, and terminals. Ports are the usual ones: the network is nobody else's. Neither are the
//! processes: what is started here ends with the session, pods that outlive everything else included.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::page::{How, Step};
use super::words::is_said;

/// So often is looked, which is longer than anything takes on a busy machine.
const LOOKS: usize = 1_200;
/// And where the program is built first.
const LOOKS_WITH_A_BUILD: usize = 36_000;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// `cargo run --release -- …` in a checkout whose program is built.
const CARGO: &str =
    "#!/bin/sh\n[ \"$1 $2 $3\" = 'run --release --' ] || exit 97\nshift 3\nexec safepoint \"$@\"\n";

pub(super) struct Session {
    folder: tempfile::TempDir,
    looks: usize,
    /// Everything ends with it.
    machine: Child,
    /// The first process inside.
    first: String,
    variables: Vec<(String, String)>,
    background: Vec<Child>,
}

// === impl Session ===

impl Session {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let programs = folder.path().join("programs");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_safepoint"), programs.join("safepoint")).unwrap();
        symlink(safepoint_testkit::assets().unwrap().program("kubectl").unwrap(), programs.join("kubectl"))
            .unwrap();
        fs::write(programs.join("cargo"), CARGO).unwrap();
        fs::set_permissions(programs.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut machine = Command::new("unshare")
            .args(["--net", "--pid", "--mount-proc", "--fork", "--kill-child"])
            .args(["sh", "-c", "ip link set lo up && echo up && exec sleep infinity"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = [0; 3];
        let said = machine.stdout.take().unwrap().read_exact(&mut up);
        said.expect("there is a network: these tests are run as root");
        let id = machine.id();
        let first = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap().trim().to_owned();
        let usual = std::env::var("PATH").unwrap();
        let variables = vec![
            ("PATH".to_owned(), format!("{}:{usual}:/usr/sbin:/sbin", programs.display())),
            ("HOME".to_owned(), folder.path().display().to_string()),
        ];
        Self { folder, looks: LOOKS, machine, first, variables, background: Vec::new() }
    }

    /// In a checkout of its own, with nothing but cargo to make the program with. What cargo needs of others is here already.
    pub(super) fn in_a_checkout() -> Self {
        let mut session = Self::start();
        for program in ["safepoint", "cargo"] {
            fs::remove_file(session.folder.path().join("programs").join(program)).unwrap();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let checkout = session.folder.path().join("checkout");
        let cloned =
            Command::new("git").args(["clone", "--quiet"]).arg(root).arg(&checkout).status().unwrap();
        assert!(cloned.success());
        // Dependencies that were built before are not built again.
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        symlink(built, checkout.join("target")).unwrap();
        let home = std::env::var("HOME").unwrap();
        let of_cargo = |name: &str, folder: &str| {
            (name.to_owned(), std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}")))
        };
        session.variables.extend([of_cargo("CARGO_HOME", ".cargo"), of_cargo("RUSTUP_HOME", ".rustup")]);
        session.variables.push(("CARGO_NET_OFFLINE".to_owned(), "true".to_owned()));
        session.looks = LOOKS_WITH_A_BUILD;
        session
    }

    /// Where the reader is.
    fn place(&self) -> PathBuf {
        let checkout = self.folder.path().join("checkout");
        if checkout.exists() { checkout } else { self.folder.path().to_owned() }
    }

    /// Saves a file as the reader is told to.
    pub(super) fn save(&self, name: &str, text: &str) {
        fs::write(self.place().join(name), text).unwrap();
    }

    pub(super) fn step(&mut self, step: &Step, how: How, place: &str) {
        if let Some((name, _)) = step.command.strip_prefix("export ").and_then(|rest| rest.split_once('=')) {
            // What it stands for is the shell's to say: there may be other variables in it.
            let asked = format!("{}\nprintf %s \"${name}\"", step.command);
            let value = String::from_utf8(self.command(&asked).output().unwrap().stdout).unwrap();
            return self.variables.push((name.to_owned(), value));
        }
        let said = match how {
            How::Background => self.stay(step),
            How::Once | How::Fails | How::Until => self.run(step, how),
        };
        if let Err(said) = said {
            panic!("{place}: `{}` is to say\n{}\nand says\n{said}", step.command, step.says);
        }
    }

    /// Runs a command to its end. The error is what it says instead.
    fn run(&self, step: &Step, how: How) -> Result<(), String> {
        let mut looks = 0;
        loop {
            let output = self.command(&step.command).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            if output.status.success() == (how != How::Fails) && is_said(&step.says, &said) {
                return Ok(());
            }
            looks += 1;
            if how != How::Until || looks == LOOKS {
                return Err(format!("{said}({})", output.status));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Starts a command that stays, and waits until it has said what it is to say.
    fn stay(&mut self, step: &Step) -> Result<(), String> {
        let path = self.folder.path().join(format!("terminal-{}", self.background.len()));
        let out = File::create(&path).unwrap();
        let mut command = self.command(&step.command);
        command.stderr(out.try_clone().unwrap()).stdout(out);
        self.background.push(command.spawn().unwrap());
        // Cargo says first what it builds, and whatever stays may go on to say more.
        let before = if step.command.starts_with("cargo ") { "… " } else { "" };
        let says = format!("{before}{} …", step.says);
        for _ in 0..self.looks {
            if is_said(&says, &fs::read_to_string(&path).unwrap()) {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(fs::read_to_string(&path).unwrap())
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--net", "--pid", "--mount", "--target", &self.first, "--wd=."])
            .args(["sh", "-c", &format!("exec 2>&1\n{line}")])
            .current_dir(self.place())
            .env_remove("KUBECONFIG")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // With the first process of a machine, all end.
        let _ = self.machine.kill();
        for child in self.background.iter_mut().chain([&mut self.machine]) {
            let _ = child.wait();
        }
    }
}
