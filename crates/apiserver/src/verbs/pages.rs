//! Which state of the store a list shows, and where its next page begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use safepoint_machinery::status::{FieldError, Reason, Status};
use safepoint_store::{Key, RevisionError};
use serde_json::{Value, json};

use crate::fault::{self, Problems, at};
use crate::http::Query;

/// Which state is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The newest; it must be at least as new as this.
    AtLeast(u64),
    /// The state as it was then.
    Exactly(u64),
}

/// What of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) wanted: Wanted,
    /// The last object of the page before.
    pub(crate) after: Option<(String, String)>,
    pub(crate) limit: usize,
}

const TOO_OLD_LIST: &str = "The resourceVersion for the provided list is too old.";

impl Page {
    /// Reads the rules about `resourceVersion`, `resourceVersionMatch`, `limit` and `continue`.
    pub(crate) fn parse(query: &Query) -> Result<Page, Status> {
        let revision = revision(query.get("resourceVersion"))?;
        let how = query.get("resourceVersionMatch");
        let token = query.get("continue");
        let limit = match query.get("limit") {
            None => usize::MAX,
            Some(text) => match text.parse::<i64>() {
                Ok(limit) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
                Ok(_) => usize::MAX,
                Err(_) => {
                    return Err(fault::bad_request(format!(
                        "unable to parse the limit {text:?}: it is no number"
                    )));
                }
            },
        };
        let mut problems = Problems::new();
        let field = "resourceVersionMatch";
        if let Some(how) = how {
            if token.is_some() {
                problems.push(FieldError::forbidden(
                    at(field),
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if revision.is_none() {
                problems.push(FieldError::forbidden(
                    at(field),
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            match how {
                "Exact" if revision == Some(0) => problems.push(FieldError::forbidden(
                    at(field),
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                )),
                "Exact" | "NotOlderThan" => {}
                other => {
                    problems.push(FieldError::not_supported(
                        at(field),
                        other,
                        &["Exact", "NotOlderThan", ""],
                    ));
                }
            }
        }
        if query.get("sendInitialEvents").is_some() {
            problems.push(FieldError::forbidden(
                at("sendInitialEvents"),
                "sendInitialEvents is forbidden for list",
            ));
        }
        if !problems.is_empty() {
            return Err(list_options(&problems));
        }
        if let Some(token) = token {
            return Page::next(token, revision, limit);
        }
        let wanted = match (revision, how) {
            (Some(revision), Some("Exact")) => Wanted::Exactly(revision),
            // Without a word about it, a page of an old revision is a page of exactly that one.
            (Some(revision), None) if revision > 0 && limit != usize::MAX => Wanted::Exactly(revision),
            (revision, _) => Wanted::AtLeast(revision.unwrap_or(0)),
        };
        Ok(Page { wanted, after: None, limit })
    }

    fn next(token: &str, revision: Option<u64>, limit: usize) -> Result<Page, Status> {
        if revision.is_some_and(|revision| revision != 0) {
            return Err(fault::bad_request("specifying resource version is not allowed when using continue"));
        }
        let invalid = || fault::bad_request("continue key is not valid: it was not given out by this server");
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
        let part = |name: &str| token.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(namespace), Some(name)) = (part("namespace"), part("name")) else { return Err(invalid()) };
        let wanted = match token.get("rv").and_then(Value::as_i64) {
            Some(-1) => Wanted::AtLeast(0),
            Some(revision) => Wanted::Exactly(u64::try_from(revision).map_err(|_| invalid())?),
            None => return Err(invalid()),
        };
        Ok(Page { wanted, after: Some((namespace, name)), limit })
    }

    /// What to answer when the state is gone.
    pub(crate) fn refuse(&self, error: RevisionError) -> Status {
        match (error, &self.after) {
            (RevisionError::Compacted { .. }, None) => fault::expired(TOO_OLD_LIST),
            (RevisionError::Compacted { .. }, Some((namespace, name))) => {
                let status = fault::expired(
                    "The provided continue parameter is too old to display a consistent list result. You can start a \
                     new list without the continue parameter, or use the continue token in this response to retrieve \
                     the remainder of the results. Continuing with the provided token results in an inconsistent \
                     list - objects that were created, modified, or deleted between the time the first chunk was \
                     returned and now may show up in the list.",
                );
                status.with_continue(token(-1, namespace, name))
            }
            (RevisionError::Future { current }, _) => too_large(self.revision(), current),
        }
    }

    fn revision(&self) -> u64 {
        match self.wanted {
            Wanted::AtLeast(revision) | Wanted::Exactly(revision) => revision,
        }
    }
}

/// Where the page after this object begins.
pub(crate) fn continue_after(revision: u64, last: &Key) -> String {
    token(i64::try_from(revision).unwrap_or(i64::MAX), &last.namespace, &last.name)
}

fn token(revision: i64, namespace: &str, name: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "rv": revision, "namespace": namespace, "name": name }).to_string())
}

/// A revision that has not been reached: the client has seen another server, or the store was put back.
pub(crate) fn too_large(wanted: u64, current: u64) -> Status {
    fault::too_large_revision(wanted, current)
}

/// Reads the revision of a list.
fn revision(text: Option<&str>) -> Result<Option<u64>, Status> {
    text.map(|text| parse(text).map_err(|why| fault::bad_request(format!("invalid resource version: {why}"))))
        .transpose()
}

/// Reads the revision of a get or a watch, for whose mistakes Kubernetes has no better answer than 500.
pub(crate) fn revision_or_500(text: Option<&str>) -> Result<Option<u64>, Status> {
    text.map(|text| parse(text).map_err(|why| Status::new(500, Reason::Unknown, why))).transpose()
}

fn parse(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )
    })
}

/// The refusal of contradictory options.
pub(crate) fn list_options(problems: &Problems) -> Status {
    fault::options("ListOptions", problems)
}
