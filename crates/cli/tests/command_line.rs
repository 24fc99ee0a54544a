//! The command line as a person meets it.

use std::process::{Command, Output};

fn safepoint(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_safepoint"))
        .args(args)
        .output()
        .expect("the binary was built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_version_is_the_crates_version() {
    let output = safepoint(&["--version"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), format!("safepoint {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_says_what_it_is_for_and_what_exit_codes_mean() {
    let output = safepoint(&["--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    assert!(help.starts_with("Decides when a change may reach a workload on an edge machine"), "{help}");
    assert!(help.contains("Exit codes:"), "{help}");
}

#[test]
fn without_a_command_the_help_is_shown_and_it_is_an_error() {
    let output = safepoint(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: safepoint"));
}

#[test]
fn an_unknown_command_is_named() {
    let output = safepoint(&["frieze"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'frieze'"));
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = safepoint(&["completion", shell]);
        assert!(output.status.success(), "{shell}");
        assert!(text(&output.stdout).contains("safepoint"), "{shell}");
    }
}
