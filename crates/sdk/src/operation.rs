//! Operations on pods: ask, wait until it is allowed, act, give back.
//!
//! A pod that takes part in the lifecycle (label `kusionstack.io/control=true`) is taken out of service before anybody changes it,
//! and brought back afterwards. Whoever wants to change one says so with [`Operations::begin`], acts once
//! [`Operations::allow_ops`] grants it, and says [`Operations::finish`]. All of that is labels on the pod: an operation that was
//! begun is found again after a restart, and nothing has to be remembered.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use k8s_openapi::api::core::v1::Pod;
//! use safepoint_sdk::operation::{Error, Operation, Operations, Permission};
//!
//! # async fn act(_: &Pod) {}
//! /// Called whenever a pod that is to be changed is seen to have changed.
//! async fn look_at(operations: &Operations<Operation>, pod: &Pod) -> Result<(), Error> {
//!     match operations.allow_ops(pod, Duration::ZERO) {
//!         Permission::NotBegun => drop(operations.begin(pod).await?),
//!         // The next change of the pod brings us here again; without a delay there is no rest to wait for.
//!         Permission::NotYet | Permission::After(_) => {}
//!         Permission::Granted => {
//!             act(pod).await;
//!             operations.finish(pod).await?;
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # async fn start(client: kube::Client) -> Result<(), Error> {
//! let operations = Operations::new(client, Operation::new("patcher", "update"))?;
//! # Ok(())
//! # }
//! ```
//!
//! Every write carries the resource version of the pod that it was decided on. Where somebody else was faster, the pod is read
//! and decided on again, a few times; then it is for the caller to come back later ([`Error::is_passing`]). An old pod does no harm:
//! that there is nothing to finish or to cancel is believed of a pod that was read just now.

mod adapter;
mod error;
mod labels;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use safepoint_api::names::kusionstack::operation::{OperationLabel, permission_key};

pub use adapter::{Adapter, Operation, Write};
pub use error::Error;
pub use labels::Permission;

use crate::pods::{self, Missed, PodName};
use labels::{Next, Operated};

/// How often a write is tried that others come before.
const TRIES: u32 = 6;
/// How long is waited before the second try; each wait after it is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// Operations of one kind: what the adapter says, on any pod.
#[derive(Clone, Debug)]
pub struct Operations<A> {
    client: ClientOf,
    adapter: A,
    /// What the adapter said when it was asked: labels of an operation are found again by it.
    name: Name,
}

/// Under which id, and of which type.
#[derive(Clone, Debug)]
struct Name {
    id: String,
    kind: String,
}

/// What is asked for.
#[derive(Clone, Copy)]
enum Call {
    Begin,
    /// Cancel what is there, then begin.
    Afresh,
    Finish,
    Cancel,
}

/// A client says nothing about itself.
#[derive(Clone)]
struct ClientOf(Client);

/// What came of a call.
#[derive(Clone, Debug)]
#[must_use = "whether anything was written may matter"]
pub struct Outcome {
    /// The pod as it is now, as far as is known.
    pub pod: Pod,
    /// Whether it was written to. If not, it was already as it should be.
    pub wrote: bool,
}

// === impl Operations ===

impl<A: Adapter> Operations<A> {
    /// Operations as the adapter says, with this client. It needs to `get` and to `patch` pods.
    ///
    /// ```no_run
    /// # use safepoint_sdk::operation::{Error, Operation, Operations};
    /// # async fn start(client: kube::Client) -> Result<(), Error> {
    /// let operations = Operations::new(client, Operation::new("patcher", "update"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the id or the type cannot be part of a label.
    pub fn new(client: Client, adapter: A) -> Result<Self, Error> {
        let name = Name { id: adapter.id().to_owned(), kind: adapter.kind().to_owned() };
        if OperationLabel::Operating.key(&name.id).is_err() {
            return Err(Error::Name { what: "the id", text: name.id });
        }
        if permission_key(&name.kind).is_err() {
            return Err(Error::Name { what: "the type", text: name.kind });
        }
        Ok(Self { client: ClientOf(client), adapter, name })
    }

    /// What was given to [`Operations::new`].
    pub const fn adapter(&self) -> &A {
        &self.adapter
    }

    /// Whether this operation has begun on the pod, and not finished. It says nothing about whether it may act.
    ///
    /// ```no_run
    /// # use safepoint_sdk::operation::{Operation, Operations};
    /// # fn look(operations: &Operations<Operation>, pod: &k8s_openapi::api::core::v1::Pod) {
    /// if operations.is_during_ops(pod) {
    ///     println!("begun, and not over");
    /// }
    /// # }
    /// ```
    pub fn is_during_ops(&self, pod: &Pod) -> bool {
        self.of(pod).is_during()
    }

    /// Whether the operation may act on the pod now: it has been granted, at least this long ago. The wait is for what takes
    /// time after traffic is off, such as caches of clients.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use safepoint_sdk::operation::{Operation, Operations, Permission};
    /// # fn look(operations: &Operations<Operation>, pod: &k8s_openapi::api::core::v1::Pod) {
    /// match operations.allow_ops(pod, Duration::from_secs(10)) {
    ///     Permission::Granted => println!("act, and then finish"),
    ///     Permission::After(wait) => println!("look again in {wait:?}"),
    ///     Permission::NotYet => println!("look again when the pod changes"),
    ///     Permission::NotBegun => println!("begin first"),
    /// }
    /// # }
    /// ```
    pub fn allow_ops(&self, pod: &Pod, delay: Duration) -> Permission {
        self.of(pod).permission(delay, now())
    }

    /// Asks for the pod to be taken out of service. Nothing is written where that was asked before.
    ///
    /// ```no_run
    /// # use safepoint_sdk::operation::{Error, Operation, Operations};
    /// # async fn begin(operations: &Operations<Operation>, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Error> {
    /// let begun = operations.begin(pod).await?;
    /// if begun.wrote {
    ///     println!("asked for {:?}", begun.pod.metadata.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When nothing would come of it: the pod does not take part, is being deleted or is gone; the id is in use for another type,
    /// or the type by another id and the adapter does not allow that. Or when it could not be written.
    pub async fn begin(&self, pod: &Pod) -> Result<Outcome, Error> {
        self.apply(pod, Call::Begin).await
    }

    /// Cancels what is there under the same id, whatever its type and however far it is, and begins anew: for an operation
    /// whose aim has changed.
    ///
    /// ```no_run
    /// # use safepoint_sdk::operation::{Error, Operation, Operations};
    /// # async fn begin(client: kube::Client, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Error> {
    /// // What was to be updated is not needed any more.
    /// let scale_in = Operations::new(client, Operation::new("workload", "scale-in").deleting())?;
    /// let begun = scale_in.begin_with_cleaning_old(pod).await?;
    /// assert!(scale_in.is_during_ops(&begun.pod));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Operations::begin`], and [`Error::NotCleaned`] when what was cancelled does not go away.
    pub async fn begin_with_cleaning_old(&self, pod: &Pod) -> Result<Outcome, Error> {
        self.apply(pod, Call::Afresh).await
    }

    /// Gives the pod back: the operation has acted. If it was never allowed to act, this cancels it. Where nothing is to be
    /// given back, the pod is read before that is answered.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use safepoint_sdk::operation::{Error, Operation, Operations};
    /// # async fn act() {}
    /// # async fn go(operations: &Operations<Operation>, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Error> {
    /// if operations.allow_ops(pod, Duration::ZERO).is_granted() {
    ///     act().await;
    ///     let _ = operations.finish(pod).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the id is in use for another type, when the pod is gone, or when it could not be written.
    pub async fn finish(&self, pod: &Pod) -> Result<Outcome, Error> {
        self.apply(pod, Call::Finish).await
    }

    /// Takes the wish back, however far it is: the pod goes back into service if nothing else keeps it out. Nothing is written
    /// where the operation is not on the pod, which is read before that is answered.
    ///
    /// ```no_run
    /// # use safepoint_sdk::operation::{Error, Operation, Operations};
    /// # async fn stop(operations: &Operations<Operation>, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Error> {
    /// if !operations.cancel(pod).await?.wrote {
    ///     println!("there was nothing to cancel");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the pod is gone, or when it could not be written.
    pub async fn cancel(&self, pod: &Pod) -> Result<Outcome, Error> {
        self.apply(pod, Call::Cancel).await
    }

    fn of<'a>(&'a self, pod: &'a Pod) -> Operated<'a> {
        Operated::new(pod, &self.name, &self.adapter)
    }

    /// Decides and writes, again if the pod was another one.
    async fn apply(&self, pod: &Pod, call: Call) -> Result<Outcome, Error> {
        let (name, client) = (PodName::of(pod), &self.client.0);
        let (mut current, mut pause, mut unread, mut tried) = (Cow::Borrowed(pod), PAUSE, None, 1);
        let (mut is_fresh, mut is_clean, mut wrote) = (false, false, false);
        let last = loop {
            let operated = self.of(&current);
            // Decided on the same pod as the begin: one that an old pod does not show would be taken for our own.
            let cleans = matches!(call, Call::Afresh)
                && !is_clean
                && operated.is_in_the_way()
                && !operated.is_being_cancelled();
            let next = match call {
                Call::Afresh if cleans => operated.cancel(),
                Call::Begin | Call::Afresh => operated.begin(now()),
                Call::Finish => operated.finish(),
                Call::Cancel => operated.cancel(),
            };
            let mut wait = pause;
            let done = match next? {
                Next::Nothing if is_fresh || call.begins() => {
                    return Ok(Outcome { pod: current.into_owned(), wrote });
                }
                Next::Nothing => {
                    // That there is nothing to end may only be what an old pod says. The first look at it need not wait.
                    if unread.is_none() {
                        wait = Duration::ZERO;
                    }
                    Err(Missed::Changed)
                }
                Next::Write(metadata) => pods::write(client, &current, metadata).await,
                Next::Later => Err(Missed::Changed),
            };
            let problem = match done {
                Ok(pod) if cleans => {
                    (current, pause, tried) = (Cow::Owned(pod), PAUSE, 1);
                    (is_clean, wrote) = (true, true);
                    continue;
                }
                Ok(pod) => return Ok(Outcome { pod, wrote: true }),
                Err(missed) => passing(missed, &name)?,
            };
            if tried == TRIES {
                break problem.or(unread);
            }
            tried += 1;
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
                pause = pause.saturating_mul(2);
            }
            match pods::read(client, &name, pod.metadata.uid.as_deref()).await {
                Ok(read) => (current, is_fresh, unread) = (Cow::Owned(read), true, None),
                Err(missed) => unread = passing(missed, &name)?,
            }
        };
        let pod = name.to_string();
        Err(match (last, self.of(&current).is_being_cleared()) {
            (Some(source), _) => Error::Away { pod, source },
            (None, true) => Error::NotCleaned { pod, id: self.name.id.clone() },
            (None, false) => Error::Contended { pod, tries: TRIES },
        })
    }
}

impl Call {
    /// Whether it asks for something, and does not end it.
    const fn begins(self) -> bool {
        matches!(self, Self::Begin | Self::Afresh)
    }
}

/// Tells what can be tried again from what cannot.
fn passing(missed: Missed, name: &PodName) -> Result<Option<kube::Error>, Error> {
    match missed {
        Missed::Changed => Ok(None),
        Missed::Passing(source) => Ok(Some(source)),
        Missed::Gone => Err(Error::Gone { pod: name.to_string() }),
        Missed::Refused(source) => Err(Error::Refused { pod: name.to_string(), source }),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "labels tell the time of the wall, and this is the one place that reads it"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

impl std::fmt::Debug for ClientOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}
