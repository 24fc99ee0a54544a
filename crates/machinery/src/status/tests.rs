//! Tests of the answers; the expected texts are those of a Kubernetes 1.36 server.

use serde_json::json;

use super::*;

const PODS: Grouped<'static> = Grouped { group: "", name: "pods" };
const DEPLOYMENTS: Grouped<'static> = Grouped { group: "apps", name: "deployments" };

#[test]
fn an_object_that_is_not_there_is_named_with_its_resource() {
    assert_eq!(
        Status::not_found(PODS, "x").into_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "pods \"x\" not found", "details": {"name": "x", "kind": "pods"},
        })
    );
    let status = Status::not_found(DEPLOYMENTS, "x");
    assert_eq!(status.message, "deployments.apps \"x\" not found");
    assert_eq!(status.to_value()["details"], json!({"name": "x", "group": "apps", "kind": "deployments"}));
}

#[test]
fn a_stale_update_is_told_to_try_again() {
    let status = Status::modified(PODS, "x");
    assert_eq!((status.code, status.reason), (409, Reason::Conflict));
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on pods \"x\": the object has been modified; please apply your changes to the \
         latest version and try again"
    );
}

#[test]
fn every_reason_has_its_code_and_text() {
    let expected = [
        (Status::already_exists(PODS, "x"), 409, "AlreadyExists", "pods \"x\" already exists"),
        (Status::bad_request("no"), 400, "BadRequest", "no"),
        (Status::unauthorized(""), 401, "Unauthorized", "not authorized"),
        (Status::unauthorized("Unauthorized"), 401, "Unauthorized", "Unauthorized"),
        (Status::forbidden(PODS, "x", "why"), 403, "Forbidden", "pods \"x\" is forbidden: why"),
        (Status::forbidden(PODS, "", "why"), 403, "Forbidden", "pods is forbidden: why"),
        (Status::forbidden(Grouped::core(""), "", "why"), 403, "Forbidden", "forbidden: why"),
        (Status::no_such_resource(), 404, "NotFound", "the server could not find the requested resource"),
        (
            Status::expired("too old resource version: 1 (5)"),
            410,
            "Expired",
            "too old resource version: 1 (5)",
        ),
        (Status::gone("bye"), 410, "Gone", "bye"),
        (
            Status::too_large("limit is 3"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3",
        ),
        (
            Status::unsupported_media_type(&["application/json"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json",
        ),
        (
            Status::unprocessable(),
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
        (Status::too_many_requests("slow down", 5), 429, "TooManyRequests", "slow down"),
        (Status::internal("oops"), 500, "InternalError", "Internal error occurred: oops"),
        (Status::unavailable("soon"), 503, "ServiceUnavailable", "soon"),
        (Status::timeout("late", 0), 504, "Timeout", "Timeout: late"),
    ];
    for (status, code, reason, message) in expected {
        let value = status.to_value();
        assert_eq!(
            (&value["code"], &value["reason"], &value["message"]),
            (&json!(code), &json!(reason), &json!(message))
        );
        assert_eq!(Status::from_value(&value), Some(status));
    }
}

#[test]
fn details_carry_when_to_ask_again() {
    assert_eq!(Status::too_many_requests("x", 5).to_value()["details"], json!({"retryAfterSeconds": 5}));
    assert_eq!(Status::timeout("x", 0).to_value()["details"], json!({}));
    assert_eq!(Status::bad_request("x").to_value().get("details"), None);
    assert_eq!(Status::internal("x").to_value()["details"], json!({"causes": [{"message": "x"}]}));
}

#[test]
fn an_unknown_reason_is_left_out_and_read_back() {
    let value = Status::new(500, Reason::Unknown, "odd").to_value();
    assert_eq!(value.get("reason"), None);
    let foreign = json!({"kind": "Status", "reason": "NewInTheFuture", "code": 418, "message": "m"});
    assert_eq!(Status::from_value(&foreign), Some(Status::new(418, Reason::Unknown, "m")));
}

#[test]
fn a_success_is_no_failure() {
    assert_eq!(Status::from_value(&json!({"kind": "Status", "status": "Success"})), None);
    assert_eq!(Status::from_value(&json!({"kind": "Pod"})), None);
}

#[test]
fn one_mistake_stands_alone() {
    let path = FieldPath::new("spec").child("containers").index(0).child("image");
    let errors = FieldErrors::from_iter([FieldError::required(&path, "")]);
    let status = Status::invalid(Grouped::core("Pod"), "x", &errors);
    assert_eq!(status.message, "Pod \"x\" is invalid: spec.containers[0].image: Required value");
    assert_eq!(
        status.to_value()["details"],
        json!({"name": "x", "kind": "Pod", "causes": [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers[0].image"},
        ]})
    );
}

#[test]
fn several_mistakes_are_in_brackets_and_none_twice() {
    let name = FieldPath::new("metadata").child("name");
    let errors = FieldErrors::from_iter([
        FieldError::invalid(&name, "X", "bad"),
        FieldError::invalid(&name, "X", "bad"),
        FieldError::forbidden(FieldPath::new("spec"), "immutable"),
    ]);
    let status = Status::invalid(Grouped::new("apps", "Deployment"), "X", &errors);
    assert_eq!(
        status.message,
        "Deployment.apps \"X\" is invalid: [metadata.name: Invalid value: \"X\": bad, spec: Forbidden: immutable]"
    );
    // Programs get every one.
    assert_eq!(status.details.map(|details| details.causes.len()), Some(3));
    assert_eq!(
        Status::invalid(Grouped::core("Pod"), "x", &FieldErrors::new()).message,
        "Pod \"x\" is invalid"
    );
}

#[test]
fn each_kind_of_mistake_has_its_words() {
    let path = FieldPath::new("spec").key("a.b");
    let expected = [
        (FieldError::required(&path, "give one"), "Required value: give one"),
        (FieldError::invalid(&path, "x\n", "bad"), "Invalid value: \"x\\n\": bad"),
        (FieldError::invalid(&path, 5, "bad"), "Invalid value: 5: bad"),
        (FieldError::invalid(&path, json!({"a": "<"}), "bad"), "Invalid value: {\"a\":\"\\u003c\"}: bad"),
        (FieldError::invalid(&path, Value::Null, "bad"), "Invalid value: null: bad"),
        (FieldError::type_invalid(&path, "x", "not a number"), "Invalid value: \"x\": not a number"),
        (
            FieldError::not_supported(&path, "x", &["a", "b"]),
            "Unsupported value: \"x\": supported values: \"a\", \"b\"",
        ),
        (FieldError::not_supported(&path, "x", &[""; 0]), "Unsupported value: \"x\""),
        (FieldError::forbidden(&path, "not here"), "Forbidden: not here"),
        (FieldError::duplicate(&path, "x"), "Duplicate value: \"x\""),
        (FieldError::not_found(&path, "x"), "Not found: \"x\""),
        (FieldError::too_long(&path, 63), "Too long: may not be more than 63 bytes"),
        (FieldError::too_long(&path, 1), "Too long: may not be more than 1 byte"),
        (FieldError::too_many(&path, 5, 3), "Too many: 5: must have at most 3 items"),
        (FieldError::internal(&path, "oops"), "Internal error: oops"),
    ];
    for (error, body) in expected {
        assert_eq!(error.body(), body);
        assert_eq!(error.to_string(), format!("spec[a.b]: {body}"));
    }
}

#[test]
fn the_messages_about_a_name_become_one_mistake_each() {
    let mut errors = FieldErrors::new();
    errors.invalid_each(&FieldPath::new("metadata").child("name"), "A", crate::names::dns1123_label("A"));
    assert_eq!(errors.len(), 1);
    assert!(errors.into_result().is_err());
}
