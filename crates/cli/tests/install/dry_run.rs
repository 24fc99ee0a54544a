//! A dry run, as a person without rights meets it.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

fn safepoint(arguments: &[&str], root: &TempDir) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    command.args(arguments).arg("--root").arg(root.path());
    // What is meant for running the agent is not meant for these.
    command.env("KUBECONFIG", "/nowhere").env("SAFEPOINT_DATA", "/nowhere").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn node() -> TempDir {
    let root = TempDir::new().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "etc/systemd/system/kubelet.service",
        "[Service]\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf\n",
    );
    write(
        "etc/kubernetes/kubelet.conf",
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: 'https://192.0.2.1:6443'}}]\n\
         users: [{name: a, user: {client-certificate-data: YQ==, client-key-data: c2VjcmV0}}]\n",
    );
    root
}

#[test]
fn a_dry_run_shows_every_file_and_command_and_changes_nothing() {
    let root = node();
    let arguments =
        ["agent", "install", "--dry-run", "--node-name", "rover", "--door-listen", "127.94.43.1:10443"];
    let output = safepoint(&arguments, &root);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for word in [
        "etc/safepoint/upstream.kubeconfig",
        "+       server: \"https://192.0.2.1:6443\"",
        "client-key-data: (not shown)",
        "run `systemctl restart kubelet.service`",
        "WatchdogSec=30",
        "nothing was changed",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(!shown.contains("c2VjcmV0"), "{shown}");
    let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["etc"]);
    assert!(!root.path().join("etc/safepoint").exists());
}

#[test]
fn without_a_person_to_ask_and_without_a_yes_nothing_happens() {
    let root = node();
    let arguments = ["agent", "install", "--node-name", "rover", "--door-listen", "127.94.43.2:10443"];
    let output = safepoint(&arguments, &root);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--yes"), "{}", text(&output.stderr));
    assert!(!root.path().join("etc/safepoint").exists());
}

#[test]
fn where_there_is_no_kubelet_or_no_agent_it_is_said() {
    let root = TempDir::new().unwrap();
    let output = safepoint(&["agent", "install", "--dry-run"], &root);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("no kubelet found"), "{}", text(&output.stderr));
    let output = safepoint(&["agent", "uninstall", "--dry-run"], &root);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("not installed here"), "{}", text(&output.stderr));
}

#[test]
fn running_the_agent_still_needs_its_kubeconfig() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    let output = command.arg("agent").env_remove("KUBECONFIG").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--kubeconfig"), "{}", text(&output.stderr));
}
