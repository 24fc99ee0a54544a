//! How long things may take and how often they are done. The defaults are for production; tests are in a hurry.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// The times of an [`Upstream`](crate::Upstream).
#[derive(Clone, Debug)]
pub struct Pace {
    /// How long it may take until a connection can be used: name, TCP, TLS and the first words of HTTP/2.
    pub connect: Duration,
    /// How long a probe may take, with a connection if it needs one.
    pub probe: Duration,
    /// The time between probes of a server that answers.
    pub healthy: Duration,
    /// The time before the next probe of a server that has just gone away. It doubles,
    pub away: Duration,
    /// up to this.
    pub away_longest: Duration,
    /// After so much silence an HTTP/2 connection is asked for a sign of life, which it has half that time to give.
    pub ping: Duration,
    /// How often the files of the identity are looked at.
    pub look: Duration,
    /// How long a connection that is not needed is kept.
    pub idle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            probe: Duration::from_secs(4),
            healthy: Duration::from_secs(5),
            away: Duration::from_secs(1),
            away_longest: Duration::from_secs(10),
            ping: Duration::from_secs(20),
            // A new certificate is in use within a second, however the looks fall.
            look: Duration::from_millis(800),
            idle: Duration::from_secs(15),
        }
    }
}

/// A tenth more or less, so that the nodes of a cluster do not all ask at once after it came back.
pub(super) fn about(time: Duration) -> Duration {
    // Every `RandomState` is seeded differently.
    let random = RandomState::new().hash_one(()) % 1000;
    time.mul_f64(0.9 + 0.2 * random as f64 / 1000.0)
}
