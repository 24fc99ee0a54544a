//! Where the machine's files are: below a root, which is `/` unless somebody tries things out.

use std::path::{Component, Path, PathBuf};

/// A root.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

// === impl Root ===

impl Root {
    pub(super) fn new(path: &Path) -> std::io::Result<Self> {
        Ok(Self(std::path::absolute(path)?))
    }

    /// A path of the machine, below the root.
    pub(super) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let inner: PathBuf =
            path.as_ref().components().filter(|part| !matches!(part, Component::RootDir)).collect();
        self.0.join(inner)
    }

    /// A path that a file of the machine names: below the root if there is something, else as it stands.
    pub(super) fn found(&self, path: &Path) -> PathBuf {
        let inner = self.at(path);
        if inner.exists() { inner } else { path.to_owned() }
    }
}
