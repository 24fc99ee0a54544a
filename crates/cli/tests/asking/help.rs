//! What people read before anything else.

use crate::support::{safepoint, said};

const COMMANDS: [&[&str]; 29] = [
    &["status"],
    &["top"],
    &["changes"],
    &["holds"],
    &["why"],
    &["log"],
    &["events"],
    &["hold"],
    &["unhold"],
    &["run"],
    &["release"],
    &["unhold-upgrade"],
    &["node"],
    &["node", "freeze"],
    &["node", "unfreeze"],
    &["modules"],
    &["modules", "restart"],
    &["static-pod"],
    &["static-pod", "list"],
    &["static-pod", "status"],
    &["static-pod", "upgrade"],
    &["static-pod", "rollback"],
    &["static-pod", "pause"],
    &["static-pod", "resume"],
    &["static-pod", "history"],
    &["static-pod", "install"],
    &["static-pod", "uninstall"],
    &["static-pod-upgrade"],
    &["completion"],
];

#[test]
fn every_help_text_is_what_was_reviewed() {
    for command in COMMANDS {
        let help = said(&mut safepoint(&[command, &["--help"]].concat())).done();
        insta::assert_snapshot!(format!("help_{}", command.join("_")), help);
    }
}

#[test]
fn every_command_has_examples() {
    for command in
        COMMANDS.iter().filter(|command| !matches!(command, [.., "node" | "restart" | "static-pod"]))
    {
        let help = said(&mut safepoint(&[*command, &["--help"]].concat())).done();
        assert!(help.contains("\nExamples:\n"), "{command:?}");
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    said(&mut safepoint(&["man", pages.to_str().unwrap()])).done();
    for page in ["safepoint.1", "safepoint-status.1", "safepoint-node-freeze.1"] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    let freeze = std::fs::read_to_string(pages.join("safepoint-node-freeze.1")).unwrap();
    assert!(freeze.contains("crane lift"), "the examples are there too");
}
