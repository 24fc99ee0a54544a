//! Who is who: the CA and the certificate of the server, the tokens of the admin and the nodes, and what each may do.
//!
//! All of it is made on the first start, below the data folder:
//!
//! ```text
//! data/
//!   kubeconfig                  the admin's, with the token
//!   nodes/NODE.kubeconfig       one per node, with its token
//!   pki/ca.crt, ca.key          made once; the certificate is renewed in its last year, for the same key
//!   pki/server.crt, server.key  the certificate is renewed 90 days before its end, also while the server runs
//!   pki/tokens.json             digests of the tokens, no secrets
//!   pki/sa.key                  signs the tokens of service accounts
//! ```
//!
//! The way of a request: [`Identity::authenticate`] says who asks (or 401: nobody is anonymous), [`impersonate()`]
//! whom they act as, [`authorize()`] whether they may, and for writes [`restrict()`] whether they may write just that.
//! The decisions are pure. They learn what is stored through [`Facts`], and the time is passed in.

use std::path::Path;

use http::{HeaderMap, header::AUTHORIZATION};
use jiff::Timestamp;

mod authorize;
mod ca;
mod certificate;
mod error;
mod files;
mod impersonate;
mod kubeconfig;
mod names;
mod references;
mod restrict;
mod service_account;
mod serving;
mod tokens;
mod user;

pub(crate) use authorize::{Attributes, Decision, Facts, Object, Used, authorize};
pub(crate) use error::IdentityError;
pub(crate) use impersonate::{ImpersonationError, impersonate};
pub(crate) use names::Names;
pub(crate) use references::references;
pub(crate) use restrict::{Change, restrict, restrict_token_request};
pub(crate) use service_account::{AUDIENCE, Reason, Reference, TokenFor};
pub use user::User;

use ca::Authority;
use service_account::ServiceAccounts;
use tokens::Tokens;

/// Everything by which the server and its users know each other.
pub(crate) struct Identity {
    /// The CA, and TLS for the server.
    pub(crate) authority: Authority,
    /// The admin and the nodes.
    pub(crate) tokens: Tokens,
    /// The tokens of service accounts.
    pub(crate) service_accounts: ServiceAccounts,
}

/// Why a request is answered with 401. The client is told no more than that; this is for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unauthenticated {
    /// There is no anonymous access.
    #[error("the request has no bearer token")]
    Missing,
    /// It was revoked, or never existed.
    #[error("the token is not known")]
    Unknown,
    /// It looks like the token of a service account.
    #[error("the token of a service account is not accepted: {0}")]
    ServiceAccount(Reason),
}

// === impl Identity ===

impl Identity {
    /// Opens what is below the data folder, and makes what is not there or is due.
    pub(crate) fn open(data: &Path, names: Names, now: Timestamp) -> Result<Self, IdentityError> {
        let pki = data.join("pki");
        let authority = Authority::open(&pki, names, now)?;
        let tokens = Tokens::open(data, &pki, authority.ca_pem())?;
        let service_accounts = ServiceAccounts::open(&pki.join("sa.key"))?;
        Ok(Self { authority, tokens, service_accounts })
    }

    /// Who asks, by the bearer token of the request.
    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        facts: &dyn Facts,
        now: Timestamp,
    ) -> Result<User, Unauthenticated> {
        let token = bearer(headers).ok_or(Unauthenticated::Missing)?;
        self.review(token, &[AUDIENCE], facts, now).map(|(user, _)| user)
    }

    /// Whose token this is, and for which of the audiences it is good: what a TokenReview asks.
    ///
    /// The tokens of the admin and the nodes are for this API and no other audience.
    pub(crate) fn review(
        &self,
        token: &str,
        audiences: &[&str],
        facts: &dyn Facts,
        now: Timestamp,
    ) -> Result<(User, Vec<String>), Unauthenticated> {
        // Static tokens have no dots, and those of service accounts have two.
        if !token.contains('.') {
            let user = self.tokens.user(token).filter(|_| audiences.contains(&AUDIENCE));
            return user.map(|user| (user, vec![AUDIENCE.into()])).ok_or(Unauthenticated::Unknown);
        }
        let claims = self.service_accounts.verify(token, audiences, now);
        let claims = claims.and_then(|claims| claims.held_by(facts).map(|()| claims));
        let claims = claims.map_err(Unauthenticated::ServiceAccount)?;
        let user = User::of_service_account(&claims);
        let good = claims.aud.into_iter().filter(|audience| audiences.contains(&audience.as_str())).collect();
        Ok((user, good))
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
