//! Who gets in, and who may only look.

use http::{StatusCode, header};
use serde_json::json;

use super::world::{HERE, NODE, World};
use crate::view::words::encoded;

#[tokio::test]
async fn whoever_has_no_token_is_sent_to_sign_in_and_sees_nothing() {
    let world = World::with_node(json!({"state": "Open"})).await;
    for path in
        ["/", "/held", "/nodes/rover-7", "/static-pods", "/log", "/live?page=%2F", "/nodes/rover-7/freeze"]
    {
        for token in ["", "nobody-knows-this"] {
            let answer = world.get(path, token).await;
            assert_eq!(answer.code, StatusCode::SEE_OTHER, "{path}");
            assert!(answer.header(header::LOCATION).starts_with("/sign-in?next=%2F"), "{path}");
            assert!(answer.text.is_empty(), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_token_of_the_cluster_signs_in_and_one_that_it_does_not_know_does_not() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let fields = |token| [("token", token), ("next", "/nodes/rover-7")];
    for wrong in ["unknown", "not a token", ""] {
        let answer = world.post_from(Some(HERE), "/sign-in", "", &fields(wrong)).await;
        assert_eq!(answer.code, StatusCode::UNAUTHORIZED, "{wrong:?}");
        assert!(!answer.headers.contains_key(header::SET_COOKIE) && answer.text.contains("role=\"alert\""));
    }
    let answer = world.post_from(Some(HERE), "/sign-in", "", &fields(&world.admin)).await;
    assert_eq!(answer.header(header::LOCATION), "/nodes/rover-7");
    let cookie = format!("safepoint={}; Path=/; HttpOnly; SameSite=Strict", world.admin);
    assert_eq!(answer.header(header::SET_COOKIE), cookie);
    assert!(world.get("/", &world.admin).await.text.contains("kubernetes-admin"));

    let elsewhere = world.post_from(Some("http://evil"), "/sign-in", "", &fields(&world.admin)).await;
    assert_eq!(elsewhere.code, StatusCode::FORBIDDEN, "nobody is signed in by another site");

    let out = world.post("/sign-out", &world.admin, &[]).await;
    assert!(
        out.header(header::SET_COOKIE).starts_with("safepoint=; ")
            && out.header(header::SET_COOKIE).contains("Max-Age=0")
    );
}

#[tokio::test]
async fn what_a_person_may_not_do_is_not_offered_and_is_refused() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let own = world.get("/nodes/rover-7", &world.admin).await;
    assert!(own.text.contains("/nodes/rover-7/freeze"));

    for path in ["/", "/held", "/nodes/rover-7/freeze", "/nodes/rover-7/thaw"] {
        let answer = world.get(path, &world.other).await;
        assert_eq!(answer.code, StatusCode::FORBIDDEN, "{path}: {}", answer.text);
        assert!(!answer.text.contains("<form id=\"ask\""), "{path}");
    }
    let page = world.get("/nodes/rover-7", &world.other).await;
    assert!(!page.text.contains("/nodes/rover-7/freeze"), "{}", page.text);
    let asked = world.post("/nodes/rover-7/freeze", &world.other, &[("reason", "because")]).await;
    assert_eq!(asked.code, StatusCode::FORBIDDEN);
    assert!(world.gates().get(NODE).await.unwrap().spec.freeze.is_none());
    assert!(world.noted().await.is_empty());
}

#[tokio::test]
async fn whoever_may_not_list_static_pods_is_not_offered_them_and_is_refused() {
    let world = World::with_node(json!({"state": "Open"})).await;
    let link = "<a href=\"/static-pods\"";
    // A node may know of static pods.
    for (token, may) in [(&world.admin, true), (&world.other, true), (&world.visitor, false)] {
        let log = world.get("/log", token).await;
        assert_eq!((log.code, log.text.contains(link)), (StatusCode::OK, may), "{}", log.text);
        let page = world.get("/static-pods", token).await;
        let code = if may { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!((page.code, page.text.contains("The cluster has no StaticPods.")), (code, may));
    }
    let one = "/static-pods/default/beacon";
    for path in [one.to_owned(), format!("{one}/pause"), format!("/live?page={}", encoded(one))] {
        let answer = world.get(&path, &world.visitor).await;
        assert_eq!(answer.code, StatusCode::FORBIDDEN, "{path}: {}", answer.text);
        assert!(answer.text.contains("href=\"/sign-in\""), "{path}: somebody else may: {}", answer.text);
    }
    let asked = world.post(&format!("{one}/pause"), &world.visitor, &[("reason", "because")]).await;
    assert_eq!(asked.code, StatusCode::FORBIDDEN);
    assert!(world.noted().await.is_empty());
}

#[tokio::test]
async fn every_answer_forbids_what_is_not_ours() {
    let world = World::with_node(json!({"state": "Open"})).await;
    for path in ["/", "/nodes/rover-7", "/nodes/rover-7/freeze", "/sign-in", "/nowhere", "/assets/none"] {
        let answer = world.get(path, &world.admin).await;
        let policy = answer.header(header::CONTENT_SECURITY_POLICY);
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}: {policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(answer.header(header::CACHE_CONTROL), "no-store", "{path}");
    }
    let page = world.get("/", &world.admin).await.text;
    let script = page.split('"').find(|part| part.ends_with(".js")).unwrap().to_owned();
    let script = world.get(&script, "").await;
    assert!(script.code == StatusCode::OK && script.header(header::CACHE_CONTROL).contains("immutable"));
}

#[tokio::test]
async fn what_is_no_name_is_nobodys_and_is_not_asked_about() {
    let world = World::with_node(json!({"state": "Open"})).await;
    for name in ["a".repeat(60_000), "Rover".to_owned(), "..%2Fpods".to_owned()] {
        let answer = world.get(&format!("/nodes/{name}/freeze"), &world.admin).await;
        assert_eq!(answer.code, StatusCode::FORBIDDEN, "{}", &name[..5]);
    }
    let log = world.get("/live?page=/log", &world.admin).await;
    assert_eq!(log.code, StatusCode::BAD_REQUEST, "the log does not change while one looks");
}
