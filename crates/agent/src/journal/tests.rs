//! The journal as it is on disk.

use safepoint_core::{
    Ask, Config, Event, Gate, Holder, Now, Origin, Request, RequestId, Scope, Sighting, Span, Timestamp,
};
use serde_json::json;

use super::*;
use crate::version;

fn now() -> Now {
    Now { monotonic: Span(0), boot: 1, wall: Timestamp(1_794_700_800_000), trusted: true }
}

fn pod(image: &str) -> (Key, safepoint_core::Version, Vec<u8>) {
    let pod = json!({"metadata": {"namespace": "default", "name": "rover", "uid": "u1"},
        "spec": {"containers": [{"name": "a", "image": image}]}});
    let (key, version) = version::of_pod("node", &pod).unwrap().unwrap();
    (key, version, serde_json::to_vec(&pod).unwrap())
}

/// One step of a gate, written down.
fn step(journal: &mut Journal, gate: &mut Gate, event: Event, bodies: Vec<Body>) {
    let outcome = gate.step(event, now());
    journal.commit(&Commit { records: outcome.records, bodies, answers: Vec::new() }).unwrap();
}

fn observe(journal: &mut Journal, gate: &mut Gate, image: &str) {
    let (key, version, json) = pod(image);
    let body = Body::new(&key, &version, json);
    let event =
        Event::Observed { sightings: vec![Sighting::Present(key, version)], complete: Default::default() };
    step(journal, gate, event, vec![body]);
}

fn hold(gate: &mut Gate, journal: &mut Journal, id: &str) {
    let ask = Ask::Hold { id: id.into(), reason: "flying".into(), scope: Scope::Node, lease: None };
    let caller = Holder { name: "pilot".into(), origin: Origin::Local };
    step(
        journal,
        gate,
        Event::Asked(Request { id: RequestId(1), caller, order: None, overriding: None, ask }),
        vec![],
    );
}

#[test]
fn what_was_written_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Nothing));
    let mut gate = Gate::new(Config::default(), now());
    observe(&mut journal, &mut gate, "rover:v1");
    hold(&mut gate, &mut journal, "mission");
    observe(&mut journal, &mut gate, "rover:v2");
    drop(journal);

    let (journal, found) = Journal::open(folder.path()).unwrap();
    let Found::Records(records) = found else { panic!("{found:?}") };
    let recovered = Gate::recover(Config::default(), *records, now());
    assert_eq!(recovered.holds(), gate.holds());
    let slot = &recovered.slots()[&Key::pod("default", "rover")];
    for version in slot.versions() {
        let body = journal.body(&BodyKey::new(&Key::pod("default", "rover"), version)).unwrap();
        assert!(body.is_some(), "both the running and the wanted version have their bodies");
    }
    assert_eq!(slot.versions().count(), 2);
}

#[test]
fn bodies_that_no_slot_names_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path()).unwrap();
    let mut gate = Gate::new(Config::default(), now());
    for image in ["rover:v1", "rover:v2", "rover:v3"] {
        observe(&mut journal, &mut gate, image);
    }
    let (key, first, _) = pod("rover:v1");
    let (_, last, _) = pod("rover:v3");
    assert!(journal.body(&BodyKey::new(&key, &first)).unwrap().is_none());
    assert!(journal.body(&BodyKey::new(&key, &last)).unwrap().is_some());
}

#[test]
fn a_record_without_its_body_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path()).unwrap();
    let mut gate = Gate::new(Config::default(), now());
    let (key, version, _) = pod("rover:v1");
    let event =
        Event::Observed { sightings: vec![Sighting::Present(key, version)], complete: Default::default() };
    let records = gate.step(event, now()).records;
    let refused = journal.commit(&Commit { records, ..Commit::default() }).unwrap_err();
    assert_eq!(refused.to_string(), "there is no body for pod default/rover");
    drop(journal);
    let (_, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Records(records) if records.slots.is_empty()));
}

#[test]
fn a_file_that_cannot_be_read_is_set_aside_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.redb");
    std::fs::write(&path, vec![7; 8192]).unwrap();
    let (_, found) = Journal::open(folder.path()).unwrap();
    let Found::Unreadable { kept, .. } = found else { panic!("{found:?}") };
    assert_eq!(std::fs::read(kept).unwrap(), vec![7; 8192]);
}

#[test]
fn a_row_that_makes_no_sense_makes_the_whole_record_unreadable() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path()).unwrap();
    let write = journal.database.begin_write().unwrap();
    write.open_table(ROWS).unwrap().insert("hold/x", b"{}".as_slice()).unwrap();
    write.commit().unwrap();
    drop(journal);
    let (_, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Unreadable { why, .. } if why.starts_with("row hold/x")));
}

#[test]
fn a_journal_is_used_by_one_agent() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Journal::open(folder.path()).unwrap();
    let second = Journal::open(folder.path()).err().unwrap();
    assert!(second.to_string().ends_with("another agent uses it; stop that one first"));
}

#[test]
fn a_line_of_the_log_that_was_changed_or_taken_out_shows() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path()).unwrap();
    let mut gate = Gate::new(Config::default(), now());
    for id in ["a", "b", "c"] {
        hold(&mut gate, &mut journal, id);
    }
    let page = journal.log(1, 10).unwrap();
    assert!(page.intact && page.last == 3);
    assert_eq!(page.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [2, 3]);

    let write = journal.database.begin_write().unwrap();
    write.open_table(audit::LINES).unwrap().remove(2).unwrap();
    write.commit().unwrap();
    assert!(!journal.log(0, 10).unwrap().intact);
}

#[test]
fn a_file_without_a_byte_is_unreadable_and_not_new() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal.redb"), b"").unwrap();
    let (journal, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Unreadable { .. }), "{found:?}");
    // And stays so until the gate has written down that it is sealed.
    drop(journal);
    let (_, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Unreadable { .. }), "{found:?}");
}

#[test]
fn a_journal_that_was_not_finished_is_not_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal.redb.new"), vec![7; 100]).unwrap();
    let (_, found) = Journal::open(folder.path()).unwrap();
    assert!(matches!(found, Found::Nothing), "{found:?}");
}

#[test]
fn a_journal_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(Journal::open(folder.path()).unwrap());
    let mode = std::fs::metadata(folder.path().join("journal.redb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
