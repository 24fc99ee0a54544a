//! Words of the hub's own on pods that take part. All others are KusionStack's and are spelled by core.

use jiff::Timestamp;
pub(crate) use safepoint_api::names::safepoint::lifecycle::{EVENT_OVERDUE, PHASE, WISH};
use safepoint_core::lifecycle::Nanos;

/// A moment as the labels have it. One before 1970 is none.
pub(crate) fn nanos(now: Timestamp) -> Nanos {
    Nanos(u64::try_from(now.as_nanosecond()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use safepoint_api::names::kusionstack::operation::{OperationLabel, permission_key};
    use safepoint_api::names::kusionstack::{self, webhook};
    use safepoint_core::lifecycle::{self, Label, LabelKey, Mark};

    use super::*;

    /// Core may not depend on the names, and spells them a second time.
    #[test]
    fn core_spells_every_key_as_the_names_do() {
        for (one, other) in Label::ALL.into_iter().zip(OperationLabel::ALL) {
            let key = LabelKey::Operation("collaset".into(), one).to_string();
            assert_eq!(key, other.key("collaset").unwrap());
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
        assert_eq!(LabelKey::Permission("update".into()).to_string(), permission_key("update").unwrap());
        let marks = [
            (Mark::ServiceAvailable, kusionstack::SERVICE_AVAILABLE),
            (Mark::StayOffline, kusionstack::STAY_OFFLINE),
            (Mark::PreparingToDelete, kusionstack::PREPARING_TO_DELETE),
            (Mark::Creating, kusionstack::CREATING),
            (Mark::Completing, kusionstack::COMPLETING),
            (Mark::ToDelete, kusionstack::TO_DELETE),
            (Mark::ToDeleteOld, kusionstack::TO_DELETE_OLD),
        ];
        assert_eq!(marks.map(|(mark, _)| mark), Mark::ALL);
        for (mark, key) in marks {
            assert_eq!(mark.key(), key);
        }
        for (one, other) in [
            (lifecycle::CONTROL, kusionstack::CONTROL),
            (lifecycle::CONTROL_ON, kusionstack::CONTROL_ON),
            (lifecycle::SERVICE_READY, kusionstack::SERVICE_READY),
            (lifecycle::PROTECTION_FINALIZER_PREFIX, kusionstack::PROTECTION_FINALIZER_PREFIX),
            (lifecycle::AVAILABLE_CONDITIONS, kusionstack::AVAILABLE_CONDITIONS),
            (lifecycle::DELETE_TIMESTAMP, kusionstack::DELETE_TIMESTAMP),
            (lifecycle::DELETE_ID, kusionstack::DELETE_ID),
            (lifecycle::DELETE_TYPE, kusionstack::DELETE_TYPE),
        ] {
            assert_eq!(one, other);
        }
    }

    #[test]
    fn core_refuses_a_deletion_with_the_text_of_the_names() {
        use safepoint_core::lifecycle::{
            Deletion, DeletionKind, DeletionVerdict, Lifecycle, ServiceGate, View,
        };
        let gate = ServiceGate { declared: true, condition: None };
        let finalizers = ["prot.podopslifecycle.kusionstack.io/a", "prot.podopslifecycle.kusionstack.io/b"];
        let view = View {
            controlled: true,
            gate,
            finalizers: finalizers.map(Into::into).to_vec(),
            ..View::default()
        };
        let asked = Deletion { kind: DeletionKind::Delete, dry_run: false };
        let DeletionVerdict::PutOff(taken) = Lifecycle::default().grace_delete(&view, asked, Nanos(1)) else {
            panic!("it is put off")
        };
        assert_eq!(taken.text, webhook::deletion_underway(&finalizers));
    }
}
