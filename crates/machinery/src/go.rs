//! Values as Go prints them.
//!
//! The texts of an API server are made by Go's `%v`, `%q` and `encoding/json`. Clients match on them and people search for
//! them, so that a quoted name, a float or a printed map has to look as it does there.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A number as an API server holds it: everything that does not fit 64 signed bits is a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// A whole number written without fraction or exponent.
    Int(i64),
    /// Any other number.
    Float(f64),
}

// === impl Num ===

impl Num {
    /// Reads a number of a document.
    #[must_use]
    pub fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            // A number without an f64 cannot be held by serde_json, unless built with arbitrary precision.
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// The number as a float.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "Go converts the same way, loss included")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// The number as `%v` prints it.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(number) => float(number),
        }
    }
}

/// A value in a field error: `%v` for numbers and booleans, `%q` for texts, JSON for the rest.
#[must_use]
pub fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => Num::of(number).text(),
        other => json(other),
    }
}

/// A float as `%v` prints it: the shortest digits that round trip, with an exponent from a million on.
#[must_use]
pub fn float(number: f64) -> String {
    float_text(number, -4, 6)
}

/// A string in double quotes, as Go's `%q`.
#[must_use]
pub fn quote(text: &str) -> String {
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

/// JSON as Go's encoder writes it: members sorted, floats Go's way, and what could start a tag escaped.
#[must_use]
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    push_json(&mut out, value);
    out
}

/// A value as Go's `%v` prints the decoded document: `map[a:1 b:[x y]]`.
#[must_use]
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    push_plain(&mut out, value);
    out
}

/// A list as Go's `%v` prints it: `[a b 1]`.
#[must_use]
pub fn list(items: &[Value]) -> String {
    let mut out = String::new();
    push_list(&mut out, items);
    out
}

/// A value as Go's `%s` prints it, which complains about what is no text.
#[must_use]
pub fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("%!s({}={})", type_name(value), plain(value)),
        Value::String(_) | Value::Array(_) | Value::Object(_) => plain(value),
    }
}

/// The name of the Go type that a decoded value has.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
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
#[must_use]
pub fn json_kind(value: &Value) -> &'static str {
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

fn push_list(out: &mut String, items: &[Value]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        push_plain(out, item);
    }
    out.push(']');
}

fn push_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => {
            let _ = write!(out, "{flag}");
        }
        Value::Number(number) => out.push_str(&Num::of(number).text()),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => push_list(out, items),
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

/// Shortest digits, with an exponent below `low` or from `high` on.
fn float_text(float: f64, low: i32, high: i32) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < low || exponent >= high {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
    } else {
        format!("{float}")
    }
}

fn push_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => match Num::of(number) {
            Num::Int(int) => out.push_str(&int.to_string()),
            Num::Float(float) => out.push_str(&float_text(float, -6, 21).replace("e-0", "e-")),
        },
        Value::String(text) => push_json_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_json_string(out, key);
                out.push(':');
                push_json(out, item);
            }
            out.push('}');
        }
    }
}

fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_unicode(out, c),
            c if c < ' ' => push_unicode(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn push_unicode(out: &mut String, c: char) {
    let _ = write!(out, "\\u{:04x}", u32::from(c));
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
        let value = json!({"b": [1, "x", null], "a": {"f": 1.5, "g": 1e6, "h": 1e-7, "i": true}});
        assert_eq!(plain(&value), "map[a:map[f:1.5 g:1e+06 h:1e-07 i:true] b:[1 x <nil>]]");
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

    #[test]
    fn floats_get_an_exponent_where_go_gives_one() {
        for (float, text) in [
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.0, "-2"),
        ] {
            assert_eq!(super::float(float), text);
        }
        assert_eq!(json(&json!([1e20, 1e21, 1e-7, 0.5])), "[100000000000000000000,1e+21,1e-7,0.5]");
    }

    #[test]
    fn json_is_sorted_and_escapes_html() {
        assert_eq!(
            json(&json!({"b": "<&>", "a": [true, null]})),
            r#"{"a":[true,null],"b":"\u003c\u0026\u003e"}"#
        );
    }

    #[test]
    fn a_number_beyond_64_signed_bits_is_a_float() {
        assert_eq!(value(&json!(u64::MAX)), "1.8446744073709552e+19");
        assert_eq!(value(&json!(i64::MAX)), "9223372036854775807");
    }
}
