//! One name that one writer owns: what it last was for certain, and the one write that has no answer.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::content::{Content, Kind, revision_of};
use super::watcher::Watched;

/// A name, whether anything has it or not.
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The object as it was last acknowledged, or found after a kill.
    pub(crate) certain: Option<Value>,
    /// What was asked for and not answered in full.
    pub(crate) pending: Option<Pending>,
}

/// A write on its way.
pub(crate) struct Pending {
    pub(crate) wish: Wish,
    /// The answer had begun, so the server had promised.
    pub(crate) promised: bool,
}

#[derive(Clone)]
pub(crate) enum Wish {
    Content(Content),
    Deleted,
}

/// What a kill did to a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fared {
    /// Nothing was on its way.
    AtRest,
    /// What was on its way has arrived.
    Arrived,
    /// What was on its way has not.
    Lost,
}

impl Slot {
    /// Checks what is there after a kill, and goes on from there.
    pub(crate) fn settle(&mut self, found: Option<Value>, watched: &Watched) -> Result<Fared> {
        let Some(pending) = self.pending.take() else {
            ensure!(
                found == self.certain,
                "{}",
                self.tell("an acknowledged state is not there", found.as_ref())
            );
            return Ok(Fared::AtRest);
        };
        let before = self.certain.as_ref().map(revision_of).transpose()?.unwrap_or(0);
        let arrived = match (&pending.wish, &found) {
            (Wish::Content(content), Some(found)) => {
                Content::of(self.kind, found)? == *content && revision_of(found)? > before
            }
            (Wish::Deleted, None) => true,
            (Wish::Content(_), None) | (Wish::Deleted, Some(_)) => false,
        };
        if arrived {
            self.certain = found;
            return Ok(Fared::Arrived);
        }
        if found != self.certain {
            bail!("{}", self.tell("it is neither what it was nor what it was to be", found.as_ref()));
        }
        if pending.promised {
            bail!("{}", self.tell("the answer had begun, and the write is lost", found.as_ref()));
        }
        let seen = match &pending.wish {
            Wish::Content(content) => watched.saw(&self.name, |event| event.number == Some(content.number)),
            Wish::Deleted => watched.saw(&self.name, |event| event.deleted && event.revision > before),
        };
        if seen {
            bail!("{}", self.tell("a watch has shown the write, and it is lost", found.as_ref()));
        }
        Ok(Fared::Lost)
    }

    fn tell(&self, problem: &str, found: Option<&Value>) -> String {
        let show = |object: Option<&Value>| object.map_or("nothing".to_owned(), Value::to_string);
        let (kind, name) = (self.kind, &self.name);
        format!(
            "{kind:?} {name}: {problem}\n  certain: {}\n  found: {}",
            show(self.certain.as_ref()),
            show(found)
        )
    }
}
