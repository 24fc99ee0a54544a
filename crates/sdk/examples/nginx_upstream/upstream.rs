//! The list of pods behind an nginx: one file, which nginx includes.
//!
//! A change is written whole or not at all, is tried by nginx before it is put in place, and counts once the processes that knew
//! the old list have ended. The file is all that is remembered: each line says which pod it is for.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use safepoint_sdk::cooperation::{BoxError, Cooperation, Employer, Member};
use tokio::process::Command;
use tokio::sync::Mutex;

/// How often is looked whether the old processes have ended.
const LOOK: Duration = Duration::from_millis(10);

/// An nginx whose `upstream` block is kept in step.
pub(crate) struct Nginx {
    /// The folder of its configuration: `nginx.conf`, which says `include upstream.conf;` and `pid nginx.pid;`.
    folder: PathBuf,
    /// The name of the block.
    upstream: String,
    /// The port of the pods.
    port: u16,
    /// What nginx is known to have loaded. Held while anything is changed: there is one file.
    loaded: Mutex<Option<String>>,
}

/// Who is in the list: the address of each pod, by namespace, name and uid.
#[derive(Clone, PartialEq, Eq, Default)]
struct List(BTreeMap<(String, String, String), String>);

// === impl Nginx ===

impl Nginx {
    /// The nginx with this folder of configuration, whose block of this name lists pods that listen on this port.
    pub(crate) fn new(
        folder: impl Into<PathBuf>,
        upstream: impl Into<String>,
        port: u16,
    ) -> io::Result<Self> {
        let nginx = Self { folder: folder.into(), upstream: upstream.into(), port, loaded: Mutex::new(None) };
        if !nginx.list_path().exists() {
            put(&nginx.list_path(), &List::default().text(&nginx.upstream, port))?;
        }
        Ok(nginx)
    }

    fn list_path(&self) -> PathBuf {
        self.folder.join("upstream.conf")
    }

    fn list(&self) -> io::Result<List> {
        Ok(List::parse(&fs::read_to_string(self.list_path())?))
    }

    /// Changes the list, and returns once nothing goes by the old one.
    async fn change(&self, change: impl FnOnce(&mut List) + Send) -> Result<(), BoxError> {
        let mut loaded = self.loaded.lock().await;
        let mut list = self.list()?;
        change(&mut list);
        let text = list.text(&self.upstream, self.port);
        // What is in the file may not have been loaded: whoever wrote it may have been killed in between.
        if loaded.as_deref() == Some(&text) {
            return Ok(());
        }
        let is_settled = loaded.take().is_some();
        self.try_out(&text).await?;
        put(&self.list_path(), &text)?;
        self.reload().await?;
        if !is_settled {
            // Somebody before us may have asked for a reload that had read the list before it was changed, and the workers that
            // came of it are no older than ours. Nothing like it can be under way any more, so those of the second are.
            self.reload().await?;
        }
        *loaded = Some(text);
        Ok(())
    }

    /// Has nginx read the list beside a copy of its configuration. What it would refuse is never put in place.
    async fn try_out(&self, text: &str) -> Result<(), BoxError> {
        let candidate = self.folder.join("candidate");
        fs::create_dir_all(&candidate)?;
        fs::copy(self.folder.join("nginx.conf"), candidate.join("nginx.conf"))?;
        fs::write(candidate.join("upstream.conf"), text)?;
        self.nginx(&candidate, &["-t", "-q"]).await
    }

    /// Has nginx load the list, and waits until the workers that knew the old one have answered what they were asked.
    async fn reload(&self) -> Result<(), BoxError> {
        let Some(master) = self.master() else {
            // Nobody asks pods through an nginx that does not run, and when it starts it reads the file.
            return Ok(());
        };
        let old = workers(master)?;
        self.nginx(&self.folder, &["-s", "reload"]).await?;
        loop {
            let now = workers(master)?;
            if !now.is_empty() && !now.iter().any(|worker| old.contains(worker)) {
                return Ok(());
            }
            if self.master() != Some(master) {
                return Err("nginx has ended while it was to reload: start it again".into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The process that nginx is, if it runs.
    fn master(&self) -> Option<u32> {
        let pid = fs::read_to_string(self.folder.join("nginx.pid")).ok()?.trim().parse().ok()?;
        Path::new("/proc").join(u32::to_string(&pid)).exists().then_some(pid)
    }

    async fn nginx(&self, config: &Path, arguments: &[&str]) -> Result<(), BoxError> {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&self.folder).arg("-c").arg(config.join("nginx.conf")).args(arguments);
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let output = command.kill_on_drop(true).output().await?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("nginx {} failed: {}", arguments.join(" "), said.trim()).into())
    }
}

impl Cooperation for Nginx {
    async fn turn_on(&self, _: &Employer, pod: &Pod) -> Result<(), BoxError> {
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
        let address = address.ok_or("the pod has no address yet")?;
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        let uid = pod.uid().unwrap_or_default();
        self.change(move |list| {
            list.remove(&namespace, &name, None);
            list.0.insert((namespace, name, uid), address);
        })
        .await
    }

    async fn turn_off(&self, _: &Employer, member: &Member) -> Result<(), BoxError> {
        self.change(|list| list.remove(&member.namespace, &member.name, member.uid.as_deref())).await
    }

    async fn members(&self, _: &Employer) -> Result<Vec<Member>, BoxError> {
        let _loaded = self.loaded.lock().await;
        let list = self.list()?.0.into_keys();
        Ok(list.map(|(namespace, name, uid)| Member::named(namespace, name, Some(uid))).collect())
    }
}

// === impl List ===

impl List {
    /// Lines that are not ours are not kept: the file is ours.
    fn parse(text: &str) -> Self {
        let entries = text.lines().filter_map(|line| {
            let (server, comment) = line.trim().strip_prefix("server ")?.split_once("; # ")?;
            let mut words = comment.split('/').map(str::to_owned);
            let who = (words.next()?, words.next()?, words.next()?);
            Some((who, server.rsplit_once(':')?.0.trim_matches(['[', ']']).to_owned()))
        });
        Self(entries.collect())
    }

    fn remove(&mut self, namespace: &str, name: &str, uid: Option<&str>) {
        self.0.retain(|(of, called, is), _| {
            (&**of, &**called) != (namespace, name) || uid.is_some_and(|uid| is != uid)
        });
    }

    fn text(&self, upstream: &str, port: u16) -> String {
        use fmt::Write;
        let mut text = format!("upstream {upstream} {{\n");
        for ((namespace, name, uid), address) in &self.0 {
            let address = if address.contains(':') { format!("[{address}]") } else { address.clone() };
            let _ = writeln!(text, "    server {address}:{port} max_fails=0; # {namespace}/{name}/{uid}");
        }
        if self.0.is_empty() {
            // A block without a server is an error for nginx.
            text.push_str("    server 127.0.0.1:1 down;\n");
        }
        text.push_str("}\n");
        text
    }
}

/// Writes a file so that it has the old text or the new one, whole, whenever the power goes.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    fs::File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// The processes that answer requests, those that only finish what they have begun included.
fn workers(master: u32) -> io::Result<Vec<u32>> {
    let program = fs::read_link(format!("/proc/{master}/exe"))?;
    let mut workers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has just ended has no parent any more, nor anything else. Whoever started nginx may have left it children.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        let is_nginx = || fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|found| found == program);
        if parent == Some(&master.to_string()) && is_nginx() {
            workers.push(pid);
        }
    }
    Ok(workers)
}
