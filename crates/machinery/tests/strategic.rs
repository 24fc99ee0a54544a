//! Strategic merge patches as data: `data/strategic.json` has one object, one patch and what Kubernetes makes of them
//! per case. The results were taken from Kubernetes 1.36 itself.

use safepoint_machinery::patch;
use serde_json::{Value, json};

#[test]
fn every_case_ends_as_in_kubernetes() {
    let cases: Value = serde_json::from_str(include_str!("data/strategic.json")).unwrap();
    let mut wrong = vec![];
    for case in cases.as_array().unwrap() {
        let text = |name: &str| case[name].as_str().unwrap();
        let schema = patch::merge_keys::of(text("apiVersion"), text("kind")).unwrap();
        let found = match patch::strategic(&case["object"], &case["patch"], schema) {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": {"code": error.status().code, "message": error.to_string()}}),
        };
        let expected = match case.get("result") {
            Some(result) => json!({"result": result}),
            None => json!({"error": case["error"]}),
        };
        if found != expected {
            wrong.push(format!("{}:\n  expected {expected}\n  found    {found}", text("says")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
