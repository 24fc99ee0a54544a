//! A hold that lives as long as the program needs it.
//!
//! It is renewed at a third of its lease, so two renewals may fail before anybody notices. What happens at the end:
//!
//! | the program | the hold |
//! |---|---|
//! | calls [`Hold::release`] | ends, and the program knows it |
//! | drops the guard, returns, panics | ends, as well as that can be done on the way out |
//! | is killed, crashes, hangs, or its runtime is gone | **stays**, orphaned, with an alarm, once its lease is over |
//! | the same, taken with [`OnExpiry::ThawIfSafe`] | ends with its lease: no safety signal can object yet |
//!
//! A renewal that fails is tried again. A hold that somebody else has ended is not taken again: a person decided that, and
//! the program is told through [`Hold::lost`].

mod goodbye;
mod keep;
mod standing;
mod taking;

use std::time::Duration;

use safepoint_api::local::{Blocker, Overriding, reason};
use safepoint_api::node_gate::{OnExpiry, Scope};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{Client, Error, scope};
pub use standing::{Lost, Standing};
pub use taking::Taking;

/// How often a release is tried when the agent is away.
const TRIES: u32 = 4;
/// How long is waited between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// A hold that stands. See the [crate](crate) for what happens to it when the program dies.
///
/// ```no_run
/// # async fn next_waypoint() -> bool { false }
/// # async fn mission() -> Result<(), safepoint_sdk::Error> {
/// use safepoint_sdk::Hold;
///
/// let hold = Hold::node("survey of field 7").holder("flight-control").id("mission").take().await?;
/// loop {
///     tokio::select! {
///         // Somebody has ended the hold: what runs here may change under way. Land.
///         lost = hold.lost() => { eprintln!("no longer protected: {lost}"); break }
///         more = next_waypoint() => if !more { break },
///     }
/// }
/// hold.release().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a hold ends when it is dropped"]
#[derive(Debug)]
pub struct Hold {
    client: Client,
    id: String,
    in_flight: Vec<Blocker>,
    standing: watch::Receiver<Standing>,
    /// Renews. Taken out when the hold is over.
    keeper: Option<JoinHandle<()>>,
}

// === impl Hold ===

impl Hold {
    /// A hold on everything on this node, for this reason. It stands once it is [taken](Taking::take).
    pub fn node(reason: impl Into<String>) -> Taking {
        Self::on(scope::node(), reason)
    }

    /// A hold on a part of what is on this node; see [`scope`].
    pub fn on(scope: Scope, reason: impl Into<String>) -> Taking {
        Taking::new(scope, reason.into())
    }

    /// The name under which the agent knows it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was under way within its scope when it was taken: it may have been caught half done.
    #[must_use]
    pub fn in_flight(&self) -> &[Blocker] {
        &self.in_flight
    }

    /// What is known of it now.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// The same as it changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Waits until the program is no longer protected by this hold, which may be never. An override counts: while it lasts
    /// the hold is out of force.
    ///
    /// An agent that is merely away does not resolve this: its record holds, and nothing passes a gate that does not run.
    pub async fn lost(&self) -> Lost {
        let mut standing = self.standing.clone();
        loop {
            match &*standing.borrow_and_update() {
                Standing::Lost(lost) => return lost.clone(),
                Standing::Overridden { until } => return Lost::Overridden(until.clone()),
                Standing::Held | Standing::Unconfirmed { .. } => {}
            }
            if standing.changed().await.is_err() {
                return Lost::NotRenewed;
            }
        }
    }

    /// Ends the hold and knows it. An agent that is away is asked again for a moment.
    ///
    /// # Errors
    /// `NotFound` if somebody else has ended it before: the program was not protected to the end. Otherwise whatever kept
    /// the agent from answering; the hold then stays until its lease is over, and after that orphaned.
    pub async fn release(mut self) -> Result<(), Error> {
        // The renewals go on until it is over, so that whoever stops waiting for this leaves a guard that is dropped.
        for tried in 1.. {
            match self.client.drop_hold(&self.id, &Overriding::default()).await {
                Ok(_) => break,
                // The answer to an earlier try was lost, the try was not.
                Err(error) if tried > 1 && error.reason() == Some(reason::NOT_FOUND) => break,
                Err(error)
                    if !error.is_passing() || matches!(error, Error::Slow { .. }) || tried == TRIES =>
                {
                    return Err(error);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        self.stop();
        Ok(())
    }

    /// Lets the program end without the hold: nobody renews it from here on. Another program renews it under the same id
    /// and holder, or it becomes an orphan.
    pub fn leave(mut self) {
        self.stop();
    }

    /// Ends the renewals. True: they had not ended yet.
    fn stop(&mut self) -> bool {
        match self.keeper.take() {
            Some(keeper) => {
                keeper.abort();
                true
            }
            None => false,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The runtime may be ending with the program, so this asks the old way, and not for long.
        if self.stop() && !matches!(&*self.standing.borrow(), Standing::Lost(_)) {
            goodbye::say(self.client.socket(), &self.id);
        }
    }
}

/// Whether a hold whose lease is over without a renewal still protects.
const fn ends_by_itself(on_expiry: OnExpiry) -> bool {
    match on_expiry {
        OnExpiry::ThawIfSafe => true,
        OnExpiry::Stay => false,
    }
}
