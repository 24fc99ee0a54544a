//! How Go prints values, as far as Kubernetes' messages show it.
//!
//! Clients match on these texts and people search for them, so that a quoted name or a printed map has to look
//! as it does in the messages of a Kubernetes API server.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A string in double quotes, as Go's `%q`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{07}' => out.push_str("\\a"),
            '\u{08}' => out.push_str("\\b"),
            '\u{0c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{0b}' => out.push_str("\\v"),
            _ if is_printable(c) => out.push(c),
            _ => push_escape(&mut out, u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// JSON as Go's encoder writes it: what could start a tag is escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

/// A value as Go's `%v` prints the decoded document: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    push_plain(&mut out, value);
    out
}

/// A value as Go's `%s` prints it, which complains about what is no text.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("%!s({}={})", type_name(value), plain(value)),
        Value::String(_) | Value::Array(_) | Value::Object(_) => plain(value),
    }
}

/// The name of the Go type that a decoded value has.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The word with which Go's decoder names a kind of JSON value.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn push_escape(out: &mut String, code: u32) {
    let _ = match code {
        0..0x80 => write!(out, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        _ if c.is_ascii() => false,
        // The standard library knows what is printable but says it only through its escapes. It leaves combining
        // marks alone when they follow something, as Go does everywhere.
        _ => {
            let mut buffer = [b'a'; 5];
            let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
            std::str::from_utf8(&buffer[..length]).is_ok_and(|text| text.escape_debug().count() == 2)
        }
    }
}

fn push_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => {
            let _ = write!(out, "{flag}");
        }
        Value::Number(number) => out.push_str(&plain_number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                push_plain(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push_str("map[");
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                let _ = write!(out, "{key}:");
                push_plain(out, &map[key]);
            }
            out.push(']');
        }
    }
}

fn plain_number(number: &Number) -> String {
    if number.is_i64() {
        return number.to_string();
    }
    let float = number.as_f64().unwrap_or_default();
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{float}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quoted_text_escapes_what_go_escapes() {
        assert_eq!(quote("a\"b\\c\n\u{7f}\u{a0}é\u{200b}\u{1f600}"), r#""a\"b\\c\n\x7f\u00a0é\u200b😀""#);
    }

    #[test]
    fn a_printed_document_looks_like_a_go_map() {
        let value = json!({"b": [1, "x", null], "a": {"f": 1.5, "g": 1e21, "h": 1e-7, "i": true}});
        assert_eq!(plain(&value), "map[a:map[f:1.5 g:1e+21 h:1e-07 i:true] b:[1 x <nil>]]");
    }

    #[test]
    fn what_is_no_text_is_printed_with_a_complaint() {
        assert_eq!(as_text(&json!("x")), "x");
        assert_eq!(as_text(&json!(null)), "%!s(<nil>)");
        assert_eq!(as_text(&json!(1)), "%!s(int64=1)");
    }

    #[test]
    fn printed_json_cannot_start_a_tag() {
        assert_eq!(json(&json!({"a": "<b>&"})), r#"{"a":"\u003cb\u003e\u0026"}"#);
    }
}
