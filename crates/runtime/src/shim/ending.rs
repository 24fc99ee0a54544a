//! How a container is ended: who is signalled, and in which order.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::process::descendants;

/// After a preStop hook has used up the grace, the program still gets a moment, as with the kubelet.
pub(super) const LAST_MOMENT: std::time::Duration = std::time::Duration::from_secs(2);

/// A signal to the container's process group.
pub(super) fn signal(leader: i32, signal: Signal) {
    if let Some(leader) = Pid::from_raw(leader) {
        // Everyone being gone is what was wanted.
        let _ = kill_process_group(leader, signal);
    }
}

/// Kills everyone who descends from `root`, wherever they hid from the process group.
pub(super) fn kill_descendants(root: i32) {
    for process in descendants(root) {
        if let Some(pid) = Pid::from_raw(process.pid)
            && process.lives()
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A signal by the name that `lifecycle.stopSignal` uses.
pub(crate) fn named(name: &str) -> Option<Signal> {
    Some(match name {
        "SIGABRT" => Signal::ABORT,
        "SIGALRM" => Signal::ALARM,
        "SIGBUS" => Signal::BUS,
        "SIGCHLD" => Signal::CHILD,
        "SIGCONT" => Signal::CONT,
        "SIGFPE" => Signal::FPE,
        "SIGHUP" => Signal::HUP,
        "SIGILL" => Signal::ILL,
        "SIGINT" => Signal::INT,
        "SIGKILL" => Signal::KILL,
        "SIGPIPE" => Signal::PIPE,
        "SIGPROF" => Signal::PROF,
        "SIGQUIT" => Signal::QUIT,
        "SIGSEGV" => Signal::SEGV,
        "SIGSTOP" => Signal::STOP,
        "SIGSYS" => Signal::SYS,
        "SIGTERM" => Signal::TERM,
        "SIGTRAP" => Signal::TRAP,
        "SIGTSTP" => Signal::TSTP,
        "SIGUSR1" => Signal::USR1,
        "SIGUSR2" => Signal::USR2,
        "SIGWINCH" => Signal::WINCH,
        _ => return None,
    })
}
