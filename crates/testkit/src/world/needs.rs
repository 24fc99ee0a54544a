//! What a node needs of the machine that it runs on, beside Kubernetes itself.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use rustix::process::geteuid;

/// The programs, the packages of Debian that have them, and what they are for.
const PROGRAMS: [(&str, &str, &str); 8] = [
    ("containerd", "containerd", "runs containers for the kubelet"),
    ("runc", "runc", "makes containers for containerd"),
    ("ip", "iproute2", "makes the node's network"),
    ("iptables", "iptables", "leads ports of the node to pods"),
    ("busybox", "busybox-static", "is what the images of the tests consist of"),
    ("unshare", "util-linux", "makes namespaces"),
    ("nsenter", "util-linux", "enters namespaces"),
    ("mount", "mount", "gives the node folders of its own"),
];

/// Where Debian's package, and others, have the plugins that connect pods.
const NETWORK_PLUGINS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];

/// The packages of Debian that a node needs and that are not installed, each with what it is for.
pub fn missing_packages() -> Vec<(&'static str, &'static str)> {
    let mut missing: Vec<_> =
        PROGRAMS.iter().filter(|need| find(need.0).is_none()).map(|need| (need.1, need.2)).collect();
    if network_plugins().is_err() {
        missing.push(("containernetworking-plugins", "connects pods to the node's network"));
    }
    missing.dedup_by_key(|(package, _)| *package);
    missing
}

/// Whether this process may do what a node needs.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// An error if a node cannot run here.
pub(crate) fn check() -> Result<()> {
    if !is_root() {
        bail!("a node with containers needs root: it makes namespaces, mounts and control groups");
    }
    let missing: Vec<_> = missing_packages().iter().map(|(package, _)| *package).collect();
    if !missing.is_empty() {
        bail!(
            "a node with containers needs programs that are missing: `cargo xtask test` installs them, or install the \
             packages {}",
            missing.join(", ")
        );
    }
    Ok(())
}

/// The folder of the plugins that connect pods.
pub(crate) fn network_plugins() -> Result<PathBuf> {
    let folders = NETWORK_PLUGINS.map(PathBuf::from);
    let found = folders.into_iter().find(|folder| folder.join("bridge").exists());
    found.map_or_else(|| bail!("there are no network plugins in any of {NETWORK_PLUGINS:?}"), Ok)
}

/// The path of a program. Busybox does only if it needs no libraries, which no image has.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let found =
        env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|path| path.exists())?;
    (program != "busybox" || fs::read(&found).is_ok_and(|bytes| is_static(&bytes))).then_some(found)
}

/// Where programs are looked for: also where those of administrators are, which not every way to become root adds.
pub(crate) fn search_path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// Whether a program of 64 bits names no loader in its headers.
fn is_static(elf: &[u8]) -> bool {
    const LOADER: u32 = 3;
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(elf.get(at..at + 2)?.try_into().ok()?)));
    let headers = || {
        let start = usize::try_from(u64::from_le_bytes(elf.get(32..40)?.try_into().ok()?)).ok()?;
        let (size, count) = (short(54)?, short(56)?);
        let kind = |number| elf.get(start + number * size..)?.first_chunk().copied().map(u32::from_le_bytes);
        (0..count).map(kind).collect::<Option<Vec<_>>>()
    };
    headers().is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&LOADER))
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs;

    use super::{find, is_static};

    #[test]
    fn a_program_with_libraries_is_not_taken_for_one_without() {
        let own = fs::read(env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own));
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(b""));
        if let Some(busybox) = find("busybox") {
            assert!(is_static(&fs::read(busybox).unwrap()));
        }
    }

    #[test]
    fn programs_are_found_by_name() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program"), None);
    }
}
