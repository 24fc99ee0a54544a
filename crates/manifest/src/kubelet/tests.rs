//! Nodes made of files: processes, configurations and folders as they are found in the field.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Kubelet, KubeletError, running};
use crate::host::Host;

struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Self {
        let node = Self(tempfile::tempdir().unwrap());
        // A folder of processes that is there, so that those of the machine that runs the tests are not looked at.
        node.process(1, &["/sbin/init"]);
        node
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn process(&self, pid: u32, words: &[&str]) {
        self.write(&format!("proc/{pid}/cmdline"), &(words.join("\0") + "\0"));
        let _ = symlink("/opt", self.0.path().join(format!("proc/{pid}/cwd")));
    }

    fn running(&self) -> Result<Option<Kubelet>, KubeletError> {
        super::in_processes(&self.host(), &self.0.path().join("proc")).map(|found| found.into_iter().next())
    }

    fn host(&self) -> Host {
        Host::below(self.0.path())
    }
}

#[test]
fn a_kubelet_says_in_its_configuration_where_manifests_are() {
    let node = Node::new();
    node.process(77, &["/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml", "--v", "2"]);
    node.write(
        "/var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\nstaticPodPath: manifests\ncontainerRuntimeEndpoint: unix:///run/crio/crio.sock\nport: 10260\n",
    );
    let kubelet = node.running().unwrap().unwrap();
    assert_eq!(kubelet.static_pods.as_deref(), Some(Path::new("/var/lib/kubelet/manifests")));
    assert_eq!(kubelet.runtime.as_deref(), Some("unix:///run/crio/crio.sock"));
    assert_eq!(kubelet.port, 10260);
}

#[test]
fn later_files_win_over_earlier_ones_and_flags_over_files() {
    let node = Node::new();
    let config = ["kubelet", "--config", "/etc/k.yaml", "--config-dir=/etc/k.d"];
    node.process(77, &config);
    node.write("/etc/k.yaml", "staticPodPath: /one\n");
    node.write("/etc/k.d/20-b.conf", "staticPodPath: /three\n");
    node.write("/etc/k.d/10-a.conf", "staticPodPath: /two\n");
    node.write("/etc/k.d/30-c.yaml", "staticPodPath: /ignored\n");
    assert_eq!(node.running().unwrap().unwrap().static_pods.as_deref(), Some(Path::new("/three")));
    node.write("/etc/k.d/30/z.conf", "staticPodPath: four\n");
    assert_eq!(node.running().unwrap().unwrap().static_pods.as_deref(), Some(Path::new("/etc/k.d/30/four")));
    node.process(77, &[&config[..], &["--pod-manifest-path", "five"]].concat());
    assert_eq!(node.running().unwrap().unwrap().static_pods.as_deref(), Some(Path::new("/opt/five")));
}

#[test]
fn a_kubelet_that_was_told_of_no_folder_reads_none() {
    let node = Node::new();
    node.process(77, &["kubelet"]);
    let kubelet = node.running().unwrap().unwrap();
    assert_eq!((kubelet.static_pods, kubelet.port), (None, 10250));
}

#[test]
fn a_configuration_that_cannot_be_read_is_said() {
    let node = Node::new();
    node.process(77, &["kubelet", "--config=/etc/nothing.yaml"]);
    let said = node.running().unwrap_err().to_string();
    assert!(said.contains("/etc/nothing.yaml, which cannot be read"), "{said}");
}

#[test]
fn two_kubelets_that_differ_are_not_guessed_between() {
    let node = Node::new();
    node.process(77, &["kubelet", "--pod-manifest-path=/a"]);
    node.process(78, &["kubelet", "--pod-manifest-path=/a"]);
    assert!(running(&node.host()).unwrap().is_some());
    node.process(79, &["/x/hyperkube", "kubelet", "--pod-manifest-path=/b"]);
    assert!(matches!(running(&node.host()), Err(KubeletError::Several(3))));
}
