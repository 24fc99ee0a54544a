//! Killed at every point, without a kubelet: the manifest stays whole, old or new, and a resumed run ends well.
//!
//! The program that is killed is this one, started again for its one test that is a program.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use safepoint_manifest::{
    Cause, Code, Digest, Door, Failure, FileName, Folder, Host, Manifest, Outcome, PodKey, PodSeen, Rules,
    Told, Upgrade, Wanted,
};

const SIGKILL: i32 = 9;

fn manifest(revision: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    openyurt.io/static-pod-hash: \"{revision}\"\nspec:\n  terminationGracePeriodSeconds: 0\n  containers:\n  - name: main\n    image: \"web:{revision}\"\n"
    )
}

fn key() -> PodKey {
    PodKey::new("default", "web").unwrap()
}

fn file() -> FileName {
    FileName::new("web").unwrap()
}

/// A node that runs at once whatever lies in its folder. The pod of the manifest `two` crashes where that is asked for.
fn kubelet(
    folder: PathBuf,
    two_is_good: bool,
) -> Told<impl FnMut(&Wanted) -> Result<Vec<PodSeen>, String> + Send> {
    Told::new("a kubelet made of a function", move |_: &Wanted| {
        let Ok(text) = fs::read_to_string(folder.join("web.yaml")) else { return Ok(Vec::new()) };
        let manifest = Manifest::parse(text.as_str()).map_err(|error| error.to_string())?;
        let revision = manifest.revision().map(str::to_owned);
        let crashes = revision.as_deref() == Some("two") && !two_is_good;
        let failure = crashes.then(|| Failure::new(Cause::CrashLoop, "it crashes"));
        let uid = Digest::of(text.as_bytes()).to_string();
        Ok(vec![PodSeen { uid, revision, ready: !crashes, failure, ..PodSeen::default() }])
    })
}

/// The program: does one thing on a node, and writes down how that ended.
#[tokio::test]
async fn the_program_that_is_killed() {
    let Ok(root) = std::env::var("SAFEPOINT_TEST_NODE").map(PathBuf::from) else { return };
    let asked = std::env::var("SAFEPOINT_TEST_ASK").unwrap();
    let two_is_good = std::env::var("SAFEPOINT_TEST_GOOD").unwrap() == "true";
    let folder = Folder::find(&Host::below(&root), Some(Path::new("/manifests"))).unwrap();
    let mut source = kubelet(folder.path().to_owned(), two_is_good);
    let rules = Rules {
        stretch: Duration::ZERO,
        within: Duration::from_millis(1),
        every: Duration::from_millis(1),
        restarts: 0,
    };
    let door = Door::new(folder, root.join("data")).with_rules(rules);
    let outcome = match asked.as_str() {
        "upgrade" => {
            let ask =
                Upgrade { key: key(), file: file(), text: manifest("two"), instead_of: None, anyway: false };
            Some(door.upgrade(&ask, &mut source).await)
        }
        "staged" => Some(door.apply_staged(&key(), false, &mut source).await),
        "install" => Some(door.install(&file(), &manifest("two"), &mut source).await),
        "uninstall" => Some(door.uninstall(&key(), &file(), &mut source).await),
        "resume" => door.resume(&key(), &mut source).await,
        other => panic!("what is {other}?"),
    };
    let text = outcome.map(|it| it.termination_message()).unwrap_or_default();
    fs::write(root.join("outcome"), text).unwrap();
}

struct Node {
    root: tempfile::TempDir,
    good: bool,
}

impl Node {
    fn new(live: Option<&str>, good: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("manifests")).unwrap();
        if let Some(revision) = live {
            fs::write(root.path().join("manifests/web.yaml"), manifest(revision)).unwrap();
        }
        Self { root, good }
    }

    fn live(&self) -> Option<String> {
        fs::read_to_string(self.root.path().join("manifests/web.yaml")).ok()
    }

    /// Which manifest is there, whole; nothing else lies in the kubelet's folder that it would read.
    fn revision(&self) -> Option<&'static str> {
        let names = fs::read_dir(self.root.path().join("manifests")).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            assert!(name == "web.yaml" || name.starts_with('.'), "{name} lies in the kubelet's folder");
        }
        let text = self.live()?;
        let known = ["one", "two"].into_iter().find(|revision| text == manifest(revision));
        Some(known.unwrap_or_else(|| panic!("the manifest is not whole: {text}")))
    }

    fn is_verified(&self) -> bool {
        let path = self.root.path().join("data/static-pods/default_web/journal.json");
        fs::read_to_string(path).is_ok_and(|it| it.contains(r#""phase":"Verified""#))
    }

    /// Runs the program. `None` if it was killed at the point that was asked for.
    fn run(&self, ask: &str, die_at: u32) -> Option<Option<Outcome>> {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program
            .args(["--exact", "the_program_that_is_killed", "--nocapture"])
            .env("SAFEPOINT_TEST_NODE", self.root.path())
            .env("SAFEPOINT_TEST_ASK", ask)
            .env("SAFEPOINT_TEST_GOOD", self.good.to_string())
            .env("SAFEPOINT_DIE_AT", die_at.to_string());
        let output = program.output().unwrap();
        if output.status.signal() == Some(SIGKILL) {
            return None;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let text = fs::read_to_string(self.root.path().join("outcome")).unwrap();
        Some(Outcome::parse(&text))
    }
}

/// Kills the operation at each of its points, then the resumed one at some of its own, and lets the next one end.
fn walk(
    live: Option<&str>,
    good: bool,
    ask: &str,
    prepare: impl Fn(&Node),
    check: impl Fn(&Node, Option<&Outcome>),
) {
    let mut points = 0;
    for die_at in 1.. {
        let mut further = 0;
        loop {
            let node = Node::new(live, good);
            prepare(&node);
            let before = node.revision();
            if let Some(outcome) = node.run(ask, die_at) {
                assert!(points > 10, "only {points} points: are faults compiled in?");
                check(&node, outcome.as_ref());
                assert_eq!(node.run("resume", 0), Some(None), "nothing is left to do");
                return;
            }
            points = die_at;
            let between = node.revision();
            assert!(between == before || between == Some("two") || ask == "uninstall", "{between:?}");
            // The first time round the resumed run comes through; then it is killed, too, further and further on.
            let is_killed = further > 0 && node.run("resume", further).is_none();
            node.revision();
            let last = node.run("resume", 0).unwrap();
            // Killed before anything was written down, nothing has happened; killed after the last record, all has.
            match &last {
                Some(_) => check(&node, last.as_ref()),
                None => assert!(node.revision() == before || node.is_verified(), "at {die_at}"),
            }
            // Asked again it ends as if nothing had been.
            let again = node.run(ask, 0).unwrap();
            check(&node, again.as_ref());
            assert!(!node.root.path().join(".safepoint-manifests").exists());
            if (further > 0 && !is_killed) || die_at % 4 != 0 {
                break;
            }
            further += 3;
        }
    }
}

fn code(outcome: Option<&Outcome>) -> Option<Code> {
    outcome.map(|it| it.code)
}

#[test]
fn an_upgrade_that_is_killed_anywhere_ends_with_the_new_manifest_if_that_is_good() {
    walk(
        Some("one"),
        true,
        "upgrade",
        |_| {},
        |node, outcome| {
            assert!(matches!(code(outcome), Some(Code::Upgraded | Code::Unchanged)), "{outcome:?}");
            assert_eq!(node.revision(), Some("two"));
        },
    );
}

#[test]
fn an_upgrade_that_is_killed_anywhere_ends_with_the_old_manifest_if_the_new_one_is_bad() {
    walk(
        Some("one"),
        false,
        "upgrade",
        |_| {},
        |node, outcome| {
            assert_eq!(code(outcome), Some(Code::RolledBack), "{outcome:?}");
            assert_eq!(node.revision(), Some("one"));
        },
    );
}

#[test]
fn an_installation_that_is_killed_anywhere_ends_with_the_manifest_or_without() {
    walk(
        None,
        true,
        "install",
        |_| {},
        |node, outcome| {
            assert!(matches!(code(outcome), Some(Code::Installed | Code::Unchanged)), "{outcome:?}");
            assert_eq!(node.revision(), Some("two"));
        },
    );
    walk(
        None,
        false,
        "install",
        |_| {},
        |node, outcome| {
            assert_eq!(code(outcome), Some(Code::RolledBack), "{outcome:?}");
            assert_eq!(node.revision(), None);
        },
    );
}

#[test]
fn a_removal_that_is_killed_anywhere_ends_without_the_manifest() {
    walk(
        Some("one"),
        true,
        "uninstall",
        |_| {},
        |node, outcome| {
            assert!(matches!(code(outcome), Some(Code::Uninstalled | Code::Unchanged)), "{outcome:?}");
            assert_eq!(node.revision(), None);
        },
    );
}

#[test]
fn what_is_staged_and_killed_while_it_is_applied_is_staged_until_it_is_applied() {
    let staged = |node: &Node| {
        let folder = Folder::find(&Host::below(node.root.path()), Some(Path::new("/manifests"))).unwrap();
        Door::new(folder, node.root.path().join("data"))
    };
    let ask = Upgrade { key: key(), file: file(), text: manifest("two"), instead_of: None, anyway: false };
    walk(
        Some("one"),
        true,
        "staged",
        |node| drop(staged(node).stage(&ask, Vec::new()).unwrap()),
        |node, outcome| {
            let known = [Code::Upgraded, Code::Unchanged, Code::NothingStaged];
            assert!(code(outcome).is_some_and(|it| known.contains(&it)), "{outcome:?}");
            assert_eq!(node.revision(), Some("two"));
            // One that dies between the last record and this forgets it when it is asked again.
            if code(outcome) != Some(Code::Upgraded) {
                assert_eq!(staged(node).staged(&key()).unwrap(), None);
            }
        },
    );
}
