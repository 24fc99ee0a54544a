//! Machines made of files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair};
use tempfile::TempDir;

use super::super::plan::Wanted;
use super::super::root::Root;

/// A machine in a temporary folder.
pub(super) struct Tree(TempDir);

impl Tree {
    pub(super) fn empty() -> Self {
        let tree = Self(TempDir::new().unwrap());
        tree.write("/etc/hostname", "rover\n");
        tree.write("/etc/systemd/system/multi-user.target.wants/ssh.service", "");
        fs::create_dir_all(tree.at("/var/lib")).unwrap();
        tree
    }

    /// As kubeadm 1.34 and the packages of the kubelet leave one.
    pub(super) fn kubeadm() -> Self {
        let tree = Self::empty();
        tree.script("/usr/bin/kubelet", "echo Kubernetes v1.36.4");
        tree.write(
            "/usr/lib/systemd/system/kubelet.service",
            "[Unit]\nAfter=network-online.target\n\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n",
        );
        tree.write(
            "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
            "[Service]\nEnvironment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
             --kubeconfig=/etc/kubernetes/kubelet.conf\"\nEnvironment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n\
             EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\nExecStart=\n\
             ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n",
        );
        tree.write("/var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--node-ip=192.0.2.7\"\n");
        tree.write("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--v=2\n");
        tree.write("/etc/kubernetes/pki/ca.crt", "the cluster's authority\n");
        let file = "/var/lib/kubelet/pki/kubelet-client-current.pem";
        tree.write("/var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem", &certificate());
        symlink("kubelet-client-2026-01-01-00-00-00.pem", tree.at(file)).unwrap();
        tree.write(
            "/etc/kubernetes/kubelet.conf",
            &kubeconfig("https://192.0.2.1:6443", "certificate-authority-data: YWJj", file, file),
        );
        fs::set_permissions(tree.at("/etc/kubernetes/kubelet.conf"), fs::Permissions::from_mode(0o600))
            .unwrap();
        tree
    }

    /// As K3s's own installer leaves one.
    pub(super) fn k3s(unit: &str) -> Self {
        let tree = Self::empty();
        tree.script("/usr/local/bin/k3s", "echo 'k3s version v1.36.1+k3s1 (abcdef)'");
        tree.write(
            &format!("/etc/systemd/system/{unit}"),
            "[Unit]\nWants=network-online.target\n\n[Service]\nType=notify\nKillMode=process\nEnvironmentFile=-/etc/default/%N\n\
             ExecStartPre=-/sbin/modprobe overlay\nExecStart=/usr/local/bin/k3s \\\n    server \\\n",
        );
        tree.write("/etc/rancher/k3s/config.yaml", "kubelet-arg:\n  - max-pods=50\n");
        let of = |name: &str| format!("/var/lib/rancher/k3s/agent/{name}");
        tree.write(&of("client-ca.crt"), "who signs clients\n");
        tree.write(&of("server-ca.crt"), "who signs servers\n");
        tree.write(&of("client-kubelet.crt"), &certificate());
        tree.write(&of("client-kubelet.key"), "a key\n");
        tree.write(
            &of("kubelet.kubeconfig"),
            &kubeconfig(
                "https://127.0.0.1:6444",
                &format!("certificate-authority: {}", of("server-ca.crt")),
                &of("client-kubelet.crt"),
                &of("client-kubelet.key"),
            ),
        );
        tree
    }

    /// A node of kubeadm with files of an earlier attempt, and with data that was kept.
    pub(super) fn with_leftovers() -> Self {
        let tree = Self::kubeadm();
        tree.write("/etc/safepoint/upstream.kubeconfig", "an old one\n");
        fs::set_permissions(tree.at("/etc/safepoint/upstream.kubeconfig"), fs::Permissions::from_mode(0o640))
            .unwrap();
        tree.write("/etc/safepoint/agent.env", "SAFEPOINT_LOG=info\n");
        tree.write("/etc/systemd/system/kubelet.service.d/zz-safepoint.conf", "[Service]\n# by hand\n");
        tree.write("/var/lib/safepoint/journal.redb", "what an earlier agent knew");
        tree
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn script(&self, path: &str, text: &str) {
        self.write(path, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            root: Root::new(self.path()).unwrap(),
            program: "/usr/local/bin/safepoint".into(),
            data: "/var/lib/safepoint".into(),
            socket: "/run/safepoint/agent.sock".into(),
            listen: "127.0.0.1:10443".parse().unwrap(),
            group: Some("operators".into()),
        }
    }
}

fn certificate() -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, "system:node:rover-7");
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem() + &key.serialize_pem()
}

fn kubeconfig(server: &str, authority: &str, certificate: &str, key: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: default\nclusters:\n  - name: default\n    cluster:\n      server: {server}\n      \
         {authority}\nusers:\n  - name: default\n    user:\n      client-certificate: {certificate}\n      client-key: {key}\n\
         contexts:\n  - name: default\n    context:\n      cluster: default\n      user: default\n"
    )
}

/// Everything below a folder: its kind, its rights, and its bytes.
pub(super) fn contents(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let bytes = if about.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if about.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, (about.permissions().mode(), bytes));
        }
    }
    found
}
