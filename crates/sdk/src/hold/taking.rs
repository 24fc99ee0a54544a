//! How a hold is taken.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use safepoint_api::Span;
use safepoint_api::local::{Blocker, TakeFreeze, TakeHold};
use safepoint_api::node_gate::{Lease, OnExpiry, Scope, ScopeKind};
use tokio::sync::watch;

use super::goodbye::Goodbye;
use super::keep::{Keeper, keep};
use super::{Hold, Standing, ends_by_itself};
use crate::{Client, Error};

/// The lease of a hold whose program did not choose one.
const LEASE: Duration = Duration::from_secs(30);

/// A hold that is about to be taken. Made by [`Hold::node`] and [`Hold::on`].
#[must_use = "a hold stands once it is taken"]
#[derive(Clone, Debug)]
pub struct Taking {
    client: Option<Client>,
    scope: Scope,
    reason: String,
    id: Option<String>,
    holder: Option<String>,
    lease: Duration,
    on_expiry: OnExpiry,
    settled: Option<Duration>,
}

// === impl Taking ===

impl Taking {
    pub(super) fn new(scope: Scope, reason: String) -> Self {
        let (lease, on_expiry) = (LEASE, OnExpiry::Stay);
        Self { client: None, scope, reason, id: None, holder: None, lease, on_expiry, settled: None }
    }

    /// Asks this agent instead of the one of the machine.
    pub fn client(self, client: Client) -> Self {
        Self { client: Some(client), ..self }
    }

    /// Who holds, in a word that means something to an operator, such as `flight-control`. Left out, it is the user.
    pub fn holder(self, holder: impl Into<String>) -> Self {
        Self { holder: Some(holder.into()), ..self }
    }

    /// The hold's name. A program that may be restarted chooses one: under the same id and holder it takes its own
    /// orphaned hold up again. Left out, the agent makes one up.
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// How long the hold stands without a sign of life; 30 seconds if nothing is said. Renewed at a third of it.
    ///
    /// What happens then is in [`Taking::on_expiry`]. Whole seconds count.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// What happens when the lease is over because nobody renewed. If nothing is said, [`OnExpiry::Stay`]: **the hold
    /// stays, orphaned, with an alarm**, until somebody has looked. With [`OnExpiry::ThawIfSafe`] it ends if every safety
    /// signal of the machine says that it is safe; where none is configured, none objects.
    pub fn on_expiry(self, on_expiry: OnExpiry) -> Self {
        Self { on_expiry, ..self }
    }

    /// Waits until nothing on the node is half done, and then holds: a freeze. Is refused with every blocker if that takes
    /// longer. For the whole node only.
    ///
    /// Without it the hold stands at once, and [`Hold::in_flight`] says what it has caught half done.
    pub fn settled_within(self, deadline: Duration) -> Self {
        Self { settled: Some(deadline), ..self }
    }

    /// Takes it, and renews it from now on in the background of the runtime that this is called in.
    ///
    /// # Errors
    /// `NameTaken` if another holder uses the id, `Unsettled` if the node does not settle in time, `Forbidden` if the
    /// program's user may not change anything.
    #[expect(
        clippy::disallowed_methods,
        reason = "the guard renews itself for as long as it lives; a program outside has no supervisor of ours"
    )]
    pub async fn take(self) -> Result<Hold, Error> {
        let client = self.client.clone().unwrap_or_default();
        let (id, in_flight) = self.ask(&client).await?;
        let (tell, standing) = watch::channel(Standing::Held);
        let keeper = Keeper {
            client: client.clone(),
            id: id.clone(),
            holder: self.holder,
            lease: self.lease,
            ends_by_itself: ends_by_itself(self.on_expiry),
            tell,
        };
        let keeper = Some(tokio::spawn(keep(keeper)));
        Ok(Hold { client, id, in_flight, standing, keeper })
    }

    async fn ask(&self, client: &Client) -> Result<(String, Vec<Blocker>), Error> {
        let lease = Some(Lease { duration: span("the lease", self.lease)?, on_expiry: self.on_expiry });
        let (id, holder, reason) = (self.id.clone(), self.holder.clone(), self.reason.clone());
        let Some(settled) = self.settled else {
            let scope = self.scope.clone();
            let taken = client.take_hold(&TakeHold { id, holder, reason, scope, lease }).await?;
            return Ok((taken.hold.id, taken.in_flight));
        };
        if self.scope.kind != ScopeKind::Node {
            return Err(Error::Asked("only the whole node can be waited for to settle".to_owned()));
        }
        let deadline = match settled.is_zero() {
            true => None,
            false => Some(span("the deadline", settled)?),
        };
        let made_up = id.is_none().then(made_up);
        let id = id.or_else(|| made_up.clone());
        let freeze = TakeFreeze { id, holder, reason, lease, deadline, hold_barrier: false };
        // Whoever no longer waits for the freeze does not want it either. One of the program's own name is left alone: it
        // may have stood before, and then its end would open the gate.
        let unless_taken = made_up.map(|id| Goodbye { socket: client.socket().into(), id });
        let frozen = client.freeze(&freeze).await?;
        if let Some(unless_taken) = unless_taken {
            unless_taken.unsaid();
        }
        let id = frozen.id.ok_or_else(|| Error::Strange {
            socket: client.socket().into(),
            what: "it does not say how the freeze is called".to_owned(),
        })?;
        Ok((id, Vec::new()))
    }
}

/// A name that nobody else uses.
fn made_up() -> String {
    // The standard library seeds its hashes at random: enough for a name, and nothing to depend on.
    format!("freeze-{:016x}", RandomState::new().hash_one(std::process::id()))
}

fn span(what: &str, duration: Duration) -> Result<Span, Error> {
    Span::try_from(duration).map_err(|error| Error::Asked(format!("{what}: {error}")))
}
