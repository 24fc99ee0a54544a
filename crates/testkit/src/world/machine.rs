//! The machine that a node is: a view of the processes and mounts of its own, which all end when it is switched off.
//!
//! The first process of a process namespace takes all others with it when it ends, and the kernel sees to that. So a power
//! cut is one signal, and the same signal at the end leaves no container, no shim and no mount, whoever was killed before.
//! Files are this machine's own and stay, as a disk does, except for `/run`, which starts empty.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::needs::search_path;
use crate::place::{MARK, Place};
use crate::program::Program;

/// Folders that programs of a node use whatever they are told: each gets one of the world's own in its place.
const OWN_FOLDERS: [&str; 3] = ["/var/lib/kubelet", "/var/lib/cni", "/var/log"];

/// The first process: `$1` is the world's folder, the rest are [`OWN_FOLDERS`]. It collects what its children leave,
/// until standard input ends. Mounts are shared, as the kubelet expects, but only among the machine's own.
const INIT: &str = r#"
set -e
world=$1
shift
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
for folder; do
  mkdir -p "$folder" "$world/machine$folder"
  mount --bind "$world/machine$folder" "$folder"
done
cat /proc/sys/kernel/random/uuid >"$world/boot_id"
mount --bind "$world/boot_id" /proc/sys/kernel/random/boot_id
echo "started $(cat /proc/sys/kernel/random/boot_id)"
exec 3<&0
cat <&3 >/dev/null &
exec 3<&- <&-
wait"#;

/// A machine that is switched on, or was.
#[derive(Debug)]
pub(crate) struct Machine {
    init: Program,
    folder: PathBuf,
}

impl Machine {
    /// Switches it on.
    pub(crate) fn start(place: &Place, folder: &Path) -> Result<Self> {
        let mut command = place.command("unshare");
        command
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "--mount",
                "--mount-proc",
                "--",
                "sh",
                "-c",
                INIT,
                "machine",
            ])
            .arg(folder)
            .args(OWN_FOLDERS);
        let init = Program::start("machine", folder, command)?.that_forks();
        let mut machine = Self { init, folder: folder.to_owned() };
        machine.wait_until_started(1)?;
        Ok(machine)
    }

    /// A power cut, and power again: everything on it ends at once, and `/run` is empty.
    pub(crate) fn restart(&mut self) -> Result<()> {
        let before = self.init.log().matches("started").count();
        self.init.kill();
        self.init.start_again()?;
        self.wait_until_started(before + 1)
    }

    fn wait_until_started(&mut self, times: usize) -> Result<()> {
        let started = |init: &Program| (init.log().matches("started").count() >= times).then_some(());
        self.init.wait_for("started", started)
    }

    /// What the kernel would say of a machine since it was switched on.
    pub(crate) fn boot_id(&self) -> String {
        fs::read_to_string(self.folder.join("boot_id")).unwrap_or_default().trim().to_owned()
    }

    /// The number of the first process, as this process sees it.
    pub(crate) fn pid(&self) -> u32 {
        self.init.pid()
    }

    /// A command that runs a program on it. Its process only waits for the program: see [`Program::that_forks`].
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.pid()))
            .args(["--mount", "--pid", "--net", "--"])
            .arg(program)
            .env(MARK, &self.folder)
            .env("PATH", search_path());
        command
    }

    /// Its files, mounts included, as a path that is good until it is switched off.
    pub(crate) fn files(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.pid()))
    }

    /// The number by which this process knows a process that the machine itself knows by another. Nothing, if it has
    /// ended.
    pub(crate) fn host_pid(&self, inner: u32) -> Option<u32> {
        // Every machine has a process of that number: it is the one that sees the same mounts.
        let mounts = fs::read_link(self.files().join(format!("proc/{inner}/ns/mnt"))).ok()?;
        let numbers = fs::read_dir("/proc").ok()?.filter_map(|entry| {
            let process = entry.ok()?.path();
            let status = fs::read_to_string(process.join("status")).ok()?;
            numbers(&status).filter(|(_, found)| *found == inner).map(|(outer, _)| (process, outer))
        });
        let same = |process: &Path| fs::read_link(process.join("ns/mnt")).is_ok_and(|found| found == mounts);
        numbers.into_iter().find(|(process, _)| same(process)).map(|(_, outer)| outer)
    }
}

/// The numbers of a process in our own process namespace and in the one below it, given its `status`.
fn numbers(status: &str) -> Option<(u32, u32)> {
    let mut numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_process_of_a_machine_has_two_numbers_and_one_in_a_container_three() {
        assert_eq!(numbers("Name:\tsh\nNSpid:\t900\t12\nVmPeak:\t1 kB\n"), Some((900, 12)));
        assert_eq!(numbers("NSpid:\t901\t13\t1\n"), Some((901, 13)));
        assert_eq!(numbers("NSpid:\t902\n"), None, "a process of nobody's machine");
    }
}
