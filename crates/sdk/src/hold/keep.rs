//! Keeps a hold alive, and tells the program when that fails.

use std::time::Duration;

use safepoint_api::local::{RenewHold, reason};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::{Lost, Standing};
use crate::{Client, Error};

/// The longest wait between two tries to renew while the agent is away.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest one, for very short leases.
const SHORTEST: Duration = Duration::from_millis(50);

/// What renewing takes.
pub(super) struct Keeper {
    pub(super) client: Client,
    pub(super) id: String,
    pub(super) holder: Option<String>,
    pub(super) lease: Duration,
    /// Whether the hold may be over once its lease is.
    pub(super) ends_by_itself: bool,
    pub(super) tell: watch::Sender<Standing>,
}

/// What a renewal that failed means.
enum Failed {
    ForNow(String),
    ForGood(Lost),
}

/// Renews until the hold is lost. Whoever holds the guard aborts this.
pub(super) async fn keep(keeper: Keeper) {
    let third = (keeper.lease / 3).max(SHORTEST);
    let retry = (keeper.lease / 12).clamp(SHORTEST, RETRY);
    let mut over = Instant::now() + keeper.lease;
    let mut wait = third;
    loop {
        sleep(wait).await;
        // Counted from before the question: the agent cannot have begun to count earlier.
        let asked = Instant::now();
        match keeper.renew(third).await {
            Ok(standing) => {
                (over, wait) = (asked + keeper.lease, third);
                keeper.say(standing);
            }
            Err(Failed::ForGood(lost)) => return keeper.say(Standing::Lost(lost)),
            Err(Failed::ForNow(_)) if keeper.ends_by_itself && Instant::now() >= over => {
                return keeper.say(Standing::Lost(Lost::NotRenewed));
            }
            Err(Failed::ForNow(problem)) => {
                wait = retry;
                keeper.say(Standing::Unconfirmed { problem });
            }
        }
    }
}

// === impl Keeper ===

impl Keeper {
    async fn renew(&self, patience: Duration) -> Result<Standing, Failed> {
        let renewal = RenewHold { holder: self.holder.clone(), duration: None };
        match timeout(patience.max(RETRY), self.client.renew_hold(&self.id, &renewal)).await {
            Ok(Ok(hold)) => Ok(match hold.suspended_until {
                None => Standing::Held,
                Some(until) => Standing::Overridden { until },
            }),
            Ok(Err(error)) => Err(meaning(&error)),
            Err(_) => Err(Failed::ForNow("the agent does not answer".to_owned())),
        }
    }

    fn say(&self, standing: Standing) {
        // Told once and not with every renewal: whoever watches wants to hear of changes.
        self.tell.send_if_modified(|last| {
            let is_new = *last != standing;
            *last = standing;
            is_new
        });
    }
}

fn meaning(error: &Error) -> Failed {
    match error.reason() {
        Some(reason::NOT_FOUND) => Failed::ForGood(Lost::Ended),
        Some(reason::NAME_TAKEN) => Failed::ForGood(Lost::Taken),
        Some(_) if !error.is_passing() => Failed::ForGood(Lost::Refused(error.to_string())),
        _ => Failed::ForNow(error.to_string()),
    }
}
