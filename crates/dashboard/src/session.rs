//! Who sends a request, as far as its headers tell: the cookie with the token, the token of a form, and where it comes from.
//!
//! The cookie has the cluster's token itself and nothing is kept here, so that every replica knows whoever has signed in at
//! another. The token of a form is made from it: who does not know the one cannot know the other.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};

/// A token is sent with every request; one that is longer than this is none.
const LONGEST: usize = 3_500;

/// The cookies of a server, by whether it speaks TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies {
    pub(crate) secure: bool,
}

// === impl Cookies ===

impl Cookies {
    /// The cookie that has the token. With TLS the browser sees to it that no other host and no plain connection has set it.
    const fn token_name(self) -> &'static str {
        if self.secure { "__Host-safepoint" } else { "safepoint" }
    }

    /// The cookie that has what is to be said on the next page.
    const fn said_name(self) -> &'static str {
        if self.secure { "__Host-safepoint-said" } else { "safepoint-said" }
    }

    pub(crate) fn token(self, headers: &HeaderMap) -> Option<String> {
        let token = cookie(headers, self.token_name())?;
        is_token(token).then(|| token.to_owned())
    }

    pub(crate) fn said(self, headers: &HeaderMap) -> Option<&str> {
        cookie(headers, self.said_name()).filter(|said| !said.is_empty())
    }

    pub(crate) fn sign_in(self, token: &str) -> HeaderValue {
        self.set(self.token_name(), token, "")
    }

    pub(crate) fn sign_out(self) -> HeaderValue {
        self.set(self.token_name(), "", "; Max-Age=0")
    }

    /// `said` is percent-encoded. It is for the next page only.
    pub(crate) fn say(self, said: &str) -> HeaderValue {
        self.set(self.said_name(), said, "; Max-Age=30")
    }

    pub(crate) fn said_it(self) -> HeaderValue {
        self.set(self.said_name(), "", "; Max-Age=0")
    }

    fn set(self, name: &str, value: &str, more: &str) -> HeaderValue {
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
        HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("safepoint=; Max-Age=0"))
    }
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Whether a text can be a bearer token, and can stand in a cookie and in a header as it is.
pub(crate) fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_part)
}

/// What the forms of a person carry.
pub(crate) fn form_token(token: &str) -> String {
    let key = hmac::Key::new(HMAC_SHA256, token.as_bytes());
    let tag = hmac::sign(&key, b"safepoint dashboard: forms");
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a form was made for this person.
pub(crate) fn is_form_of(token: &str, sent: &str) -> bool {
    verify_slices_are_equal(form_token(token).as_bytes(), sent.as_bytes()).is_ok()
}

/// Whether a request that changes something comes from a page of ours. Browsers say where it comes from with every such
/// request; one that does not say is none of a page of ours.
pub(crate) fn is_from_here(headers: &HeaderMap, uri: &Uri, secure: bool) -> bool {
    let Some(origin) = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) else { return false };
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = named.or_else(|| uri.authority().map(http::uri::Authority::as_str)) else {
        return false;
    };
    let Some((scheme, from)) = origin.split_once("://") else { return false };
    // Something that speaks TLS may stand before a server that does not; never the other way round.
    (scheme == "https" || (scheme == "http" && !secure)) && from.eq_ignore_ascii_case(host)
}

/// A path of ours to go on to, or the first page.
pub(crate) fn next_page(asked: &str) -> &str {
    let is_ours = asked.starts_with('/')
        && !asked.starts_with("//")
        && !asked.contains('\\')
        && asked.bytes().all(|byte| byte.is_ascii_graphic());
    if is_ours { asked } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_has_to_look_like_a_token() {
        let cookies = Cookies { secure: false };
        let sent = headers(&[("cookie", "a=b; safepoint=x.y-z; c=d")]);
        assert_eq!(cookies.token(&sent).as_deref(), Some("x.y-z"));
        assert_eq!(cookies.token(&headers(&[("cookie", "safepoint=a b")])), None);
        assert_eq!(cookies.token(&headers(&[("cookie", "xsafepoint=a")])), None);
        assert_eq!(Cookies { secure: true }.token(&sent), None, "with TLS only the protected name counts");
    }

    #[test]
    fn no_script_no_other_site_and_with_tls_no_plain_connection_gets_the_cookie() {
        let plain = Cookies { secure: false }.sign_in("t");
        assert_eq!(plain, "safepoint=t; Path=/; HttpOnly; SameSite=Strict");
        let secure = Cookies { secure: true }.sign_in("t");
        assert_eq!(secure, "__Host-safepoint=t; Path=/; HttpOnly; SameSite=Strict; Secure");
    }

    #[test]
    fn the_token_of_a_form_is_good_for_one_person_only() {
        assert!(is_form_of("jane", &form_token("jane")));
        assert!(!is_form_of("joe", &form_token("jane")) && !is_form_of("jane", ""));
        assert!(!form_token("jane").contains("jane"));
    }

    #[test]
    fn only_a_page_of_ours_may_send_a_form() {
        let uri = Uri::from_static("/");
        let from = |origin: &str, secure| {
            is_from_here(&headers(&[("host", "hub:8080"), ("origin", origin)]), &uri, secure)
        };
        assert!(
            from("http://hub:8080", false)
                && from("https://hub:8080", true)
                && from("https://HUB:8080", false)
        );
        assert!(!from("http://hub:8080", true), "a plain page is no page of a server with TLS");
        assert!(!from("http://hub", false) && !from("http://evil:8080", false) && !from("null", false));
        assert!(!is_from_here(&headers(&[("host", "hub:8080")]), &uri, false), "it has to be said");
        let second = Uri::from_static("https://hub:8080/x");
        assert!(
            is_from_here(&headers(&[("origin", "https://hub:8080")]), &second, true),
            "as HTTP/2 says it"
        );
    }

    #[test]
    fn nobody_is_sent_to_another_site_after_signing_in() {
        assert_eq!(next_page("/nodes/rover-7?a=b"), "/nodes/rover-7?a=b");
        for other in ["//evil", "https://evil", "/\\evil", "evil", "", "/a b", "/a\r\nb"] {
            assert_eq!(next_page(other), "/", "{other:?}");
        }
    }
}
