//! Where the kubelet's manifests are: where somebody says, else where the running kubelet reads them, else where they usually
//! are.

use std::path::{Path, PathBuf};

use safepoint_api::names::openyurt::MANIFESTS;

use crate::host::Host;
use crate::kubelet::{self, KubeletError};

/// The kubelet's folder of manifests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    path: PathBuf,
    on_node: PathBuf,
    origin: Origin,
}

/// Who says that it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Whoever called.
    Given,
    /// The kubelet that runs.
    Kubelet,
    /// Nobody: it is where it usually is.
    Usual,
}

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// What the kubelet was told is not known.
    #[error(transparent)]
    Kubelet(#[from] KubeletError),
    /// It runs, but was told of none.
    #[error("the kubelet of this node reads no manifests: set staticPodPath in its configuration")]
    NoStaticPods,
    /// There is nothing.
    #[error(
        "there is no folder {}: say where the kubelet's manifests are, and mount that folder if this runs in a container",
        path.display()
    )]
    Missing {
        /// Where it should be, for this process.
        path: PathBuf,
    },
    /// The kubelet was told of one file.
    #[error("{} is not a folder: only a kubelet that reads a folder of manifests can be served", path.display())]
    NotAFolder {
        /// What is there.
        path: PathBuf,
    },
    /// It cannot be looked at.
    #[error("cannot look at {}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

// === impl Folder ===

impl Folder {
    /// Finds the folder of a node. One that is given is a path of the node.
    ///
    /// # Errors
    /// When there is none, or it is not known which.
    pub fn find(host: &Host, given: Option<&Path>) -> Result<Self, FolderError> {
        if let Some(given) = given {
            return Self::at(host, given, Origin::Given);
        }
        match kubelet::running(host)? {
            Some(kubelet) => {
                let path = kubelet.static_pods.ok_or(FolderError::NoStaticPods)?;
                Self::at(host, &path, Origin::Kubelet)
            }
            None => Self::at(host, Path::new(MANIFESTS), Origin::Usual),
        }
    }

    fn at(host: &Host, on_node: &Path, origin: Origin) -> Result<Self, FolderError> {
        let io = |source| FolderError::Io { path: on_node.to_owned(), source };
        let path = host.resolve(on_node).map_err(io)?;
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Self { path, on_node: on_node.to_owned(), origin }),
            Ok(_) => Err(FolderError::NotAFolder { path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(FolderError::Missing { path }),
            Err(source) => Err(FolderError::Io { path, source }),
        }
    }

    /// Where it is for this process.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is for the kubelet.
    pub fn on_node(&self) -> &Path {
        &self.on_node
    }

    /// Who says so.
    pub const fn origin(&self) -> Origin {
        self.origin
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Folder, FolderError, Origin};
    use crate::host::Host;

    #[test]
    fn a_folder_that_is_given_is_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("srv/pods")).unwrap();
        let host = Host::below(root.path());
        let folder = Folder::find(&host, Some(Path::new("/srv/pods"))).unwrap();
        assert_eq!((folder.path(), folder.origin()), (root.path().join("srv/pods").as_path(), Origin::Given));
        assert_eq!(folder.on_node(), Path::new("/srv/pods"));
    }

    #[test]
    fn what_is_missing_or_a_file_is_said() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("pod.yaml"), "").unwrap();
        let host = Host::below(root.path());
        let find = |path: &str| Folder::find(&host, Some(Path::new(path))).unwrap_err();
        assert!(matches!(find("/nothing"), FolderError::Missing { .. }));
        assert!(matches!(find("/pod.yaml"), FolderError::NotAFolder { .. }));
    }

    #[test]
    fn the_kubelet_that_runs_is_asked_before_the_usual_place_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("etc/kubernetes/manifests")).unwrap();
        fs::create_dir_all(at("pods")).unwrap();
        fs::create_dir_all(at("proc/7")).unwrap();
        let host = Host::below(root.path());
        fs::write(at("proc/7/cmdline"), "kubelet\0--pod-manifest-path=/pods\0").unwrap();
        let folder = Folder::find(&host, None).unwrap();
        assert_eq!((folder.on_node(), folder.origin()), (Path::new("/pods"), Origin::Kubelet));
        fs::write(at("proc/7/cmdline"), "kubelet\0").unwrap();
        assert!(matches!(Folder::find(&host, None), Err(FolderError::NoStaticPods)));
    }
}
