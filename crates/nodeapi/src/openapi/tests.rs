//! The description, against the API that it describes.

use axum::http::Method;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::openapi;
use crate::routes::{router, table};
use crate::testing::{TestNode, call, guest, pod, rights, root};

#[tokio::test]
async fn every_path_of_the_description_is_there_and_answers_as_described() {
    let cam = pod("robot", "cam").annotated();
    let node = TestNode::running([&cam]);
    node.sees([&cam.clone().revision("b")]);
    let router = router(node, rights(), CancellationToken::new());
    let document = call(&router, guest(), Method::GET, "/openapi.json", "").await.json();
    assert_eq!(document, openapi::<TestNode>());
    let mut called = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            called += 1;
            if path == "/v1/events" {
                continue;
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path
                .replace("{id}", "x")
                .replace("{name}", "uplink")
                .replace("{namespace}/{pod}", "robot/cam");
            let reply = call(&router, root(), method.clone(), &path, "{}").await;
            let described = operation["responses"].get(reply.code.as_str());
            assert!(described.is_some(), "{method} {path} answers {} which is not described", reply.code);
            assert_ne!(reply.json_or_null()["reason"], "NoSuchPath", "{method} {path}");
        }
    }
    assert_eq!(called, table::<TestNode>().len());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            for (_, operation) in methods.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().unwrap();
                assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{path}");
            }
        }
    }
}

#[test]
fn the_description_is_what_was_reviewed() {
    insta::assert_json_snapshot!("openapi", openapi::<TestNode>());
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|field| walk(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let document = openapi::<TestNode>();
    let mut found = Vec::new();
    walk(&document, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn no_type_is_described_twice() {
    let text = openapi::<TestNode>().to_string();
    assert_eq!(text.matches("Holds add up").count(), 1);
    assert!(!text.contains("x-kubernetes"), "only an API server understands that");
}
