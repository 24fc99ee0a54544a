//! Something made from files, and made anew when they change.
//!
//! Nobody is told of a change: whoever uses it looks, at a pace of its own. Looking costs one `stat` for each file. What
//! cannot be used is a file that is half written or a mistake; either way what was there before still works, so it is kept,
//! and every look tries again.

use std::sync::{Arc, Mutex, PoisonError};

use tracing::{info, warn};

use crate::source::{FileError, Print, Source};

/// The current value, and the files that it depends on.
pub(crate) struct Watched<T> {
    /// What it is, for the log.
    what: &'static str,
    sources: Vec<Source>,
    load: Box<dyn Fn() -> Result<T, FileError> + Send + Sync>,
    state: Mutex<State<T>>,
}

struct State<T> {
    current: Arc<Edition<T>>,
    prints: Vec<Option<Print>>,
    /// Whether the files of now cannot be used, which has been said.
    broken: bool,
}

/// One value among those that there have been.
pub(crate) struct Edition<T> {
    pub(crate) value: T,
    /// Grows with every change.
    pub(crate) number: u64,
}

// === impl Watched ===

impl<T> Watched<T> {
    /// # Errors
    /// If it cannot be made now: there is nothing to keep yet.
    pub(crate) fn new(
        what: &'static str,
        sources: Vec<Source>,
        load: impl Fn() -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        // Looked at before they are read: a change in between is found by the next look.
        let prints = sources.iter().map(Source::print).collect();
        let current = Arc::new(Edition { value: load()?, number: 0 });
        let state = Mutex::new(State { current, prints, broken: false });
        Ok(Self { what, sources, load: Box::new(load), state })
    }

    pub(crate) fn current(&self) -> Arc<Edition<T>> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner).current)
    }

    /// Takes in what has changed. Whether anything has.
    pub(crate) fn look(&self) -> bool {
        let prints: Vec<_> = self.sources.iter().map(Source::print).collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if prints == state.prints && !state.broken {
            return false;
        }
        state.prints = prints;
        self.reload(&mut state)
    }

    /// Makes it anew, changed or not.
    pub(crate) fn renew(&self) -> bool {
        self.reload(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn reload(&self, state: &mut State<T>) -> bool {
        match (self.load)() {
            Ok(value) => {
                let number = state.current.number + 1;
                info!(files = ?self.sources, "reading {} anew", self.what);
                state.current = Arc::new(Edition { value, number });
                state.broken = false;
                true
            }
            Err(error) => {
                if !state.broken {
                    warn!(%error, "{} has changed and cannot be used: keeping the one before", self.what);
                }
                state.broken = true;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// A number in a file.
    fn number(path: &Path) -> Watched<u32> {
        let source = Source::File(path.to_owned());
        let read = source.clone();
        let load = move || {
            let text = String::from_utf8(read.read()?).map_err(|error| read.bad(error.to_string()))?;
            text.trim().parse().map_err(|_| read.bad("it is no number"))
        };
        Watched::new("a number", vec![source], load).unwrap()
    }

    #[test]
    fn nothing_is_read_again_that_has_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        fs::write(&path, "1").unwrap();
        let number = number(&path);
        assert!(!number.look());
        assert_eq!((number.current().value, number.current().number), (1, 0));
    }

    #[test]
    fn a_link_that_is_moved_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("first"), "1").unwrap();
        fs::write(path("second"), "2").unwrap();
        symlink("first", path("current")).unwrap();
        let number = number(&path("current"));
        symlink("second", path("new")).unwrap();
        fs::rename(path("new"), path("current")).unwrap();
        assert!(number.look());
        assert_eq!(number.current().value, 2);
    }

    #[test]
    fn what_cannot_be_used_leaves_what_was_and_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        fs::write(&path, "1").unwrap();
        let number = number(&path);
        fs::write(&path, "half a num").unwrap();
        assert!(!number.look());
        fs::remove_file(&path).unwrap();
        assert!(!number.look());
        assert_eq!(number.current().value, 1);
        fs::write(&path, "3").unwrap();
        assert!(number.look());
        assert_eq!(number.current().value, 3);
    }

    #[test]
    fn what_is_not_there_at_first_is_an_error() {
        let source = Source::File("/nowhere/number".into());
        let read = source.clone();
        let error = Watched::new("a number", vec![source], move || read.read()).err().unwrap();
        assert!(error.to_string().starts_with("cannot read /nowhere/number"));
    }
}
