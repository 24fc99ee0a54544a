//! What is known of something that is watched, and whether it still is. Pure.
//!
//! What was known when the connection broke stays, and is shown as what it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::show::age;

/// Whether what is shown is what is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// Not everything has come yet.
    Connecting,
    Connected,
    Lost {
        since: Timestamp,
        why: String,
    },
}

/// Something that a watch has told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Sighting<T> {
    /// Everything is told from the beginning.
    Begins,
    Is(Arc<str>, T),
    Gone(Arc<str>),
    /// Everything has been told once.
    Complete,
    Lost(String),
}

/// Things by name, as a watch tells of them.
#[derive(Clone, Debug)]
pub(crate) struct Known<T> {
    pub(crate) all: BTreeMap<Arc<str>, T>,
    /// What has been told since it was begun anew; whatever is missing at its end has gone unnoticed.
    fresh: Option<BTreeSet<Arc<str>>>,
    pub(crate) link: Link,
}

// === impl Link ===

impl Link {
    /// The connection broke, or could not be made. It counts from the first time.
    pub(crate) fn lose(&mut self, why: String, now: Timestamp) {
        let since = match self {
            Self::Lost { since, .. } => *since,
            Self::Connecting | Self::Connected => now,
        };
        *self = Self::Lost { since, why };
    }

    /// What a person is told who takes the screen for the truth.
    pub(crate) fn warning(&self, with: &str, now: Timestamp) -> Option<String> {
        match self {
            Self::Connected => None,
            Self::Connecting => Some(format!("asking {with} …")),
            Self::Lost { since, why } => {
                let lost = age::age(now.as_second() - since.as_second());
                Some(format!(
                    "NOT CONNECTED to {with} for {lost}: what is shown is what was known then ({why})"
                ))
            }
        }
    }

    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

// === impl Known ===

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), fresh: None, link: Link::Connecting }
    }
}

impl<T> Known<T> {
    pub(crate) fn take(&mut self, sighting: Sighting<T>, now: Timestamp) {
        match sighting {
            Sighting::Begins => self.fresh = Some(BTreeSet::new()),
            Sighting::Is(name, thing) => {
                if let Some(fresh) = &mut self.fresh {
                    fresh.insert(Arc::clone(&name));
                }
                self.all.insert(name, thing);
            }
            Sighting::Gone(name) => {
                self.all.remove(&name);
            }
            Sighting::Complete => {
                if let Some(fresh) = self.fresh.take() {
                    self.all.retain(|name, _| fresh.contains(name));
                }
                self.link = Link::Connected;
            }
            Sighting::Lost(why) => {
                self.fresh = None;
                self.link.lose(why, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_has_gone_while_nobody_looked_goes_when_everything_was_told_again() {
        let mut known = Known::default();
        let tell = |known: &mut Known<u8>, sighting| known.take(sighting, at(0));
        for sighting in [Sighting::Begins, Sighting::Is("a".into(), 1), Sighting::Is("b".into(), 1)] {
            tell(&mut known, sighting);
        }
        tell(&mut known, Sighting::Complete);
        tell(&mut known, Sighting::Lost("no route".into()));
        tell(&mut known, Sighting::Begins);
        tell(&mut known, Sighting::Is("b".into(), 2));
        // Half a list shows nothing less than what was known.
        assert_eq!((known.all.len(), known.link.is_lost()), (2, true));
        tell(&mut known, Sighting::Complete);
        assert_eq!(known.all, BTreeMap::from([("b".into(), 2)]));
        assert_eq!(known.link, Link::Connected);
    }

    #[test]
    fn a_connection_is_lost_since_the_first_failure() {
        let mut link = Link::Connected;
        link.lose("one".into(), at(10));
        link.lose("two".into(), at(70));
        let said = link.warning("the agent", at(75)).unwrap();
        assert!(said.starts_with("NOT CONNECTED to the agent for 65s") && said.ends_with("(two)"), "{said}");
    }
}
