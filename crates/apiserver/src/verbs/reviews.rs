//! Questions that are posted and answered, and not kept: who am I, who is this, may they.

use http::StatusCode;
use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Grouped, Status};
use serde_json::{Value, json};

use super::write::Intent;
use super::{Call, shape};
use crate::admission::Operation;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Reply};
use crate::identity::{self, AUDIENCE, Attributes, Decision, User};
use crate::kinds::{items, text};

/// Answers a review.
pub(crate) async fn answer(call: &Call, content: &Content) -> Result<Reply, Status> {
    let intent = Intent::of(call, Operation::Create)?;
    let mut review = shape::read(call, content, intent.strictness)?;
    match &*call.resource.plural {
        "bindings" => return bind(call, content, &review).await,
        "selfsubjectreviews" => review["status"] = json!({ "userInfo": call.user.to_user_info() }),
        "tokenreviews" if text(&review, "/spec/token").is_empty() => {
            return Err(fault::bad_request("token is required for TokenReview in authentication"));
        }
        "tokenreviews" => review["status"] = token_review(call, &review),
        "selfsubjectaccessreviews" => review["status"] = access(call, &call.user, &review["spec"])?,
        "subjectaccessreviews" => {
            review["status"] = access(call, &subject(&review["spec"])?, &review["spec"])?;
        }
        "localsubjectaccessreviews" => {
            let namespace = text(&review, "/spec/resourceAttributes/namespace");
            if namespace != call.namespace {
                return Err(fault::bad_request(format!(
                    "spec.resourceAttributes.namespace must match namespace: {}",
                    call.namespace
                )));
            }
            review["status"] = access(call, &subject(&review["spec"])?, &review["spec"])?;
        }
        "selfsubjectrulesreviews" => review["status"] = rules(call),
        other => return Err(fault::internal(format!("nobody answers {other}"))),
    }
    Ok(Reply::ok(review).with_code(StatusCode::CREATED))
}

/// The old way to bind a pod: a `Binding` posted to its namespace.
async fn bind(call: &Call, content: &Content, binding: &Value) -> Result<Reply, Status> {
    let pods = call
        .api
        .0
        .registry
        .get()
        .find("", "v1", "pods")
        .ok_or_else(|| fault::internal("pods are not served"))?;
    let call = Call {
        api: call.api.clone(),
        user: call.user.clone(),
        resource: pods,
        namespace: call.namespace.clone(),
        name: meta::name(binding).unwrap_or_default().to_owned(),
        sub: Some(crate::resource::Sub::Binding),
        query: call.query.clone(),
        accept: call.accept,
        notes: call.notes.clone(),
    };
    super::subs::bind(&call, content).await
}

fn token_review(call: &Call, review: &Value) -> Value {
    let audiences: Vec<String> = items(&review["spec"], "audiences")
        .filter_map(|audience| Some(audience.as_str()?.to_owned()))
        .collect();
    let now = call.api.0.clock.now();
    let token = text(review, "/spec/token");
    let audiences: Vec<&str> =
        if audiences.is_empty() { vec![AUDIENCE] } else { audiences.iter().map(String::as_str).collect() };
    match call.api.0.identity.review(token, &audiences, &call.api.facts(), now) {
        Ok((user, audiences)) => {
            json!({ "authenticated": true, "user": user.to_user_info(), "audiences": audiences })
        }
        Err(error) => json!({ "user": {}, "error": error.to_string() }),
    }
}

fn invalid(path: &str, value: Value, text: &str) -> Status {
    let mut problems = Problems::new();
    problems.push(FieldError::invalid(at(path), value, text));
    Status::invalid(Grouped::new("authorization.k8s.io", ""), "", &problems)
}

/// The user that a review asks about.
fn subject(spec: &Value) -> Result<User, Status> {
    let groups: Vec<&str> = items(spec, "groups").filter_map(Value::as_str).collect();
    let name = text(spec, "/user");
    if name.is_empty() && groups.is_empty() {
        return Err(invalid("spec.user", json!(""), "at least one of user or group must be specified"));
    }
    let groups = groups.into_iter().map(str::to_owned).collect();
    Ok(User { name: name.to_owned(), groups, ..User::default() })
}

fn access(call: &Call, user: &User, spec: &Value) -> Result<Value, Status> {
    let attributes = match (spec.get("resourceAttributes"), spec.get("nonResourceAttributes")) {
        (Some(resource), None) => Attributes {
            verb: text(resource, "/verb"),
            group: text(resource, "/group"),
            resource: text(resource, "/resource"),
            subresource: text(resource, "/subresource"),
            namespace: text(resource, "/namespace"),
            name: text(resource, "/name"),
            path: "",
            fields: &[],
        },
        (None, Some(path)) => {
            Attributes { verb: text(path, "/verb"), path: text(path, "/path"), ..Attributes::default() }
        }
        _ => {
            let text = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(invalid("spec.resourceAttributes", Value::Null, text));
        }
    };
    Ok(match identity::authorize(user, &attributes, &call.api.facts()) {
        Decision::Allow => json!({ "allowed": true }),
        Decision::Deny(why) => json!({ "allowed": false, "reason": why }),
    })
}

/// What the asker may do, as far as it can be listed: a node's rights depend on the pods it has.
fn rules(call: &Call) -> Value {
    let everything = call.user.is_in("system:masters");
    let resources = if everything {
        json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }])
    } else {
        json!([
            { "verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] },
            { "verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"] },
        ])
    };
    let paths = if everything {
        json!(["*"])
    } else {
        json!([
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version"
        ])
    };
    json!({
        "resourceRules": resources,
        "nonResourceRules": [{ "verbs": if everything { json!(["*"]) } else { json!(["get"]) }, "nonResourceURLs": paths }],
        "incomplete": call.user.node().is_some(),
        "evaluationError":
            if call.user.node().is_some() { "what a node may do depends on the pods that it has" } else { "" },
    })
}
