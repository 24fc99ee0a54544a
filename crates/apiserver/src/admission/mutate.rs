//! Mutating hooks: one after the other, each on what the one before left, and a second time where it matters.

use std::collections::BTreeSet;

use safepoint_machinery::patch;
use safepoint_machinery::status::Status;
use serde_json::Value;

use super::attributes::Attributes;
use super::call::{self, Fault};
use super::convert::{self, Versioned};
use super::hook::{Flavour, Hook, Hooks};
use super::matching::{self, Invocation};
use super::refusal;
use super::review::{Patch, Verdict};
use super::services::Services;
use super::warnings::Warnings;

/// Who is to be asked again. A hook with `reinvocationPolicy: IfNeeded` is, once, if the object was changed after it.
#[derive(Default)]
struct Reinvocation {
    /// Reinvocable hooks that have seen the object as it is now.
    satisfied: BTreeSet<usize>,
    /// Reinvocable hooks that have not seen the last change.
    due: BTreeSet<usize>,
}

// === impl Hooks ===

impl Hooks {
    /// Lets the mutating hooks change `attributes.object`. What they warn of is added to `warnings`, even if one refuses.
    ///
    /// `default` fills in an object that a hook has changed, as if it had come from a user; an error of it (the object
    /// makes no sense any more) refuses the request. Whether a hook changed what must not change (a name, a namespace) is
    /// not looked at here: the caller's checks come after all changes anyway.
    pub(crate) async fn mutate(
        &self,
        attributes: &mut Attributes,
        services: &Services,
        warnings: &mut Warnings,
        default: impl FnMut(&mut Value) -> Result<(), String> + Send,
    ) -> Result<(), Status> {
        self.mutate_in_rounds(attributes, services, warnings, default).await.map_err(|refusal| *refusal)
    }

    async fn mutate_in_rounds(
        &self,
        attributes: &mut Attributes,
        services: &Services,
        warnings: &mut Warnings,
        mut default: impl FnMut(&mut Value) -> Result<(), String> + Send,
    ) -> Result<(), Box<Status>> {
        if attributes.is_exempt() {
            return Ok(());
        }
        let mut reinvocation = Reinvocation::default();
        for is_second_round in [false, true] {
            let mut changed_at_all = false;
            for (index, hook) in self.of(Flavour::Mutating).enumerate() {
                // A hook that was not asked in the first round is not asked in the second, even if it would match now.
                if is_second_round && !reinvocation.due.contains(&index) {
                    continue;
                }
                let Some(invocation) = matching::invocation(hook, attributes)? else { continue };
                let asked = ask(hook, services, attributes, &invocation, warnings, &mut default).await;
                let changed = match asked {
                    Ok(changed) => changed,
                    Err(fault) => {
                        fault.settle(hook)?;
                        false
                    }
                };
                if changed {
                    reinvocation.changed();
                    changed_at_all = true;
                }
                if hook.reinvocable {
                    reinvocation.satisfied.insert(index);
                }
            }
            if !changed_at_all {
                break;
            }
        }
        Ok(())
    }
}

/// Asks one hook and does what it says. The answer is whether the object is another one now.
async fn ask(
    hook: &Hook,
    services: &Services,
    attributes: &mut Attributes,
    invocation: &Invocation,
    warnings: &mut Warnings,
    default: &mut (impl FnMut(&mut Value) -> Result<(), String> + Send),
) -> Result<bool, Fault> {
    let answer = call::ask(hook, Flavour::Mutating, services, attributes, invocation).await?;
    answer.warnings.into_iter().for_each(|text| warnings.add(text));
    match answer.verdict {
        Verdict::Denied(explanation) => Err(Fault::refused(refusal::denied(&hook.name, explanation))),
        Verdict::Allowed(None) => Ok(false),
        Verdict::Allowed(Some(patch)) => apply(hook, attributes, invocation, &patch, default),
    }
}

fn apply(
    hook: &Hook,
    attributes: &mut Attributes,
    invocation: &Invocation,
    patch: &Patch,
    default: &mut impl FnMut(&mut Value) -> Result<(), String>,
) -> Result<bool, Fault> {
    let internal = |why: String| Fault::refused(Status::internal(&why));
    let Some(operations) = read(patch).map_err(Fault::Unanswered)? else { return Ok(false) };
    let Some(before) = Versioned::of(attributes, &invocation.kind).object else {
        return Err(internal(format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        )));
    };
    if patch.kind != "JSONPatch" {
        return Err(Fault::Unanswered(format!("unsupported patch type {:?}", patch.kind)));
    }
    let blame =
        |why: &dyn std::fmt::Display| internal(format!("patch of admission webhook {:?}: {why}", hook.name));
    let mut object = patch::json(&before, &operations).map_err(|why| blame(&why))?;
    for field in ["apiVersion", "kind"] {
        // What is no object any more has lost both.
        if object.get(field) != before.get(field) {
            return Err(blame(&format_args!("{field} must not change")));
        }
    }
    let changed = object != *before;
    convert::convert(&mut object, &invocation.kind, &attributes.kind);
    default(&mut object).map_err(|why| blame(&why))?;
    attributes.object = Some(object);
    Ok(changed)
}

/// The operations of a patch, not looked at one by one yet; none if there is nothing to do.
fn read(patch: &Patch) -> Result<Option<Value>, String> {
    let undecodable =
        |why: &dyn std::fmt::Display| format!("received undecodable patch in webhook response: {why}");
    let operations: Value = serde_json::from_slice(&patch.bytes).map_err(|error| undecodable(&error))?;
    match &operations {
        Value::Null => Ok(None),
        Value::Array(items) if items.is_empty() => Ok(None),
        Value::Array(items) if items.iter().all(|item| item.is_object() || item.is_null()) => {
            Ok(Some(operations))
        }
        _ => Err(undecodable(&"not a list of operations")),
    }
}

// === impl Reinvocation ===

impl Reinvocation {
    /// The object is another one now: whoever has seen it as it was has to see it again.
    fn changed(&mut self) {
        self.due.append(&mut self.satisfied);
    }
}
