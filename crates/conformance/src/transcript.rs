//! What a case and the server said to each other, for whoever wants to compare two servers.

use std::{
    env,
    fmt::{Arguments, Write as _},
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, Result};

/// The environment variable that names the directory for transcripts.
const DIRECTORY: &str = "CONFORMANCE_TRANSCRIPT";

/// The transcript of one case.
#[derive(Clone, Default)]
pub(crate) struct Transcript(Arc<Mutex<String>>);

// === impl Transcript ===

impl Transcript {
    /// Adds what was said.
    pub(crate) fn note(&self, said: Arguments<'_>) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{said}");
    }

    /// Writes the transcript to a file, if somebody wants it.
    pub(crate) fn keep(&self, case: &str) -> Result<()> {
        let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else { return Ok(()) };
        let path = directory.join(format!("{}.txt", case.replace("::", ".")));
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }
}
