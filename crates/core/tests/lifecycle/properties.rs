//! What holds for any labels at all, whoever wrote them.

use std::collections::BTreeSet;

use proptest::prelude::*;
use safepoint_core::lifecycle::{
    Expectations, Kind, Label, LabelKey, Lifecycle, Mark, Request, RuleStates, ServiceGate, StageState, View,
    Writer, check, phase,
};
use safepoint_core::{Labels, Text};

use crate::support::{NOW, PROTECTION, UPDATE, short, wire};

/// A pod with any labels of two ids.
fn any_view() -> impl Strategy<Value = View> {
    let labels = prop::collection::vec((0..2_usize, prop::sample::select(Label::ALL.to_vec())), 0..12);
    let marks = prop::collection::vec(prop::sample::select(Mark::ALL.to_vec()), 0..3);
    let permission = prop::option::of(prop::sample::select(vec!["update", "restart"]));
    let gate = (any::<bool>(), prop::option::of(any::<bool>()));
    (labels, marks, permission, gate, any::<(bool, bool, bool)>()).prop_map(
        |(labels, marks, permission, (declared, condition), (ready, protected, expected))| {
            let mut view = View::of(&wire(&[]));
            for (id, label) in labels {
                let typed = matches!(
                    label,
                    Label::OperationType | Label::DoneOperationType | Label::UndoOperationType
                );
                let value = if typed { ["update", "restart"][id] } else { "1" };
                view.set(&LabelKey::Operation(["a", "b"][id].into(), label), Some(value.into()));
            }
            marks.into_iter().for_each(|mark| drop(view.marks.insert(mark, "1".into())));
            permission
                .into_iter()
                .for_each(|kind| view.set(&LabelKey::Permission(kind.into()), Some("1".into())));
            view.gate = ServiceGate { declared, condition };
            view.ready = ready;
            view.finalizers = if protected { vec![PROTECTION.into()] } else { Vec::new() };
            if expected {
                view.expectations =
                    Expectations::Declared([("Service/default/web".into(), PROTECTION.into())].into());
            }
            view
        },
    )
}

/// What somebody does to the labels of an operation in one write: each is set, taken off or left.
fn any_write() -> impl Strategy<Value = Vec<(usize, Label, Option<&'static str>)>> {
    let value = prop::option::of(prop::sample::select(vec!["update", "restart", "1"]));
    prop::collection::vec((0..2_usize, prop::sample::select(Label::ALL.to_vec()), value), 0..4)
}

fn admitted(view: &View, old: &View, kind: Kind) -> View {
    let request = Request { kind, writer: Writer::Other, dry_run: false };
    let mut after = view.clone();
    after.apply(&Lifecycle::default().admit(view, Some(old), request, NOW).expect("no key is invalid"));
    after
}

fn look(view: &mut View) -> bool {
    let changes = Lifecycle::default().reconcile(view, &RuleStates::PASSED, &BTreeSet::new(), NOW);
    let old = view.clone();
    view.apply(&changes);
    let admitted = Lifecycle::default().admit(view, Some(&old), UPDATE, NOW).expect("no key is invalid");
    view.apply(&admitted);
    !changes.is_empty()
}

proptest! {
    #[test]
    fn whatever_the_labels_are_the_controller_soon_has_nothing_to_write(mut view in any_view()) {
        let writes = (0..10).take_while(|_| look(&mut view)).count();
        prop_assert!(writes < 6, "{writes} writes, and {} with {view:?}", phase(&view));
        let again = Lifecycle::default().admit(&view, Some(&view), UPDATE, NOW).unwrap();
        prop_assert!(again.is_empty(), "a write that changes nothing is not completed: {again:?}");
    }

    #[test]
    fn whatever_the_labels_are_the_controller_leaves_none_that_contradict(mut view in any_view()) {
        // There is no permission for what has no type.
        for (id, operation) in view.operations.clone() {
            if operation.kind().is_none() {
                view.set(&LabelKey::Operation(id, Label::Operate), None);
            }
        }
        let blocked = RuleStates {
            pre_check: StageState::Waiting(Vec::new()),
            post_check: StageState::Waiting(Vec::new()),
        };
        for _ in 0..10 {
            let changes = Lifecycle::default().reconcile(&view, &blocked, &BTreeSet::new(), NOW);
            let old = view.clone();
            view.apply(&changes);
            prop_assert_eq!(check(&view, Some(&old)), Ok(()), "{:?}", short(&old));
        }
        prop_assert_eq!(check(&view, None), Ok(()), "{:?}", short(&view));
    }

    #[test]
    fn a_change_says_nothing_that_is_so_already(view in any_view()) {
        let changes = Lifecycle::default().reconcile(&view, &RuleStates::PASSED, &BTreeSet::new(), NOW);
        for (key, value) in &changes.labels {
            prop_assert_ne!(view.get(key), value.as_ref());
        }
        prop_assert!(changes.gate.is_none_or(|gate| view.gate.condition != Some(gate)));
    }

    #[test]
    fn marks_of_others_are_left_alone(view in any_view(), old in any_view()) {
        let mut after = view.clone();
        after.apply(&Lifecycle::default().admit(&view, Some(&old), UPDATE, NOW).unwrap());
        look(&mut after);
        for mark in [Mark::StayOffline, Mark::ToDelete, Mark::ToDeleteOld] {
            prop_assert_eq!(view.marks.get(&mark), after.marks.get(&mark));
        }
        prop_assert_eq!(&view.finalizers, &after.finalizers);
        prop_assert_eq!(view.gate.declared, after.gate.declared);
    }

    #[test]
    fn an_operation_that_goes_on_keeps_the_labels_of_its_controller(view in any_view()) {
        let mut after = view.clone();
        after.apply(&Lifecycle::default().admit(&view, Some(&view), UPDATE, NOW).unwrap());
        for (id, operation) in view.alive().filter(|(_, operation)| !operation.has(Label::UndoOperationType)) {
            if operation.has(Label::Operating) {
                for label in [Label::Operating, Label::OperationType] {
                    let key = LabelKey::Operation(id.clone(), label);
                    prop_assert_eq!(view.get(&key), after.get(&key));
                }
            }
        }
    }

    #[test]
    fn a_write_that_is_asked_about_twice_becomes_the_same(
        old in any_view(),
        write in any_write(),
        other in prop::option::of(any_view()),
        kind in prop::sample::select(vec![Kind::Create, Kind::Update, Kind::Status]),
    ) {
        let mut view = other.unwrap_or_else(|| old.clone());
        for (id, label, value) in write {
            view.set(&LabelKey::Operation(["a", "b"][id].into(), label), value.map(Text::from));
        }
        let once = admitted(&view, &old, kind);
        let twice = admitted(&once, &old, kind);
        prop_assert_eq!(short(&once), short(&twice), "{:?} after {:?}", short(&view), short(&old));
        prop_assert_eq!(once.gate, twice.gate);
    }

    #[test]
    fn no_label_that_is_not_of_the_lifecycle_is_seen(key in "[a-z./-]{1,40}", value in "[a-z]{0,5}") {
        prop_assume!(!key.contains("kusionstack"));
        let labels = Labels::from([(Text::from(key.as_str()), Text::from(value.as_str()))]);
        prop_assert_eq!(View::of(&labels), View::default());
    }
}
