//! Swaps under way: how they begin, how they end, and what the gate is told of it.

use futures::future::{AbortHandle, Abortable, Aborted};
use jiff::Timestamp as Moment;
use safepoint_core::{Digest, Event, Health, Key, Stage, Version};
use safepoint_manifest::{Code, Outcome, PodKey};
use safepoint_supervisor::Fault;

use super::due::{Row, Work};
use super::read::{Read, Written, key_of, pod_of, uid_of};
use super::tools::{self, Tools};
use super::{KEPT, Working, slots};
use crate::journal::Body;

// === impl Working ===

impl Working<'_> {
    /// Goes on with everything that was interrupted.
    pub(super) fn resume_all(&mut self) -> Result<(), Fault> {
        let pods = self.tools.door.interrupted().map_err(|outcome| Fault::transient(outcome.message))?;
        for pod in pods {
            self.resume(&pod);
        }
        Ok(())
    }

    pub(super) fn try_again(&mut self) -> Result<(), Fault> {
        if !self.stuck.is_empty() {
            self.stuck.clear();
            self.resume_all()?;
        }
        Ok(())
    }

    pub(super) fn resume(&mut self, pod: &PodKey) {
        let standing = self.tools.door.standing(pod).ok().flatten();
        let digest = standing.and_then(|it| it.new).map(|it| Digest::from(it.as_str()));
        let key = key_of(pod);
        if !self.running.contains_key(&key) {
            self.start(&key, Work::Resume(digest), None, None);
        }
    }

    pub(super) fn start(&mut self, key: &Key, work: Work, live: Option<Read>, written: Option<Written>) {
        let (tools, file) = (self.tools.clone(), live.map(|live| live.file));
        let Some(pod) = pod_of(key) else { return };
        tracing::info!(pod = %pod, ?work, "beginning");
        let (name, removes) = (key.clone(), work == Work::Remove);
        let job = async move {
            match (written, file) {
                (Some(written), file) => Some(tools.put(name, file, written).await),
                (None, Some(file)) if removes => Some(tools.remove(pod, file).await),
                (None, _) => tools.resume(pod).await,
            }
        };
        let (handle, registration) = AbortHandle::new_pair();
        let (job, key_of_job) = (Abortable::new(job, registration), key.clone());
        self.jobs.push(Box::pin(async move { (key_of_job, job.await) }));
        self.running.insert(key.clone(), (work, handle));
    }

    /// A swap is over, or was given up for a newer one.
    pub(super) async fn ended(
        &mut self,
        key: Key,
        ended: Result<Option<Outcome>, Aborted>,
    ) -> Result<(), Fault> {
        let Some((work, _)) = self.running.remove(&key) else { return Ok(()) };
        let tried = match &work {
            Work::Put(digest) | Work::Resume(Some(digest)) => Some(digest.clone()),
            Work::Remove | Work::Resume(None) => None,
        };
        let is_superseded = ended.is_err();
        let outcome = match ended {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return self.look().await,
            // What was begun is what the newer one goes on from.
            Err(Aborted) => Outcome::new(Code::Superseded, "something newer has taken its place"),
        };
        tracing::info!(pod = %key, code = ?outcome.code, message = %outcome.message, "ended");
        self.scan().await?;
        let wall = Moment::from_millisecond(self.clock.now().wall.0).unwrap_or_default();
        let mut row = self.rows.get(&key).cloned().unwrap_or_default();
        row.last = Some(tools::shown(&outcome, tried.as_ref().map(Digest::as_str), wall));
        if !is_superseded && outcome.code != Code::Failed {
            row.in_place = self.live.get(&key).map(|live| live.digest().clone());
        }
        self.keep(&key, row).await?;
        // Before the gate is told that it is over: whoever sees that sees how it ended.
        self.publish();
        if outcome.code == Code::Failed && work_is_open(&self.tools, &key) {
            // It is not over: what could not be read or written is tried again.
            self.stuck.insert(key);
        } else if !is_superseded && !outcome.is_done() && outcome.code != Code::StillRunning {
            self.take_back(&key, &work, &outcome.message).await?;
        }
        self.look().await
    }

    /// What was tried is not in place: what is, is applied. Unless the gate has admitted something else meanwhile.
    async fn take_back(&mut self, key: &Key, work: &Work, why: &str) -> Result<(), Fault> {
        let slots = self.desk.look(slots).await.map_err(Fault::transient)?.map_err(Fault::transient)?;
        let applied = slots.get(key).and_then(|slot| slot.applied.as_ref());
        let told = applied.map(|(version, _)| version.digest.clone());
        let is_it = match (work, applied) {
            (Work::Put(digest), Some((version, Stage::Delivered(_)))) => version.digest == *digest,
            (Work::Remove, Some((_, stage))) => *stage == Stage::Ending,
            (Work::Resume(_), None) => true,
            (Work::Resume(digest), Some((version, _))) => digest.as_ref() == Some(&version.digest),
            (Work::Put(_) | Work::Remove, _) => false,
        };
        match is_it {
            true => self.find(key, told, why).await,
            false => Ok(()),
        }
    }

    /// Tells the gate what lies there, in the place of what it has last told.
    pub(super) async fn find(&mut self, key: &Key, told: Option<Digest>, why: &str) -> Result<(), Fault> {
        let Some(live) = self.live.get(key).cloned() else { return self.end(key).await };
        let version = live.version.clone();
        let body = live.body(&version);
        let event =
            Event::Found { key: key.clone(), instead_of: told, version: Box::new(version), why: why.into() };
        self.bring(event, vec![body]).await?;
        self.note_in_place(key, Some(&live)).await?;
        let (uid, digest) = (live.version.uid.clone(), live.digest().clone());
        self.bring(Event::Reported { key: key.clone(), uid, digest, health: Health::Ready }, Vec::new()).await
    }

    pub(super) async fn end(&mut self, key: &Key) -> Result<(), Fault> {
        self.note_in_place(key, None).await?;
        self.bring(Event::Ended { key: key.clone(), uid: uid_of(key) }, Vec::new()).await
    }

    pub(super) async fn report(
        &mut self,
        key: &Key,
        applied: Option<&(Version, Stage)>,
        health: Health,
    ) -> Result<(), Fault> {
        let Some((version, Stage::Delivered(known))) = applied else { return Ok(()) };
        if *known == health {
            return Ok(());
        }
        let (uid, digest) = (version.uid.clone(), version.digest.clone());
        self.bring(Event::Reported { key: key.clone(), uid, digest, health }, Vec::new()).await
    }

    pub(super) async fn note_in_place(&mut self, key: &Key, live: Option<&Read>) -> Result<(), Fault> {
        let mut row = self.rows.get(key).cloned().unwrap_or_default();
        let in_place = live.map(|live| live.digest().clone());
        if row.in_place == in_place {
            return Ok(());
        }
        row.in_place = in_place;
        self.keep(key, row).await
    }

    pub(super) async fn keep(&mut self, key: &Key, row: Row) -> Result<(), Fault> {
        let name = format!("{KEPT}{}/{}", key.namespace, key.name);
        let kept = serde_json::to_vec(&row).map_err(Fault::transient)?;
        self.desk.keep(vec![(name, Some(kept))]).await.map_err(Fault::transient)?;
        self.rows.insert(key.clone(), row);
        Ok(())
    }

    pub(super) async fn bring(&mut self, event: Event, bodies: Vec<Body>) -> Result<(), Fault> {
        self.desk.bring(event, bodies).await.map_err(Fault::transient)
    }
}

fn work_is_open(tools: &Tools, key: &Key) -> bool {
    let standing = pod_of(key).and_then(|pod| tools.door.standing(&pod).ok().flatten());
    standing.is_some_and(|standing| standing.is_open)
}
