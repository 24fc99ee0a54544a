//! `format`: values in a text, as the expression library of Go writes them.
//!
//! Numbers with a point are written the American way (`1,234.50`), because the library asks for that locale and rules
//! that compare such texts exist.

use safepoint_machinery::go;

use super::convert;
use crate::cel::budget::{Stop, tenth};
use crate::cel::eval::Run;
use crate::cel::value::{Key, Result, Value};

/// Digits after the point that may be asked for. More would only cost memory.
const MAX_PRECISION: usize = 99;

pub(super) fn format<'a>(run: &mut Run<'a, '_>, text: &str, args: &Value<'a>) -> Result<'a> {
    let items = args.items(run.nodes)?.ok_or_else(Stop::no_such_overload)?;
    run.budget.spend(1 + tenth(text.len()))?;
    let mut items = items.iter().enumerate();
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(tail) = after.strip_prefix('%') {
            out.push('%');
            rest = tail;
            continue;
        }
        let Some((_, value)) = items.next() else {
            return Err(Stop::error(format!("index {} out of range", args.size())));
        };
        let (precision, tail) = precision(after)?;
        let mut chars = tail.chars();
        let verb = chars.next().ok_or_else(|| Stop::error("unexpected end of string"))?;
        let piece = clause(run, verb, precision, value)?;
        run.budget.spend_text(piece.len())?;
        out.push_str(&piece);
        rest = chars.as_str();
    }
    out.push_str(rest);
    Ok(Value::made(out))
}

/// `.3` in front of a verb.
fn precision(text: &str) -> std::result::Result<(usize, &str), Stop> {
    let Some(tail) = text.strip_prefix('.') else { return Ok((6, text)) };
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    match tail[..end].parse() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((precision, &tail[end..])),
        _ => Err(Stop::error("could not parse formatting clause: error while parsing precision")),
    }
}

fn clause<'a>(
    run: &mut Run<'a, '_>,
    verb: char,
    precision: usize,
    value: &Value<'a>,
) -> std::result::Result<String, Stop> {
    let refuse = |what: &str| {
        Err(Stop::error(format!("error during formatting: {what}, was given {}", value.type_name())))
    };
    match (verb, value) {
        ('s', _) => plain(run, value),
        ('d', Value::Int(int)) => Ok(int.to_string()),
        ('d', Value::Uint(uint)) => Ok(uint.to_string()),
        ('d', _) => refuse("decimal clause can only be used on integers"),
        ('f', Value::Double(double)) => Ok(grouped(*double, precision)),
        ('f', _) => refuse("fixed-point clause can only be used on doubles"),
        ('e', Value::Double(double)) => Ok(scientific(*double)),
        ('e', _) => refuse("scientific clause can only be used on doubles"),
        ('b', Value::Bool(bool)) => Ok(u8::from(*bool).to_string()),
        ('b', _) => match magnitude(value) {
            Some((sign, number)) => Ok(format!("{sign}{number:b}")),
            None => refuse("only integers and bools can be formatted as binary"),
        },
        ('o', _) => match magnitude(value) {
            Some((sign, number)) => Ok(format!("{sign}{number:o}")),
            None => refuse("octal clause can only be used on integers"),
        },
        ('x' | 'X', _) => match (magnitude(value), value.text(), value) {
            (Some((sign, number)), ..) => Ok(in_case(verb, format!("{sign}{number:x}"))),
            (None, Some(text), _) => Ok(in_case(verb, hex(text.as_bytes()))),
            (None, None, Value::Bytes(bytes)) => Ok(in_case(verb, hex(bytes))),
            _ => refuse("only integers, byte buffers, and strings can be formatted as hex"),
        },
        (verb, _) => {
            let reason = format!("unrecognized formatting clause \"{verb}\"");
            Err(Stop::error(format!("could not parse formatting clause: {reason}")))
        }
    }
}

fn in_case(verb: char, text: String) -> String {
    if verb == 'X' { text.to_uppercase() } else { text }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The sign and the size of an integer.
fn magnitude(value: &Value<'_>) -> Option<(&'static str, u64)> {
    match value {
        Value::Int(int) => Some((if *int < 0 { "-" } else { "" }, int.unsigned_abs())),
        Value::Uint(uint) => Some(("", *uint)),
        _ => None,
    }
}

/// A value on its own: texts without quotes.
fn plain<'a>(run: &mut Run<'a, '_>, value: &Value<'a>) -> std::result::Result<String, Stop> {
    if let Some(text) = value.text() {
        return Ok(text.to_owned());
    }
    match value {
        Value::Null => Ok("null".to_owned()),
        Value::Type(name) => Ok((*name).to_owned()),
        Value::Array(..) | Value::List(..) | Value::Map(_) | Value::Object(..) => nested(run, value),
        other => match convert::to_text(run, other)? {
            made if made.text().is_some() => Ok(made.text().unwrap_or_default().to_owned()),
            _ => Err(Stop::no_such_overload()),
        },
    }
}

/// A value inside another one: written so that it could stand in a rule.
fn nested<'a>(run: &mut Run<'a, '_>, value: &Value<'a>) -> std::result::Result<String, Stop> {
    run.budget.spend(1)?;
    run.budget.spend_text(value.size())?;
    Ok(match value {
        Value::Text(_) | Value::Made(_) => go::quote(value.text().unwrap_or_default()),
        Value::Double(double) if double.is_finite() => format!("{double:.6}"),
        Value::Double(double) => go::quote(&go::float(*double)),
        Value::Bytes(_) => format!("b{}", go::quote(&plain(run, value)?)),
        Value::Duration(_) => format!("duration({})", go::quote(&plain(run, value)?)),
        Value::Foreign(_) if value.type_name() == "google.protobuf.Timestamp" => {
            format!("timestamp({})", go::quote(&plain(run, value)?))
        }
        Value::Array(..) | Value::List(..) => {
            let items = value.items(run.nodes)?.unwrap_or_default();
            let texts: std::result::Result<Vec<_>, _> = items.iter().map(|item| nested(run, item)).collect();
            format!("[{}]", texts?.join(", "))
        }
        Value::Map(_) | Value::Object(..) => {
            let mut entries = Vec::new();
            for key in value.keys(run.nodes).unwrap_or_default() {
                let Some(entry) = value.entry(run.nodes, &key).transpose()? else { continue };
                let name = match &key {
                    Key::Text(text) => go::quote(text),
                    other => plain(run, &other.clone().into())?,
                };
                entries.push((name, nested(run, &entry)?));
            }
            entries.sort();
            let texts: Vec<String> =
                entries.into_iter().map(|(key, entry)| format!("{key}:{entry}")).collect();
            format!("{{{}}}", texts.join(", "))
        }
        other => plain(run, other)?,
    })
}

/// `-1,234.50`.
fn grouped(double: f64, precision: usize) -> String {
    if !double.is_finite() {
        return match double {
            double if double.is_nan() => "NaN".to_owned(),
            double if double > 0.0 => "∞".to_owned(),
            _ => "-∞".to_owned(),
        };
    }
    let text = format!("{:.precision$}", double.abs());
    let (whole, fraction) =
        text.split_once('.').map_or((text.as_str(), ""), |(whole, fraction)| (whole, fraction));
    let mut out = String::from(if double.is_sign_negative() { "-" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `1.250000×10⁰¹`. The precision asked for is not honoured, as in the library.
fn scientific(double: f64) -> String {
    let text = format!("{double:.6e}");
    let Some((digits, exponent)) = text.split_once('e') else { return grouped(double, 6) };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { "⁻" } else { "" };
    let raised = |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10).unwrap_or_default() as usize).unwrap_or(c);
    let raised: String = format!("{:02}", exponent.unsigned_abs()).chars().map(raised).collect();
    format!("{digits}×10{sign}{raised}")
}
