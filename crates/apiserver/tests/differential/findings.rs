//! The differences that a run has found, each kind of them once and as small as it could be made.

use std::collections::BTreeMap;
use std::fmt;

/// A run ends when it has found this many: the first few are worth mending before the next.
const MOST: usize = 300;

/// What a run has found.
#[derive(Default)]
pub(crate) struct Findings(BTreeMap<String, Finding>);

struct Finding {
    /// The story of the smallest example.
    text: String,
    /// How often it was seen.
    count: usize,
}

// === impl Findings ===

impl Findings {
    /// Counts a difference again. Says no if it is a new one.
    pub(crate) fn count(&mut self, gist: &str) -> bool {
        let known = self.0.get_mut(gist);
        known.map(|finding| finding.count += 1).is_some()
    }

    /// Adds a new one.
    pub(crate) fn add(&mut self, gist: String, text: String) {
        self.0.insert(gist, Finding { text, count: 1 });
    }

    /// Whether it is time to stop.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Fails if there are any.
    pub(crate) fn into_result(self, seed: u64) -> anyhow::Result<()> {
        anyhow::ensure!(self.0.is_empty(), "the servers differ; repeat with SAFEPOINT_SEED={seed}\n{self}");
        Ok(())
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (gist, Finding { text, count }) in &self.0 {
            write!(f, "\n=== {gist} (seen {count} times)\n{text}\n")?;
        }
        Ok(())
    }
}
