//! What the running kubelet was told: its command line, its configuration, and what it adds to that from a folder.
//!
//! Flags win over files, and of the files the later one wins, as in the kubelet itself. A path in a file is relative to that
//! file, one in a flag to where the kubelet was started.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::host::Host;

#[cfg(test)]
mod tests;

/// Where a kubelet listens unless it is told otherwise.
pub const PORT: u16 = 10250;

/// A kubelet that runs, and what concerns us of what it was told. Paths are those of the node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kubelet {
    /// Where it reads manifests. A kubelet that was not told reads none.
    pub static_pods: Option<PathBuf>,
    /// Where the container runtime listens, such as `unix:///run/containerd/containerd.sock`.
    pub runtime: Option<String>,
    /// Where it listens itself; zero if it does not.
    pub port: u16,
    /// What it shows to whoever connects, if that is a file.
    pub certificate: Option<PathBuf>,
}

/// Why nothing is known of a kubelet.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// It was told in a file that cannot be read.
    #[error("the kubelet was started with {}, which cannot be read: {why}", path.display())]
    Config {
        /// The file, on the node.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// More than one runs, and they differ.
    #[error("{0} kubelets run here and differ: say which folder of manifests is meant")]
    Several(usize),
    /// Processes cannot be listed.
    #[error("cannot list processes in {}", path.display())]
    Processes {
        /// Where they should be.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// What a kubelet's command line says.
#[derive(Default, Debug, PartialEq, Eq)]
struct Flags {
    config: Option<String>,
    config_dir: Option<String>,
    manifests: Option<String>,
    runtime: Option<String>,
    port: Option<String>,
    certificate: Option<String>,
    cert_dir: Option<String>,
}

/// The kubelet that runs on a node, if its processes can be seen from here.
///
/// # Errors
/// When its configuration cannot be read, or several run that were told different things.
pub fn running(host: &Host) -> Result<Option<Kubelet>, KubeletError> {
    // A task with the node's processes sees them in its own folder; one that has the node's files may see them there.
    let mut places = vec![host.root().join("proc")];
    if !host.is_here() {
        places.push("/proc".into());
    }
    for place in places {
        let found = in_processes(host, &place)?;
        let Some(first) = found.first() else { continue };
        if found.iter().any(|other| other != first) {
            return Err(KubeletError::Several(found.len()));
        }
        return Ok(Some(first.clone()));
    }
    Ok(None)
}

fn in_processes(host: &Host, proc: &Path) -> Result<Vec<Kubelet>, KubeletError> {
    let entries = match fs::read_dir(proc) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(KubeletError::Processes { path: proc.to_owned(), source }),
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        // A process that ends meanwhile is none.
        let Some(line) = is_process.then(|| fs::read(path.join("cmdline")).ok()).flatten() else { continue };
        let words: Vec<_> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let Some(words) = of_kubelet(&words) else { continue };
        let folder = fs::read_link(path.join("cwd")).unwrap_or_else(|_| "/".into());
        found.push(told(host, &folder, words)?);
    }
    Ok(found)
}

/// The arguments, if that is a kubelet's command line.
fn of_kubelet(words: &[String]) -> Option<&[String]> {
    let name = |word: &String| Path::new(word).file_name().is_some_and(|name| name == "kubelet");
    match words {
        [first, rest @ ..] if name(first) => Some(rest),
        [first, second, rest @ ..] if first.ends_with("hyperkube") && name(second) => Some(rest),
        _ => None,
    }
}

/// What a kubelet was told with these arguments, started in that folder.
fn told(host: &Host, folder: &Path, words: &[String]) -> Result<Kubelet, KubeletError> {
    let flags = Flags::read(words);
    let mut kubelet = Kubelet { port: PORT, ..Kubelet::default() };
    let from = |path: &str| folder.join(path);
    let main = flags.config.as_deref().map(from);
    let extra = flags.config_dir.as_deref().map(from);
    let mut files: Vec<PathBuf> = main.into_iter().collect();
    if let Some(extra) = extra {
        files.extend(drop_ins(host, &extra)?);
    }
    for file in files {
        kubelet.add(&file, &load(host, &file)?);
    }
    if let Some(path) = flags.manifests.filter(|it| !it.is_empty()) {
        kubelet.static_pods = Some(from(&path));
    }
    if let Some(runtime) = flags.runtime {
        kubelet.runtime = Some(runtime);
    }
    if let Some(port) = flags.port.and_then(|it| it.parse().ok()) {
        kubelet.port = port;
    }
    if let Some(path) = flags.certificate {
        kubelet.certificate = Some(from(&path));
    }
    if kubelet.certificate.is_none() {
        let pki = from(flags.cert_dir.as_deref().unwrap_or("/var/lib/kubelet/pki"));
        let made = ["kubelet-server-current.pem", "kubelet.crt"].map(|name| pki.join(name));
        kubelet.certificate =
            made.into_iter().find(|path| host.resolve(path).is_ok_and(|resolved| resolved.is_file()));
    }
    Ok(kubelet)
}

fn load(host: &Host, path: &Path) -> Result<Value, KubeletError> {
    let bad = |why: String| KubeletError::Config { path: path.to_owned(), why };
    let found = host.resolve(path).map_err(|error| bad(error.to_string()))?;
    let text = fs::read_to_string(found).map_err(|error| bad(error.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| bad(error.to_string()))
}

/// The files of a folder and of those below it, in the order in which the kubelet reads them.
fn drop_ins(host: &Host, folder: &Path) -> Result<Vec<PathBuf>, KubeletError> {
    let bad = |error: io::Error| KubeletError::Config { path: folder.to_owned(), why: error.to_string() };
    let found = host.resolve(folder).map_err(bad)?;
    let mut names: Vec<_> = fs::read_dir(found).map_err(bad)?.flatten().collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in names {
        let path = folder.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.extend(drop_ins(host, &path)?);
        } else if path.extension().is_some_and(|ending| ending == "conf") {
            files.push(path);
        }
    }
    Ok(files)
}

// === impl Kubelet ===

impl Kubelet {
    /// Takes over what a file of its configuration says.
    fn add(&mut self, file: &Path, config: &Value) {
        let text = |name: &str| config.get(name).and_then(Value::as_str);
        let beside = |path: &str| file.parent().unwrap_or(Path::new("/")).join(path);
        if let Some(path) = text("staticPodPath") {
            self.static_pods = (!path.is_empty()).then(|| beside(path));
        }
        if let Some(path) = text("tlsCertFile") {
            self.certificate = (!path.is_empty()).then(|| beside(path));
        }
        if let Some(runtime) = text("containerRuntimeEndpoint") {
            self.runtime = (!runtime.is_empty()).then(|| runtime.to_owned());
        }
        if let Some(port) = config.get("port").and_then(Value::as_u64).and_then(|it| u16::try_from(it).ok()) {
            self.port = port;
        }
    }
}

// === impl Flags ===

impl Flags {
    fn read(words: &[String]) -> Self {
        let mut flags = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let place = match name {
                "--config" => &mut flags.config,
                "--config-dir" => &mut flags.config_dir,
                "--pod-manifest-path" => &mut flags.manifests,
                "--container-runtime-endpoint" => &mut flags.runtime,
                "--port" => &mut flags.port,
                "--tls-cert-file" => &mut flags.certificate,
                "--cert-dir" => &mut flags.cert_dir,
                _ => continue,
            };
            *place = value.or_else(|| words.next().cloned());
        }
        flags
    }
}
