//! The node's file system, which may be mounted somewhere else: an upgrade task sees it below `/host`.
//!
//! Links lead where the node would be led: one to `/data` below `/host` leads to `/host/data`, not out of it.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// How many links may lead to one another, as in Linux.
const LINKS: usize = 40;

/// A node's file system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    root: PathBuf,
}

// === impl Host ===

impl Host {
    /// The file system that this process sees.
    pub fn here() -> Self {
        Self::below("/")
    }

    /// A file system that is mounted somewhere.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where its `/` is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it is what this process sees.
    pub fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where a path of the node is for this process, all links followed. What does not exist has no links.
    ///
    /// # Errors
    /// When links lead in a circle, or something cannot be looked at.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut todo: Vec<OsString> = parts(path);
        let mut done = PathBuf::new();
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                done.pop();
                continue;
            }
            let next = done.join(&part);
            match std::fs::read_link(self.root.join(&next)) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS {
                        return Err(io::Error::other(format!(
                            "the links at {} go in a circle",
                            path.display()
                        )));
                    }
                    if target.is_absolute() {
                        done = PathBuf::new();
                    }
                    todo.extend(parts(&target));
                }
                // Not a link, or not there.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) =>
                {
                    done = next;
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => done = next,
                Err(error) => return Err(error),
            }
        }
        Ok(self.root.join(done))
    }
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::Host;

    #[test]
    fn links_of_the_node_stay_on_the_node() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("etc")).unwrap();
        fs::create_dir_all(at("data/manifests")).unwrap();
        symlink("/data", at("etc/kubernetes")).unwrap();
        symlink("../../../../../data", at("etc/up")).unwrap();
        let host = Host::below(root.path());
        let wanted = at("data/manifests");
        assert_eq!(host.resolve(Path::new("/etc/kubernetes/manifests")).unwrap(), wanted);
        assert_eq!(host.resolve(Path::new("/etc/up/manifests")).unwrap(), wanted);
        assert_eq!(host.resolve(Path::new("/etc/nothing/here")).unwrap(), at("etc/nothing/here"));
    }

    #[test]
    fn a_circle_of_links_is_an_error_not_a_hang() {
        let root = tempfile::tempdir().unwrap();
        symlink("/b", root.path().join("a")).unwrap();
        symlink("/a", root.path().join("b")).unwrap();
        assert!(Host::below(root.path()).resolve(Path::new("/a")).is_err());
    }
}
