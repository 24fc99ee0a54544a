//! Acting as somebody else: `kubectl --as`.
//!
//! An admin may act as anybody, to see what they may do. Nobody else may, whatever the headers say: a request that asks
//! for it is refused and not quietly answered for the one who asks.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, service_account, service_account_groups,
};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// Why a request to act as somebody else is not granted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImpersonationError {
    /// To be answered with 403.
    #[error(
        "user {by:?} cannot impersonate {wanted:?}: only members of system:masters may act as somebody else"
    )]
    Forbidden { by: String, wanted: String },
    /// To be answered with 400.
    #[error("the header {header} needs a user to act as: set Impersonate-User as well")]
    NoUser { header: String },
    /// To be answered with 400.
    #[error("the header {header} is not text")]
    NotText { header: String },
}

/// The user for whom the request is answered: the one that the headers name, or else the one who asks.
pub(crate) fn impersonate(user: User, headers: &HeaderMap) -> Result<User, ImpersonationError> {
    let asked = |header: &&HeaderName| {
        let header = header.as_str();
        [USER, UID, GROUP].contains(&header) || header.starts_with(EXTRA)
    };
    let Some(first) = headers.keys().find(asked) else { return Ok(user) };
    let name = match headers.get(USER).map(|value| text(USER, value)).transpose()? {
        Some(name) if !name.is_empty() => name,
        _ => return Err(ImpersonationError::NoUser { header: first.to_string() }),
    };
    if !user.is_in(MASTERS) {
        return Err(ImpersonationError::Forbidden { by: user.name, wanted: name });
    }

    let uid = headers.get(UID).map(|value| text(UID, value)).transpose()?.filter(|uid| !uid.is_empty());
    let mut groups =
        headers.get_all(GROUP).iter().map(|value| text(GROUP, value)).collect::<Result<Vec<_>, _>>()?;
    if groups.is_empty()
        && let Some((namespace, _)) = service_account(&name)
    {
        groups = service_account_groups(namespace).into();
    }
    let implied = if name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !groups.iter().any(|group| group == implied || group == UNAUTHENTICATED) {
        groups.push(implied.into());
    }
    Ok(User { name, uid, groups, extra: extra(headers)? })
}

/// The key of an extra is the end of the header's name, percent-encoded where it is more than a header's name may be.
fn extra(headers: &HeaderMap) -> Result<BTreeMap<String, Vec<String>>, ImpersonationError> {
    let mut extra = BTreeMap::<_, Vec<_>>::new();
    for (header, value) in headers {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            // What does not decode to text is a key as it is written.
            let key = percent_decode_str(key).decode_utf8().map_or_else(|_| key.into(), String::from);
            extra.entry(key).or_default().push(text(header.as_str(), value)?);
        }
    }
    Ok(extra)
}

fn text(header: &str, value: &HeaderValue) -> Result<String, ImpersonationError> {
    let not_text = |_| ImpersonationError::NotText { header: header.into() };
    str::from_utf8(value.as_bytes()).map(str::to_owned).map_err(not_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn as_admin(pairs: &[(&'static str, &str)]) -> Result<User, ImpersonationError> {
        impersonate(User::admin(), &headers(pairs))
    }

    #[test]
    fn without_the_headers_everybody_is_who_they_are() {
        let others = headers(&[("authorization", "Bearer x"), ("x-impersonate-user", "y")]);
        for user in [User::admin(), User::of_node("a")] {
            assert_eq!(impersonate(user.clone(), &others), Ok(user));
        }
    }

    #[test]
    fn an_admin_may_act_as_anybody() {
        let user = as_admin(&[
            ("impersonate-user", "jane"),
            ("impersonate-uid", "42"),
            ("impersonate-group", "dev"),
            ("impersonate-group", "ops"),
            ("impersonate-extra-acme.example%2fproject", "one"),
            ("impersonate-extra-acme.example%2fproject", "two"),
        ]);
        let user = user.unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_deref()), ("jane", Some("42")));
        assert_eq!(user.groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(user.extra["acme.example/project"], ["one", "two"]);
    }

    #[test]
    fn the_admin_loses_the_groups_of_an_admin() {
        assert!(!as_admin(&[("impersonate-user", "jane")]).unwrap().is_in(MASTERS));
    }

    #[test]
    fn nobody_else_may_not_even_as_themselves() {
        let node = User::of_node("a");
        let refused = impersonate(node.clone(), &headers(&[("impersonate-user", &node.name)]));
        assert!(matches!(refused, Err(ImpersonationError::Forbidden { .. })), "{refused:?}");
    }

    #[test]
    fn the_groups_of_a_service_account_follow_from_its_name() {
        let user = as_admin(&[("impersonate-user", "system:serviceaccount:ns:sa")]).unwrap();
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
        );
    }

    #[test]
    fn whoever_acts_as_nobody_is_not_authenticated() {
        assert_eq!(as_admin(&[("impersonate-user", ANONYMOUS)]).unwrap().groups, [UNAUTHENTICATED]);
        let chosen = as_admin(&[("impersonate-user", "jane"), ("impersonate-group", UNAUTHENTICATED)]);
        assert_eq!(chosen.unwrap().groups, [UNAUTHENTICATED]);
    }

    #[test]
    fn a_group_without_a_user_is_a_bad_request_for_everybody() {
        for pairs in
            [&[("impersonate-group", "ops")][..], &[("impersonate-user", ""), ("impersonate-uid", "1")]]
        {
            for user in [User::admin(), User::of_node("a")] {
                let refused = impersonate(user, &headers(pairs));
                assert!(matches!(refused, Err(ImpersonationError::NoUser { .. })), "{refused:?}");
            }
        }
    }

    #[test]
    fn a_header_that_is_not_text_is_a_bad_request() {
        let mut headers = headers(&[("impersonate-user", "jane")]);
        headers.append(GROUP, HeaderValue::from_bytes(&[0xff]).unwrap());
        let refused = impersonate(User::admin(), &headers);
        assert_eq!(refused, Err(ImpersonationError::NotText { header: GROUP.into() }));
    }
}
