//! The answer to one request: its code, its headers, its document.

use std::ops::Deref;

use anyhow::Result;
use http::{HeaderMap, response::Parts};
use serde_json::Value;

use crate::{call::Call, doc::Doc, transcript::Transcript};

/// An answer. It is also the [`Doc`] that its body holds.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub body: String,
    doc: Doc,
}

// === impl Reply ===

impl Reply {
    pub(crate) fn new(call: &Call, head: &Parts, body: &[u8], transcript: &Transcript) -> Reply {
        let value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let body = String::from_utf8_lossy(body).into_owned();
        let status = head.status.as_u16();
        transcript.note(format_args!("{call}\n{status} {body}\n"));
        Reply { status, headers: head.headers.clone(), body, doc: Doc::new(call.to_string(), value) }
    }

    /// Claims that the request was answered with `code`.
    pub fn code(self, code: u16) -> Result<Reply> {
        if self.status == code { Ok(self) } else { Err(self.unexpected(&format!("code {code}"))) }
    }

    /// Claims that the request was refused with a `Status` of this code and reason.
    pub fn refused(self, code: u16, reason: &str) -> Result<Reply> {
        let reply = self.code(code)?;
        reply.at("/kind", "Status")?.at("/apiVersion", "v1")?.at("/status", "Failure")?;
        reply.at("/code", code)?.at("/reason", reason)?.at("/metadata", Value::Object(Default::default()))?;
        Ok(reply)
    }

    /// Claims that an object was refused as invalid, and that each of these `(reason, field)` is among the causes.
    pub fn invalid(self, causes: &[(&str, &str)]) -> Result<Reply> {
        let reply = self.refused(422, "Invalid")?;
        for (reason, field) in causes {
            reply.cause(reason, field)?;
        }
        Ok(reply)
    }

    /// Claims that the refusal names this cause, and gives its message.
    pub fn cause(&self, reason: &str, field: &str) -> Result<&str> {
        self.list("/details/causes")?
            .iter()
            .find(|cause| cause["reason"] == reason && cause["field"] == field)
            .and_then(|cause| cause["message"].as_str())
            .ok_or_else(|| self.unexpected(&format!("a cause {reason} at {field}")))
    }

    /// Claims that the refusal names a cause at a field that ends like this.
    ///
    /// What comes before depends on how a server keeps a definition, and no client looks at it.
    pub fn cause_below(&self, reason: &str, ending: &str) -> Result<&str> {
        self.list("/details/causes")?
            .iter()
            .find(|c| {
                c["reason"] == reason && c["field"].as_str().is_some_and(|field| field.ends_with(ending))
            })
            .and_then(|cause| cause["message"].as_str())
            .ok_or_else(|| self.unexpected(&format!("a cause {reason} at …{ending}")))
    }

    /// Claims that the message is exactly this.
    pub fn message(&self, message: &str) -> Result<&Reply> {
        self.at("/message", message)?;
        Ok(self)
    }

    /// Claims that the message contains each of these words.
    pub fn says(&self, words: &[&str]) -> Result<&Reply> {
        let message = self.text("/message")?;
        match words.iter().find(|word| !message.contains(**word)) {
            None => Ok(self),
            Some(word) => Err(self.unexpected(&format!("a message with {word:?}"))),
        }
    }

    /// Claims that the refusal is about this object.
    pub fn about(&self, kind: &str, name: &str) -> Result<&Reply> {
        self.at("/details/kind", kind)?.at("/details/name", name)?;
        Ok(self)
    }

    /// The value of a header; empty if it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// All values of a header.
    #[must_use]
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect()
    }

    /// The error of a claim that does not hold.
    #[must_use]
    pub fn unexpected(&self, expected: &str) -> anyhow::Error {
        let text = if self.doc.value.is_null() { self.body.as_str() } else { "" };
        self.doc.unexpected(&format!("{expected}, where the code was {}; {text}", self.status))
    }
}

impl Deref for Reply {
    type Target = Doc;

    fn deref(&self) -> &Doc {
        &self.doc
    }
}
