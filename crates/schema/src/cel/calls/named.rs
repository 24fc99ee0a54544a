//! Values with a form: URLs and named formats.
//!
//! The library parses URLs as browsers do, which lower cases hosts and adds slashes; rules expect the text they wrote.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::cel::budget::{Stop, tenth};
use crate::cel::eval::Run;
use crate::cel::library;
use crate::cel::value::{Key, Result, Value};
use crate::format::Format;

/// The parts of a URL, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cel) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// Calls the function if it is one of these.
pub(super) fn call<'a>(run: &mut Run<'a, '_>, name: &'static str, args: &[Value<'a>]) -> Option<Result<'a>> {
    Some(match (name, args) {
        ("url" | "isURL", [text]) => with_text(run, text, |text| match (name, parse(text)) {
            ("isURL", parsed) => Ok(Value::Bool(parsed.is_some())),
            (_, Some(url)) => Ok(Value::Url(Rc::new(url))),
            (_, None) => Err(Stop::error(format!("URL parse error during conversion from string: {text}"))),
        }),
        ("getScheme", [Value::Url(url)]) => Ok(Value::made(url.scheme.as_str())),
        ("getHost", [Value::Url(url)]) => Ok(Value::made(url.host.as_str())),
        ("getHostname", [Value::Url(url)]) => Ok(Value::made(url.split_host().0)),
        ("getPort", [Value::Url(url)]) => Ok(Value::made(url.split_host().1)),
        ("getEscapedPath", [Value::Url(url)]) => Ok(Value::made(url.path.as_str())),
        ("getQuery", [Value::Url(url)]) => Ok(url.query()),
        ("format.named", [name]) => with_text(run, name, |name| {
            Ok(known(name).map_or(Value::Optional(None), |name| Value::some(Value::Format(name))))
        }),
        ("validate", [Value::Format(name), text]) => validate(run, name, text),
        _ => Ok(Value::Format(known(name.strip_prefix("format.")?)?)),
    })
}

fn with_text<'a>(
    run: &mut Run<'a, '_>,
    text: &Value<'a>,
    then: impl FnOnce(&str) -> Result<'a>,
) -> Result<'a> {
    let text = text.text().ok_or_else(Stop::no_such_overload)?;
    run.budget.spend(1 + tenth(text.len()))?;
    then(text)
}

fn known(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 13] = [
        "dns1123Label",
        "dns1123LabelPrefix",
        "dns1123Subdomain",
        "dns1123SubdomainPrefix",
        "dns1035Label",
        "dns1035LabelPrefix",
        "qualifiedName",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime",
    ];
    NAMES.into_iter().find(|known| *known == name)
}

/// None if the text has the format, otherwise what is wrong.
fn validate<'a>(run: &mut Run<'a, '_>, name: &'static str, value: &Value<'a>) -> Result<'a> {
    let text = value.text().ok_or_else(Stop::no_such_overload)?;
    // Like a search for an expression of middling length.
    run.budget.spend(tenth(text.len() + 1).saturating_mul(15))?;
    let (format, fault) = match name {
        "uri" => (Format::Uri, "invalid URI for request"),
        "uuid" => (Format::Uuid, "does not match the UUID format"),
        "byte" => (Format::Byte, "invalid base64"),
        "date" => (Format::Date, "invalid date"),
        "datetime" => (Format::DateTime, "invalid datetime"),
        name => return library::validate(run, name, value),
    };
    Ok(match format.accepts(text) {
        true => Value::Optional(None),
        false => Value::some(Value::list(vec![Value::made(fault)])),
    })
}

fn parse(text: &str) -> Option<Url> {
    if !Format::Uri.accepts(text) {
        return None;
    }
    let text = text.split_once('#').map_or(text, |(text, _fragment)| text);
    let scheme_end = text.find(':').filter(|end| text[..*end].bytes().all(is_scheme_byte));
    let (scheme, rest) = match scheme_end {
        Some(end) if !text.starts_with('/') => (text[..end].to_lowercase(), &text[end + 1..]),
        _ => (String::new(), text),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        // What follows a scheme without a slash is opaque and not a path.
        None if !scheme.is_empty() && !rest.starts_with('/') => ("", ""),
        None => ("", rest),
    };
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    Some(Url { scheme, host: host.to_owned(), path: escaped(path), query: query.to_owned() })
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// A path with what may not stand in one escaped.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte);
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match plain(byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

// === impl Url ===

impl Url {
    /// The host without its port and brackets, and the port.
    fn split_host(&self) -> (&str, &str) {
        let (name, port) = match self.host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
            _ => (self.host.as_str(), ""),
        };
        (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
    }

    /// The parameters by name. One that cannot be decoded is left out.
    fn query<'a>(&self) -> Value<'a> {
        let mut all: BTreeMap<Key, Vec<Value<'a>>> = BTreeMap::new();
        for part in self.query.split('&').filter(|part| !part.is_empty() && !part.contains(';')) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if let (Some(name), Some(value)) = (decoded(name), decoded(value)) {
                all.entry(Key::Text(name.into())).or_default().push(Value::made(value));
            }
        }
        Value::Map(Rc::new(all.into_iter().map(|(name, values)| (name, Value::list(values))).collect()))
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}
