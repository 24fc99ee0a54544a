//! One control plane for all tests of a process, and names that keep them apart.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};

use crate::control_plane::ControlPlane;

/// Names a control plane that runs already, so that a process does not start one of its own.
const RUNNING: &str = "SAFEPOINT_TEST_KUBECONFIG";

impl ControlPlane {
    /// The control plane that all tests of this process share: started by the first that asks, ended with the process.
    /// If `SAFEPOINT_TEST_KUBECONFIG` is set, it is the running one that the file belongs to.
    ///
    /// Tests that share it keep to namespaces of their own, and to names of their own for what has no namespace.
    ///
    /// # Errors
    /// As for [`ControlPlane::start`]; a failed start is not repeated.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        let start = || match env::var_os(RUNNING).filter(|path| !path.is_empty()) {
            Some(kubeconfig) => Self::attach(Path::new(&kubeconfig))
                .with_context(|| format!("cannot use the control plane that {RUNNING} names")),
            None => Self::start(),
        };
        SHARED
            .get_or_init(|| start().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
    }

    /// Creates a namespace that nobody else uses, and returns its name.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn namespace(&self) -> Result<String> {
        let name = fresh_name("test");
        self.run(&["create", "namespace", &name])?;
        Ok(name)
    }
}

/// A name that begins as asked and that no other test has, in this process or another; valid for any object.
pub fn fresh_name(prefix: &str) -> String {
    // Every `RandomState` is seeded by the system, and differs from the one before.
    format!("{prefix}-{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::fresh_name;

    #[test]
    fn no_two_names_are_the_same() {
        let names: std::collections::HashSet<_> = (0..1000).map(|_| fresh_name("test")).collect();
        assert_eq!(names.len(), 1000);
    }
}
