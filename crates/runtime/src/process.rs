//! Processes of this machine: who they are, and whether they still are.
//!
//! A number is used again by the system; a number, the tick it was given out at and the boot it happened in are not.

use std::{collections::HashMap, fs, io, os::fd::OwnedFd, sync::OnceLock};

use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use crate::record::{Process, Started};

/// What this boot of the machine is called.
pub(crate) fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        // Without the file every start looks like a new boot, which is the careful reading.
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}

// === impl Process ===

impl Process {
    /// The process that has this number now; `None` if none has.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        // A zombie has ended; only its number is left.
        (stat.state != b'Z' && stat.state != b'X').then_some(Self { pid, start: stat.start })
    }

    pub(crate) fn me() -> io::Result<Self> {
        let pid = i32::try_from(std::process::id()).map_err(io::Error::other)?;
        Self::of(pid).ok_or_else(|| io::Error::other("/proc does not show this process; is it mounted?"))
    }

    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Takes note of its end, if it is a child of this process. `true` as long as it is one that has not ended.
    pub(crate) fn reap(self) -> bool {
        let me = std::process::id();
        match Stat::read(self.pid) {
            Some(stat) if stat.start == self.start && u32::try_from(stat.parent) == Ok(me) => {
                let pid = Pid::from_raw(self.pid);
                pid.is_some() && matches!(waitpid(pid, WaitOptions::NOHANG), Ok(None))
            }
            _ => false,
        }
    }

    /// A handle that keeps meaning this very process. `None` if it is gone.
    pub(crate) fn open(self) -> Option<OwnedFd> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::NONBLOCK).ok()?;
        // Looked at after the handle was taken: now the number cannot be given to someone else.
        self.lives().then_some(fd)
    }
}

// === impl Started ===

impl Started {
    /// Whether the container's process is there.
    pub(crate) fn lives(&self) -> bool {
        self.boot == boot_id() && self.process.lives()
    }
}

/// Everyone who descends from `root`, itself not included.
pub(crate) fn descendants(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(stat) = Stat::read(pid) {
            children.entry(stat.parent).or_default().push(Process { pid, start: stat.start });
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child.pid);
            found.push(child);
        }
    }
    found
}

struct Stat {
    state: u8,
    parent: i32,
    start: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in brackets, and may itself hold brackets and spaces.
        let rest = text.get(text.iter().rposition(|byte| *byte == b')')? + 2..)?;
        let rest = std::str::from_utf8(rest).ok()?;
        let mut fields = rest.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let start = fields.nth(17)?.parse().ok()?;
        Some(Self { state, parent, start })
    }
}
