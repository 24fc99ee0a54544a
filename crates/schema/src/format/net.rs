//! Formats of addresses: IP, hardware, host names and e-mail.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// What a host name's label may be made of: letters and digits of any script, and symbols.
static LABEL_CHAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[0-9A-Za-z\p{L}\p{S}]$").expect("a constant expression compiles"));

static LETTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\p{L}$").expect("a constant expression compiles"));

/// Four decimal numbers; leading zeros are tolerated because old objects contain them.
fn is_ipv4_only(text: &str) -> bool {
    let mut parts = 0;
    for part in text.split('.') {
        let value = part.trim_start_matches('0');
        let fits = value.len() <= 3 && value.parse::<u16>().unwrap_or_default() <= 255;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) || !fits {
            return false;
        }
        parts += 1;
    }
    parts == 4
}

/// An IPv6 address whose last 32 bits may be written as IPv4 with leading zeros.
fn is_ipv6_sloppy(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_ipv4_only(tail) && format!("{head}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
        }
        _ => text.parse::<Ipv6Addr>().is_ok(),
    }
}

/// An address with a dot in it.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (is_ipv4_only(text) || is_ipv6_sloppy(text))
}

/// An address with a colon in it, written strictly.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// An address and a prefix length.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let bits = match address {
        address if is_ipv4_only(address) => 32,
        address if is_ipv6_sloppy(address) => 128,
        _ => return false,
    };
    let plain = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    plain && length.trim_start_matches('0').parse::<u32>().unwrap_or_else(|_| overflow(length)) <= bits
}

/// An unparsable run of digits is either all zeros or far too large.
fn overflow(digits: &str) -> u32 {
    if digits.bytes().all(|byte| byte == b'0') { 0 } else { u32::MAX }
}

/// 6, 8 or 20 bytes, in pairs joined by colons or dashes, in fours joined by dots, or without a separator.
pub(super) fn is_mac(text: &str) -> bool {
    let fits = |separator: char, width: usize, counts: [usize; 3]| {
        let groups: Vec<&str> = text.split(separator).collect();
        counts.contains(&groups.len())
            && groups
                .iter()
                .all(|group| group.len() == width && group.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let bare = matches!(text.len(), 12 | 16 | 40) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    bare || fits(':', 2, [6, 8, 20]) || fits('-', 2, [6, 8, 20]) || fits('.', 4, [3, 4, 10])
}

fn is_label_char(c: char) -> bool {
    let mut buffer = [0; 4];
    LABEL_CHAR.is_match(c.encode_utf8(&mut buffer))
}

/// A host name: one label, or labels that end in a top level domain of letters.
///
/// A single label may have a dash only in its second place; that is how the API server's expression reads.
pub(super) fn is_hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    let labels: Vec<Vec<char>> = text.split('.').map(|label| label.chars().collect()).collect();
    let Some((last, others)) = labels.split_last() else { return false };
    if others.is_empty() {
        let tail = match last.as_slice() {
            [first, '-', tail @ ..] | [first, tail @ ..] if is_label_char(*first) => tail,
            _ => return false,
        };
        return tail.len() <= 62 && tail.iter().copied().all(is_label_char);
    }
    let top = (2..=63).contains(&last.len()) && last.iter().all(|c| is_letter(*c));
    top && others.iter().all(|label| {
        let ends = label.first().copied().is_some_and(is_label_char)
            && label.last().copied().is_some_and(is_label_char);
        ends && label.len() <= 63 && label.iter().all(|c| *c == '-' || is_label_char(*c))
    })
}

/// Symbols and digits are excluded from the top level domain.
fn is_letter(c: char) -> bool {
    let mut buffer = [0; 4];
    LETTER.is_match(c.encode_utf8(&mut buffer))
}

/// `a@b`, or the same in angle brackets after a display name; either may be followed by comments.
///
/// Groups, which the mail standard also knows, are not read.
pub(super) fn is_email(text: &str) -> bool {
    let Some(text) = without_comments(text.trim_matches([' ', '\t'])) else { return false };
    let in_brackets = || {
        let (name, rest) = text.rsplit_once('<')?;
        let address = rest.strip_suffix('>')?.trim_start_matches([' ', '\t']);
        Some(is_phrase(name.trim_matches([' ', '\t'])) && is_address(address))
    };
    is_address(text) || in_brackets().unwrap_or_default()
}

/// What stands before the comments at the end; `None` if they are not closed.
fn without_comments(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    let mut end = None;
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' if depth == 0 => quoted = !quoted,
            _ if quoted => {}
            '(' => {
                depth += 1;
                end = end.or(Some(index));
            }
            ')' if depth > 0 => depth -= 1,
            ' ' | '\t' => {}
            // Text between comments is not at the end.
            _ if depth == 0 && end.is_some() => return None,
            _ => {}
        }
    }
    (depth == 0).then(|| text[..end.unwrap_or(text.len())].trim_end_matches([' ', '\t']))
}

/// A display name: words and quoted strings. It may be missing.
fn is_phrase(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let Some(end) = quoted_end(rest) else { return false };
            rest = &rest[end..];
        } else {
            let end = rest.find([' ', '\t', '"']).unwrap_or(rest.len());
            if !rest[..end].chars().all(|c| is_atom_char(c) || c == '.') {
                return false;
            }
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches([' ', '\t']);
    }
    true
}

fn is_address(text: &str) -> bool {
    let local_end = match text.starts_with('"') {
        // An empty quoted name is refused by the parser behind the API server.
        true => quoted_end(text).filter(|end| *end > 2),
        false => text.find('@').filter(|end| is_dot_atom(&text[..*end])),
    };
    let Some(domain) = local_end.and_then(|end| text[end..].strip_prefix('@')) else { return false };
    match domain.trim_start_matches([' ', '\t']).strip_prefix('[') {
        Some(literal) => literal.strip_suffix(']').is_some_and(|ip| ip.parse::<IpAddr>().is_ok()),
        None => is_dot_atom(domain.trim_start_matches([' ', '\t'])),
    }
}

/// Where the quoted string at the start of `text` ends.
fn quoted_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(index + 1),
            c if c.is_control() && c != '\t' => return None,
            _ => {}
        }
    }
    None
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_char))
}

fn is_atom_char(c: char) -> bool {
    match c {
        '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"' | '.' => false,
        c => c > ' ' && c != '\u{7f}',
    }
}
