//! Wishes, turned into what the gate is told.
//!
//! Nothing is put in place here. A manifest that is to be put in place as soon as it may is wanted like anything that the
//! cluster wants. One that waits for the node's owner is wanted and held; so is what the owner asks for at this moment, until
//! the release that comes with it.

use std::collections::BTreeSet;
use std::pin::Pin;

use safepoint_api::local::PutMode;
use safepoint_core::{Event, Key, Sighting, Version};
use safepoint_manifest::{Code, FileName, ImageReady, Outcome, PodKey, Upgrade};
use safepoint_supervisor::Fault;
use tokio::sync::oneshot;

use super::Working;
use super::board::{Granted, Wish, refused};
use super::read::{Read, key_of, uid_of};
use super::tools::Tools;

/// A manifest whose images are being pulled.
pub(super) struct Staging {
    read: Read,
    reply: oneshot::Sender<Granted>,
    images: Result<Vec<ImageReady>, Outcome>,
}

/// The future of one.
pub(super) type StagingJob = Pin<Box<dyn Future<Output = Staging> + Send>>;

/// Looks whether a manifest can be meant for this node.
fn check(pod: &PodKey, file: FileName, text: &str) -> Result<Read, Outcome> {
    let read = Read::new(file, text).map_err(|error| {
        Outcome::new(Code::ManifestInvalid, format!("the manifest cannot be used: {error}"))
    })?;
    if read.manifest.key() != pod {
        let why = format!("the manifest is that of {}, not of {pod}", read.manifest.key());
        return Err(Outcome::new(Code::OtherPod, why));
    }
    if read.manifest.revision().is_none() {
        let name = safepoint_api::names::openyurt::STATIC_POD_HASH;
        let why =
            format!("the manifest has no annotation {name}: its pod could not be told from the old one");
        return Err(Outcome::new(Code::RevisionMissing, why));
    }
    Ok(read)
}

pub(super) fn missing(pod: &PodKey) -> Outcome {
    Outcome::new(Code::ManifestMissing, format!("{pod} has no manifest on this node: install it first"))
}

// === impl Working ===

impl Working<'_> {
    /// Takes a wish. Who wished hears of it once the gate has; a manifest that is laid ready is pulled first, and one that
    /// is not here is asked for.
    pub(super) async fn take(&mut self, wish: Wish, reply: oneshot::Sender<Granted>) -> Result<(), Fault> {
        self.scan().await?;
        let granted = match wish {
            Wish::Put { pod, file, text, mode } => return self.put(&pod, file, &text, mode, reply).await,
            Wish::TakeUp { pod } => match self.staged(&pod) {
                Ok(read)
                    if !self.has_failed(&read.key, read.digest().as_str())
                        && !self.is_taken_back(&read.key, read.version.revision.as_str()) =>
                {
                    self.want_held(&read, false).await.map(Ok)?
                }
                Err(outcome) if outcome.code != Code::NothingStaged => Err(refused(&outcome)),
                Ok(_) | Err(_) => {
                    self.ask(pod, reply);
                    return Ok(());
                }
            },
            Wish::RollBack { pod, revision } => match self.kept(&pod, revision.as_deref()) {
                Ok(read) => {
                    // What the owner goes back to is theirs, and not the cluster's to take back.
                    if self.is_taken_back(&read.key, read.version.revision.as_str()) {
                        self.unstage(&pod);
                    }
                    self.want_held(&read, false).await.map(Ok)?
                }
                Err(outcome) => Err(refused(&outcome)),
            },
            Wish::Remove { pod, may_wait } => match self.live.get(&key_of(&pod)).cloned() {
                Some(read) if may_wait => {
                    let version = Version { deleting: true, ..read.version.clone() };
                    self.want(&read, version).await.map(Ok)?
                }
                Some(read) => self.want_held(&read, true).await.map(Ok)?,
                None => Err(refused(&missing(&pod))),
            },
            Wish::Withdraw { pod, keeps_staged } => {
                if !keeps_staged {
                    self.unstage(&pod);
                }
                self.withdraw(&key_of(&pod)).await.map(Ok)?
            }
        };
        self.answer(granted, reply).await
    }

    /// Takes a manifest. One that is laid ready is answered for when its images are here.
    pub(super) async fn put(
        &mut self,
        pod: &PodKey,
        file: Option<FileName>,
        text: &str,
        mode: PutMode,
        reply: oneshot::Sender<Granted>,
    ) -> Result<(), Fault> {
        let granted = match self.check_put(pod, file, text, mode) {
            Ok(read) if mode == PutMode::Stage => {
                self.stagings.push(staging(self.tools.clone(), read, reply));
                return Ok(());
            }
            Ok(read) => {
                // What is newer takes the place of what is staged, and what is the same does not wait for the owner any more.
                self.unstage(pod);
                let version = read.version.clone();
                self.want(&read, version).await.map(Ok)?
            }
            Err(outcome) => Err(refused(&outcome)),
        };
        self.answer(granted, reply).await
    }

    /// Says what became of a wish, once everything that follows from it has been done.
    pub(super) async fn answer(
        &mut self,
        granted: Granted,
        reply: oneshot::Sender<Granted>,
    ) -> Result<(), Fault> {
        self.look().await?;
        // Who has gone away has wished all the same.
        let _ = reply.send(granted);
        Ok(())
    }

    /// Images are here: what is staged is laid ready, and the gate holds it until its release.
    pub(super) async fn staged_now(&mut self, staging: Staging) -> Result<(), Fault> {
        let Staging { read, reply, images } = staging;
        self.scan().await?;
        let is_there = self.live.get(&read.key).is_some_and(|live| live.digest() == read.digest());
        let granted = match images.and_then(|images| self.lay_ready(&read, images)) {
            // It is what is wanted, and nothing else is any more.
            Ok(()) if is_there => self.withdraw(&read.key).await.map(Ok)?,
            Ok(()) => self.want_held(&read, false).await.map(Ok)?,
            Err(outcome) => Err(refused(&outcome)),
        };
        self.answer(granted, reply).await
    }

    fn lay_ready(&self, read: &Read, images: Vec<ImageReady>) -> Result<(), Outcome> {
        // One that is yet to be installed has no manifest that it could lie beside: the gate's record has it.
        let live = self.live.get(&read.key);
        let Some(live) = live.filter(|live| live.digest() != read.digest()) else { return Ok(()) };
        let ask = Upgrade {
            key: read.manifest.key().clone(),
            file: live.file.clone(),
            text: read.manifest.text().to_owned(),
            instead_of: None,
            anyway: false,
        };
        self.tools.door.stage(&ask, images).map(drop)
    }

    fn check_put(
        &self,
        pod: &PodKey,
        file: Option<FileName>,
        text: &str,
        mode: PutMode,
    ) -> Result<Read, Outcome> {
        let live = self.live.get(&key_of(pod));
        let name =
            |error: safepoint_manifest::BadName| Outcome::new(Code::ManifestInvalid, error.to_string());
        let file = match (live, file) {
            (Some(live), None) => live.file.clone(),
            (Some(live), Some(file)) if live.file == file => file,
            (Some(live), Some(file)) => {
                let why = format!("the manifest of {pod} is {}, not {file}", live.file);
                return Err(Outcome::new(Code::ManifestExists, why));
            }
            (None, Some(file)) => file,
            (None, None) => FileName::new(pod.name()).map_err(name)?,
        };
        let read = check(pod, file, text)?;
        let is_there = live.is_some_and(|live| live.digest() == read.digest());
        match (mode, live) {
            (PutMode::Upgrade, None) => Err(missing(pod)),
            (PutMode::Install, Some(_)) if !is_there => {
                let why = format!("{pod} has a manifest on this node: upgrade it instead");
                Err(Outcome::new(Code::ManifestExists, why))
            }
            (PutMode::Upgrade | PutMode::Install | PutMode::Stage, _) => Ok(read),
        }
    }

    /// What is staged, as it would be wanted.
    pub(super) fn staged(&self, pod: &PodKey) -> Result<Read, Outcome> {
        let nothing = || Outcome::new(Code::NothingStaged, format!("nothing waits for {pod} on this node"));
        let staged = self.tools.door.staged(pod)?.ok_or_else(nothing)?;
        check(pod, staged.file, &staged.text)
    }

    /// An earlier manifest: of this revision, or the newest that is not in place.
    fn kept(&self, pod: &PodKey, revision: Option<&str>) -> Result<Read, Outcome> {
        let live = self.live.get(&key_of(pod));
        let kept = self.tools.door.history(pod)?.into_iter().rev();
        let mut others =
            kept.filter(|it| live.is_none_or(|live| *live.manifest.digest() != it.record.digest));
        let found = others.find(|it| revision.is_none() || it.record.revision.as_deref() == revision);
        let none = || {
            let which = revision.map(|it| format!(" of revision {it}")).unwrap_or_default();
            Outcome::new(Code::NoHistory, format!("no other manifest{which} of {pod} is kept on this node"))
        };
        let found = found.ok_or_else(none)?;
        let file = match (live, self.tools.door.standing(pod)?) {
            (Some(live), _) => live.file.clone(),
            (None, Some(standing)) => standing.file,
            (None, None) => FileName::new(pod.name())
                .map_err(|error| Outcome::new(Code::ManifestInvalid, error.to_string()))?,
        };
        Read::new(file, &found.text).map_err(|error| Outcome::new(Code::ManifestInvalid, error.to_string()))
    }

    /// Wants a manifest, or its end, but only after a release.
    pub(super) async fn want_held(&mut self, read: &Read, deleting: bool) -> Result<(), Fault> {
        let version = Version { hold: true, deleting, ..read.version.clone() };
        self.want(read, version).await
    }

    pub(super) async fn want(&mut self, read: &Read, version: Version) -> Result<(), Fault> {
        let body = read.body(&version);
        let sightings = vec![Sighting::Present(read.key.clone(), version)];
        self.bring(Event::Observed { sightings, complete: BTreeSet::new() }, vec![body]).await
    }

    /// What is in place is what is wanted.
    async fn withdraw(&mut self, key: &Key) -> Result<(), Fault> {
        match self.live.get(key).cloned() {
            Some(live) => self.want(&live, live.version.clone()).await,
            None => {
                let sightings = vec![Sighting::Gone(key.clone(), uid_of(key))];
                self.bring(Event::Observed { sightings, complete: BTreeSet::new() }, Vec::new()).await
            }
        }
    }

    /// Forgets what is staged.
    fn unstage(&self, pod: &PodKey) {
        if self.staged.contains_key(&key_of(pod))
            && let Err(outcome) = self.tools.door.unstage(pod)
        {
            tracing::warn!(%pod, why = %outcome.message, "what is staged could not be taken away");
        }
    }
}

fn staging(tools: Tools, read: Read, reply: oneshot::Sender<Granted>) -> StagingJob {
    Box::pin(async move {
        let images = tools.pull(&read.manifest).await;
        Staging { read, reply, images }
    })
}
