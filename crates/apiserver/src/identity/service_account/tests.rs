//! Tokens that are good, and all the ways in which one is not.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::identity::{User, authorize::Used};

const NOW: i64 = 1_794_744_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn key() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sa.key");
    (folder, path)
}

fn opened() -> ServiceAccounts {
    ServiceAccounts::open(&key().1).unwrap()
}

fn reference(name: &str) -> Reference {
    Reference { name: name.into(), uid: format!("uid-of-{name}") }
}

fn wanted() -> TokenFor {
    TokenFor {
        namespace: "ns".into(),
        service_account: reference("sa"),
        pod: Some(reference("pod")),
        node: Some(reference("rover-7")),
        audiences: vec![],
        valid: SignedDuration::from_hours(1),
    }
}

/// A token with these parts, signed well.
fn forged(accounts: &ServiceAccounts, header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encoded(header), encoded(claims));
    let tag = hmac::sign(&accounts.key, signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
}

fn with(change: impl Fn(&mut Value)) -> Result<Claims, Reason> {
    let accounts = opened();
    let mut claims = serde_json::to_value(accounts.issue(wanted(), at(NOW)).claims).unwrap();
    change(&mut claims);
    let token = forged(&accounts, &json!({ "alg": "HS256", "typ": "JWT" }), &claims);
    accounts.verify(&token, &[AUDIENCE], at(NOW))
}

#[test]
fn a_token_says_what_it_was_issued_for() {
    let accounts = opened();
    let issued = accounts.issue(wanted(), at(NOW));
    let claims = accounts.verify(&issued.token, &[AUDIENCE], at(NOW)).unwrap();
    assert_eq!(claims, issued.claims);
    assert_eq!(issued.expires, at(NOW + 3600));
    let mut json = serde_json::to_value(&claims).unwrap();
    assert!(json["jti"].take().is_string());
    assert_eq!(
        json,
        json!({
            "iss": "https://kubernetes.default.svc",
            "sub": "system:serviceaccount:ns:sa",
            "aud": ["https://kubernetes.default.svc"],
            "exp": NOW + 3600, "iat": NOW, "nbf": NOW, "jti": null,
            "kubernetes.io": {
                "namespace": "ns",
                "serviceaccount": { "name": "sa", "uid": "uid-of-sa" },
                "pod": { "name": "pod", "uid": "uid-of-pod" },
                "node": { "name": "rover-7", "uid": "uid-of-rover-7" },
            },
        })
    );
}

#[test]
fn its_holder_is_the_service_account() {
    let claims = opened().issue(wanted(), at(NOW)).claims;
    let user = User::of_service_account(&claims);
    assert_eq!((user.name.as_str(), user.uid.as_deref()), ("system:serviceaccount:ns:sa", Some("uid-of-sa")));
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]);
    let extra = |key: &str| user.extra[&format!("authentication.kubernetes.io/{key}")][0].clone();
    assert_eq!(extra("credential-id"), format!("JTI={}", claims.jti));
    assert_eq!((extra("pod-name"), extra("pod-uid")), ("pod".into(), "uid-of-pod".into()));
    assert_eq!((extra("node-name"), extra("node-uid")), ("rover-7".into(), "uid-of-rover-7".into()));
}

#[test]
fn tokens_survive_a_restart_and_their_key_is_closed_to_others() {
    let (_folder, path) = key();
    let token = ServiceAccounts::open(&path).unwrap().issue(wanted(), at(NOW)).token;
    assert!(ServiceAccounts::open(&path).unwrap().verify(&token, &[AUDIENCE], at(NOW)).is_ok());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_key_that_cannot_be_read_is_named_and_left_alone() {
    for broken in ["", "garbage", "c2hvcnQ="] {
        let (_folder, path) = key();
        fs::write(&path, broken).unwrap();
        let error = ServiceAccounts::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{} is not a key", path.display())), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
}

#[test]
fn a_token_of_another_server_is_refused() {
    let token = opened().issue(wanted(), at(NOW)).token;
    assert_eq!(opened().verify(&token, &[AUDIENCE], at(NOW)), Err(Reason::Signature));
}

#[test]
fn a_token_that_was_tampered_with_is_refused() {
    let accounts = opened();
    let token = accounts.issue(wanted(), at(NOW)).token;
    for position in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        assert!(accounts.verify(&tampered, &[AUDIENCE], at(NOW)).is_err(), "changed at {position}");
        assert!(accounts.verify(&token[..position], &[AUDIENCE], at(NOW)).is_err(), "cut at {position}");
    }
    for longer in [format!("{token}A"), format!("{token}="), format!("{token}."), format!(".{token}")] {
        assert!(accounts.verify(&longer, &[AUDIENCE], at(NOW)).is_err(), "{longer}");
    }
}

#[test]
fn the_claims_of_one_token_do_not_go_with_the_signature_of_another() {
    let accounts = opened();
    let (one, other) = (accounts.issue(wanted(), at(NOW)).token, accounts.issue(wanted(), at(NOW + 1)).token);
    let (signed, _) = one.rsplit_once('.').unwrap();
    let (_, signature) = other.rsplit_once('.').unwrap();
    assert_eq!(
        accounts.verify(&format!("{signed}.{signature}"), &[AUDIENCE], at(NOW)),
        Err(Reason::Signature)
    );
}

#[test]
fn another_algorithm_is_refused_even_when_signed_well() {
    let accounts = opened();
    let claims = serde_json::to_value(accounts.issue(wanted(), at(NOW)).claims).unwrap();
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "None" }),
        json!({ "alg": "hs256" }),
        json!({ "alg": "HS512" }),
        json!({ "alg": "RS256" }),
        json!({ "alg": "HS256", "typ": "JWE" }),
        json!({ "alg": "HS256", "crit": ["exp"] }),
    ] {
        let token = forged(&accounts, &header, &claims);
        assert_eq!(accounts.verify(&token, &[AUDIENCE], at(NOW)), Err(Reason::Algorithm), "{header}");
        let (signed, _) = token.rsplit_once('.').unwrap();
        assert_eq!(
            accounts.verify(&format!("{signed}."), &[AUDIENCE], at(NOW)),
            Err(Reason::Algorithm),
            "{header}"
        );
    }
    let unsigned = accounts.issue(wanted(), at(NOW)).token;
    let (signed, _) = unsigned.rsplit_once('.').unwrap();
    assert_eq!(accounts.verify(&format!("{signed}."), &[AUDIENCE], at(NOW)), Err(Reason::Signature));
}

#[test]
fn what_is_no_token_at_all_is_refused() {
    for token in ["", ".", "..", "a.b", "a.b.c", "e30.e30.e30", "é.é.é"] {
        assert_eq!(opened().verify(token, &[AUDIENCE], at(NOW)), Err(Reason::Malformed), "{token}");
    }
}

#[test]
fn a_token_that_has_expired_is_refused_from_that_second_on() {
    let accounts = opened();
    let token = accounts.issue(wanted(), at(NOW)).token;
    assert!(accounts.verify(&token, &[AUDIENCE], at(NOW + 3599)).is_ok());
    assert_eq!(accounts.verify(&token, &[AUDIENCE], at(NOW + 3600)), Err(Reason::Expired));
}

#[test]
fn a_clock_that_was_set_back_a_little_is_forgiven_and_no_more() {
    let accounts = opened();
    let token = accounts.issue(wanted(), at(NOW)).token;
    assert!(accounts.verify(&token, &[AUDIENCE], at(NOW - 60)).is_ok());
    assert_eq!(accounts.verify(&token, &[AUDIENCE], at(NOW - 61)), Err(Reason::NotYetValid));
}

#[test]
fn a_token_for_another_audience_is_refused() {
    let accounts = opened();
    let audiences = vec!["vault".to_owned(), "registry".to_owned()];
    let token = accounts.issue(TokenFor { audiences, ..wanted() }, at(NOW)).token;
    assert!(accounts.verify(&token, &["registry"], at(NOW)).is_ok());
    for audiences in [&[AUDIENCE][..], &["vaul"], &[]] {
        assert_eq!(accounts.verify(&token, audiences, at(NOW)), Err(Reason::Audience), "{audiences:?}");
    }
}

#[test]
fn claims_that_do_not_fit_together_are_refused_even_when_signed_well() {
    assert!(with(|_| {}).is_ok());
    assert_eq!(with(|claims| claims["iss"] = json!("https://elsewhere")), Err(Reason::Issuer));
    assert_eq!(
        with(|claims| claims["sub"] = json!("system:serviceaccount:ns:other")),
        Err(Reason::Malformed)
    );
    assert_eq!(with(|claims| claims["sub"] = json!("kubernetes-admin")), Err(Reason::Malformed));
    assert_eq!(with(|claims| claims["aud"] = json!([])), Err(Reason::Audience));
    assert_eq!(with(|claims| claims["aud"] = json!(AUDIENCE)), Err(Reason::Malformed));
    for missing in ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "kubernetes.io"] {
        let removed = with(|claims| drop(claims.as_object_mut().unwrap().remove(missing)));
        assert_eq!(removed, Err(Reason::Malformed), "{missing}");
    }
}

#[test]
fn how_long_a_token_is_valid_stays_within_bounds() {
    let valid = |valid| {
        let expires = opened().issue(TokenFor { valid, ..wanted() }, at(NOW)).expires;
        expires.duration_since(at(NOW))
    };
    assert_eq!(valid(SignedDuration::from_secs(-1)), SHORTEST);
    assert_eq!(valid(SignedDuration::from_hours(2)), SignedDuration::from_hours(2));
    assert_eq!(valid(SignedDuration::MAX), LONGEST);
}

/// Knows the objects of these names, with the uids of `reference`.
struct Stored<'a>(&'a [(Object, &'a str, &'a str)]);

impl Facts for Stored<'_> {
    fn pod_node(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn node_uses(&self, _: &str, _: Used, _: &str, _: &str) -> bool {
        false
    }

    fn uid(&self, object: Object, namespace: &str, name: &str) -> Option<String> {
        self.0.contains(&(object, namespace, name)).then(|| reference(name).uid)
    }
}

#[test]
fn a_token_ends_with_what_it_is_bound_to() {
    let (account, pod, node) =
        ((Object::ServiceAccount, "ns", "sa"), (Object::Pod, "ns", "pod"), (Object::Node, "", "rover-7"));
    let held = |wanted, stored: &[_]| opened().issue(wanted, at(NOW)).claims.held_by(&Stored(stored)).is_ok();

    let of_a_pod = wanted;
    assert!(held(of_a_pod(), &[account, pod]));
    assert!(!held(of_a_pod(), &[account, node]));
    assert!(!held(of_a_pod(), &[pod, node]));
    assert!(!held(of_a_pod(), &[account, (Object::Pod, "other", "pod")]));
    let replaced = Reference { name: "pod".into(), uid: "another".into() };
    assert!(!held(TokenFor { pod: Some(replaced), ..wanted() }, &[account, pod]));
    let without_uid = Reference { name: "pod".into(), uid: String::new() };
    assert!(!held(TokenFor { pod: Some(without_uid), ..wanted() }, &[account, pod]));

    let of_a_node = || TokenFor { pod: None, ..wanted() };
    assert!(held(of_a_node(), &[account, node]));
    assert!(!held(of_a_node(), &[account]));

    let of_nothing_else = || TokenFor { pod: None, node: None, ..wanted() };
    assert!(held(of_nothing_else(), &[account]));
    assert!(!held(of_nothing_else(), &[]));
}
