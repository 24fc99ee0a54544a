//! A place on the server where one test is alone, and kubectl there.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use safepoint_testkit::{assets, fresh_name};
use tempfile::TempDir;

use super::{Lines, PATIENCE, Said, Server};

/// A namespace, and a folder that is kubectl's home and working directory.
pub(crate) struct Space<'a> {
    server: &'a Server,
    namespace: String,
    folder: TempDir,
}

/// A kubectl that goes on until it is dropped.
pub(crate) struct Running {
    child: Child,
    lines: Lines,
    /// The file that it writes its complaints into.
    complaints: PathBuf,
}

impl Space<'static> {
    /// A new one on the shared server.
    pub(crate) fn new() -> Self {
        // Namespaces are made in stock: to start kubectl takes longer than to make a dozen of them.
        static STOCK: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let server = Server::shared();
        let mut stock = STOCK.lock().unwrap_or_else(PoisonError::into_inner);
        if stock.is_empty() {
            let names: Vec<String> = (0..16).map(|_| fresh_name("test")).collect();
            let list = names.iter().map(|name| {
                format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n---\n")
            });
            let space = Space::named(server, "default");
            space.file("namespaces.yaml", &list.collect::<String>());
            space.run("create -f namespaces.yaml");
            *stock = names;
        }
        Space::named(server, &stock.pop().expect("it was just filled"))
    }
}

impl<'a> Space<'a> {
    /// A new one on another server.
    pub(crate) fn on(server: &'a Server) -> Self {
        let space = Self::named(server, &fresh_name("test"));
        space.run(&format!("create namespace {}", space.namespace));
        space
    }

    /// One whose namespace is there already.
    pub(crate) fn named(server: &'a Server, namespace: &str) -> Self {
        let folder = tempfile::tempdir_in(server.folder()).unwrap();
        Self { server, namespace: namespace.to_owned(), folder }
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn is_safepoint(&self) -> bool {
        self.server.is_safepoint()
    }

    /// The folder that commands run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that commands find by this name.
    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// kubectl with a command line, in which single quotes keep words together. It knows this server only, and nothing
    /// of the user.
    fn command(&self, line: &str) -> Command {
        let mut command = self.bare();
        command.args(["--namespace", &self.namespace]).args(words(line));
        command
    }

    /// kubectl with our program as its plugin, which has to be the first word.
    #[track_caller]
    pub(crate) fn plugin(&self, line: &str) -> Said {
        for link in ["kubectl-safepoint", "kubectl_complete-safepoint"] {
            let link = self.folder.path().join(link);
            if !link.exists() {
                std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_safepoint"), link).unwrap();
            }
        }
        let mut command = self.bare();
        command.args(words(line)).env("PATH", self.folder.path());
        finish(line, command)
    }

    fn bare(&self) -> Command {
        static KUBECTL: OnceLock<PathBuf> = OnceLock::new();
        let mut command = Command::new(KUBECTL.get_or_init(|| assets().unwrap().program("kubectl").unwrap()));
        command
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.server.kubeconfig())
            .env("HOME", self.folder.path())
            // Where `edit` leaves what it could not send.
            .env("TMPDIR", self.folder.path())
            // It lives for a moment: collecting garbage is a quarter of its work, and of no use.
            .env("GOGC", "off")
            .env_remove("KUBECACHEDIR")
            .env_remove("KUBERC")
            .env_remove("KUBE_EDITOR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs kubectl, whatever comes of it.
    #[track_caller]
    pub(crate) fn kubectl(&self, line: &str) -> Said {
        finish(line, self.command(line))
    }

    /// Runs a kubectl that succeeds, and returns what it printed.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> String {
        self.kubectl(line).ok()
    }

    /// Runs a kubectl that fails, and returns what it complained about.
    #[track_caller]
    pub(crate) fn refused(&self, line: &str) -> String {
        self.kubectl(line).refused()
    }

    /// Runs `kubectl edit`, with a sed expression in place of a person.
    #[track_caller]
    pub(crate) fn edit(&self, sed: &str, line: &str) -> Said {
        self.file("editor.sed", sed);
        let mut command = self.command(line);
        command.env("KUBE_EDITOR", "sed -i -f editor.sed");
        finish(line, command)
    }

    /// Applies a text.
    #[track_caller]
    pub(crate) fn apply(&self, text: &str) -> String {
        self.file("applied.yaml", text);
        self.run("apply -f applied.yaml")
    }

    /// Returns when a custom kind answers. Kubernetes says a moment too early that it is established.
    pub(crate) fn until_served(&self, version: &str, plural: &str) {
        while self.kubectl(&format!("get --raw /apis/{version}/{plural}")).code != Some(0) {
            assert!(!self.is_safepoint(), "{plural} of {version} are established, but not served");
        }
    }

    /// Starts a kubectl that goes on.
    pub(crate) fn start(&self, line: &str) -> Running {
        let complaints = self.folder.path().join(fresh_name("complaints"));
        let mut child = self.command(line).stderr(File::create(&complaints).unwrap()).spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        Running { child, lines, complaints }
    }
}

impl Running {
    /// Reads what it prints until a line has these words, one beside the other.
    #[track_caller]
    pub(crate) fn until_words(&mut self, words: &str) -> String {
        self.lines.until_words(words)
    }

    /// Waits until it has said its last words and ended by itself, with success.
    #[track_caller]
    pub(crate) fn end(mut self, last_words: &str) {
        self.lines.until_words(last_words);
        self.finish();
    }

    /// Waits until it has ended by itself, with success.
    #[track_caller]
    pub(crate) fn finish(mut self) {
        self.lines.until_end();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", fs::read_to_string(&self.complaints).unwrap());
    }

    /// Whether it is still at it.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the end of a command, but not for ever.
#[track_caller]
fn finish(line: &str, mut command: Command) -> Said {
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, done) = channel::<()>();
    let (out, err, late) = thread::scope(|scope| {
        let other = sender.clone();
        let out = scope.spawn(move || (text(&mut stdout), drop(sender)).0);
        let err = scope.spawn(move || (text(&mut stderr), drop(other)).0);
        let late = done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if late {
            child.kill().unwrap();
        }
        (out.join().unwrap(), err.join().unwrap(), late)
    });
    let code = child.wait().unwrap().code();
    assert!(!late, "kubectl {line} did not end:\n{out}{err}");
    Said { command: line.to_owned(), code, out, err }
}

fn text(pipe: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The words of a command line. Spaces within single quotes are part of a word.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
