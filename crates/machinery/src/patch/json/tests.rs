//! Tests of JSON patches; the results are those of Kubernetes 1.36.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn patched(object: &Value, patch: &Value) -> Value {
    json(object, patch).unwrap()
}

fn code(object: &Value, patch: &Value) -> u16 {
    json(object, patch).unwrap_err().status().code
}

#[test]
fn the_operations_of_the_rfc_work() {
    let object = json!({"a": {"b": 1}, "list": [1, 2, 3], "x/y": {"~": 1}});
    let patch = json!([
        {"op": "test", "path": "/a/b", "value": 1},
        {"op": "add", "path": "/a/c", "value": {"d": []}},
        {"op": "add", "path": "/a/c/d/-", "value": "end"},
        {"op": "add", "path": "/list/1", "value": "in"},
        {"op": "remove", "path": "/list/0"},
        {"op": "replace", "path": "/a/b", "value": 2},
        {"op": "copy", "from": "/a/c", "path": "/e"},
        {"op": "move", "from": "/x~1y/~0", "path": "/f"},
    ]);
    assert_eq!(
        patched(&object, &patch),
        json!({"a": {"b": 2, "c": {"d": ["end"]}}, "list": ["in", 2, 3], "x/y": {}, "e": {"d": ["end"]}, "f": 1})
    );
}

#[test]
fn kubernetes_is_more_lenient_than_the_rfc() {
    let object = json!({"list": [1, 2]});
    for (patch, result) in [
        (json!([{"op": "replace", "path": "/new", "value": 1}]), json!({"list": [1, 2], "new": 1})),
        (json!([{"op": "copy", "from": "/none", "path": "/new"}]), json!({"list": [1, 2], "new": null})),
        (json!([{"op": "test", "path": "/none", "value": null}]), json!({"list": [1, 2]})),
        (json!([{"op": "test", "path": "/none"}]), json!({"list": [1, 2]})),
        (json!([{"op": "add", "path": "/list/-1", "value": 3}]), json!({"list": [1, 2, 3]})),
        (json!([{"op": "remove", "path": "/list/-1"}]), json!({"list": [1]})),
        (json!([{"op": "add", "path": "ignored/new"}]), json!({"list": [1, 2], "new": null})),
        (json!([{"op": "add", "path": "/", "value": 1}]), json!({"list": [1, 2], "": 1})),
        (json!([{"op": "replace", "path": "", "value": {"a": 1}}]), json!({"a": 1})),
        (json!(null), json!({"list": [1, 2]})),
    ] {
        assert_eq!(patched(&object, &patch), result, "{patch}");
    }
}

#[test]
fn what_does_not_fit_is_unprocessable() {
    let object = json!({"list": [1], "text": "x", "null": null});
    for operation in [
        json!({"op": "test", "path": "/text", "value": "y"}),
        json!({"op": "test", "path": "/text"}),
        json!({"op": "remove", "path": "/none"}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "add", "path": "", "value": {}}),
        json!({"op": "add", "path": "/none/x", "value": 1}),
        json!({"op": "add", "path": "/text/x", "value": 1}),
        json!({"op": "add", "path": "/null/x", "value": 1}),
        json!({"op": "add", "path": "/list/3", "value": 1}),
        json!({"op": "add", "path": "/list/-3", "value": 1}),
        json!({"op": "replace", "path": "/list/1", "value": 1}),
        json!({"op": "replace", "path": "/list/-", "value": 1}),
        json!({"op": "replace", "path": "", "value": 1}),
        json!({"op": "move", "from": "/none", "path": "/x"}),
        json!({"op": "move", "from": "/list", "path": "/list/0"}),
        json!({"op": "copy", "from": "/list/7", "path": "/x"}),
        json!({"op": "copy", "path": "/x"}),
        json!({"op": "add", "value": 1}),
        json!({"op": "spin", "path": "/x"}),
        json!({"path": "/x"}),
        json!(null),
    ] {
        assert_eq!(code(&object, &json!([operation])), 422, "{operation}");
    }
    let failed = json(&object, &json!([{"op": "test", "path": "/text", "value": 1}]));
    assert_eq!(failed, Err(PatchError::TestFailed { path: "/text".to_owned() }));
}

#[test]
fn what_is_no_patch_is_a_bad_request() {
    for (patch, text) in [
        (json!({}), "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (json!(["x"]), "json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        (
            json!([{"op": 1}]),
            "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            json!([{"path": []}]),
            "json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string",
        ),
    ] {
        let status = json(&json!({}), &patch).unwrap_err().status();
        assert_eq!((status.code, status.message), (400, format!("error decoding patch: {text}")));
    }
}

#[test]
fn too_many_operations_are_refused() {
    let operation = json!({"op": "test", "path": "/a"});
    assert!(json(&json!({}), &vec![operation.clone(); MAX_OPERATIONS].into()).is_ok());
    let status = json(&json!({}), &vec![operation; MAX_OPERATIONS + 1].into()).unwrap_err().status();
    assert_eq!(status.code, 413);
    assert_eq!(
        status.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_cannot_fill_the_memory() {
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    assert_eq!(code(&json!({"a": ["x".repeat(1000)]}), &vec![copy; 100].into()), 422);
}

#[test]
fn a_document_that_nests_itself_is_refused_and_overflows_nothing() {
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    assert_eq!(json(&json!({"a": {}}), &vec![copy; 5_000].into()), Err(PatchError::TooDeep));

    // Each copy hangs the whole below itself and so doubles the depth.
    let doubling = |i: u32| json!({"op": "copy", "from": "/a", "path": "/a".repeat((1 << i) + 1)});
    assert!(json(&json!({"a": {}}), &(0..6).map(doubling).collect::<Value>()).is_ok());
    assert_eq!(json(&json!({"a": {}}), &(0..18).map(doubling).collect::<Value>()), Err(PatchError::TooDeep));

    let mut path = String::new();
    let mut operations = vec![];
    for _ in 0..5_000 {
        path += "/a";
        operations.push(json!({"op": "add", "path": path, "value": {"a": {}}}));
    }
    assert_eq!(json(&json!({}), &operations.into()), Err(PatchError::TooDeep));
}

#[test]
fn a_document_may_be_as_deep_as_allowed() {
    let path = "/a".repeat(MAX_DEPTH - 1);
    let mut object = json!({});
    for _ in 0..MAX_DEPTH - 2 {
        object = json!({"a": object});
    }
    assert!(json(&object, &json!([{"op": "add", "path": path, "value": {}}])).is_ok());
    let too_deep = json(&object, &json!([{"op": "add", "path": path, "value": [[]]}]));
    assert_eq!(too_deep, Err(PatchError::TooDeep));
}

#[test]
fn many_moves_of_a_large_part_are_fast() {
    // Measuring the depth after every move would take minutes.
    let large: Vec<Value> = (0..20_000).map(|i| json!([i])).collect();
    let there = json!({"op": "move", "from": "/a", "path": "/b/c"});
    let back = json!({"op": "move", "from": "/b/c", "path": "/a"});
    let patch: Vec<Value> = [there, back].into_iter().cycle().take(MAX_OPERATIONS).collect();
    let object = json!({"a": large, "b": {}});
    assert_eq!(json(&object, &patch.into()), Ok(object));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_move_and_its_way_back_change_nothing(from in "/[abc]", path in "/[def]") {
        let object = json!({"a": 1, "b": {"x": []}, "c": null});
        let patch = json!([{"op": "move", "from": from, "path": path}, {"op": "move", "from": path, "path": from}]);
        prop_assert_eq!(json(&object, &patch), Ok(object));
    }

    #[test]
    fn what_was_added_can_be_tested(key in "[a-z~/]{1,4}", value in any::<i32>()) {
        let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let patch = json!([{"op": "add", "path": path, "value": value}, {"op": "test", "path": path, "value": value}]);
        prop_assert_eq!(json(&json!({}), &patch), Ok(json!({key: value})));
    }
}
