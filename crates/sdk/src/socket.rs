//! Where the agent's socket is, if nobody says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use safepoint_api::names::safepoint::SOCKET;

/// The environment variable that names the socket.
pub const ENVIRONMENT: &str = "SAFEPOINT_SOCKET";

/// Where `safepoint up` puts it, in the folder it was started in.
const NEARBY: &str = "./.safepoint/agent.sock";

/// The agent's socket: what `SAFEPOINT_SOCKET` says, else `./.safepoint/agent.sock` if there is one (that is where
/// `safepoint up` puts it), else `/run/safepoint/agent.sock`.
#[must_use]
pub fn socket() -> PathBuf {
    find(std::env::var_os(ENVIRONMENT), Path::exists)
}

fn find(named: Option<OsString>, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let nearby = Path::new(NEARBY);
    match named.filter(|named| !named.is_empty()) {
        Some(named) => named.into(),
        None if exists(nearby) => nearby.into(),
        None => SOCKET.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_first_then_the_folder_then_the_machine() {
        assert_eq!(find(Some("/tmp/a.sock".into()), |_| true), Path::new("/tmp/a.sock"));
        assert_eq!(find(None, |_| true), Path::new(NEARBY));
        assert_eq!(find(None, |_| false), Path::new("/run/safepoint/agent.sock"));
    }

    #[test]
    fn an_empty_variable_says_nothing() {
        assert_eq!(find(Some(OsString::new()), |_| false), Path::new(SOCKET));
    }
}
