//! The folder of a world, and everything that goes with it: processes, control groups, and the folder itself.
//!
//! A world leaves nothing that a killed process could not take with it by itself: its networks, mounts and containers
//! belong to namespaces that end with the programs in them. What does not end that way (a program that stands still,
//! control groups, files) is removed by a shell that waits beside us for our end. Should that shell be killed too, the
//! next world's start finds the folder with nobody's lock on it, and has the same shell script remove the rest.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::place::MARK;
use crate::shared::fresh_name;

const PREFIX: &str = "safepoint-world";
/// Where each kind of control group is, or all of them are.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// In a world's folder: locked by the process that owns it, for as long as that lives.
const LOCK: &str = "lock";

/// Ends what runs in the world `$1`, removes its control groups `$2` and then its folder, once standard input has ended.
/// A process is not gone the moment it is killed, hence the attempts.
const JANITOR: &str = r#"
cat >/dev/null
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
  left=
  for environment in $(grep -lszxF "$3=$1" /proc/[0-9]*/environ); do
    pid=${environment#/proc/}
    kill -9 "${pid%/environ}"
    left=1
  done
  for group in "$4/$2" "$4"/*/"$2"; do
    [ ! -d "$group" ] || find "$group" -depth -type d -delete || left=1
  done
  [ "$left" ] || { rm -rf "$1" && exit; }
  sleep 0.2
done
exit 1"#;

/// The folder.
#[derive(Debug)]
pub(crate) struct Ground {
    path: PathBuf,
    janitor: Child,
    /// Let go of by the system when this process ends, however that is.
    _lock: File,
}

impl Ground {
    /// Makes an empty one, and its control groups, after removing what killed processes have left of theirs.
    pub(crate) fn create() -> Result<Self> {
        let turn = turn()?;
        sweep_while(&turn)?;
        let path = std::env::temp_dir().join(fresh_name(PREFIX));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make {}", path.display()))?;
        let lock = File::create(path.join(LOCK)).context("cannot make a lock in a world's folder")?;
        lock.try_lock().context("cannot lock a world's folder")?;
        let mut janitor = janitor(&path)?;
        let janitor = janitor.stdin(Stdio::piped()).spawn().context("cannot run sh")?;
        let ground = Self { path, janitor, _lock: lock };
        make_groups(ground.group())?;
        Ok(ground)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the control group that everything on the node is in.
    pub(crate) fn group(&self) -> &str {
        name(&self.path)
    }

    /// Gives the world empty control groups in place of those that the node has used, as a machine has after its start.
    pub(crate) fn renew_groups(&self) -> Result<()> {
        for top in tops()? {
            remove_group(&top.join(self.group()))?;
        }
        make_groups(self.group())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if std::thread::panicking() {
            keep_logs(&self.path);
        }
        drop(self.janitor.stdin.take());
        // Nothing could be done about what cannot be removed, and nobody would be told. The next sweep tries again.
        let _ = self.janitor.wait();
    }
}

/// Puts the logs of a world whose test has failed where they outlive it, and says where. It is a help and must not fail.
fn keep_logs(world: &Path) {
    let test = std::thread::current().name().unwrap_or("test").replace("::", ".");
    let kept = std::env::temp_dir().join("safepoint-failed").join(format!("{test}-{}", name(world)));
    let logs = fs::read_dir(world).into_iter().flatten().flatten().map(|entry| entry.path());
    for log in logs.filter(|path| path.extension().is_some_and(|end| end == "log")) {
        let copied = fs::create_dir_all(&kept).and_then(|()| fs::copy(&log, kept.join(name(&log))));
        if let Err(error) = copied {
            eprintln!("cannot keep {}: {error}", log.display());
        }
    }
    eprintln!("the logs of this world are kept in {}", kept.display());
}

/// Removes what is left of worlds whose process was killed. The start of a world does this too.
///
/// # Errors
/// When something is left that cannot be removed.
pub fn sweep() -> Result<()> {
    sweep_while(&turn()?)
}

/// One at a time: a folder that has just been made is not locked yet.
fn turn() -> Result<File> {
    let path = std::env::temp_dir().join(format!("{PREFIX}s.lock"));
    let turn = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    turn.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(turn)
}

fn sweep_while(_turn: &File) -> Result<()> {
    for entry in fs::read_dir(std::env::temp_dir()).context("cannot list temporary folders")? {
        let path = entry.context("cannot list temporary folders")?.path();
        let is_world = name(&path).starts_with(&format!("{PREFIX}-"));
        if is_world && !is_owned(&path)? {
            let status = janitor(&path)?.stdin(Stdio::null()).status().context("cannot run sh")?;
            if !status.success() {
                bail!(
                    "{} is left from a process that was killed, and cannot be removed: look for processes with {MARK} in \
                     their environment, end them, and remove it",
                    path.display()
                );
            }
        }
    }
    Ok(())
}

/// Whether a living process has the world. What vanishes meanwhile is being removed by its janitor.
fn is_owned(world: &Path) -> Result<bool> {
    let lock = match File::open(world.join(LOCK)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.with_context(|| format!("cannot open the lock of {}", world.display()))?,
    };
    match lock.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error).context("cannot lock a world's folder"),
    }
}

fn janitor(world: &Path) -> Result<Command> {
    let group = name(world);
    if group.is_empty() {
        bail!("{} is no folder of a world", world.display());
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", JANITOR, "janitor"])
        .arg(world)
        .args([group, MARK, CONTROL_GROUPS])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C goes to everything in the terminal's foreground group, and is not meant for this one.
        .process_group(0);
    Ok(command)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The tops of all control group hierarchies: many in version 1, one in version 2.
fn tops() -> Result<Vec<PathBuf>> {
    let root = Path::new(CONTROL_GROUPS);
    if root.join("cgroup.controllers").exists() {
        return Ok(vec![root.to_owned()]);
    }
    let entries = fs::read_dir(root).with_context(|| format!("cannot list {CONTROL_GROUPS}"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.is_dir() && !path.is_symlink()).collect())
}

/// The kubelet wants its control group to exist, and every kind of control in it.
fn make_groups(group: &str) -> Result<()> {
    for top in tops()? {
        // Only in version 2: a group has those controls that the one above passes on. Not all can be.
        let controls = fs::read_to_string(top.join("cgroup.controllers")).unwrap_or_default();
        for control in controls.split_whitespace() {
            let _ = fs::write(top.join("cgroup.subtree_control"), format!("+{control}"));
        }
        let path = top.join(group);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("cannot make {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Control groups are removed from the innermost; the files in them go along.
fn remove_group(path: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
    for entry in entries {
        let inner = entry.with_context(|| format!("cannot list {}", path.display()))?.path();
        if inner.is_dir() {
            remove_group(&inner)?;
        }
    }
    // Those of processes that were just killed are in use for a moment longer.
    let mut attempts = 0..50;
    while let Err(error) = fs::remove_dir(path) {
        if attempts.next().is_none() {
            return Err(error).with_context(|| format!("cannot remove {}", path.display()));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Ok(())
}
