//! Tests of watch frames.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn events(decoder: &mut Decoder) -> Vec<Result<WatchEvent, WatchError>> {
    let mut found = vec![];
    while let Some(event) = decoder.next_event() {
        let failed = event.is_err();
        found.push(event);
        if failed {
            break;
        }
    }
    found
}

fn event(kind: EventType, object: Value) -> WatchEvent {
    WatchEvent { kind, object }
}

#[test]
fn a_frame_is_one_line() {
    let bytes = encode(EventType::Added, &json!({"kind": "Pod"}));
    assert_eq!(String::from_utf8(bytes).unwrap(), "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n");
}

#[test]
fn frames_come_out_however_the_bytes_are_cut() {
    let mut stream = encode(EventType::Added, &json!({"a": "}\"{\\"}));
    encode_into(&mut stream, EventType::Bookmark, &json!({"metadata": {"resourceVersion": "5"}}));
    let expected = [
        Ok(event(EventType::Added, json!({"a": "}\"{\\"}))),
        Ok(event(EventType::Bookmark, json!({"metadata": {"resourceVersion": "5"}}))),
    ];
    for size in 1..=stream.len() {
        let mut decoder = Decoder::default();
        let mut found = vec![];
        for chunk in stream.chunks(size) {
            decoder.push(chunk);
            found.extend(events(&mut decoder));
        }
        assert_eq!(found, expected, "in chunks of {size}");
        assert_eq!(decoder.finish(), Ok(()));
    }
}

#[test]
fn frames_may_span_lines_or_share_one() {
    let mut decoder = Decoder::default();
    decoder.push(b" {\n \"type\" :\"DELETED\",\n \"object\":{}\n}{\"type\":\"MODIFIED\",\"object\":1}\r\n\n");
    let found = events(&mut decoder);
    assert_eq!(found, [Ok(event(EventType::Deleted, json!({}))), Ok(event(EventType::Modified, json!(1)))]);
    assert_eq!(decoder.finish(), Ok(()));
}

#[test]
fn a_frame_that_is_too_large_ends_the_stream_before_it_is_complete() {
    let mut decoder = Decoder::new(16);
    decoder.push(b"{\"type\":\"ADDED\",\"object\"");
    assert_eq!(events(&mut decoder), [Err(WatchError::TooLarge { limit: 16 })]);
    decoder.push(&encode(EventType::Added, &json!(1)));
    assert_eq!(decoder.next_event(), Some(Err(WatchError::TooLarge { limit: 16 })));
    assert_eq!(decoder.finish(), Err(WatchError::TooLarge { limit: 16 }));
}

#[test]
fn a_stream_of_something_else_is_refused() {
    for (bytes, error) in [
        (&b"<html>"[..], WatchError::NotAFrame { byte: b'<' }),
        (b"[1]", WatchError::NotAFrame { byte: b'[' }),
        (b"}", WatchError::NotAFrame { byte: b'}' }),
    ] {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        assert_eq!(events(&mut decoder), [Err(error)]);
    }
    for bytes in [&b"{]"[..], b"{}", b"{\"type\":\"MOVED\",\"object\":1}", b"{\"type\":\"ADDED\"}"] {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        assert!(matches!(events(&mut decoder)[..], [Err(WatchError::Malformed { .. })]));
    }
}

#[test]
fn a_frame_that_is_nested_too_deeply_is_refused_and_overflows_nothing() {
    let deep = 1_000_000;
    let mut decoder = Decoder::default();
    decoder.push(b"{\"type\":\"ADDED\",\"object\":");
    decoder.push("[".repeat(deep).as_bytes());
    decoder.push("]".repeat(deep).as_bytes());
    decoder.push(b"}");
    assert!(matches!(events(&mut decoder)[..], [Err(WatchError::Malformed { .. })]));
}

#[test]
fn a_stream_that_ends_inside_a_frame_is_truncated() {
    let mut decoder = Decoder::default();
    decoder.push(b"\n{\"type\":");
    assert_eq!(events(&mut decoder), []);
    assert_eq!(decoder.finish(), Err(WatchError::Truncated { bytes: 8 }));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\\\{}\\[\\]\"\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::from(serde_json::Map::from_iter(map))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_encoded_is_decoded_under_any_chunking(
        objects in prop::collection::vec(any_json(), 0..5),
        cuts in prop::collection::vec(1_usize..40, 1..20),
    ) {
        let mut stream = vec![];
        for object in &objects {
            encode_into(&mut stream, EventType::Modified, object);
        }
        let mut decoder = Decoder::default();
        let mut found = vec![];
        let (mut rest, mut cuts) = (stream.as_slice(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            decoder.push(chunk);
            found.extend(events(&mut decoder));
            rest = after;
        }
        let expected: Vec<_> = objects.into_iter().map(|object| Ok(event(EventType::Modified, object))).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(decoder.finish(), Ok(()));
    }
}
