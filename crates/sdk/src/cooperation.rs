//! Cooperation: something around a pod is on while the pod is in service, and off before anybody acts on it.
//!
//! Implement [`Cooperation`], which is `turn_on` and `turn_off` for one pod, and let a [`Frame`] call it. The frame watches pods that
//! take part in the lifecycle and keeps three things in step:
//!
//! | the pod | what is around it | on the pod |
//! |---|---|---|
//! | belongs to an employer | | the finalizer is declared as expected: nobody acts before it has come |
//! | is ready | `turn_on` | then the finalizer is added: from here on everybody waits for us |
//! | is to go out of service, or goes | `turn_off` | then the finalizer is removed: whoever waited may act |
//!
//! An *employer* is what pods are employed for, such as a Service or one load balancer; each has a finalizer of its own.
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Pod;
//! use safepoint_sdk::cooperation::{BoxError, Cooperation, Employer, Frame, Member};
//!
//! struct Doorbell;
//!
//! impl Cooperation for Doorbell {
//!     async fn turn_on(&self, _: &Employer, pod: &Pod) -> Result<(), BoxError> {
//!         println!("{:?} answers the door", pod.metadata.name);
//!         Ok(())
//!     }
//!
//!     async fn turn_off(&self, _: &Employer, member: &Member) -> Result<(), BoxError> {
//!         println!("{member} does not any more");
//!         Ok(())
//!     }
//! }
//!
//! # async fn run(client: kube::Client) -> Result<(), safepoint_sdk::cooperation::Error> {
//! let employer = Employer::new("doorbell", "Door", "shop", "front").selecting([("app", "web")]);
//! Frame::new(client, Doorbell).employer(employer).run(std::future::pending()).await
//! # }
//! ```
//!
//! The frame is level triggered and remembers nothing on disk: after a restart it looks at every pod, asks
//! [what is on](Cooperation::members), and calls `turn_on` and `turn_off` again where it does not know. Both have to be *idempotent*.
//! Other finalizers of a pod, and declarations of others, are never touched.

mod decide;
mod declaration;
mod employer;
mod error;
mod frame;
mod queue;
mod services;
mod state;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

pub use employer::Employer;
pub use error::Error;
pub use frame::Frame;

use crate::pods::PodName;

/// What an implementation fails with: anything.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Something that is switched on and off for pods. See the [module](self) for an example.
///
/// For one pod and one employer there is never more than one call at a time; for different ones there may be.
pub trait Cooperation: Send + Sync {
    /// Switches on for this pod, and returns once it is on. Called again after a restart, and when the pod's addresses change.
    fn turn_on(&self, employer: &Employer, pod: &Pod) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Switches off for this pod, and returns once nothing reaches the pod through it any more, also not what was under way:
    /// right after, the pod may be ended. Called as well for pods for which it never was on, and for pods that are gone.
    fn turn_off(
        &self,
        employer: &Employer,
        member: &Member,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Everything that is on for this employer. Asked once for each employer, so that what is left from before a restart, of
    /// pods that have gone in the meantime, is switched off. Without it such remains stay.
    fn members(&self, employer: &Employer) -> impl Future<Output = Result<Vec<Member>, BoxError>> + Send {
        let _ = employer;
        async { Ok(Vec::new()) }
    }
}

/// A pod for which something is switched off. It may be gone.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its namespace.
    pub namespace: String,
    /// Its name. Another pod may have it by now: what is switched off is meant for the one with this uid.
    pub name: String,
    /// Its uid, if it is known.
    pub uid: Option<String>,
    /// The pod as it was seen last, if it was.
    pub pod: Option<Arc<Pod>>,
}

// === impl Member ===

impl Member {
    /// One that is known by name, as for [`Cooperation::members`].
    pub fn named(namespace: impl Into<String>, name: impl Into<String>, uid: Option<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into(), uid, pod: None }
    }

    fn of(pod: &Arc<Pod>) -> Self {
        let PodName { namespace, name } = PodName::of(pod);
        Self { namespace, name, uid: pod.metadata.uid.clone(), pod: Some(Arc::clone(pod)) }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
