//! Formats that are codes: letters and digits in fixed places, sometimes with a check digit.

/// Only hexadecimal digits.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Standard base64 with padding; the empty string is not base64 here.
pub(super) fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return false;
    }
    let padding = bytes.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    bytes[..bytes.len() - padding]
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// A UUID in either case with optional dashes; `version` fixes the version digit.
///
/// Versions 4 and 5 also fix the variant, version 3 does not.
pub(super) fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut groups = Vec::with_capacity(5);
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(group) = rest.get(..length).filter(|group| is_hex(group)) else { return false };
        groups.push(group);
        rest = &rest[length..];
    }
    let version_fits = version.is_none_or(|version| groups[2].starts_with(version));
    let variant_fits = match version {
        Some('4' | '5') => groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B']),
        _ => true,
    };
    rest.is_empty() && version_fits && variant_fits
}

fn digits(text: &str) -> Option<Vec<u32>> {
    text.chars().map(|c| c.to_digit(10)).collect()
}

/// White space and dashes do not count in an ISBN.
fn without_separators(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '-')).collect()
}

/// Ten digits, the last of which may be an X for ten; the weighted sum divides by eleven.
pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_separators(text);
    let (body, last) = match text.strip_suffix('X') {
        Some(body) => (body, Some(10)),
        None => (text.as_str(), None),
    };
    let Some(mut all) = digits(body) else { return false };
    all.extend(last);
    all.len() == 10 && all.iter().zip(1..).map(|(digit, weight)| digit * weight).sum::<u32>() % 11 == 0
}

/// Thirteen digits with the check digit of an EAN.
pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(all) = digits(&without_separators(text)).filter(|all| all.len() == 13) else { return false };
    let sum: u32 = all.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    sum.is_multiple_of(10)
}

/// A card number of a known issuer that passes the Luhn check; everything that is not a digit is ignored.
pub(super) fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    let known = match text.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let sum: u32 = text
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    known && sum.is_multiple_of(10)
}

/// `123-45-6789`: eleven characters, each separator a dash or a space.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(index, byte)| match index {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}

/// Three or six hexadecimal digits, with or without the hash.
pub(super) fn is_hex_color(text: &str) -> bool {
    let text = text.strip_prefix('#').unwrap_or(text);
    matches!(text.len(), 3 | 6) && is_hex(text)
}

/// `rgb(255, 0, 10)`: three numbers without leading zeros.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inner.split(',').collect();
    let white = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    parts.len() == 3
        && parts.iter().all(|part| {
            let part = part.trim_matches(white);
            let plain =
                part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
            plain && part.parse::<u8>().is_ok()
        })
}

/// A DNS label in lower case.
pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_name_segment(text)
}

/// Labels joined by dots; a label may be as long as the whole name.
pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_name_segment)
}

fn is_name_segment(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}
