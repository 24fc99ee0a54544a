//! `safepoint top` in a real terminal: the built binary in tmux, beside the whole of `safepoint up`.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::cluster::Whole;
use crate::support::{kubeconfig, rover, safepoint, said};

/// A terminal that nobody sits at. It ends when it is dropped.
struct Terminal(TempDir);

// === impl Terminal ===

impl Terminal {
    /// A terminal of this size in which a shell runs this.
    fn runs(columns: u16, lines: u16, script: &str) -> Self {
        let terminal = Self(tempfile::tempdir().unwrap());
        let (columns, lines) = (columns.to_string(), lines.to_string());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &lines, script]);
        // Otherwise Escape may be the beginning of another key, for half a second.
        terminal.tmux(&["set", "-s", "escape-time", "0"]);
        terminal
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        // A test that runs within tmux must not find that one, and a frame has more than ASCII in it.
        tmux.arg("-u").arg("-S").arg(self.0.path().join("tmux")).args(args).env_remove("TMUX");
        tmux
    }

    fn tmux(&self, args: &[&str]) -> String {
        said(&mut self.command(args)).done()
    }

    fn presses(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Looks at the screen until it is as expected. A test that looks in vain is ended by whoever runs it, who shows this too.
    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if is(&screen) {
                return screen;
            }
            if screen != last {
                println!("not yet {what}:\n{screen}");
                last = screen;
            }
        }
    }

    fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may be gone, and whatever went wrong is told already.
        let _ = self.command(&["kill-server"]).output();
    }
}

/// Runs it, and shows afterwards how it ended and how it has left the terminal.
fn script(args: &str) -> String {
    let program = env!("CARGO_BIN_EXE_safepoint");
    let modes = "stty -a | tr -s ' ;' '\\n' | grep -x -e '-*icanon' -e '-*echo'";
    format!("echo before; {program} top {args}; echo ended with $?; {modes}; cat")
}

/// Ended, with what was on the screen before, and a terminal that shows what is typed.
#[track_caller]
fn assert_restored(terminal: &Terminal) {
    let after = terminal.until("ended", |screen| screen.trim_end().ends_with("echo"));
    assert_eq!(after.trim_end(), "before\nended with 0\nicanon\necho");
    assert_eq!(terminal.tmux(&["display", "-p", "#{alternate_on} #{cursor_flag}"]), "0 1\n");
}

#[test]
fn a_node_is_watched_as_it_changes_and_after_its_agent_has_gone() {
    let mut whole = Whole::starts();
    let socket = whole.data().join("agent.sock");
    let terminal = Terminal::runs(100, 40, &script(&format!("--socket {}", socket.display())));
    let screen = terminal.shows("WAITING");
    assert!(screen.starts_with("rover-7 · Open") && screen.contains("pod default/rover"), "{screen}");
    terminal.presses(&["Enter"]);
    terminal.shows("  safepoint release pod/rover -n default\n");
    terminal.presses(&["Escape"]);
    terminal.shows("WAITING");
    whole.near(&["node", "freeze", "--reason", "crane lift", "--when-settled"]).done();
    terminal.shows("crane lift");
    terminal.until("frozen", |screen| screen.starts_with("rover-7 · Frozen for "));
    whole.near(&["node", "unfreeze"]).done();
    whole.near(&["release", "rover"]).done();
    terminal.until("released", |screen| !screen.contains("WAITING"));
    terminal.presses(&["/"]);
    terminal.presses(&["-l", "uplink"]);
    terminal.until("filtered", |screen| screen.contains("/uplink▏") && !screen.contains("gate-status"));
    terminal.presses(&["Escape"]);

    let fleet = format!("--fleet --kubeconfig {}", kubeconfig(&whole.data()).display());
    let fleet = Terminal::runs(80, 24, &script(&fleet));
    fleet.until("the fleet", |screen| screen.starts_with("1 node: 1 open") && screen.contains("rover-7"));
    fleet.presses(&["End", "Enter"]);
    fleet.shows("rover-7 · Open");
    fleet.shows("safepoint node freeze rover-7 --reason REASON");

    whole.ends();
    let lost = terminal.shows("NOT CONNECTED to the agent for ");
    assert!(lost.contains("rover-7 · Open") && lost.contains("MODULES"), "{lost}");
    fleet.shows("NOT CONNECTED to the cluster for ");
    for terminal in [&terminal, &fleet] {
        terminal.presses(&["q"]);
        assert_restored(terminal);
    }
}

#[test]
fn a_terminal_is_given_back_when_the_program_is_told_to_end_or_cannot_begin() {
    let agent = rover();
    let pid = agent.folder.path().join("pid");
    let top = script(&format!("--socket {}", agent.socket().display()));
    // A shell that becomes the program has told before who it is.
    let top = top.replace("; /", &format!("; sh -c 'echo $$ > {}; exec \"$@\"' top /", pid.display()));
    let terminal = Terminal::runs(40, 12, &top);
    terminal.shows("MODULES");
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert_restored(&terminal);
    let terminal = Terminal::runs(80, 24, &script("--socket /nowhere/agent.sock"));
    let screen = terminal.shows("ended with 5");
    assert!(screen.contains("error: cannot reach the agent at /nowhere/agent.sock: "), "{screen}");
}

#[test]
fn a_pipe_is_told_what_to_use_instead() {
    let agent = rover();
    let refused = agent.says(&["top"]).failed(2);
    assert!(
        refused.contains("needs a terminal") && refused.contains("safepoint status -o json"),
        "{refused}"
    );
    let refused = said(&mut safepoint(&["top", "--fleet"])).failed(2);
    assert!(refused.contains("kubectl get nodegates,staticpods -A -o json"), "{refused}");
}
