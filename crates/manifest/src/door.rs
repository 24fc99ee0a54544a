//! The manifest door: everything that can be done to one static pod of a node. Each operation ends in an [`Outcome`].
//!
//! An operation may be interrupted anywhere: killed, dropped, or by a power cut. Asked again it goes on or goes back, and
//! whoever has not asked finds it with [`Door::interrupted`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock;
use crate::decide::{Begin, begin};
use crate::folder::Folder;
use crate::history::{self, Kept};
use crate::journal::{Journal, Operation, Phase};
use crate::manifest::{Digest, Manifest};
use crate::names::{FileName, PodKey};
use crate::outcome::{Code, Outcome, Step};
use crate::place::{Content, Place};
use crate::slot::Slot;
use crate::stage::{self, ImageReady, Staged};
use crate::stop::Stop;
use crate::verify::{Rules, Source, Wanted, look};

use self::log::Log;
use self::run::Run;

mod check;
mod log;
mod run;
#[cfg(test)]
mod tests;

/// Where somebody hears of each step.
pub type News = Arc<dyn Fn(&Step) + Send + Sync>;

/// A node's manifests, and what is kept about them.
#[derive(Clone)]
pub struct Door {
    folder: Folder,
    data: PathBuf,
    node: Option<String>,
    rules: Rules,
    keep: usize,
    news: Option<News>,
}

/// Another manifest for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upgrade {
    /// The pod.
    pub key: PodKey,
    /// Its manifest's file in the kubelet's folder.
    pub file: FileName,
    /// The new manifest.
    pub text: String,
    /// What has to be in place. `None`: whatever is.
    pub instead_of: Option<Digest>,
    /// Go on even if something else is in place than `instead_of`, or something that cannot be read.
    pub anyway: bool,
}

/// How far the last swap of a pod is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// What was wanted.
    pub operation: Operation,
    /// Its manifest's file in the kubelet's folder.
    pub file: FileName,
    /// Whether it was interrupted, or is under way.
    pub is_open: bool,
    /// Its phase, in a word: `Prepared`, `Replaced`, `Undoing`, `Restored`, `Verified`, `RolledBack`, `Superseded` or
    /// `Abandoned`.
    pub phase: &'static str,
    /// The digest of the manifest that was to be put in place.
    pub new: Option<Digest>,
}

/// What somebody wants, in one form for all operations.
struct Wish {
    operation: Operation,
    key: PodKey,
    file: FileName,
    new: Option<Manifest>,
    instead_of: Option<Digest>,
    anyway: bool,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("folder", &self.folder).field("data", &self.data).finish_non_exhaustive()
    }
}

// === impl Door ===

impl Door {
    /// The manifests in a kubelet's folder. What is kept about them is below `data`, which survives reboots and is never in
    /// the kubelet's folder.
    pub fn new(folder: Folder, data: impl Into<PathBuf>) -> Self {
        Self { folder, data: data.into(), node: None, rules: Rules::default(), keep: 5, news: None }
    }

    /// With the node's name, so that pods whose names begin alike are told apart.
    #[must_use]
    pub fn with_node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// With other rules for what is good.
    #[must_use]
    pub const fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// With so many manifests kept for each pod.
    #[must_use]
    pub const fn with_history(mut self, keep: usize) -> Self {
        self.keep = keep;
        self
    }

    /// With somebody who hears of each step as it is done.
    #[must_use]
    pub fn with_news(mut self, news: News) -> Self {
        self.news = Some(news);
        self
    }

    /// The kubelet's folder.
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where things are kept.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Puts another manifest in the place of the one that is there.
    pub async fn upgrade(&self, ask: &Upgrade, source: &mut dyn Source) -> Outcome {
        let new = match check::template(&ask.key, &ask.text) {
            Ok(new) => new,
            Err(stop) => return stop.into(),
        };
        let (key, file) = (ask.key.clone(), ask.file.clone());
        let (instead_of, anyway) = (ask.instead_of.clone(), ask.anyway);
        let operation = Operation::Upgrade;
        self.fulfil(Wish { operation, key, file, new: Some(new), instead_of, anyway }, source).await
    }

    /// Applies what is staged. Refused if the manifest was changed since, unless `anyway`.
    pub async fn apply_staged(&self, key: &PodKey, anyway: bool, source: &mut dyn Source) -> Outcome {
        let staged = match self.staged(key) {
            Ok(Some(staged)) => staged,
            Ok(None) => return Outcome::new(Code::NothingStaged, format!("nothing is staged for {key}")),
            Err(outcome) => return outcome,
        };
        let Staged { key, file, record, text } = staged;
        self.upgrade(&Upgrade { key, file, text, instead_of: record.instead_of, anyway }, source).await
    }

    /// Puts a manifest where none is.
    pub async fn install(&self, file: &FileName, text: &str, source: &mut dyn Source) -> Outcome {
        let new = Manifest::parse(text).map_err(|error| check::invalid(&error));
        let new = match new.and_then(|it| check::template(&it.key().clone(), text)) {
            Ok(new) => new,
            Err(stop) => return stop.into(),
        };
        let (key, file, operation) = (new.key().clone(), file.clone(), Operation::Install);
        let wish = Wish { operation, key, file, new: Some(new), instead_of: None, anyway: false };
        self.fulfil(wish, source).await
    }

    /// Takes a manifest away. It is kept, so that a rollback can bring it back.
    pub async fn uninstall(&self, key: &PodKey, file: &FileName, source: &mut dyn Source) -> Outcome {
        let (key, file, operation) = (key.clone(), file.clone(), Operation::Uninstall);
        self.fulfil(Wish { operation, key, file, new: None, instead_of: None, anyway: false }, source).await
    }

    /// Puts a manifest back that was good: of this revision, or the newest that is not in place.
    pub async fn rollback(
        &self,
        key: &PodKey,
        file: &FileName,
        revision: Option<&str>,
        source: &mut dyn Source,
    ) -> Outcome {
        let found = Place::find(&self.folder, file).and_then(|it| it.read()).and_then(|live| {
            let digest = live.map(|it| it.digest);
            let mut kept = history::list(&Slot::of(&self.data, key))?;
            kept.retain(|it| Some(&it.record.digest) != digest.as_ref());
            Ok(kept
                .into_iter()
                .rev()
                .find(|it| revision.is_none() || it.record.revision.as_deref() == revision))
        });
        let kept = match found {
            Ok(Some(kept)) => kept,
            Ok(None) => {
                return Outcome::new(
                    Code::NoHistory,
                    format!("no other manifest of {key} is kept on this node"),
                );
            }
            Err(stop) => return stop.into(),
        };
        let new = match Manifest::parse(kept.text) {
            Ok(new) => new,
            Err(error) => return check::invalid(&error).into(),
        };
        let (key, file, operation) = (key.clone(), file.clone(), Operation::Rollback);
        let wish = Wish { operation, key, file, new: Some(new), instead_of: None, anyway: true };
        self.fulfil(wish, source).await
    }

    /// Goes on with what was interrupted. `None` if nothing was.
    pub async fn resume(&self, key: &PodKey, source: &mut dyn Source) -> Option<Outcome> {
        let mut log = Log::new(self.news.clone());
        let done = self.try_resume(key, source, &mut log).await.transpose()?;
        Some(log.end(done))
    }

    async fn try_resume(
        &self,
        key: &PodKey,
        source: &mut dyn Source,
        log: &mut Log,
    ) -> Result<Option<Outcome>, Stop> {
        let slot = Slot::of(&self.data, key);
        if Journal::load(&slot.journal())?.is_none_or(|it| it.phase.is_over()) {
            return Ok(None);
        }
        let _held = slot.hold(key)?;
        // Whoever held it may have ended it.
        let open = Journal::load(&slot.journal())?.filter(|it| !it.phase.is_over());
        let Some(journal) = open else { return Ok(None) };
        let place = Place::find(&self.folder, &journal.file)?;
        place.sweep();
        log.say(format!("found a swap that was interrupted when it was {}", journal.phase.name()));
        Run { door: self, slot, place, journal, is_asked: false, log }.finish(source).await.map(Some)
    }

    /// The pods whose last swap was interrupted, or is under way. Whoever starts on a node resumes them.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub fn interrupted(&self) -> Result<Vec<PodKey>, Outcome> {
        let mut keys = Slot::all(&self.data)?;
        // A journal that cannot be understood is said by whoever resumes it.
        keys.retain(|key| self.standing(key).map_or(true, |it| it.is_some_and(|it| it.is_open)));
        Ok(keys)
    }

    /// How far the last swap of a pod is.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub fn standing(&self, key: &PodKey) -> Result<Option<Standing>, Outcome> {
        let journal = Journal::load(&Slot::of(&self.data, key).journal())?;
        Ok(journal.map(|it| Standing {
            operation: it.operation,
            file: it.file.clone(),
            is_open: !it.phase.is_over(),
            phase: it.phase.name(),
            new: it.new_digest().cloned(),
        }))
    }

    /// The manifests of a pod that were good, the newest last.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub fn history(&self, key: &PodKey) -> Result<Vec<Kept>, Outcome> {
        Ok(history::list(&Slot::of(&self.data, key))?)
    }

    /// Lays a manifest ready for the node's owner, with the images that were pulled for it. Takes the place of an older one.
    ///
    /// # Errors
    /// When it is not one that could be applied.
    pub fn stage(&self, ask: &Upgrade, images: Vec<ImageReady>) -> Result<Staged, Outcome> {
        let manifest = check::template(&ask.key, &ask.text)?;
        let slot = Slot::of(&self.data, &ask.key);
        let _held = slot.hold(&ask.key)?;
        let live = Place::find(&self.folder, &ask.file)?.read()?;
        check::live(&self.folder, &ask.key, &ask.file, live.as_ref(), ask.anyway)?;
        let instead_of = live.map(|it| it.digest);
        Ok(stage::stage(&slot, &ask.file, &manifest, instead_of, images, clock::now())?)
    }

    /// What is staged for a pod.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub fn staged(&self, key: &PodKey) -> Result<Option<Staged>, Outcome> {
        Ok(stage::staged(&Slot::of(&self.data, key), key)?)
    }

    /// Everything that is staged.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub fn all_staged(&self) -> Result<Vec<Staged>, Outcome> {
        let keys = Slot::all(&self.data)?;
        let found: Result<Vec<_>, _> = keys.iter().map(|key| self.staged(key)).collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// Takes away what is staged for a pod.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn unstage(&self, key: &PodKey) -> Result<(), Outcome> {
        let slot = Slot::of(&self.data, key);
        if let Some(staged) = stage::staged(&slot, key)? {
            let _held = slot.hold(key)?;
            stage::unstage(&slot, &staged)?;
        }
        Ok(())
    }

    async fn fulfil(&self, wish: Wish, source: &mut dyn Source) -> Outcome {
        let mut log = Log::new(self.news.clone());
        let done = self.try_fulfil(wish, source, &mut log).await;
        log.end(done)
    }

    async fn try_fulfil(&self, wish: Wish, source: &mut dyn Source, log: &mut Log) -> Result<Outcome, Stop> {
        let slot = Slot::of(&self.data, &wish.key);
        let _held = slot.hold(&wish.key)?;
        let place = Place::find(&self.folder, &wish.file)?;
        place.sweep();
        let live = place.read()?;
        let last = Journal::load(&slot.journal())?;
        let open = last.as_ref().filter(|it| !it.phase.is_over()).cloned();
        let wanted = wish.new.as_ref().map(Manifest::digest);
        let begin = begin(open.as_ref(), live.as_ref(), wanted);
        if let (Some(journal), Begin::Resume) = (&open, &begin) {
            log.say(format!(
                "going on with a swap that was interrupted when it was {}",
                journal.phase.name()
            ));
            let journal = journal.clone();
            return Run { door: self, slot, place, journal, is_asked: true, log }.finish(source).await;
        }
        check::wish(&self.folder, &wish, live.as_ref(), &begin)?;
        let Begin::Fresh { old } = begin else {
            if let Some(mut journal) = open {
                journal.phase = Phase::Superseded;
                journal.save(&slot.journal())?;
            }
            self.forget_staged(&slot, &wish.key, wanted)?;
            let mut outcome =
                Outcome::new(Code::Unchanged, format!("{} is as it should be", place.path().display()));
            outcome.revision = wish.new.as_ref().and_then(|it| it.revision().map(str::to_owned));
            return Ok(outcome);
        };
        let new = wish.new.as_ref().map(|it| match &live {
            Some(live) => live.with(it.text()),
            None => old.as_ref().map_or_else(|| Content::fresh(it.text()), |old| old.with(it.text())),
        });
        // Whoever cannot see could not verify either: better not to begin.
        let containers = wish.new.as_ref().map(|it| it.containers().to_vec()).unwrap_or_default();
        let wanted = Wanted { key: wish.key.clone(), node: self.node.clone(), containers };
        let seen = look(source, &wanted).await.map_err(|blind| {
            Stop::new(
                Code::CannotSee,
                format!("cannot see what runs on this node, so nothing was changed: {blind}"),
            )
        })?;
        let mut journal = Journal::prepare(wish.operation, &wish.key, &wish.file, old, new, clock::now());
        journal.from = live.map(|it| it.digest);
        journal.ran = last.map(|it| it.has_run()).unwrap_or_default();
        journal.before = seen.into_iter().map(|it| it.uid).collect();
        journal.save(&slot.journal())?;
        log.say(format!("kept what is to be put back if need be, in {}", slot.journal().display()));
        Run { door: self, slot, place, journal, is_asked: true, log }.finish(source).await
    }

    /// What was applied is not staged any more.
    fn forget_staged(&self, slot: &Slot, key: &PodKey, applied: Option<&Digest>) -> Result<(), Stop> {
        match stage::staged(slot, key)? {
            Some(staged) if Some(&staged.record.digest) == applied => stage::unstage(slot, &staged),
            _ => Ok(()),
        }
    }
}
