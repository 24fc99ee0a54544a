//! One node, as its agent tells.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use safepoint_api::local::NodeStatus;
use serde_json::{Value, json};

use super::*;
use crate::top::node::Told;
use crate::top::{Here, Subject, What};

fn change(name: &str, kind: &str, held_by: &[&str]) -> Value {
    json!({
        "kind": "Pod", "namespace": "shop", "name": name, "change": kind, "since": time(-180),
        "workload": {"kind": "Deployment", "namespace": "shop", "name": "web"},
        "fromRevision": "5d8f7c1200aa", "toRevision": "77aa01bb3344", "heldBy": held_by,
        "why": format!("the {} of pod shop/{name} has been held for 3m because crane (uid 0) holds the node: crane lift in hall 3", kind.to_lowercase()),
    })
}

fn status() -> NodeStatus {
    let lift = json!({"id": "lift", "holder": "crane (uid 0)", "origin": "Local", "reason": "crane lift in hall 3",
        "scope": {"kind": "Node"}, "since": time(-180), "expires": time(1620), "onExpiry": "ThawIfSafe"});
    let arm = json!({"id": "arm", "holder": "arm (uid 7)", "origin": "Local", "reason": "calibration", "orphaned": true,
        "scope": {"kind": "Namespace", "namespace": "robot"}, "since": time(-7200), "expires": time(-60)});
    let module = |name: &str, state: &str| json!({"name": name, "state": state, "restarts": 0});
    let failing = json!({"name": "metaserver", "state": "Backoff", "restarts": 3, "message": "the socket is in use",
        "lastFailure": {"at": time(-20), "message": "address in use"}, "nextRetry": time(12)});
    serde_json::from_value(json!({
        "node": "rover-7", "uplink": {"connected": false, "since": time(-65)}, "pods": 12,
        "state": "Frozen", "since": time(-180), "holder": "crane (uid 0)", "reason": "crane lift in hall 3",
        "heldCount": 2, "held": [change("web-1", "Stop", &["lift"]), change("web-2", "Start", &["lift", "edge.kubeedge.io/hold-upgrade"])],
        "holds": [arm, lift], "modules": [module("gate", "Ready"), failing, module("uplink", "Ready")],
        "agentVersion": "0.1.0",
    }))
    .unwrap()
}

fn model() -> Model {
    let here = Subject::Here(Box::new(Here::new(status())));
    let mut model = Model::new(here, What::Here, "safepoint", at(0));
    let line = |number: u64, what: &str| {
        serde_json::from_value(
            json!({"number": number, "at": time(-180), "by": "crane (uid 0, pid 5062)", "what": what,
            "reason": "crane lift in hall 3", "hash": format!("{number:064x}")}),
        )
        .unwrap()
    };
    let lines = vec![line(1, "hold arm on namespace robot"), line(2, "hold lift on the node")];
    hear(&mut model, News::Here(Told::Status(Box::new(status()), lines)));
    let notice = json!({"at": time(-2), "kind": "Held", "subject": "pod shop/web-2", "message": "pod shop/web-2 waits"});
    hear(&mut model, News::Here(Told::Notice(serde_json::from_value(notice).unwrap())));
    model
}

#[test]
fn a_node_is_a_page_of_what_waits_who_holds_and_what_happened() {
    insta::assert_snapshot!("node", screen(&mut model(), 100, 30));
    insta::assert_snapshot!("node_80x24", screen(&mut model(), 80, 24));
    insta::assert_snapshot!("node_40x12", screen(&mut model(), 40, 12));
}

#[test]
fn enter_says_why_and_what_to_type_and_escape_goes_back() {
    let mut model = model();
    press(&mut model, &[KeyCode::Down, KeyCode::Enter]);
    insta::assert_snapshot!("why", screen(&mut model, 100, 30));
    insta::assert_snapshot!("why_40x12", screen(&mut model, 40, 12));
    press(&mut model, &[KeyCode::End]);
    insta::assert_snapshot!("why_40x12_end", screen(&mut model, 40, 12));
    press(&mut model, &[KeyCode::Esc, KeyCode::Down, KeyCode::Enter]);
    let hold = screen(&mut model, 100, 30);
    assert!(hold.contains("ORPHANED") && hold.contains("  safepoint unhold arm\n"), "{hold}");
}

#[test]
fn what_is_over_is_said_to_be_over() {
    let mut model = model();
    press(&mut model, &[KeyCode::Enter]);
    let mut later = status();
    later.gate.held.clear();
    hear(&mut model, News::Here(Told::Status(Box::new(later), Vec::new())));
    assert!(screen(&mut model, 100, 30).contains("This is over"));
}

#[test]
fn an_agent_that_goes_away_leaves_what_was_known_and_the_time_since() {
    let mut model = model();
    hear(&mut model, News::Here(Told::Lost("the agent has ended".to_owned())));
    model.look(at(75), (100, 30));
    insta::assert_snapshot!("node_lost", screen(&mut model, 100, 30));
    let told = Told::Status(Box::new(status()), Vec::new());
    model.hear(News::Here(told), at(80));
    assert!(!screen(&mut model, 100, 30).contains("NOT CONNECTED"));
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut model = model();
    types(&mut model, "/orphan arm");
    let typing = screen(&mut model, 100, 30);
    assert!(typing.contains("calibration") && !typing.contains("web-1"), "{typing}");
    // `q` is a letter while one types.
    types(&mut model, "q");
    assert!(screen(&mut model, 100, 30).contains("Nothing has these words in it."));
    press(&mut model, &[KeyCode::Backspace, KeyCode::Enter]);
    assert!(screen(&mut model, 100, 30).lines().last().unwrap().starts_with("/orphan arm  Esc all"));
    press(&mut model, &[KeyCode::Esc]);
    assert!(screen(&mut model, 100, 30).contains("web-1"));
}

#[test]
fn what_is_chosen_stays_chosen_when_rows_come_before_it() {
    let mut model = model();
    press(&mut model, &[KeyCode::Down]);
    assert!(chosen(&mut model).contains("web-2"));
    let mut later = status();
    later.gate.held.insert(0, serde_json::from_value(change("api-1", "Update", &["lift"])).unwrap());
    hear(&mut model, News::Here(Told::Status(Box::new(later), Vec::new())));
    assert!(chosen(&mut model).contains("web-2"));
}

#[test]
fn the_keys_are_explained_and_q_quits() {
    let mut model = model();
    press(&mut model, &[KeyCode::Char('?')]);
    insta::assert_snapshot!("help", screen(&mut model, 80, 24));
    assert_eq!(press(&mut model, &[KeyCode::Esc]), Next::On);
    assert_eq!(press(&mut model, &[KeyCode::Char('q')]), Next::Quit);
    assert_eq!(model.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::Quit);
}

#[test]
fn there_are_no_colours_where_none_are_wanted() {
    let mut model = model();
    assert!(is_coloured(&mut model));
    model.coloured = false;
    assert!(!is_coloured(&mut model));
    // What is chosen is seen all the same.
    assert!(chosen(&mut model).contains("web-1"));
}

#[test]
fn what_others_wrote_is_not_obeyed_by_the_terminal() {
    let mut model = model();
    let mut bad = status();
    bad.gate.reason = Some("lift\u{1b}[2Jover\nthere".to_owned());
    bad.gate.held[0].why = "two\nlines\u{9b}".to_owned();
    hear(&mut model, News::Here(Told::Status(Box::new(bad), Vec::new())));
    let frame = frame(&mut model, 100, 30);
    let symbols = frame.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol);
    assert!(
        symbols.clone().all(|symbol| !symbol.contains(char::is_control)),
        "{:?}",
        symbols.collect::<String>()
    );
}

#[test]
fn no_size_of_a_terminal_is_too_small() {
    for (columns, lines) in [(1, 1), (3, 2), (10, 3), (20, 5), (300, 100)] {
        let mut model = model();
        for keys in [&[][..], &[KeyCode::PageDown], &[KeyCode::Enter], &[KeyCode::End], &[KeyCode::Char('?')]]
        {
            press(&mut model, keys);
            screen(&mut model, columns, lines);
        }
    }
}
