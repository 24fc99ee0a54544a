//! What is refused, what is done, and what is said, on a node made of a folder.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::{Door, Upgrade};
use crate::folder::Folder;
use crate::host::Host;
use crate::journal::{Failure, Journal, Operation};
use crate::manifest::{Digest, Manifest};
use crate::names::{FileName, PodKey};
use crate::outcome::{Cause, Code, Outcome};
use crate::place::Content;
use crate::slot::Slot;
use crate::verify::{PodSeen, Source, Told, Wanted};

struct Node {
    root: tempfile::TempDir,
    door: Door,
}

fn manifest(name: &str, revision: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  annotations: {{openyurt.io/static-pod-hash: \"{revision}\"}}\nspec: {{containers: [{{name: main, image: \"web:{revision}\"}}]}}\n"
    )
}

fn key() -> PodKey {
    PodKey::new("default", "web").unwrap()
}

fn file() -> FileName {
    FileName::new("web").unwrap()
}

fn ask(revision: &str) -> Upgrade {
    Upgrade { key: key(), file: file(), text: manifest("web", revision), instead_of: None, anyway: false }
}

impl Node {
    fn new(revision: Option<&str>) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("manifests")).unwrap();
        let folder = Folder::find(&Host::below(root.path()), Some(Path::new("/manifests"))).unwrap();
        let node = Self { door: Door::new(folder, root.path().join("data")), root };
        if let Some(revision) = revision {
            node.write("web.yaml", &manifest("web", revision));
        }
        node
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.path().join("manifests").join(name), text).unwrap();
    }

    fn live(&self) -> Option<String> {
        let text = fs::read_to_string(self.root.path().join("manifests/web.yaml")).ok()?;
        Manifest::parse(text).unwrap().revision().map(str::to_owned)
    }

    /// A kubelet that runs what is there, except for what is bad.
    fn source(&self, bad: &'static [&'static str]) -> impl Source + use<> {
        let path = self.root.path().join("manifests/web.yaml");
        Told::new("a function", move |_: &Wanted| {
            let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
            let revision =
                Manifest::parse(text.as_str()).ok().and_then(|it| it.revision().map(str::to_owned));
            let is_bad = revision.as_deref().is_some_and(|it| bad.contains(&it));
            let failure = is_bad.then(|| Failure::new(Cause::CrashLoop, "it crashes"));
            let uid = Digest::of(text.as_bytes()).to_string();
            Ok(vec![PodSeen { uid, revision, ready: !is_bad, failure, ..PodSeen::default() }])
        })
    }

    async fn upgrade(&self, ask: &Upgrade) -> Outcome {
        self.door.upgrade(ask, &mut self.source(&["bad", "worse"])).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_good_manifest_stays_and_each_step_is_told() {
    let mut node = Node::new(Some("one"));
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    node.door = node.door.with_news(Arc::new(move |step| hears.lock().unwrap().push(step.what.clone())));
    let outcome = node.upgrade(&ask("two")).await;
    assert_eq!((outcome.code, outcome.revision.as_deref()), (Code::Upgraded, Some("two")), "{outcome:?}");
    assert_eq!(node.live().as_deref(), Some("two"));
    let steps: Vec<_> = outcome.steps.iter().map(|it| it.what.clone()).collect();
    assert_eq!(*told.lock().unwrap(), steps);
    assert!(steps[0].starts_with("kept what") && steps[1].starts_with("put the new manifest"), "{steps:?}");
    let standing = node.door.standing(&key()).unwrap().unwrap();
    assert_eq!((standing.phase, standing.is_open), ("Verified", false));
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::Unchanged);
    assert!(node.door.resume(&key(), &mut node.source(&[])).await.is_none());
}

/// The sum of the two times was too much for the clock, and whoever had to go on with the swap died of it each time.
#[tokio::test(start_paused = true)]
async fn a_pod_that_asks_for_all_the_time_there_is_gets_a_week() {
    let node = Node::new(None);
    let endless = format!("terminationGracePeriodSeconds: {}, containers", u64::MAX);
    let text = manifest("web", "one").replace("containers", &endless);
    assert_eq!(Manifest::parse(text.as_str()).unwrap().grace().as_secs(), 7 * 24 * 60 * 60);
    node.write("web.yaml", &text);
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::Upgraded);
}

#[tokio::test(start_paused = true)]
async fn a_bad_manifest_goes_and_a_newer_one_is_not_kept_out() {
    let node = Node::new(Some("one"));
    let outcome = node.upgrade(&ask("bad")).await;
    assert_eq!((outcome.code, outcome.cause), (Code::RolledBack, Some(Cause::CrashLoop)), "{outcome:?}");
    assert_eq!((node.live().as_deref(), outcome.revision.as_deref()), (Some("one"), Some("one")));
    assert_eq!(node.upgrade(&ask("bad")).await.code, Code::RolledBack, "it may be tried again");
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::Upgraded);
}

#[tokio::test(start_paused = true)]
async fn where_the_old_one_is_bad_too_somebody_has_to_look() {
    let node = Node::new(Some("worse"));
    let outcome = node.upgrade(&ask("bad")).await;
    assert_eq!((outcome.code, outcome.exit_code()), (Code::RolledBackNotReady, 5), "{outcome:?}");
    assert_eq!(node.live().as_deref(), Some("worse"));
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::Upgraded, "a broken pod can be mended");
}

#[tokio::test(start_paused = true)]
async fn refusals_have_their_own_codes_and_touch_nothing() {
    let node = Node::new(None);
    node.write("yurthub.yaml", &manifest("web", "one"));
    let outcome = node.upgrade(&ask("two")).await;
    assert_eq!(outcome.code, Code::ManifestMissing);
    assert!(outcome.message.ends_with("yurthub.yaml is its manifest"), "{}", outcome.message);
    let outcome = node.door.install(&file(), &manifest("web", "one"), &mut node.source(&[])).await;
    assert_eq!(outcome.code, Code::ManifestExists);

    let node = Node::new(None);
    node.write("web.yaml", &manifest("other", "one"));
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::OtherPod);
    node.write("web.yaml", "half: [");
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::NotAFile);
    let outcome = node.upgrade(&Upgrade { anyway: true, ..ask("two") }).await;
    assert_eq!(outcome.code, Code::Upgraded, "what is broken can be replaced if somebody insists");

    let node = Node::new(Some("one"));
    let with = |text: String| Upgrade { text, ..ask("two") };
    assert_eq!(node.upgrade(&with(manifest("other", "two"))).await.code, Code::OtherPod);
    assert_eq!(node.upgrade(&with("nothing".into())).await.code, Code::ManifestInvalid);
    let plain = manifest("web", "two").replace("openyurt.io/static-pod-hash", "something");
    assert_eq!(node.upgrade(&with(plain)).await.code, Code::RevisionMissing);
    let held = Slot::of(node.door.data(), &key()).hold(&key()).unwrap();
    assert_eq!(node.upgrade(&ask("two")).await.code, Code::Busy);
    drop(held);
    let mut blind = Told::new("nobody", |_: &Wanted| Err("dark".to_owned()));
    assert_eq!(node.door.upgrade(&ask("two"), &mut blind).await.code, Code::CannotSee);
    assert_eq!(node.live().as_deref(), Some("one"));
    assert_eq!(node.door.standing(&key()).unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_has_changed_since_it_was_staged_is_not_overwritten_unless_somebody_insists() {
    let node = Node::new(Some("one"));
    let mut source = node.source(&[]);
    assert_eq!(node.door.apply_staged(&key(), false, &mut source).await.code, Code::NothingStaged);
    node.door.stage(&ask("two"), Vec::new()).unwrap();
    node.write("web.yaml", &manifest("web", "theirs"));
    assert_eq!(node.door.apply_staged(&key(), false, &mut source).await.code, Code::ManifestChanged);
    assert_eq!(node.live().as_deref(), Some("theirs"));
    assert_eq!(node.door.apply_staged(&key(), true, &mut source).await.code, Code::Upgraded);
    assert_eq!((node.live().as_deref(), node.door.staged(&key()).unwrap()), (Some("two"), None));
}

#[tokio::test(start_paused = true)]
async fn a_rollback_finds_what_was_there_before_also_after_a_removal() {
    let node = Node::new(Some("one"));
    let mut source = node.source(&[]);
    assert_eq!(node.door.rollback(&key(), &file(), None, &mut source).await.code, Code::NoHistory);
    for revision in ["two", "three"] {
        assert_eq!(node.upgrade(&ask(revision)).await.code, Code::Upgraded);
    }
    assert_eq!(node.door.rollback(&key(), &file(), None, &mut source).await.code, Code::Upgraded);
    assert_eq!(node.live().as_deref(), Some("two"));
    assert_eq!(node.door.rollback(&key(), &file(), Some("one"), &mut source).await.code, Code::Upgraded);
    assert_eq!(node.live().as_deref(), Some("one"));
    assert_eq!(node.door.rollback(&key(), &file(), Some("nine"), &mut source).await.code, Code::NoHistory);
    assert_eq!(node.door.uninstall(&key(), &file(), &mut source).await.code, Code::Uninstalled);
    assert_eq!(node.live(), None);
    assert_eq!(node.door.rollback(&key(), &file(), Some("one"), &mut source).await.code, Code::Upgraded);
    assert_eq!(node.live().as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_is_found_and_finished() {
    let node = Node::new(Some("one"));
    // The new pod never comes, so the run waits until it is dropped.
    let mut nothing = Told::new("a function", |_: &Wanted| Ok(Vec::new()));
    let wish = ask("two");
    let cut = tokio::time::timeout(std::time::Duration::from_secs(5), node.door.upgrade(&wish, &mut nothing));
    assert!(cut.await.is_err());
    assert_eq!(node.door.interrupted().unwrap(), [key()]);
    assert_eq!(node.live().as_deref(), Some("two"));
    let outcome = node.door.resume(&key(), &mut node.source(&["two"])).await.unwrap();
    assert_eq!((outcome.code, node.live().as_deref()), (Code::RolledBack, Some("one")), "{outcome:?}");
    assert!(node.door.interrupted().unwrap().is_empty());
}

/// A task that is killed before it has touched anything may be followed by the next one much later, or by a clock that was set
/// back.
#[tokio::test(start_paused = true)]
async fn what_was_interrupted_long_ago_is_given_up_unless_somebody_asks_for_it_now() {
    for prepared in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"] {
        let node = Node::new(Some("one"));
        let slot = Slot::of(&node.root.path().join("data"), &key());
        let content = |revision: &str| Some(Content::fresh(&manifest("web", revision)));
        let (old, new) = (content("one"), content("two"));
        let journal =
            Journal::prepare(Operation::Upgrade, &key(), &file(), old, new, prepared.parse().unwrap());
        journal.save(&slot.journal()).unwrap();
        let outcome = node.door.resume(&key(), &mut node.source(&[])).await.unwrap();
        assert_eq!((outcome.code, node.live().as_deref()), (Code::Abandoned, Some("one")), "{outcome:?}");

        journal.save(&slot.journal()).unwrap();
        let outcome = node.upgrade(&ask("two")).await;
        assert_eq!((outcome.code, node.live().as_deref()), (Code::Upgraded, Some("two")), "{outcome:?}");
    }
}
