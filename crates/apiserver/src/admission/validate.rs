//! Validating hooks: all at once, since none can change what another sees.

use futures::future::join_all;
use safepoint_machinery::status::Status;
use tracing::warn;

use super::attributes::Attributes;
use super::call::{self, Fault};
use super::hook::{Flavour, Hooks};
use super::matching;
use super::refusal;
use super::review::Verdict;
use super::services::Services;
use super::warnings::Warnings;

impl Hooks {
    /// Asks the validating hooks. All of them are heard to the end, and if several refuse, the user is told the first in
    /// the order of the hooks; the others are in the log. What they warn of is added to `warnings`.
    pub(crate) async fn validate(
        &self,
        attributes: &Attributes,
        services: &Services,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        self.validate_at_once(attributes, services, warnings).await.map_err(|refusal| *refusal)
    }

    async fn validate_at_once(
        &self,
        attributes: &Attributes,
        services: &Services,
        warnings: &mut Warnings,
    ) -> Result<(), Box<Status>> {
        if attributes.is_exempt() {
            return Ok(());
        }
        // Whether a request can be judged at all is known before anybody is asked.
        let mut invocations = Vec::new();
        for hook in self.of(Flavour::Validating) {
            if let Some(invocation) = matching::invocation(hook, attributes)? {
                invocations.push((hook, invocation));
            }
        }
        let calls = invocations.iter().map(|(hook, invocation)| async move {
            let answer = call::ask(hook, Flavour::Validating, services, attributes, invocation).await;
            (hook, answer)
        });
        let mut refusals = Vec::new();
        for (hook, answer) in join_all(calls).await {
            let verdict = answer.map(|answer| {
                answer.warnings.into_iter().for_each(|text| warnings.add(text));
                answer.verdict
            });
            let settled = match verdict {
                Ok(Verdict::Allowed(_)) => Ok(()),
                Ok(Verdict::Denied(why)) => Fault::refused(refusal::denied(&hook.name, why)).settle(hook),
                Err(fault) => fault.settle(hook),
            };
            refusals.extend(settled.err());
        }
        for refusal in refusals.iter().skip(1) {
            warn!(%refusal, "refused by another webhook as well");
        }
        refusals.into_iter().next().map_or(Ok(()), Err)
    }
}
