//! The same for programs without tokio.
//!
//! A [`Client`] runs each call to its end on the caller's thread. A [`Hold`] has a thread of its own, named
//! `safepoint-hold`, which renews it. Neither may be used within a tokio runtime; there the async ones are at hand.
//!
//! ```no_run
//! use safepoint_sdk::blocking;
//!
//! # fn fly() {}
//! # fn main() -> Result<(), safepoint_sdk::Error> {
//! let hold = blocking::Hold::take(safepoint_sdk::Hold::node("flying").holder("flight-control"))?;
//! fly();
//! hold.release()?;
//! # Ok(())
//! # }
//! ```

use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use safepoint_api::local::Blocker;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

use crate::hold::{Lost, Standing, Taking};
use crate::{Error, hold};

/// The name of a hold's thread.
const THREAD: &str = "safepoint-hold";

/// Speaks to the agent of this machine, and waits for each answer.
///
/// ```no_run
/// # fn main() -> Result<(), safepoint_sdk::Error> {
/// let agent = safepoint_sdk::blocking::Client::new(safepoint_sdk::Client::new())?;
/// let status = agent.run(async |agent| agent.status().await)?;
/// println!("{}: {} pods", status.node, status.pods);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    client: crate::Client,
    runtime: Runtime,
}

/// A hold with a thread that renews it. See the [crate] for what happens to it when the program dies.
#[must_use = "a hold ends when it is dropped"]
#[derive(Debug)]
pub struct Hold {
    id: String,
    in_flight: Vec<Blocker>,
    standing: watch::Receiver<Standing>,
    /// Says how it shall end. Dropped: as a guard that is dropped.
    end: Option<oneshot::Sender<End>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

#[derive(Debug)]
enum End {
    Release,
    Leave,
}

// === impl Client ===

impl Client {
    /// Makes a client wait.
    ///
    /// # Errors
    /// If the system gives no event queue.
    pub fn new(client: crate::Client) -> Result<Self, Error> {
        Ok(Self { client, runtime: runtime()? })
    }

    /// Runs something that an async client does, to its end.
    pub fn run<T>(&self, ask: impl AsyncFnOnce(&crate::Client) -> T) -> T {
        self.runtime.block_on(ask(&self.client))
    }
}

// === impl Hold ===

impl Hold {
    /// Takes a hold, and renews it from now on.
    ///
    /// # Errors
    /// As [`Taking::take`].
    pub fn take(taking: Taking) -> Result<Self, Error> {
        let (taken, told) = mpsc::sync_channel(1);
        let (end, ended) = oneshot::channel();
        let thread = Builder::new().name(THREAD.to_owned()).spawn(move || keep(taking, &taken, ended));
        let thread = thread.map_err(|error| Error::Asked(format!("cannot start a thread: {error}")))?;
        let gone = |_| Error::Asked("the thread of the hold has ended".to_owned());
        let (id, in_flight, standing) = told.recv().map_err(gone)??;
        Ok(Self { id, in_flight, standing, end: Some(end), thread: Some(thread) })
    }

    /// The name under which the agent knows it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was under way within its scope when it was taken.
    #[must_use]
    pub fn in_flight(&self) -> &[Blocker] {
        &self.in_flight
    }

    /// What is known of it now. A program with a loop looks at this in each round.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Why the program is no longer protected, if it is not.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        match &*self.standing.borrow() {
            Standing::Lost(lost) => Some(lost.clone()),
            Standing::Overridden { until } => Some(Lost::Overridden(until.clone())),
            Standing::Held | Standing::Unconfirmed { .. } => None,
        }
    }

    /// Ends the hold and knows it.
    ///
    /// # Errors
    /// As the async [`release`](crate::Hold::release).
    pub fn release(mut self) -> Result<(), Error> {
        self.finish(Some(End::Release))
    }

    /// Lets the program end without the hold; see the async [`leave`](crate::Hold::leave).
    pub fn leave(mut self) {
        let _ = self.finish(Some(End::Leave));
    }

    fn finish(&mut self, how: Option<End>) -> Result<(), Error> {
        match (self.end.take(), how) {
            (Some(end), Some(how)) => drop(end.send(how)),
            (end, _) => drop(end),
        }
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(Error::Asked("the thread of the hold has panicked".to_owned())),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.finish(None);
    }
}

type Taken = Result<(String, Vec<Blocker>, watch::Receiver<Standing>), Error>;

fn keep(taking: Taking, taken: &mpsc::SyncSender<Taken>, ended: oneshot::Receiver<End>) -> Result<(), Error> {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = taken.send(Err(error));
            return Ok(());
        }
    };
    runtime.block_on(async {
        let hold: hold::Hold = match taking.take().await {
            Ok(hold) => hold,
            Err(error) => {
                let _ = taken.send(Err(error));
                return Ok(());
            }
        };
        let _ = taken.send(Ok((hold.id().to_owned(), hold.in_flight().to_vec(), hold.watch())));
        match ended.await {
            Ok(End::Release) => hold.release().await,
            Ok(End::Leave) => {
                hold.leave();
                Ok(())
            }
            Err(_) => {
                drop(hold);
                Ok(())
            }
        }
    })
}

fn runtime() -> Result<Runtime, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::Asked(format!("cannot start an event loop: {error}")))
}
