//! The `uri` format: what may stand in the request line of an HTTP request, an absolute URI or an absolute path.

use std::net::Ipv6Addr;

/// Whether `text` is an absolute URI or an absolute path. A fragment is not split off: it belongs to the path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let (scheme, rest) = match split_scheme(text) {
        Some(Some((scheme, rest))) => (scheme, rest),
        Some(None) => ("", text),
        None => return false,
    };
    let has_scheme = !scheme.is_empty();
    let rest = rest.split_once('?').map_or(rest, |(path, _query)| path);
    if !rest.starts_with('/') {
        // `mailto:someone` is opaque and therefore fine, `someone` is relative and is not.
        return has_scheme;
    }
    let path = match rest.strip_prefix("//").filter(|_| has_scheme) {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            if !is_authority(scheme, &after[..end]) {
                return false;
            }
            &after[end..]
        }
        None => rest,
    };
    escapes_are_whole(path)
}

/// The scheme and what follows it; `Some(None)` if there is none, `None` if there is only its colon.
fn split_scheme(text: &str) -> Option<Option<(&str, &str)>> {
    for (index, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            ':' if index > 0 => return Some(Some((&text[..index], &text[index + 1..]))),
            ':' => return None,
            _ => return Some(None),
        }
    }
    Some(None)
}

fn escapes_are_whole(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(index, byte)| {
        *byte != b'%'
            || bytes.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    })
}

fn is_authority(scheme: &str, text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((user, host)) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            user.chars().all(plain) && escapes_are_whole(user) && is_host(scheme, host)
        }
        None => is_host(scheme, text),
    }
}

fn is_host(scheme: &str, text: &str) -> bool {
    match text.rfind('[') {
        Some(0) => {
            let Some(end) = text.rfind(']') else { return false };
            is_port(&text[end + 1..]) && is_bracketed_address(&text[1..end])
        }
        Some(_) => false,
        None => {
            // Databases list several hosts with their ports; the web does not.
            let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
            let colon = if web { text.find(':') } else { text.rfind(':') };
            colon.is_none_or(|colon| is_port(&text[colon..])) && is_host_text(text)
        }
    }
}

/// An IPv6 address; a zone follows an escaped percent sign and may contain any escape.
fn is_bracketed_address(text: &str) -> bool {
    let (address, zone) =
        text.split_once("%25").map_or((text, None), |(address, zone)| (address, Some(zone)));
    let zone_fits = zone.is_none_or(|zone| !zone.is_empty() && escapes_are_whole(zone));
    zone_fits && address.parse::<Ipv6Addr>().is_ok()
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Escapes in a host may only stand for bytes outside ASCII.
fn is_host_text(text: &str) -> bool {
    if !escapes_are_whole(text) {
        return false;
    }
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(index, byte)| match byte {
        b'%' => matches!(bytes.get(index + 1), Some(b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')),
        byte if byte.is_ascii() => byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(byte),
        _ => true,
    })
}
