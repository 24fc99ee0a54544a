//! What is believed about each server, and what follows from it. Pure: what was learned goes in, a belief comes out.
//!
//! One lost probe is an accident and two are none; a refused connection needs no second opinion, and neither does an answer.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Uri;
use tokio::sync::watch;
use tracing::{info, warn};

use super::pace::Pace;

/// Whether the cluster can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reachable {
    /// Nobody has been asked yet, or nobody had the time to answer.
    Unknown,
    /// A server answers.
    Yes {
        /// The one that gets requests now.
        server: Uri,
    },
    /// No server answers.
    No {
        /// What is wrong with each.
        why: String,
    },
}

/// What was learned about a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lesson {
    /// It answers, be it with a refusal.
    Answers,
    /// It was too busy sending us something else to answer in time.
    Busy,
    /// It answers that it is not well.
    Ill(String),
    /// It does not answer.
    Silent(String),
    /// Nobody listens there.
    Refuses(String),
}

/// What is believed about all servers, in the order of preference.
pub(super) struct Board {
    servers: Mutex<Vec<Health>>,
    reachable: watch::Sender<Reachable>,
}

struct Health {
    server: Uri,
    belief: Belief,
    /// How many lessons in a row were bad ones.
    failures: u32,
    /// The last of them.
    why: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Belief {
    Unknown,
    Up,
    Down,
}

/// How many bad lessons in a row make a server one that is down.
const ENOUGH: u32 = 2;

// === impl Board ===

impl Board {
    pub(super) fn new(servers: impl IntoIterator<Item = Uri>) -> Self {
        let new = |server| Health { server, belief: Belief::Unknown, failures: 0, why: String::new() };
        let servers = Mutex::new(servers.into_iter().map(new).collect());
        Self { servers, reachable: watch::Sender::new(Reachable::Unknown) }
    }

    pub(super) fn reachable(&self) -> watch::Receiver<Reachable> {
        self.reachable.subscribe()
    }

    /// The server for the next request: the first that answers, or else the first of which nothing is known.
    pub(super) fn choose(&self, not: &[(usize, Lesson)]) -> Option<usize> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let first = |belief| {
            let is_it = |(index, health): &(usize, &Health)| {
                health.belief == belief && not.iter().all(|(other, _)| other != index)
            };
            servers.iter().enumerate().find(is_it).map(|(index, _)| index)
        };
        first(Belief::Up).or_else(|| first(Belief::Unknown))
    }

    /// Takes in a lesson. Whether the server is as good as dead: whatever still waits for it waits for nothing.
    pub(super) fn learn(&self, index: usize, lesson: &Lesson) -> bool {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let health = &mut servers[index];
        let before = health.belief;
        health.learn(lesson);
        let (after, server) = (health.belief, &health.server);
        match (before, after) {
            (Belief::Down, Belief::Up) => info!(%server, "the API server answers again"),
            (_, Belief::Down) if before != after => {
                warn!(%server, why = health.why, "the API server cannot be reached");
            }
            _ => {}
        }
        let is_dead = after == Belief::Down && matches!(lesson, Lesson::Silent(_) | Lesson::Refuses(_));
        let now = reachable(&servers);
        // Told under the lock, so that nobody is told of two changes in the wrong order.
        self.reachable.send_if_modified(|told| {
            *told != now && {
                *told = now;
                true
            }
        });
        is_dead
    }

    /// Whether it is time for a second opinion, from a connection that has nothing to do with the first.
    pub(super) fn is_suspect(&self, index: usize) -> bool {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)[index].failures > 0
    }

    /// Whether nothing is known about it yet.
    pub(super) fn is_unknown(&self, index: usize) -> bool {
        self.belief(index) == Belief::Unknown
    }

    /// Whether it is believed not to answer.
    pub(super) fn is_down(&self, index: usize) -> bool {
        self.belief(index) == Belief::Down
    }

    fn belief(&self, index: usize) -> Belief {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)[index].belief
    }

    /// How long the next probe can wait, after this lesson.
    pub(super) fn pause(&self, index: usize, lesson: &Lesson, pace: &Pace) -> Duration {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let Health { belief, failures, .. } = servers[index];
        match (belief, lesson) {
            (_, Lesson::Answers | Lesson::Busy) => pace.healthy,
            // A server may be unwell for a moment, as when its database elects a leader.
            (Belief::Up | Belief::Unknown, Lesson::Ill(_)) => pace.away,
            (Belief::Up | Belief::Unknown, _) => Duration::ZERO,
            (Belief::Down, _) => {
                let doublings = failures.saturating_sub(ENOUGH).min(16);
                pace.away.saturating_mul(1 << doublings).min(pace.away_longest)
            }
        }
    }

    /// What is wrong with each server, as far as one has just found out or as it is believed.
    pub(super) fn complaint(&self, found: &[(usize, Lesson)]) -> String {
        complaint(&self.servers.lock().unwrap_or_else(PoisonError::into_inner), found)
    }
}

fn reachable(servers: &[Health]) -> Reachable {
    if let Some(up) = servers.iter().find(|health| health.belief == Belief::Up) {
        return Reachable::Yes { server: up.server.clone() };
    }
    match servers.iter().all(|health| health.belief == Belief::Down) {
        true => Reachable::No { why: complaint(servers, &[]) },
        false => Reachable::Unknown,
    }
}

fn complaint(servers: &[Health], found: &[(usize, Lesson)]) -> String {
    let complaints = servers.iter().enumerate().map(|(index, Health { server, why, .. })| {
        let found = found.iter().find(|(other, _)| *other == index).and_then(|(_, lesson)| lesson.why());
        match found.unwrap_or(why) {
            "" => format!("{server} has not answered yet"),
            why => format!("{server}: {why}"),
        }
    });
    complaints.collect::<Vec<_>>().join("; ")
}

// === impl Lesson ===

impl Lesson {
    fn why(&self) -> Option<&str> {
        match self {
            Self::Answers | Self::Busy => None,
            Self::Ill(why) | Self::Silent(why) | Self::Refuses(why) => Some(why),
        }
    }
}

// === impl Health ===

impl Health {
    fn learn(&mut self, lesson: &Lesson) {
        match lesson {
            Lesson::Answers => {
                self.belief = Belief::Up;
                self.failures = 0;
                self.why.clear();
            }
            // Neither good nor bad: the next probe will tell.
            Lesson::Busy => {}
            Lesson::Ill(why) | Lesson::Silent(why) | Lesson::Refuses(why) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= ENOUGH || matches!(lesson, Lesson::Refuses(_)) {
                    self.failures = self.failures.max(ENOUGH);
                    self.belief = Belief::Down;
                }
                self.why.clone_from(why);
            }
        }
    }
}

#[cfg(test)]
mod tests;
