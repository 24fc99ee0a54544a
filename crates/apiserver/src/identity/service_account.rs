//! Tokens of service accounts: signed, for a while, for an audience, for a pod.
//!
//! They are JWTs with HMAC-SHA-256. Nobody but this server checks them, so there is no public key to hand out, and one
//! secret of 256 bits does. Verification is strict where the format offers choices: one algorithm, one spelling of each
//! claim, and nothing of a token is looked at before its signature is known to be good, except the algorithm that it
//! must name.
//!
//! A good signature says that the token was once issued. Whether the service account and the pod are still there is for
//! [`Claims::held_by`].

use std::path::Path;

use aws_lc_rs::hmac;
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{IdentityError, authorize::Facts, authorize::Object, files, user::service_account_name};

/// Who issues the tokens, and for whom they are unless asked otherwise. Kubernetes has this as its default.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// The audience of tokens that are for this API.
pub(crate) const AUDIENCE: &str = ISSUER;

/// What a token request may ask for; what it asks for otherwise is moved to the nearer end.
pub(crate) const SHORTEST: SignedDuration = SignedDuration::from_mins(10);
pub(crate) const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The clock may be set back a little after a token was issued.
const EARLY: SignedDuration = SignedDuration::from_mins(1);

const KEY_BYTES: usize = 32;

/// Issues and verifies tokens.
pub(crate) struct ServiceAccounts {
    key: hmac::Key,
}

/// For whom a token is asked.
#[derive(Clone, Debug)]
pub(crate) struct TokenFor {
    pub(crate) namespace: String,
    pub(crate) service_account: Reference,
    /// The token ends with this pod.
    pub(crate) pod: Option<Reference>,
    /// Where the pod runs. Without a pod: the token ends with this node.
    pub(crate) node: Option<Reference>,
    /// [`AUDIENCE`] if empty.
    pub(crate) audiences: Vec<String>,
    pub(crate) valid: SignedDuration,
}

/// A token that was just issued.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) token: String,
    pub(crate) expires: Timestamp,
    pub(crate) claims: Claims,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) sub: String,
    pub(crate) aud: Vec<String>,
    /// In seconds since 1970, as the two below.
    pub(crate) exp: i64,
    pub(crate) iat: i64,
    pub(crate) nbf: i64,
    /// Names the token in logs, without being it.
    pub(crate) jti: String,
    #[serde(rename = "kubernetes.io")]
    pub(crate) kubernetes: Bound,
}

/// What a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound {
    pub(crate) namespace: String,
    pub(crate) serviceaccount: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<Reference>,
}

/// One object, and not a later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
}

/// Why a token of a service account is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    #[error("it is not a token of this server's form")]
    Malformed,
    #[error("it is signed in another way than this server signs")]
    Algorithm,
    #[error("its signature is not this server's")]
    Signature,
    #[error("it was issued by somebody else")]
    Issuer,
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet: is the clock right?")]
    NotYetValid,
    #[error("what it is bound to no longer exists")]
    Gone,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typ: Option<String>,
    /// Names what a verifier must understand. This one understands none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crit: Option<serde_json::Value>,
}

// === impl ServiceAccounts ===

impl ServiceAccounts {
    /// Opens the key, or makes one if there is no such file.
    pub(crate) fn open(path: &Path) -> Result<Self, IdentityError> {
        let secret = match files::read(path)? {
            Some(text) => {
                let secret = BASE64_STANDARD.decode(text.trim()).ok();
                secret.filter(|secret| secret.len() == KEY_BYTES).ok_or_else(|| IdentityError::Unreadable {
                    path: path.into(),
                    expected: "a key for the tokens of service accounts",
                    remedy: "remove it, and a new one is made at the next start; pods get new tokens then",
                })?
            }
            None => {
                let mut secret = vec![0; KEY_BYTES];
                aws_lc_rs::rand::fill(&mut secret).map_err(|_| IdentityError::Random)?;
                files::write(path, &format!("{}\n", BASE64_STANDARD.encode(&secret)), files::SECRET)?;
                secret
            }
        };
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// Issues a token. The caller has seen the objects that it is bound to.
    pub(crate) fn issue(&self, wanted: TokenFor, now: Timestamp) -> Issued {
        let now = now.as_second();
        let valid = wanted.valid.clamp(SHORTEST, LONGEST);
        let default = || vec![AUDIENCE.to_owned()];
        let claims = Claims {
            iss: ISSUER.into(),
            sub: service_account_name(&wanted.namespace, &wanted.service_account.name),
            aud: if wanted.audiences.is_empty() { default() } else { wanted.audiences },
            exp: now.saturating_add(valid.as_secs()),
            iat: now,
            nbf: now,
            jti: uuid::Uuid::new_v4().to_string(),
            kubernetes: Bound {
                namespace: wanted.namespace,
                serviceaccount: wanted.service_account,
                pod: wanted.pod,
                node: wanted.node,
            },
        };
        let header = Header { alg: "HS256".into(), typ: Some("JWT".into()), crit: None };
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let tag = hmac::sign(&self.key, signed.as_bytes());
        Issued {
            token: format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag)),
            expires: Timestamp::from_second(claims.exp).unwrap_or(Timestamp::MAX),
            claims,
        }
    }

    /// What the token says, if it is for one of the audiences and its time has come and not passed.
    pub(crate) fn verify(&self, token: &str, audiences: &[&str], now: Timestamp) -> Result<Claims, Reason> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Reason::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Reason::Malformed)?;
        let header: Header = decoded(header)?;
        let typ = header.typ.is_none_or(|typ| typ == "JWT");
        if header.alg != "HS256" || header.crit.is_some() || !typ {
            return Err(Reason::Algorithm);
        }
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| Reason::Malformed)?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).map_err(|_| Reason::Signature)?;

        let claims: Claims = decoded(claims)?;
        let bound = &claims.kubernetes;
        if claims.iss != ISSUER {
            Err(Reason::Issuer)
        } else if claims.sub != service_account_name(&bound.namespace, &bound.serviceaccount.name) {
            Err(Reason::Malformed)
        } else if !claims.aud.iter().any(|audience| audiences.contains(&audience.as_str())) {
            Err(Reason::Audience)
        } else if now.as_second() >= claims.exp {
            Err(Reason::Expired)
        } else if now.as_second().saturating_add(EARLY.as_secs()) < claims.nbf {
            Err(Reason::NotYetValid)
        } else {
            Ok(claims)
        }
    }
}

// === impl Claims ===

impl Claims {
    /// Whether all that the token is bound to is still there, and is not another object of the same name.
    pub(crate) fn held_by(&self, facts: &dyn Facts) -> Result<(), Reason> {
        let Bound { namespace, serviceaccount, pod, node } = &self.kubernetes;
        let same = |object, namespace: &str, wanted: &Reference| {
            facts.uid(object, namespace, &wanted.name).as_ref() == Some(&wanted.uid)
        };
        let bound = match (pod, node) {
            // The pod says where it runs, and ends with its node soon enough.
            (Some(pod), _) => same(Object::Pod, namespace, pod),
            (None, Some(node)) => same(Object::Node, "", node),
            (None, None) => true,
        };
        let held = bound && same(Object::ServiceAccount, namespace, serviceaccount);
        if held { Ok(()) } else { Err(Reason::Gone) }
    }
}

fn encoded(part: &impl Serialize) -> String {
    let json = serde_json::to_vec(part).expect("strings and numbers are always JSON");
    BASE64_URL_SAFE_NO_PAD.encode(json)
}

fn decoded<T: for<'a> Deserialize<'a>>(part: &str) -> Result<T, Reason> {
    let json = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| Reason::Malformed)?;
    serde_json::from_slice(&json).map_err(|_| Reason::Malformed)
}

#[cfg(test)]
mod tests;
