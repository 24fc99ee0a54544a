//! Who is known, and by what.

use std::fs;

use http::HeaderValue;
use jiff::SignedDuration;
use tempfile::TempDir;

use super::*;

/// There is one service account, and nothing else.
struct Stored;

impl Facts for Stored {
    fn pod_node(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn node_uses(&self, _: &str, _: Used, _: &str, _: &str) -> bool {
        false
    }

    fn uid(&self, object: Object, namespace: &str, name: &str) -> Option<String> {
        ((object, namespace, name) == (Object::ServiceAccount, "ns", "sa")).then(|| "1".into())
    }
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn opened() -> (TempDir, Identity) {
    let data = tempfile::tempdir().unwrap();
    let identity = Identity::open(data.path(), Names::local(), now()).unwrap();
    (data, identity)
}

fn shows(identity: &Identity, authorization: &str) -> Result<User, Unauthenticated> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_bytes(authorization.as_bytes()).unwrap());
    identity.authenticate(&headers, &Stored, now())
}

fn admin_token(identity: &Identity) -> String {
    let path = identity.tokens.admin("https://127.0.0.1:6443").unwrap();
    let text = fs::read_to_string(path).unwrap();
    kubeconfig::Found::parse(&text).unwrap().token("kubernetes-admin").unwrap().to_owned()
}

fn token_for(uid: &str, audiences: &[&str]) -> TokenFor {
    TokenFor {
        namespace: "ns".into(),
        service_account: Reference { name: "sa".into(), uid: uid.into() },
        pod: None,
        node: None,
        audiences: audiences.iter().map(ToString::to_string).collect(),
        valid: SignedDuration::from_hours(1),
    }
}

#[test]
fn the_admin_is_known_by_the_token() {
    let (_data, identity) = opened();
    let token = admin_token(&identity);
    for authorization in [format!("Bearer {token}"), format!("bearer   {token} ")] {
        assert_eq!(shows(&identity, &authorization), Ok(User::admin()));
    }
    assert_eq!(shows(&identity, "Bearer wrong"), Err(Unauthenticated::Unknown));
}

#[test]
fn whoever_shows_no_token_is_nobody() {
    let (_data, identity) = opened();
    let missing = Err(Unauthenticated::Missing);
    assert_eq!(identity.authenticate(&HeaderMap::new(), &Stored, now()), missing);
    for authorization in ["", "Bearer", "Bearer ", "Basic YTpi", &admin_token(&identity), "Bearer \u{fc}"] {
        assert_eq!(shows(&identity, authorization), missing, "{authorization}");
    }
}

#[test]
fn a_service_account_is_known_while_it_exists() {
    let (_data, identity) = opened();
    let token = identity.service_accounts.issue(token_for("1", &[]), now()).token;
    assert_eq!(shows(&identity, &format!("Bearer {token}")).unwrap().name, "system:serviceaccount:ns:sa");
    let token = identity.service_accounts.issue(token_for("2", &[]), now()).token;
    let gone = Err(Unauthenticated::ServiceAccount(Reason::Gone));
    assert_eq!(shows(&identity, &format!("Bearer {token}")), gone, "another one has its name now");
}

#[test]
fn a_review_says_for_which_of_the_audiences_a_token_is_good() {
    let (_data, identity) = opened();
    let token = identity.service_accounts.issue(token_for("1", &["vault", AUDIENCE]), now()).token;
    let review = |token: &str, audiences: &[&str]| identity.review(token, audiences, &Stored, now());
    assert_eq!(review(&token, &["vault", "registry"]).unwrap().1, ["vault"]);
    assert_eq!(review(&token, &["registry"]), Err(Unauthenticated::ServiceAccount(Reason::Audience)));

    let admin = admin_token(&identity);
    assert_eq!(review(&admin, &["vault", AUDIENCE]), Ok((User::admin(), vec![AUDIENCE.to_owned()])));
    assert_eq!(review(&admin, &["vault"]), Err(Unauthenticated::Unknown));
}

#[test]
fn everything_is_as_it_was_after_a_restart() {
    let (data, identity) = opened();
    let token = admin_token(&identity);
    let account = identity.service_accounts.issue(token_for("1", &[]), now()).token;
    drop(identity);
    let identity = Identity::open(data.path(), Names::local(), now()).unwrap();
    assert_eq!(admin_token(&identity), token);
    assert!(shows(&identity, &format!("Bearer {token}")).is_ok());
    assert!(shows(&identity, &format!("Bearer {account}")).is_ok());
}

#[test]
fn a_new_ca_is_written_into_the_kubeconfigs_with_the_same_tokens() {
    let (data, identity) = opened();
    let token = admin_token(&identity);
    for file in ["ca.crt", "ca.key"] {
        fs::remove_file(data.path().join("pki").join(file)).unwrap();
    }
    let renewed = Identity::open(data.path(), Names::local(), now()).unwrap();
    let before = fs::read_to_string(data.path().join("kubeconfig")).unwrap();
    assert_eq!(admin_token(&renewed), token);
    assert_ne!(fs::read_to_string(data.path().join("kubeconfig")).unwrap(), before);
}
