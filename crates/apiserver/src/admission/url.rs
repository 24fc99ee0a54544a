//! The address of a webhook: `https://host[/path]`, and nothing else.
//!
//! Taken apart by hand, because a URL that is refused is told what is wrong with it, part by part, and because the
//! parsers at hand drop the very parts that are not permitted.

use http::uri::Authority;

/// A URL in its parts. Only the scheme and the host are checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// In lower case; empty if there is none.
    pub(crate) scheme: String,
    pub(crate) user: Option<&'a str>,
    /// With the port; empty if there is none.
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) fragment: &'a str,
}

impl<'a> Parts<'a> {
    /// Takes a URL apart, or says why it is not one.
    pub(crate) fn of(url: &'a str) -> Result<Parts<'a>, String> {
        if url.chars().any(|letter| letter.is_control() || letter == ' ') {
            return Err(format!("{url:?} has a space or a control character in it"));
        }
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (scheme, rest) = match rest.split_once(':') {
            Some(("", _)) => return Err(format!("{url:?} is missing its scheme")),
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ => (String::new(), rest),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if !host.is_empty() {
            let parsed: Authority = host.parse().map_err(|error| format!("host {host:?}: {error}"))?;
            let port = parsed.as_str().strip_prefix(parsed.host()).unwrap_or_default();
            if !port.is_empty() && parsed.port_u16().is_none() {
                return Err(format!("invalid port {port:?} after host"));
            }
        }
        Ok(Parts { scheme, user, host, path, query, fragment })
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::Parts;

    #[test]
    fn a_url_is_taken_apart() {
        let parts = Parts::of("HTTPS://me:secret@hooks.example.com:8443/a/b?c=d#e").unwrap();
        let expected = Parts {
            scheme: "https".into(),
            user: Some("me:secret"),
            host: "hooks.example.com:8443",
            path: "/a/b",
            query: "c=d",
            fragment: "e",
        };
        assert_eq!(parts, expected);
    }

    #[test]
    fn what_is_missing_is_empty() {
        let parts = |url| {
            let parts = Parts::of(url).unwrap();
            (parts.scheme, parts.host, parts.path)
        };
        assert_eq!(parts(""), (String::new(), "", ""));
        assert_eq!(parts("https://host"), ("https".into(), "host", ""));
        assert_eq!(parts("https:///path"), ("https".into(), "", "/path"));
        assert_eq!(parts("https://[::1]:443/x"), ("https".into(), "[::1]:443", "/x"));
        assert_eq!(parts("host/path"), (String::new(), "", "host/path"));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in [
            "https://a b",
            "://host",
            "https://host:port",
            "https://host:99999",
            "https://[::1",
            "https://a\nb",
        ] {
            assert!(Parts::of(url).is_err(), "{url}");
        }
    }
}
