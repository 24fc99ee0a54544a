//! The fixture, tried on real Kubernetes: it starts, answers, and leaves nothing behind.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use safepoint_testkit::{ControlPlane, Options, assets, version};

/// Set for the process that [`a_process_that_is_killed_takes_its_kubernetes_with_it`] starts.
const VICTIM: &str = "SAFEPOINT_TESTKIT_VICTIM";

/// Whether a process runs; one that has ended and is not yet collected does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn it_is_the_version_it_claims_to_be_and_keeps_what_it_is_given() -> Result<()> {
    let kubernetes = ControlPlane::shared()?;
    let server = kubernetes.run(&["get", "--raw", "/version"])?;
    if env::var_os("KUBEBUILDER_ASSETS").is_none() {
        ensure!(server.contains(&format!("\"gitVersion\": \"{}\"", version())), "{server}");
    }
    let namespace = kubernetes.namespace()?;
    kubernetes.run(&["create", "configmap", "settings", "--from-literal=mode=fast", "-n", &namespace])?;
    let mode =
        kubernetes.run(&["get", "configmap", "settings", "-n", &namespace, "-o", "jsonpath={.data.mode}"])?;
    ensure!(mode == "fast", "{mode}");
    Ok(())
}

#[test]
fn token_and_certificate_are_the_same_administrator() -> Result<()> {
    let kubernetes = ControlPlane::shared()?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<PathBuf> {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    };
    let ca = file("ca.crt", kubernetes.ca_pem())?;
    let whoami = |arguments: &[&str]| -> Result<String> {
        let ca = format!("--certificate-authority={}", ca.display());
        let server = format!("--server={}", kubernetes.url());
        let mut command = kubernetes.kubectl();
        // Only what is given here may identify the client.
        command.env("KUBECONFIG", "/dev/null").args([
            "auth",
            "whoami",
            "-o",
            "jsonpath={.status.userInfo.username} {.status.userInfo.groups}",
        ]);
        let output = command.args([ca, server]).args(arguments).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let expected = r#"admin ["system:masters","system:authenticated"]"#;
    ensure!(whoami(&["--token", kubernetes.token()])? == expected);
    let certificate = file("admin.crt", kubernetes.admin_cert_pem())?;
    let key = file("admin.key", kubernetes.admin_key_pem())?;
    let certificate = format!("--client-certificate={}", certificate.display());
    let key = format!("--client-key={}", key.display());
    ensure!(whoami(&[&certificate, &key])? == expected);
    Ok(())
}

#[test]
fn a_running_one_can_be_used_by_the_path_of_its_kubeconfig() -> Result<()> {
    let running = ControlPlane::shared()?;
    let attached = ControlPlane::attach(running.kubeconfig_path())?;
    ensure!(attached.url() == running.url());
    ensure!(attached.pids().is_empty(), "it is not ours to measure or to end");
    attached.run(&["get", "namespace", "default"])?;
    drop(attached);
    running.run(&["get", "namespace", "default"])?;
    Ok(())
}

#[test]
fn controllers_and_scheduler_do_their_work_and_all_of_it_ends_on_drop() -> Result<()> {
    if let Err(missing) = assets()?.program("kube-controller-manager") {
        // Only where KUBEBUILDER_ASSETS is set: what this project builds has it.
        ensure!(env::var_os("KUBEBUILDER_ASSETS").is_some(), missing);
        eprintln!("skipped: {missing}");
        return Ok(());
    }
    let options = Options { controllers: true, scheduler: true, durable: true, ..Options::default() };
    let kubernetes = ControlPlane::start_with(&options)?;
    let names: Vec<_> = kubernetes.pids().iter().map(|(name, _)| *name).collect();
    ensure!(names == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"], "{names:?}");

    // The controller manager makes it, and hears of the namespace only after it has said that it is ready.
    kubernetes.run(&["wait", "--for=create", "serviceaccount/default", "--timeout=60s"])?;
    // There is no node, and it is the scheduler that says so.
    kubernetes.run(&["run", "waiting", "--image=none"])?;
    let unschedulable = "--for=jsonpath={.status.conditions[0].reason}=Unschedulable";
    kubernetes.run(&["wait", unschedulable, "pod/waiting", "--timeout=60s"])?;

    let pids = kubernetes.pids();
    let folder = kubernetes.kubeconfig_path().parent().expect("the kubeconfig is in a folder").to_owned();
    ensure!(pids.iter().all(|(_, pid)| runs(*pid)));
    drop(kubernetes);
    ensure!(!pids.iter().any(|(_, pid)| runs(*pid)), "{pids:?}");
    ensure!(!folder.exists());
    Ok(())
}

#[test]
fn a_process_that_is_killed_takes_its_kubernetes_with_it() -> Result<()> {
    if let Some(report) = env::var_os(VICTIM) {
        let kubernetes = ControlPlane::start()?;
        let pids: Vec<_> = kubernetes.pids().iter().map(|(_, pid)| pid.to_string()).collect();
        fs::write(report, format!("{}\n{}", kubernetes.kubeconfig_path().display(), pids.join("\n")))?;
        std::process::abort();
    }
    let folder = tempfile::tempdir()?;
    let report = folder.path().join("report");
    let name = "a_process_that_is_killed_takes_its_kubernetes_with_it";
    let victim = Command::new(env::current_exe()?)
        .args(["--exact", name])
        .env(VICTIM, &report)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(!victim.success());
    let report = fs::read_to_string(report)?;
    let mut lines = report.lines();
    let kubeconfig = Path::new(lines.next().unwrap_or_default());
    let pids = lines.map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    ensure!(pids.len() == 2);
    for _ in 0..2400 {
        if !pids.iter().any(|pid| runs(*pid)) && !kubeconfig.exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(25));
    }
    anyhow::bail!("still there: {report}")
}

#[test]
fn a_flag_that_is_unknown_is_told_with_the_words_of_the_program() {
    let options = Options { apiserver_flags: vec!["--no-such-flag".to_owned()], ..Options::default() };
    let error = ControlPlane::start_with(&options).unwrap_err().to_string();
    assert!(error.starts_with("kube-apiserver ended with"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

/// A start is repeated when these words are in its log; should upstream change them, this is where it shows.
#[test]
fn a_port_that_somebody_else_has_is_told_in_the_words_that_a_repetition_looks_for() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = format!("--secure-port={}", listener.local_addr()?.port());
    let options = Options { apiserver_flags: vec![port], ..Options::default() };
    let error = ControlPlane::start_with(&options).unwrap_err().to_string();
    ensure!(error.contains("address already in use"), "{error}");
    Ok(())
}
