//! What comes of looks at the gate.

use std::collections::BTreeMap;

use safepoint_core::{Key, Kind, Timestamp};

use super::*;

fn key() -> Key {
    Key { kind: Kind::ConfigMap, namespace: "default".into(), name: "ca".into() }
}

fn config(body: Option<&str>) -> look::Config {
    let body = body.map(|body| Arc::from(body.as_bytes()));
    look::Config {
        key: key(),
        uid: "u".into(),
        digest: "d".into(),
        is_ending: false,
        is_settled: false,
        body,
    }
}

fn pod() -> look::Pod {
    look::Pod {
        key: Key::pod("default", "rover"),
        uid: "p".into(),
        digest: "d".into(),
        is_ending: false,
        health: Some(Health::Starting),
        is_private: false,
        uses: Arc::from([key()]),
        body: Some(Arc::from(r#"{"metadata":{"name":"rover"}}"#.as_bytes())),
        asked: None,
    }
}

fn take(shown: &mut Shown, configs: Vec<look::Config>) -> Plan {
    take_with(shown, configs, Vec::new())
}

fn take_with(shown: &mut Shown, configs: Vec<look::Config>, pods: Vec<look::Pod>) -> Plan {
    let look = Look {
        is_sealed: false,
        is_adoption_wanted: false,
        has_any: true,
        pods,
        configs,
        judged: BTreeMap::new(),
        wall: Timestamp(0),
    };
    let (seen, said) = (BTreeMap::new(), Said::default());
    shown.take(look, Facing { seen: &seen, said: &said, is_connected: true })
}

#[test]
fn what_goes_and_comes_back_between_two_looks_is_looked_at_again_and_shown() {
    let mut shown = Shown::default();
    let body = r#"{"metadata":{"name":"ca"},"data":{"ca.crt":"x"}}"#;
    let first = take(&mut shown, vec![config(Some(body))]);
    assert!(matches!(&*first.steps, [Step::Config(..)]) && !first.is_incomplete);
    assert!(matches!(&*take(&mut shown, Vec::new()).steps, [Step::NoConfig(_)]));

    // The gate was looked at by somebody who took it for known: its body was left out.
    let back = take(&mut shown, vec![config(None)]);
    assert!(back.is_incomplete && back.steps.is_empty());
    assert!(shown.known().objects.is_empty(), "so that the next look has its body");
    let again = take(&mut shown, vec![config(Some(body))]);
    assert!(matches!(&*again.steps, [Step::Config(..)]) && !again.is_incomplete);
}

#[test]
fn what_comes_back_while_it_is_taken_away_is_shown_again() {
    let mut shown = Shown::default();
    let body = r#"{"metadata":{"name":"ca"},"data":{"ca.crt":"x"}}"#;
    take(&mut shown, vec![config(Some(body))]);
    let ending = take(&mut shown, vec![look::Config { is_ending: true, ..config(None) }]);
    assert!(matches!(&*ending.steps, [Step::NoConfig(_)]) && !ending.is_incomplete);

    let back = take(&mut shown, vec![config(None)]);
    assert!(back.is_incomplete && back.steps.is_empty(), "nobody has read what is to be shown");
    let again = take(&mut shown, vec![config(Some(body))]);
    assert!(matches!(&*again.steps, [Step::Config(..)]) && !again.is_incomplete);
}

#[test]
fn what_goes_back_to_a_version_that_is_shown_no_longer_is_read_again() {
    let mut shown = Shown::default();
    let (one, two) = (r#"{"data":{"speed":"1"}}"#, r#"{"data":{"speed":"2"}}"#);
    take(&mut shown, vec![config(Some(one))]);
    take(&mut shown, vec![look::Config { digest: "e".into(), ..config(Some(two)) }]);

    let back = take(&mut shown, vec![config(None)]);
    assert!(back.is_incomplete && back.steps.is_empty(), "what is shown is not what was admitted");
    let again = take(&mut shown, vec![config(Some(one))]);
    assert!(matches!(&*again.steps, [Step::Config(..)]) && !again.is_incomplete);
}

#[test]
fn a_pod_that_starts_waits_for_configuration_that_has_to_be_read_first() {
    let mut shown = Shown::default();
    let plan = take_with(&mut shown, vec![config(None)], vec![pod()]);
    assert!(plan.is_incomplete && plan.steps.is_empty(), "it would find nothing");
    let plan = take_with(&mut shown, vec![config(Some(r#"{"data":{"ca.crt":"x"}}"#))], vec![pod()]);
    assert!(matches!(&*plan.steps, [Step::Config(..), Step::Pod(..)]) && !plan.is_incomplete);
}
