//! The binary, run against an agent, and what it said.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::node::{Agent, Object, TestNode, pod};

/// What came out of a command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    out: BufReader<Box<dyn Read>>,
    err: BufReader<Box<dyn Read>>,
}

/// The binary without anything of this machine in its environment.
pub(crate) fn safepoint(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    command.args(args).env_remove("SAFEPOINT_SOCKET").env_remove("KUBECONFIG").env("COLUMNS", "100");
    command.stdin(Stdio::null());
    command
}

pub(crate) fn said(command: &mut Command) -> Said {
    Said::from(command.output().expect("the binary was built with this test"))
}

/// A node on which a web server runs, annotated to hold its upgrades.
pub(crate) fn rover() -> Agent {
    Agent::serving(TestNode::running([&pod("web", "shop", "web-1").annotated()]))
}

/// The same, with an upgrade that waits.
pub(crate) fn waiting() -> Agent {
    let agent = rover();
    agent.node.sees([&upgrade()]);
    agent
}

pub(crate) fn upgrade() -> Object {
    pod("web", "shop", "web-2").annotated().revision("b")
}

/// A text without ages and users, which differ from run to run, and so without the columns they stand in.
pub(crate) fn ageless(text: &str) -> String {
    let is_age = |word: &str| {
        let figures = word.trim_end_matches(',');
        figures.ends_with(['s', 'm', 'h', 'd', 'y'])
            && figures.starts_with(|c: char| c.is_ascii_digit())
            && figures.chars().all(|c| c.is_ascii_digit() || "smhdy".contains(c))
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').map(|word| if is_age(word) { "AGE" } else { word }).collect();
        let mut line = words.join(" ");
        if let Some((before, (_, after))) =
            line.split_once("(uid ").and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            line = format!("{before}(uid N){after}");
        }
        while line.contains("    ") {
            line = line.replace("    ", "   ");
        }
        line
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

// === impl Agent ===

impl Agent {
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = safepoint(args);
        command.env("SAFEPOINT_SOCKET", self.socket());
        command
    }

    pub(crate) fn says(&self, args: &[&str]) -> Said {
        said(&mut self.command(args))
    }

    /// Starts a command and goes on.
    pub(crate) fn starts_command(&self, args: &[&str]) -> Running {
        Running::new(&mut self.command(args))
    }
}

// === impl Said ===

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("we write UTF-8");
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    /// What was printed, if all went well.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// What was complained about, with this exit code and nothing printed.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        self.err
    }

    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        let out = self.done();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

// === impl Running ===

impl Running {
    /// Its input stays open as long as it is not waited for.
    pub(crate) fn new(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the binary was built with this test");
        let out: Box<dyn Read> = Box::new(child.stdout.take().expect("it is piped"));
        let err: Box<dyn Read> = Box::new(child.stderr.take().expect("it is piped"));
        Self { child, out: BufReader::new(out), err: BufReader::new(err) }
    }

    /// What it says beside its lines is among them: whoever waits for one hears of the error that keeps it from coming.
    pub(crate) fn aloud(command: &mut Command) -> Self {
        let (lines, said) = io::pipe().unwrap();
        let piped = command.stdin(Stdio::piped()).stdout(said.try_clone().unwrap()).stderr(said);
        let child = piped.spawn().expect("the binary was built with this test");
        // The command keeps what it was given, and lines would never end.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self { child, out: BufReader::new(Box::new(lines)), err: BufReader::new(Box::new(io::empty())) }
    }

    /// The next line that is printed. There has to be one.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        if self.out.read_line(&mut line).unwrap() == 0 {
            let mut said = String::new();
            self.err.read_to_string(&mut said).unwrap();
            panic!("it has ended: {said}");
        }
        line.trim_end().to_owned()
    }

    /// The next line that is said beside it.
    pub(crate) fn error_line(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ends(mut self) -> Said {
        drop(self.child.stdin.take());
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        Said { code: self.child.wait().unwrap().code(), out, err }
    }
}

/// Where a kubeconfig lies that `safepoint up` wrote.
pub(crate) fn kubeconfig(data: &Path) -> PathBuf {
    data.join("kubeconfig")
}
