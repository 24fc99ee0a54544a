//! The rounds: start, check, write, kill.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::client::{Access, Connection, JSON, Outcome};
use super::content::{Kind, name_of, revision_of, without_type};
use super::counters::{COUNTERS, Counters};
use super::ledger::Fate;
use super::random::Random;
use super::server::Server;
use super::slot::Fared;
use super::watcher::{Watched, Watcher};
use super::writer::{Round, World, Writer};

const WRITERS: u64 = 8;
/// A round is killed after so many acknowledgements at most.
const MOST_WRITES: u64 = 40;
/// After the last of them it takes up to this many turns of a loop, about a millisecond, so that kills fall before, into
/// and after the syncs of the writes that follow.
const MOST_TURNS: u64 = 1 << 18;
/// A start that is to be killed lives no longer than this; a whole one takes a few times as long on a busy machine.
const SHORT_LIFE: u64 = 80_000;
/// How long a round may take before it counts as a hang, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);

/// All rounds on one data folder.
pub(crate) struct Trial {
    data: PathBuf,
    seed: u64,
    world: Arc<World>,
    writers: Vec<Writer>,
    watched: BTreeMap<Kind, Watched>,
    tally: Tally,
}

/// What the rounds amounted to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) kills: u64,
    pub(crate) early_kills: u64,
    pub(crate) acknowledged: u64,
    /// Writes without an answer that were there after the kill.
    pub(crate) arrived: u64,
    /// Writes without an answer that were not.
    pub(crate) lost: u64,
    pub(crate) events: usize,
}

/// Everything that is there, by kind and name, and at which revision.
type Found = BTreeMap<Kind, (u64, BTreeMap<String, Value>)>;

impl Trial {
    pub(crate) fn new(data: PathBuf, seed: u64) -> Trial {
        Trial {
            data,
            seed,
            world: Arc::default(),
            writers: (0..WRITERS).map(Writer::new).collect(),
            watched: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Kills so often, and checks after every start.
    pub(crate) async fn run(&mut self, rounds: u64) -> Result<()> {
        for round in 0..=rounds {
            let limited = timeout(LIMIT, self.round(round, round < rounds)).await;
            limited.context("a hang").flatten().with_context(|| format!("round {round}"))?;
        }
        Ok(())
    }

    async fn round(&mut self, number: u64, kill: bool) -> Result<()> {
        let mut random = Random::new(self.seed, &[number]);
        if random.percent(10) {
            self.kill_while_it_starts(&mut random).await?;
        }
        let mut server = Server::start(&self.data)?;
        let access = Access::read(&self.data, &server.url)?;
        let mut connection = access.connect().await?;
        let found = self.list(&mut connection).await?;
        if number == 0 {
            create_counters(&mut connection).await?;
        } else {
            self.settle(&found)?;
        }
        if !kill {
            return Ok(());
        }
        // The counters of the first round came after the listing.
        let found = if number == 0 { self.list(&mut connection).await? } else { found };
        let mut watches = self.watch(&access, &found).await?;
        let round =
            Arc::new(Round { number, access, acknowledged: Semaphore::new(0), over: AtomicBool::new(false) });
        let mut writes = self.write(&round);

        let enough = 1 + random.below(MOST_WRITES);
        tokio::select! {
            permits = round.acknowledged.acquire_many(u32::try_from(enough)?) => permits?.forget(),
            Some(ended) = writes.join_next() => {
                let (_, result) = ended?;
                result?;
                bail!("a writer ended before the kill");
            }
        }
        for _ in 0..random.below(MOST_TURNS) {
            std::hint::spin_loop();
        }
        if let Some(how) = server.ended()? {
            bail!("the server ended by itself: {how}");
        }
        round.over.store(true, Ordering::SeqCst);
        server.kill()?;

        self.tally.kills += 1;
        self.tally.acknowledged += enough + u64::try_from(round.acknowledged.available_permits())?;
        while let Some(ended) = writes.join_next().await {
            let (writer, result) = ended?;
            self.writers.push(writer);
            result?;
        }
        while let Some(ended) = watches.join_next().await {
            let (kind, watched) = ended?;
            let watched = watched.with_context(|| format!("the watch of {kind:?}"))?;
            self.tally.events += watched.len();
            self.watched.insert(kind, watched);
        }
        Ok(())
    }

    /// A machine that loses power often does so while it recovers.
    async fn kill_while_it_starts(&mut self, random: &mut Random) -> Result<()> {
        let server = Server::spawn(&self.data)?;
        // When it is hit does not matter; only that it is at any moment.
        sleep(Duration::from_micros(random.below(SHORT_LIFE))).await;
        self.tally.early_kills += 1;
        server.kill()
    }

    /// Reads everything, and checks it against all that was ever shown.
    async fn list(&self, connection: &mut Connection) -> Result<Found> {
        let mut all = Found::new();
        for kind in Kind::ALL {
            let highest = self.world.ledger.highest();
            let mut list = connection.get(kind.collection()).await?;
            let revision = revision_of(&list)?;
            ensure!(revision >= highest, "the revision went back from {highest} to {revision}");
            self.world.ledger.note_revision(revision);
            let items = list["items"].as_array_mut().context("a list has items")?;
            let mut objects = BTreeMap::new();
            for object in items.drain(..) {
                self.world.ledger.note(kind, &object, Fate::There, "a listing")?;
                objects.insert(name_of(&object)?.to_owned(), without_type(object));
            }
            all.insert(kind, (revision, objects));
        }
        Ok(all)
    }

    /// Compares what is there with what has to be.
    fn settle(&mut self, found: &Found) -> Result<()> {
        let mut found: BTreeMap<Kind, BTreeMap<String, Value>> =
            found.iter().map(|(kind, (_, objects))| (*kind, objects.clone())).collect();
        let mut take = |kind: Kind, name: &str| found.get_mut(&kind).and_then(|objects| objects.remove(name));
        for counter in 0..COUNTERS {
            let object = take(Kind::ConfigMap, &Counters::name(counter));
            self.world.counters.settle(counter, object.as_ref())?;
        }
        for writer in &mut self.writers {
            for slot in &mut writer.slots {
                let watched = self.watched.get(&slot.kind).context("every kind was watched")?;
                match slot.settle(take(slot.kind, &slot.name), watched)? {
                    Fared::AtRest => {}
                    Fared::Arrived => self.tally.arrived += 1,
                    Fared::Lost => self.tally.lost += 1,
                }
            }
            for (kind, watched) in &self.watched {
                let own =
                    writer.acknowledged.iter().filter(|(of, _)| of == kind).map(|(_, revision)| *revision);
                watched.is_complete(&own.collect::<Vec<_>>())?;
            }
            writer.acknowledged.clear();
        }
        let left: Vec<&String> = found.values().flat_map(BTreeMap::keys).collect();
        ensure!(left.is_empty(), "nobody wrote these: {left:?}");
        Ok(())
    }

    async fn watch(&self, access: &Access, found: &Found) -> Result<JoinSet<(Kind, Result<Watched>)>> {
        let mut watches = JoinSet::new();
        for (kind, (revision, objects)) in found {
            let names: BTreeSet<String> = objects.keys().cloned().collect();
            let watcher = Watcher::start(access, *kind, *revision, names).await?;
            let (kind, world) = (*kind, Arc::clone(&self.world));
            watches.spawn(async move { (kind, watcher.run(&world.ledger).await) });
        }
        Ok(watches)
    }

    fn write(&mut self, round: &Arc<Round>) -> JoinSet<(Writer, Result<()>)> {
        let mut writes = JoinSet::new();
        for mut writer in self.writers.drain(..) {
            let (world, round) = (Arc::clone(&self.world), Arc::clone(round));
            let random = Random::new(self.seed, &[round.number, writer.number]);
            writes.spawn(async move {
                let result = writer.run(&world, &round, random).await;
                (writer, result)
            });
        }
        writes
    }
}

async fn create_counters(connection: &mut Connection) -> Result<()> {
    for counter in 0..COUNTERS {
        let zero = Counters::zero(counter);
        match connection.ask(Method::POST, Kind::ConfigMap.collection(), JSON, Some(&zero)).await? {
            Outcome::Answered(StatusCode::CREATED, _) => {}
            Outcome::Answered(status, answer) => bail!("no counter: {status}: {answer}"),
            Outcome::Begun(_) | Outcome::Unknown => bail!("no counter: no answer"),
        }
    }
    Ok(())
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { kills, early_kills, acknowledged, arrived, lost, events } = self;
        write!(
            f,
            "{kills} kills while writing, {early_kills} while starting; {acknowledged} writes acknowledged; of those \
             without an answer {arrived} arrived and {lost} did not; {events} events watched"
        )
    }
}
