//! The reporter: what the cluster is told of this node.
//!
//! Five modules, because the way to the cluster is slow and each of them may have to wait: the status of the pods, mirrors of
//! static pods, the status of the NodeGate, the Node and its lease, and Events. All but the last are level triggered: they look at what is
//! true, compare it with what they last wrote, and write the difference, so that nothing is lost to a restart, a full
//! queue or a day without a link.

pub(crate) mod events;
pub(crate) mod gate;
pub(crate) mod mirrors;
pub(crate) mod node;
pub(crate) mod pods;
mod statuses;

use std::time::Duration;

use jiff::Timestamp as Moment;
use safepoint_core::Timestamp;
use tokio::sync::broadcast;

use crate::uplink::feed::pause;

pub(crate) use statuses::Statuses;

/// How the API writes a time.
pub(crate) fn written(at: Timestamp) -> String {
    let seconds = Moment::from_millisecond(at.0).ok().and_then(|at| Moment::from_second(at.as_second()).ok());
    seconds.unwrap_or_default().to_string()
}

/// Waits for something to happen. False: there will be nothing more.
async fn something<T: Clone>(effects: &mut broadcast::Receiver<T>) -> bool {
    !matches!(effects.recv().await, Err(broadcast::error::RecvError::Closed))
}

/// How often in a row writing has failed, and so how long to wait.
#[derive(Default, Debug)]
struct Patience(u32);

// === impl Patience ===

impl Patience {
    fn worked(&mut self) {
        self.0 = 0;
    }

    fn note(&mut self, worked: bool) {
        match worked {
            true => self.worked(),
            false => self.failed(),
        }
    }

    fn is_well(&self) -> bool {
        self.0 == 0
    }

    fn failed(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// Forever, if nothing has failed.
    async fn wait(&self) {
        match self.0 {
            0 => std::future::pending().await,
            failures => tokio::time::sleep(pause(failures)).await,
        }
    }
}

/// Things that come in bursts are written once.
const BREATH: Duration = Duration::from_millis(50);
