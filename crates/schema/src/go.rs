//! Values as Go prints them.
//!
//! The texts of an API server are made by Go's `%v`, `%q` and `encoding/json`, which differ from Rust's in the writing
//! of floats, of control characters and of `<`, `>` and `&`. A client that compares messages must not notice.

use std::fmt::Write;

use serde_json::{Number, Value};

/// A JSON number as the API server holds it: everything that does not fit 64 signed bits is a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    /// A whole number written without fraction or exponent.
    Int(i64),
    /// Any other number.
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            // A number without an f64 cannot be held by serde_json, unless built with arbitrary precision.
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "Go converts the same way, loss included")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// `%v`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(float) => float_v(float),
        }
    }
}

/// A field error's value: `%v` for numbers and booleans, `%q` for strings, JSON for the rest.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => Num::of(number).text(),
        other => json(other),
    }
}

/// `%v` of a float: the shortest digits that round trip, with an exponent from a million on.
pub(crate) fn float_v(float: f64) -> String {
    float_text(float, -4, 6)
}

/// `%v` of a list of values, as in `[a b 1]`.
pub(crate) fn list_v(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(value_v).collect();
    format!("[{}]", texts.join(" "))
}

fn value_v(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => Num::of(number).text(),
        Value::Bool(bool) => bool.to_string(),
        Value::Array(items) => list_v(items),
        Value::Object(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, item)| format!("{key}:{}", value_v(item))).collect();
            entries.sort();
            format!("map[{}]", entries.join(" "))
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

/// `%q`: a double quoted Go string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => push_escape(&mut out, 'x', 2, c),
            c if is_printable(c) => out.push(c),
            c if c < '\u{10000}' => push_escape(&mut out, 'u', 4, c),
            c => push_escape(&mut out, 'U', 8, c),
        }
    }
    out.push('"');
    out
}

fn push_escape(out: &mut String, letter: char, width: usize, c: char) {
    write!(out, "\\{letter}{:0width$x}", c as u32).expect("writing to a String cannot fail");
}

/// Close to Go's table: Rust escapes in `Debug` what Go calls unprintable, besides quotes and combining marks.
fn is_printable(c: char) -> bool {
    match c {
        '\'' => true,
        c if c.is_ascii() => true,
        c => c.escape_debug().next() == Some(c),
    }
}

/// `encoding/json`: keys sorted, floats Go's way, `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    push_json(&mut out, value);
    out
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
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_escape(out, 'u', 4, c),
            c if c < ' ' => push_escape(out, 'u', 4, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            assert_eq!(float_v(float), text);
        }
        assert_eq!(json(&json!([1e20, 1e21, 1e-7, 0.5])), "[100000000000000000000,1e+21,1e-7,0.5]");
    }

    #[test]
    fn strings_are_quoted_as_go_quotes_them() {
        assert_eq!(quote("a\"b\\\n\u{1}\u{7f}é\u{200b}"), r#""a\"b\\\n\x01\x7fé\u200b""#);
    }

    #[test]
    fn json_is_sorted_and_escapes_html() {
        assert_eq!(
            json(&json!({"b": "<&>", "a": [true, null]})),
            r#"{"a":[true,null],"b":"\u003c\u0026\u003e"}"#
        );
        assert_eq!(list_v(&[json!("a"), json!(1), json!(null)]), "[a 1 <nil>]");
    }

    #[test]
    fn a_number_beyond_64_signed_bits_is_a_float() {
        assert_eq!(value(&json!(u64::MAX)), "1.8446744073709552e+19");
        assert_eq!(value(&json!(i64::MAX)), "9223372036854775807");
    }
}
