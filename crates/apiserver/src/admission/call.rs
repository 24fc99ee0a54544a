//! Asking one hook.

use safepoint_machinery::status::Status;
use tracing::warn;
use uuid::Uuid;

use super::attributes::Attributes;
use super::convert::Versioned;
use super::hook::{FailurePolicy, Flavour, Hook, SideEffects};
use super::matching::Invocation;
use super::refusal;
use super::review::{self, Answer};
use super::services::Services;

/// Why there is no answer, or none that can be used.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The hook could not be asked, or answered nonsense: its failure policy decides.
    Unanswered(String),
    /// The request is refused, whatever the failure policy says.
    Refused(Box<Status>),
}

/// Asks a hook about a request.
pub(crate) async fn ask(
    hook: &Hook,
    flavour: Flavour,
    services: &Services,
    attributes: &Attributes,
    invocation: &Invocation,
) -> Result<Answer, Fault> {
    match hook.side_effects {
        SideEffects::Some if attributes.dry_run => {
            return Err(Fault::refused(refusal::no_dry_run(&hook.name)));
        }
        SideEffects::Unsaid if attributes.dry_run => {
            return Err(Fault::Unanswered("Webhook SideEffects is nil".into()));
        }
        SideEffects::NoneOnDryRun | SideEffects::Some | SideEffects::Unsaid => {}
    }
    if !hook.speaks_v1 {
        let why =
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1)";
        return Err(Fault::Unanswered(why.into()));
    }
    let target = match &hook.target {
        Ok(target) => target,
        Err(why) => return Err(Fault::Unanswered(format!("could not get REST client: {why}"))),
    };
    let uid = Uuid::new_v4().to_string();
    let question = {
        let versioned = Versioned::of(attributes, &invocation.kind);
        review::question(&uid, attributes, invocation, &versioned)
    };
    let body = target.post(services, question, hook.timeout).await;
    let body = body.map_err(|why| Fault::Unanswered(format!("failed to call webhook: {why}")))?;
    review::answer(&body, &uid, flavour).map_err(Fault::Unanswered)
}

// === impl Fault ===

impl Fault {
    pub(crate) fn refused(status: Status) -> Fault {
        Fault::Refused(Box::new(status))
    }

    /// Lets the failure policy decide, where it may: an error ends the request, otherwise it goes on without the hook.
    pub(crate) fn settle(self, hook: &Hook) -> Result<(), Box<Status>> {
        match (self, hook.on_failure) {
            (Fault::Refused(status), _) => Err(status),
            (Fault::Unanswered(why), FailurePolicy::Ignore) => {
                warn!(hook = hook.name, why, "failed calling webhook, going on without it");
                Ok(())
            }
            (Fault::Unanswered(why), FailurePolicy::Fail) => {
                warn!(hook = hook.name, why, "failed calling webhook, refusing the request");
                Err(Box::new(Status::internal(&refusal::unanswered(&hook.name, &why))))
            }
        }
    }
}
