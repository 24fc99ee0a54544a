//! A disk in memory that can hold a sync, fail it, die, and lose power.
//!
//! It knows three things apart: what the system shows (everything written), what the disk is sure to have
//! (everything written before the last sync that returned), and, for what lies between, any part of it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redb::StorageBackend;

/// The unit in which a disk loses or keeps what was not synced.
const SECTOR: usize = 512;

/// Only ever waited for by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct TestDisk {
    inner: Arc<Inner>,
}

/// As long as it lives no sync returns.
pub(super) struct Held {
    disk: TestDisk,
}

/// What a power cut would have left, at one moment after another.
pub(super) struct PowerCuts {
    /// What was synced until the last moment that was asked for.
    synced: Vec<u8>,
    until: usize,
    log: Vec<Op>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What the disk held when the log began.
    base: Vec<u8>,
    /// What the system shows.
    shown: Vec<u8>,
    log: Vec<Op>,
    holds: bool,
    held: bool,
    /// How many syncs succeed before all fail.
    fails_after: Option<usize>,
    is_dead: bool,
    is_full: bool,
    panics: bool,
}

#[derive(Debug, Clone)]
enum Op {
    Write(usize, Vec<u8>),
    SetLen(usize),
    Sync,
}

// === impl TestDisk ===

impl TestDisk {
    pub(super) fn holding(image: Vec<u8>) -> Self {
        let disk = Self::default();
        *disk.lock() = State { base: image.clone(), shown: image, ..State::default() };
        disk
    }

    /// From now on a sync waits until what is returned is dropped.
    pub(super) fn hold_syncs(&self) -> Held {
        self.lock().holds = true;
        Held { disk: self.clone() }
    }

    /// After so many more syncs every one fails, and nobody knows what it has synced.
    pub(super) fn fail_syncs_after(&self, successes: usize) {
        self.lock().fails_after = Some(successes);
    }

    /// From now on nothing more can be written.
    pub(super) fn fill(&self) {
        self.lock().is_full = true;
    }

    /// From now on a sync panics, as a bug would.
    pub(super) fn panic_at_syncs(&self) {
        self.lock().panics = true;
    }

    /// The process is killed: nothing it does from now on has any effect.
    pub(super) fn kill(&self) {
        self.lock().is_dead = true;
    }

    /// How much has happened, as a moment to cut the power at.
    pub(super) fn now(&self) -> usize {
        self.lock().log.len()
    }

    /// The moments right before and right after each sync.
    pub(super) fn syncs(&self) -> Vec<usize> {
        let state = self.lock();
        let syncs = state.log.iter().enumerate().filter(|(_, op)| matches!(op, Op::Sync));
        syncs.flat_map(|(at, _)| [at, at + 1]).collect()
    }

    /// What the system shows: all that was written, synced or not.
    pub(super) fn shown(&self) -> Vec<u8> {
        self.lock().shown.clone()
    }

    /// Starts another process on the same disk, with what a killed one has left unsynced still unsynced.
    pub(super) fn revived(&self) -> Self {
        let state = self.lock();
        let disk = Self::default();
        *disk.lock() = State {
            base: state.base.clone(),
            shown: state.shown.clone(),
            log: state.log.clone(),
            ..State::default()
        };
        disk
    }

    /// What the disk holds if the power is cut now and nothing survives but what was synced.
    pub(super) fn after_power_cut(&self) -> Vec<u8> {
        self.power_cuts().at(self.now(), || false)
    }

    /// Cuts the power at moments of the past.
    pub(super) fn power_cuts(&self) -> PowerCuts {
        let state = self.lock();
        PowerCuts { synced: state.base.clone(), until: 0, log: state.log.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&self, op: Op) -> io::Result<()> {
        let mut state = self.lock();
        if state.is_dead {
            return Err(io::Error::other("the process is dead"));
        }
        if state.is_full && !matches!(op, Op::Sync) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        op.apply(&mut state.shown, || true);
        state.log.push(op);
        Ok(())
    }
}

// === impl PowerCuts ===

impl PowerCuts {
    /// What the disk holds if the power is cut at that moment: everything that was synced, and of the rest
    /// the sectors that `keeps` says. The moments must not go back.
    pub(super) fn at(&mut self, moment: usize, mut keeps: impl FnMut() -> bool) -> Vec<u8> {
        let log = &self.log[..moment];
        let synced = log.iter().rposition(|op| matches!(op, Op::Sync)).map_or(0, |last| last + 1);
        assert!(self.until <= synced, "the moments go back");
        for op in &log[self.until..synced] {
            op.apply(&mut self.synced, || true);
        }
        self.until = synced;
        let mut image = self.synced.clone();
        for op in &log[synced..] {
            op.apply(&mut image, &mut keeps);
        }
        image
    }
}

impl Op {
    fn apply(&self, image: &mut Vec<u8>, mut keeps: impl FnMut() -> bool) {
        match self {
            Self::Sync => {}
            Self::SetLen(len) => {
                if keeps() {
                    image.resize(*len, 0);
                }
            }
            Self::Write(offset, data) => {
                for (nth, sector) in data.chunks(SECTOR).enumerate().filter(|_| keeps()) {
                    write(image, offset + nth * SECTOR, sector);
                }
            }
        }
    }
}

// === impl Held ===

impl Held {
    /// Returns once a sync waits.
    pub(super) fn wait_for_sync(&self) {
        let Inner { changed, .. } = &*self.disk.inner;
        let (state, timeout) =
            changed.wait_timeout_while(self.disk.lock(), PATIENCE, |state| !state.held).unwrap();
        drop(state);
        assert!(!timeout.timed_out(), "nobody syncs");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.disk.lock().holds = false;
        self.disk.inner.changed.notify_all();
    }
}

fn write(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

impl StorageBackend for TestDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().shown.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        let offset = offset as usize;
        let data = state.shown.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(data);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.act(Op::SetLen(len as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.held = true;
        self.inner.changed.notify_all();
        let mut state = self.inner.changed.wait_while(state, |state| state.holds).unwrap();
        state.held = false;
        assert!(!state.panics, "a bug");
        match &mut state.fails_after {
            Some(0) => return Err(io::Error::other("the disk has failed")),
            Some(successes) => *successes -= 1,
            None => {}
        }
        drop(state);
        self.act(Op::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.act(Op::Write(offset as usize, data.to_vec()))
    }
}
