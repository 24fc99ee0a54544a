//! A unit of systemd as it is on disk: what it starts, with which variables. Only what an installer has to know.
//!
//! Files are read, and systemd is not asked: a dry run needs no systemd, and neither do tests. As systemd does it, drop-ins
//! count in the order of their names wherever they are, `/etc` hides others of the same name, and an empty assignment
//! empties.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::root::Root;

/// The folders of units; what comes first hides what comes later.
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// A service.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Unit {
    /// The command line, as it is written.
    pub(super) exec_start: String,
    /// The variables that are set for it.
    pub(super) environment: BTreeMap<String, String>,
}

// === impl Unit ===

impl Unit {
    /// The service of this name, if there is one.
    pub(super) fn read(root: &Root, name: &str) -> Option<Self> {
        let main = FOLDERS.iter().map(|folder| root.at(folder).join(name)).find(|path| path.is_file())?;
        let mut drop_ins: BTreeMap<String, PathBuf> = BTreeMap::new();
        for folder in FOLDERS.iter().rev() {
            let entries = fs::read_dir(root.at(folder).join(format!("{name}.d"))).into_iter().flatten();
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                let file = path.file_name().and_then(|name| name.to_str());
                if let Some(file) = file.filter(|file| file.ends_with(".conf")) {
                    drop_ins.insert(file.to_owned(), path.clone());
                }
            }
        }
        let mut unit = Self::default();
        let mut files = Vec::new();
        for path in std::iter::once(main).chain(drop_ins.into_values()) {
            unit.take(&fs::read_to_string(path).ok()?, &mut files);
        }
        // What files say counts over what units say.
        for file in files {
            let Ok(text) = fs::read_to_string(root.at(&file)) else { continue };
            unit.environment.extend(text.lines().filter_map(assignment));
        }
        Some(unit)
    }

    fn take(&mut self, text: &str, files: &mut Vec<PathBuf>) {
        let joined = text.replace("\\\n", " ");
        let mut section = "";
        for line in joined.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| section == "[Service]") else {
                continue;
            };
            let value = value.trim();
            match key.trim() {
                "ExecStart" => value.clone_into(&mut self.exec_start),
                "Environment" if value.is_empty() => self.environment.clear(),
                "Environment" => {
                    self.environment.extend(words(value).iter().filter_map(|word| assignment(word)));
                }
                "EnvironmentFile" if value.is_empty() => files.clear(),
                "EnvironmentFile" => files.push(PathBuf::from(value.trim_start_matches('-'))),
                _ => {}
            }
        }
    }

    /// The command line with its variables filled in, as words.
    pub(super) fn words(&self) -> Vec<String> {
        let mut all = Vec::new();
        for word in words(&self.exec_start) {
            // `$NAME` alone becomes as many words as its value has.
            match word.strip_prefix('$').filter(|name| !name.starts_with('{')) {
                Some(name) => {
                    all.extend(self.environment.get(name).into_iter().flat_map(|value| words(value)));
                }
                None => all.push(word),
            }
        }
        all
    }

    /// The program that is started.
    pub(super) fn program(&self) -> Option<PathBuf> {
        let word = self.words().into_iter().next()?;
        Some(PathBuf::from(word.trim_start_matches(['-', '@', '+', '!', ':'])))
    }

    /// What a flag was last set to.
    pub(super) fn flag(&self, name: &str) -> Option<String> {
        let words = self.words();
        let mut found = None;
        for (index, word) in words.iter().enumerate() {
            let Some(rest) = word.strip_prefix("--").and_then(|word| word.strip_prefix(name)) else {
                continue;
            };
            match rest.strip_prefix('=') {
                Some(value) => found = Some(value.to_owned()),
                None if rest.is_empty() => found = words.get(index + 1).cloned(),
                None => {}
            }
        }
        found.filter(|value| !value.is_empty())
    }

    /// Whether the command line uses a variable.
    pub(super) fn uses(&self, variable: &str) -> bool {
        words(&self.exec_start).iter().any(|word| word.strip_prefix('$') == Some(variable))
    }
}

/// Splits at blanks that are not quoted.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.push(letter),
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter.is_whitespace() => {
                if !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
            }
            None => word.push(letter),
        }
    }
    if !word.is_empty() {
        all.push(word);
    }
    all
}

fn assignment(text: &str) -> Option<(String, String)> {
    let (name, value) = text.trim().split_once('=')?;
    let value = value.trim();
    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    (!name.starts_with('#')).then(|| (name.trim().to_owned(), bare.to_owned()))
}

/// Whether a path may stand in a unit as it is: systemd gives blanks, quotes, `%` and `$` a meaning.
pub(super) fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|path| {
        path.chars().all(|letter| letter.is_alphanumeric() || "/._-+:@,=".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn unit(files: &[(&str, &str)]) -> Unit {
        let folder = TempDir::new().unwrap();
        let root = Root::new(folder.path()).unwrap();
        for (path, text) in files {
            let path = root.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Unit::read(&root, "kubelet.service").unwrap()
    }

    #[test]
    fn drop_ins_count_in_the_order_of_their_names_and_files_over_units() {
        let unit = unit(&[
            ("/lib/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n"),
            (
                "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
                "[Service]\nEnvironment=\"A=--kubeconfig=/one --v=2\"\nEnvironmentFile=-/var/flags.env\nExecStart=\n\
                 ExecStart=/usr/bin/kubelet $A \\\n  $B\n",
            ),
            (
                "/etc/systemd/system/kubelet.service.d/20-mine.conf",
                "[Service]\nEnvironment=A=--kubeconfig=/two\n",
            ),
            ("/var/flags.env", "# by hand\nB=\"--root-dir /data\"\n"),
        ]);
        assert_eq!(unit.words(), ["/usr/bin/kubelet", "--kubeconfig=/two", "--root-dir", "/data"]);
        assert_eq!(unit.flag("kubeconfig").as_deref(), Some("/two"));
        assert_eq!(unit.flag("root-dir").as_deref(), Some("/data"));
        assert_eq!(unit.flag("root").as_deref(), None);
        assert!(unit.uses("A") && !unit.uses("C"));
        assert_eq!(unit.program(), Some("/usr/bin/kubelet".into()));
    }

    #[test]
    fn a_path_with_letters_that_systemd_reads_is_not_plain() {
        assert!(is_plain(Path::new("/usr/local/bin/safepoint")));
        for path in ["/a b", "/a%b", "/a$b", "/a\"b"] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }
}
