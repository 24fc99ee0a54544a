//! Names that become names of files. What is let through here cannot leave the folder.

use std::path::{Component, Path, PathBuf};

/// A name of a container or a volume: a DNS label. It has no dots, so files with dots are never mistaken for one.
pub(crate) fn is_label(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// A name of a pod, a namespace, or a uid. Uids of mirrors and of tests are not always uuids.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !name.starts_with('.')
}

/// A key of a ConfigMap or Secret, as a file name.
pub(crate) fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !key.starts_with("..")
        && key != "."
}

/// A path that stays below where it starts: relative, without `..`, not empty.
pub(crate) fn inside(path: &str) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!clean.as_os_str().is_empty() && !path.contains('\0')).then_some(clean)
}
