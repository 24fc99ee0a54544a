//! Programs that are not Kubernetes show what happens to those that are.

use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

use super::{Program, kubernetes};
use crate::assets::Assets;

/// Starts an `etcd` that is a shell, and not on this project's leash. A link, because a file that was just written may
/// still be open for writing in another test's child, and such a file cannot be run.
fn shell(script: &str) -> (TempDir, Program) {
    let folder = TempDir::new().unwrap();
    symlink("/bin/sh", folder.path().join("etcd")).unwrap();
    let assets = Assets { folder: folder.path().to_owned(), leashed: false };
    let mut command = kubernetes(&assets, "etcd", |program| Command::new(program)).unwrap();
    command.args(["-c", script]);
    let program = Program::start("etcd", folder.path(), command).unwrap();
    (folder, program)
}

#[test]
fn a_program_of_the_user_ends_when_its_owner_lets_go() {
    let (_folder, mut program) = shell("echo up; exec sleep 1000");
    program.wait_for("up", |program| program.log().contains("up").then_some(())).unwrap();
    drop(program.child.stdin.take());
    assert!(!program.child.wait().unwrap().success());
}

#[test]
fn a_program_that_ends_early_is_told_of_with_its_last_words() {
    let (_folder, mut program) = shell("echo 'unknown flag: --mistake' >&2; exit 3");
    let error = program.wait_for("ready", |_| None::<()>).unwrap_err().to_string();
    assert!(error.starts_with("etcd ended with exit status: 3;"), "{error}");
    assert!(error.ends_with("unknown flag: --mistake"), "{error}");
}

#[test]
fn an_answer_in_place_of_a_program_that_ended_is_not_believed() {
    let (_folder, mut program) = shell("exit 0");
    program.child.wait().unwrap();
    assert!(program.wait_for("ready", |_| Some(())).is_err());
}

#[test]
fn one_that_was_stopped_can_be_started_again_and_its_log_goes_on() {
    let (_folder, mut program) = shell("trap exit TERM; echo up; while :; do sleep 0.1; done");
    let ups = |program: &Program, n| (program.log().matches("up").count() == n).then_some(());
    program.wait_for("up", |program| ups(program, 1)).unwrap();
    assert!(program.start_again().unwrap_err().to_string().contains("running already"));
    program.stop().unwrap();
    assert!(program.stop().unwrap_err().to_string().contains("not running"));
    program.start_again().unwrap();
    program.wait_for("up", |program| ups(program, 2)).unwrap();
    program.kill();
    assert!(!program.runs());
}
