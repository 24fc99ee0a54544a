//! Functions on text. Places in a text are counted in characters.

use crate::cel::budget::{Stop, tenth};
use crate::cel::eval::Run;
use crate::cel::value::{Result, Value};

/// Calls the function if it is one of these.
pub(super) fn call<'a>(run: &mut Run<'a, '_>, name: &'static str, args: &[Value<'a>]) -> Option<Result<'a>> {
    if name == "join" {
        return Some(join(run, args));
    }
    let text = args.first()?.text()?;
    Some(match (name, &args[1..]) {
        ("contains", [part]) => with(part, |part| {
            run.budget.spend(1 + tenth(text.len()) * tenth(part.len()))?;
            Ok(Value::Bool(text.contains(part)))
        }),
        ("startsWith", [part]) => with(part, |part| {
            run.budget.spend_text(text.len())?;
            Ok(Value::Bool(text.starts_with(part)))
        }),
        ("endsWith", [part]) => with(part, |part| {
            run.budget.spend_text(text.len())?;
            Ok(Value::Bool(text.ends_with(part)))
        }),
        ("matches" | "find" | "findAll", [pattern, rest @ ..]) => {
            with(pattern, |pattern| find(run, name, text, pattern, rest))
        }
        ("charAt" | "substring" | "indexOf" | "lastIndexOf", rest) => {
            let cost = run.budget.spend(1 + tenth(text.len()));
            cost.and_then(|()| places(name, text, rest))
        }
        ("lowerAscii", []) => made(run, text, str::to_ascii_lowercase),
        ("upperAscii", []) => made(run, text, str::to_ascii_uppercase),
        ("trim", []) => made(run, text, |text| text.trim().to_owned()),
        ("replace", [old, new, limit @ ..]) => {
            with(old, |old| with(new, |new| replace(run, text, old, new, int(limit.first())?)))
        }
        ("split", [separator, limit @ ..]) => {
            with(separator, |separator| split(run, text, separator, int(limit.first())?))
        }
        ("strings.quote", []) => made(run, text, quote),
        ("format", [args]) => super::format::format(run, text, args),
        _ => return None,
    })
}

fn with<'a>(value: &Value<'a>, then: impl FnOnce(&str) -> Result<'a>) -> Result<'a> {
    match value.text() {
        Some(text) => then(text),
        None => Err(Stop::no_such_overload()),
    }
}

fn int(value: Option<&Value<'_>>) -> std::result::Result<Option<i64>, Stop> {
    match value {
        None => Ok(None),
        Some(Value::Int(int)) => Ok(Some(*int)),
        Some(_) => Err(Stop::no_such_overload()),
    }
}

fn made<'a>(run: &mut Run<'a, '_>, text: &str, make: impl Fn(&str) -> String) -> Result<'a> {
    run.budget.spend(1 + tenth(text.len()))?;
    Ok(Value::made(make(text)))
}

fn find<'a>(run: &mut Run<'a, '_>, name: &str, text: &str, pattern: &str, rest: &[Value<'a>]) -> Result<'a> {
    let limit = int(rest.first())?;
    run.budget.spend(tenth(text.len() + 1).saturating_mul((pattern.len() as u64).div_ceil(4)))?;
    let compiled = run.pattern(pattern)?;
    Ok(match name {
        "matches" => Value::Bool(compiled.is_match(text)),
        "find" => Value::made(compiled.find(text).map_or("", |found| found.as_str())),
        _ => {
            // A negative limit means all of them.
            let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
            Value::list(
                compiled.find_iter(text).take(limit).map(|found| Value::made(found.as_str())).collect(),
            )
        }
    })
}

fn out_of_range<'a>(at: i64) -> Result<'a> {
    Err(Stop::error(format!("index out of range: {at}")))
}

fn places<'a>(name: &str, text: &str, args: &[Value<'a>]) -> Result<'a> {
    let chars: Vec<char> = text.chars().collect();
    let inside = |at: i64| usize::try_from(at).ok().filter(|at| *at <= chars.len());
    let slice = |from: usize, to: usize| Value::made(chars[from..to].iter().collect::<String>());
    match (name, args) {
        ("charAt", [Value::Int(at)]) => match inside(*at) {
            Some(at) => Ok(slice(at, (at + 1).min(chars.len()))),
            None => out_of_range(*at),
        },
        ("substring", [Value::Int(from)]) => match inside(*from) {
            Some(from) => Ok(slice(from, chars.len())),
            None => out_of_range(*from),
        },
        ("substring", [Value::Int(from), Value::Int(to)]) if from > to => {
            Err(Stop::error(format!("invalid substring range. start: {from}, end: {to}")))
        }
        ("substring", [Value::Int(from), Value::Int(to)]) => match (inside(*from), inside(*to)) {
            (Some(from), Some(to)) => Ok(slice(from, to)),
            (None, _) => out_of_range(*from),
            (_, None) => out_of_range(*to),
        },
        ("indexOf" | "lastIndexOf", [part, offset @ ..]) => {
            let offset = int(offset.first())?;
            with(part, |part| {
                let part: Vec<char> = part.chars().collect();
                index_of(name == "lastIndexOf", &chars, &part, offset)
            })
        }
        _ => Err(Stop::no_such_overload()),
    }
}

fn index_of<'a>(last: bool, text: &[char], part: &[char], offset: Option<i64>) -> Result<'a> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let position = |at: usize| Ok(Value::Int(at.try_into().unwrap_or(i64::MAX)));
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(if last { length } else { 0 })));
    }
    if offset.is_none() && last && text.len() < part.len() {
        return Ok(Value::Int(-1));
    }
    let offset = offset.unwrap_or(if last { length - 1 } else { 0 });
    let Ok(from) = usize::try_from(offset) else { return out_of_range(offset) };
    if from >= text.len() || part.len() > text.len() {
        return Ok(Value::Int(-1));
    }
    let latest = text.len() - part.len();
    let found = |at: &usize| text[*at..].starts_with(part);
    let place = match last {
        true => (0..=from.min(latest)).rev().find(found),
        false => (from..=latest).find(found),
    };
    place.map_or(Ok(Value::Int(-1)), position)
}

fn replace<'a>(run: &mut Run<'a, '_>, text: &str, old: &str, new: &str, limit: Option<i64>) -> Result<'a> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    run.budget.spend(1 + tenth(text.len()))?;
    // The result can be far larger than what it is made of, so it is paid for first.
    let count = text.matches(old).take(limit).count();
    run.budget.spend_text(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::made(text.replacen(old, new, limit)))
}

fn split<'a>(run: &mut Run<'a, '_>, text: &str, separator: &str, limit: Option<i64>) -> Result<'a> {
    run.budget.spend(1 + 2 * tenth(text.len()))?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let parts: Vec<Value<'a>> = match separator {
        // Between nothing and nothing lies one character.
        "" => {
            let mut rest = text;
            let mut parts = Vec::new();
            while let Some(c) = rest.chars().next() {
                let end = if parts.len() + 1 == limit { rest.len() } else { c.len_utf8() };
                parts.push(Value::made(&rest[..end]));
                rest = &rest[end..];
            }
            parts
        }
        separator => text.splitn(limit, separator).map(Value::made).collect(),
    };
    run.budget.spend(parts.len() as u64)?;
    Ok(Value::list(parts))
}

fn join<'a>(run: &mut Run<'a, '_>, args: &[Value<'a>]) -> Result<'a> {
    let (Some(list), separator) = (args.first(), args.get(1)) else { return Err(Stop::no_such_overload()) };
    let separator = match separator {
        Some(separator) => separator.text().ok_or_else(Stop::no_such_overload)?,
        None => "",
    };
    let items = list.items(run.nodes)?.ok_or_else(Stop::no_such_overload)?;
    let texts: Option<Vec<&str>> = items.iter().map(Value::text).collect();
    let Some(texts) = texts else { return Err(Stop::error("join: invalid input")) };
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    run.budget.spend(1 + texts.len() as u64)?;
    run.budget.spend_text(bytes.saturating_add(texts.len().saturating_mul(separator.len())))?;
    Ok(Value::made(texts.join(separator)))
}

/// In double quotes, with the escapes of the language.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
