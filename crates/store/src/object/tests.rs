//! What may be stored, and what is read out of it.

use serde_json::{Value, json};

use super::*;

fn nested(levels: usize) -> Value {
    // The outermost level is the object itself.
    let inner =
        (0..levels - 1).fold(None, |inner: Option<Value>, _| Some(Value::Array(inner.into_iter().collect())));
    json!({ "a": inner.unwrap_or_else(|| json!(1)) })
}

#[test]
fn labels_and_uid_are_read_and_strange_labels_are_left_out() {
    let key = Key::new("pods", "default", "a");
    let object = json!({ "metadata": { "uid": "u-1", "labels": { "app": "web", "odd": 3 } } });
    let tags = Tags::of_metadata(&key, &object);
    assert_eq!(tags.uid, "u-1");
    assert_eq!(tags.labels, BTreeMap::from([("app".to_owned(), "web".to_owned())]));
    assert_eq!(tags.field("spec.nodeName"), "");
    assert_eq!(Tags::of_metadata(&key, &json!({})), Tags::default());
}

#[test]
fn the_revision_is_written_into_the_text_even_where_there_is_no_metadata() {
    assert_eq!(&render(json!({}), 7)[..], br#"{"metadata":{"resourceVersion":"7"}}"#);
    let stale = json!({ "metadata": { "resourceVersion": "3" } });
    assert_eq!(&render(stale, 8)[..], br#"{"metadata":{"resourceVersion":"8"}}"#);
}

#[test]
fn what_is_not_an_object_or_has_no_usable_metadata_is_refused() {
    assert!(check(&json!([])).is_err());
    assert!(check(&json!({ "metadata": null })).is_err());
    assert!(check(&json!({ "metadata": "x" })).is_err());
    assert!(check(&json!({ "metadata": {} })).is_ok());
    assert!(check(&json!({})).is_ok());
}

#[test]
fn exactly_what_can_be_read_back_may_be_stored() {
    for levels in [1, 2, 100, DEEPEST] {
        let value = nested(levels);
        assert!(check(&value).is_ok(), "{levels}");
        serde_json::from_slice::<Value>(&render(value, 1)).unwrap();
    }
    let value = nested(DEEPEST + 1);
    assert!(check(&value).is_err());
    assert!(serde_json::from_slice::<Value>(&render(value, 1)).is_err());
    assert!(check(&nested(1_000)).is_err());
}
