//! The freeze in the spec of a NodeGate.
//!
//! A spec has room for one freeze, so one that is there is never replaced in passing: whoever wants another one ends it first.

use safepoint_api::NodeGate;
use safepoint_api::node_gate::{Freeze, GateState, NodeGateStatus, Origin, ScopeKind};
use serde_json::{Value, json};

use crate::Error;

/// The spec with this freeze, if there is room for it.
///
/// # Errors
///
/// If another one is there.
pub fn wish(gate: &NodeGate, freeze: &Freeze) -> Result<Value, Error> {
    match &gate.spec.freeze {
        Some(there) if there.id != freeze.id => {
            let by = there.holder.as_deref().unwrap_or("the cluster").to_owned();
            Err(Error::Occupied { by, reason: there.reason.clone() })
        }
        _ => {
            let Freeze { id, reason, holder, deadline, hold_barrier, lease } = freeze;
            // Every field: a merge would leave what a former freeze of this name has said.
            Ok(json!({ "freeze": {
                "id": id, "reason": reason, "holder": holder, "deadline": deadline, "holdBarrier": hold_barrier,
                "lease": lease,
            } }))
        }
    }
}

/// Whether the node says that it is frozen.
#[must_use]
pub fn is_frozen(status: &NodeGateStatus) -> bool {
    status.state == Some(GateState::Frozen)
}

/// The freezes that were taken on the node, as `HOLDER (ID)`.
pub fn local_freezes(status: &NodeGateStatus) -> impl Iterator<Item = String> {
    let node_wide = status.holds.iter().filter(|hold| hold.scope.kind == ScopeKind::Node);
    node_wide.filter(|hold| hold.origin == Origin::Local).map(|hold| format!("{} ({})", hold.holder, hold.id))
}

#[cfg(test)]
mod tests {
    use safepoint_api::node_gate::NodeGateSpec;

    use super::*;

    fn freeze(id: &str, reason: &str) -> Freeze {
        Freeze { id: Some(id.into()), ..Freeze::new(reason) }
    }

    #[test]
    fn a_freeze_that_is_there_is_not_replaced_in_passing() {
        let there = Freeze { holder: Some("crane".into()), ..freeze("a", "lift") };
        let gate = NodeGate::new("rover-7", NodeGateSpec { freeze: Some(there), ..NodeGateSpec::default() });
        let refused = wish(&gate, &freeze("b", "test")).unwrap_err().to_string();
        assert_eq!(refused, "it is to be frozen already, by crane: lift");
        assert!(wish(&gate, &freeze("a", "longer lift")).is_ok(), "its own id changes it");
    }

    #[test]
    fn a_freeze_of_the_same_name_keeps_nothing_of_the_former() {
        let gate = NodeGate::new("rover-7", NodeGateSpec::default());
        let written = wish(&gate, &freeze("a", "lift")).unwrap();
        assert!(written["freeze"]["lease"].is_null() && written["freeze"].get("lease").is_some());
    }
}
