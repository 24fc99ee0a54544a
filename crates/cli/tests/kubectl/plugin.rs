//! `kubectl safepoint`: the real kubectl finds the program as its plugin, and completes it.

use crate::support::{Space, assert_has, assert_lacks};

#[test]
fn kubectl_finds_the_plugin_and_help_says_how_to_call_it() {
    let space = Space::new();
    assert_has(&space.plugin("plugin list").ok(), "/kubectl-safepoint\n");
    let help = space.plugin("safepoint status --help").ok();
    assert_has(&help, "Usage: kubectl safepoint status [OPTIONS]\n");
    assert_has(&help, "  kubectl safepoint status --node rover-7\n");
    assert_lacks(&help, "\n  safepoint ");
    let refused = space.plugin("safepoint status --socket /nowhere/agent.sock");
    assert_eq!(refused.code, Some(5));
    assert_has(&refused.err, "hint: start it with `kubectl safepoint up`");
}

#[test]
fn kubectl_completes_what_the_plugin_knows() {
    let space = Space::new();
    let completed = space.plugin("__complete safepoint node free").ok();
    assert_has(&completed, "freeze\tFreeze a node: nothing on it changes any more\n:4\n");
    let completed = space.plugin("__complete safepoint status -o ''").ok();
    assert_has(&completed, "json\tThe agent's answer as it is\n");
}

#[test]
fn the_plugin_asks_the_cluster_that_kubectl_asks() {
    let space = Space::new();
    let missing = space.plugin("safepoint status --node nobody");
    // Where the definitions are not applied yet, there are no NodeGates at all.
    assert_eq!(missing.code, Some(4), "{}", missing.err);
}
