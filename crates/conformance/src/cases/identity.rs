//! Who asks, and what they may: tokens, accounts, reviews.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{pod, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![identity:
        an_unknown_token_is_unauthorized,
        nobody_may_read,
        the_administrator_knows_itself,
        the_administrator_may_do_everything,
        an_access_review_needs_attributes,
        a_stranger_may_not_do_everything,
        a_token_of_an_account_is_issued,
        a_token_has_a_shortest_life,
        a_token_needs_an_account,
        a_token_is_bound_to_a_pod_of_its_account,
        an_issued_token_is_known,
        a_token_for_others_is_not_for_the_server,
        an_unknown_token_is_not_authenticated,
        a_review_without_a_token_is_refused,
        an_issued_token_identifies_its_account,
    ]
}

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const SELF_ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Makes an account and a token for it.
async fn token(cx: &Cx, spec: Value) -> Result<(String, Value)> {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    cx.create(cx.core("serviceaccounts"), &account).await?;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let reply = cx.create(cx.core("serviceaccounts/robot/token"), &request).await?;
    Ok((reply.text("/status/token")?.to_owned(), reply.value.clone()))
}

async fn review(cx: &Cx, spec: Value) -> Result<Reply> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    cx.create(TOKEN_REVIEWS, &body).await
}

async fn an_unknown_token_is_unauthorized(cx: Cx) -> Result<()> {
    for path in ["/api/v1/pods", "/apis", "/api/v1/namespaces/x/pods/y"] {
        let reply = cx.send(Call::get(path).bearer("nonsense")).await?.refused(401, "Unauthorized")?;
        reply.message("Unauthorized")?.absent("/details")?;
    }
    let reply = cx.send(Call::post(cx.core("pods"), &pod("a")).bearer("nonsense")).await?;
    reply.refused(401, "Unauthorized")?;
    Ok(())
}

async fn nobody_may_read(cx: Cx) -> Result<()> {
    // Whether nobody is a user without rights or no user at all is for the administrator to configure.
    let reply = cx.send(Call::get("/api/v1/pods").anonymous()).await?;
    reply.holds(matches!(reply.status, 401 | 403), "a refusal")?;
    reply.at("/kind", "Status")?.at("/status", "Failure")?.at("/code", reply.status)?;
    Ok(())
}

async fn the_administrator_knows_itself(cx: Cx) -> Result<()> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let reply = cx.create(SELF, &body).await?;
    reply.at("/kind", "SelfSubjectReview")?.text("/status/userInfo/username")?;
    let groups = reply.list("/status/userInfo/groups")?;
    for group in ["system:masters", "system:authenticated"] {
        reply.holds(groups.contains(&json!(group)), &format!("a member of {group}"))?;
    }
    Ok(())
}

async fn the_administrator_may_do_everything(cx: Cx) -> Result<()> {
    for spec in [
        json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": cx.namespace()}}),
        json!({"resourceAttributes": {"verb": "delete", "resource": "anything", "group": "example.com"}}),
        json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}}),
    ] {
        let body =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
        let reply = cx.create(SELF_ACCESS, &body).await?;
        reply.at("/kind", "SelfSubjectAccessReview")?.at("/status/allowed", true)?.at("/spec", spec)?;
    }
    Ok(())
}

async fn an_access_review_needs_attributes(cx: Cx) -> Result<()> {
    let reply = cx.post(SELF_ACCESS, &json!({"spec": {}})).await?.refused(422, "Invalid")?;
    reply.says(&["exactly one of nonResourceAttributes or resourceAttributes must be specified"])?;
    let attributes = json!({"verb": "get", "resource": "pods"});
    let reply = cx.post(ACCESS, &json!({"spec": {"resourceAttributes": attributes}})).await?;
    reply.refused(422, "Invalid")?.says(&["at least one of user or group must be specified"])?;
    Ok(())
}

async fn a_stranger_may_not_do_everything(cx: Cx) -> Result<()> {
    let attributes = json!({"verb": "get", "resource": "secrets", "namespace": cx.namespace()});
    let body = |who: Value| json!({"spec": with(json!({"resourceAttributes": attributes}), who)});
    let stranger = cx.create(ACCESS, &body(json!({"user": "stranger"}))).await?;
    stranger.at("/status/allowed", false)?;
    let master = cx.create(ACCESS, &body(json!({"user": "boss", "groups": ["system:masters"]}))).await?;
    master.at("/status/allowed", true)?;
    Ok(())
}

async fn a_token_of_an_account_is_issued(cx: Cx) -> Result<()> {
    let (token, reply) = token(&cx, json!({"audiences": ["example.com"], "expirationSeconds": 3600})).await?;
    anyhow::ensure!(token.split('.').count() == 3, "a token has three parts: {token}");
    anyhow::ensure!(reply["kind"] == "TokenRequest", "another kind: {reply}");
    anyhow::ensure!(reply["spec"]["audiences"] == json!(["example.com"]), "other audiences: {reply}");
    anyhow::ensure!(reply["metadata"]["name"] == "robot", "another name: {reply}");
    let expires = reply["status"]["expirationTimestamp"].as_str().unwrap_or_default();
    let made = reply["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    anyhow::ensure!(expires > made, "it expires in the past: {reply}");
    Ok(())
}

async fn a_token_has_a_shortest_life(cx: Cx) -> Result<()> {
    token(&cx, json!({})).await?;
    let request = json!({"spec": {"expirationSeconds": 5}});
    let reply = cx.post(cx.core("serviceaccounts/robot/token"), &request).await?;
    let reply = reply.invalid(&[("FieldValueInvalid", "spec.expirationSeconds")])?;
    reply.says(&["may not specify a duration less than 10 minutes"])?;
    Ok(())
}

async fn a_token_needs_an_account(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("serviceaccounts/nope/token"), &json!({"spec": {}})).await?;
    reply.refused(404, "NotFound")?.about("serviceaccounts", "nope")?;
    Ok(())
}

async fn a_token_is_bound_to_a_pod_of_its_account(cx: Cx) -> Result<()> {
    token(&cx, json!({})).await?;
    let path = cx.core("serviceaccounts/robot/token");
    let mine = cx
        .create(cx.core("pods"), &with(pod("mine"), json!({"spec": {"serviceAccountName": "robot"}})))
        .await?;
    cx.create(cx.core("pods"), &with(pod("other"), json!({"spec": {"serviceAccountName": "other"}}))).await?;
    let bound =
        |name: &str| json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": name}}});
    let reply = cx.create(path.clone(), &bound("mine")).await?;
    let known = review(&cx, json!({"token": reply.text("/status/token")?})).await?;
    known.at("/status/user/extra/authentication.kubernetes.io~1pod-name", json!(["mine"]))?;
    known.at("/status/user/extra/authentication.kubernetes.io~1pod-uid", json!([mine.uid()?]))?;
    cx.post(path.clone(), &bound("other")).await?.refused(400, "BadRequest")?;
    cx.post(path.clone(), &bound("nope")).await?.refused(404, "NotFound")?.about("pods", "nope")?;
    let stale =
        json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "mine", "uid": "x"}}});
    cx.post(path, &stale).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn an_issued_token_is_known(cx: Cx) -> Result<()> {
    let (token, _) = token(&cx, json!({})).await?;
    let reply = review(&cx, json!({"token": token})).await?;
    let user = format!("system:serviceaccount:{}:robot", cx.namespace());
    reply.at("/status/authenticated", true)?.at("/status/user/username", user)?;
    let group = format!("system:serviceaccounts:{}", cx.namespace());
    reply.at("/status/user/groups", json!(["system:serviceaccounts", group, "system:authenticated"]))?;
    let account = cx.get(cx.core("serviceaccounts/robot")).await?.uid()?;
    reply.at("/status/user/uid", account)?;
    Ok(())
}

async fn a_token_for_others_is_not_for_the_server(cx: Cx) -> Result<()> {
    let (token, _) = token(&cx, json!({"audiences": ["example.com"]})).await?;
    let here = review(&cx, json!({"token": token})).await?;
    here.absent("/status/authenticated")?.text("/status/error")?;
    let there = review(&cx, json!({"token": token, "audiences": ["example.com", "example.org"]})).await?;
    there.at("/status/authenticated", true)?.at("/status/audiences", json!(["example.com"]))?;
    cx.send(Call::get("/api").bearer(token)).await?.refused(401, "Unauthorized")?;
    Ok(())
}

async fn an_unknown_token_is_not_authenticated(cx: Cx) -> Result<()> {
    let reply = review(&cx, json!({"token": "nonsense"})).await?;
    reply.absent("/status/authenticated")?.at("/status/user", json!({}))?.text("/status/error")?;
    Ok(())
}

async fn a_review_without_a_token_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.post(TOKEN_REVIEWS, &json!({"spec": {}})).await?.refused(400, "BadRequest")?;
    reply.says(&["token is required"])?;
    Ok(())
}

async fn an_issued_token_identifies_its_account(cx: Cx) -> Result<()> {
    let (token, _) = token(&cx, json!({})).await?;
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let reply = cx.send(Call::post(SELF, &body).bearer(token.clone())).await?.code(201)?;
    reply.at("/status/userInfo/username", format!("system:serviceaccount:{}:robot", cx.namespace()))?;
    let reply = cx.send(Call::get(cx.core("secrets")).bearer(token)).await?.refused(403, "Forbidden")?;
    reply
        .says(&["secrets is forbidden: User \"system:serviceaccount:", "cannot list resource \"secrets\""])?;
    Ok(())
}
