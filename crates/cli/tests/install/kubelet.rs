//! A kubelet that is put behind the agent while its pods run, and taken out again.

use super::systemd::Node;

#[test]
fn the_agent_comes_and_goes_while_the_same_containers_run() {
    let mut node = Node::new();
    node.deploy("arm", 3);
    let (before, files) = (node.running(), node.files());
    assert_eq!(before.len(), 3);

    let installed = node.agent(&["install", "--yes"]);
    assert!(installed.status.success(), "{}", installed.text);
    assert!(
        installed.text.contains("node node, whose kubelet is run by kubelet.service"),
        "{}",
        installed.text
    );
    assert_eq!(node.running(), before, "the same containers");
    assert_eq!(node.kubeconfig_of_units(), node.at("etc/safepoint/kubelet.kubeconfig"));
    let modules = node.ask(&["modules"]);
    let door =
        modules["items"].as_array().unwrap().iter().find(|module| module["name"] == "kubelet-door").unwrap();
    assert_eq!(door["state"], "Ready", "{door}");
    assert_eq!(node.ask(&["status"])["pods"], 3, "they were taken over");
    node.world.wait_node_ready().unwrap();

    let again = node.agent(&["install", "--yes"]);
    assert_eq!(again.status.code(), Some(3), "{}", again.text);
    assert!(again.text.contains("installed on this node already"), "{}", again.text);

    node.ask(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    node.world.run(&["set", "image", "deployment/arm", "main=app:v2"]).unwrap();
    node.world
        .wait("a change is held", || {
            (node.ask(&["changes"])["items"].as_array().is_some_and(|items| !items.is_empty())).then_some(())
        })
        .unwrap();
    let refused = node.agent(&["uninstall", "--yes"]);
    assert_eq!(refused.status.code(), Some(3), "{}", refused.text);
    assert!(refused.text.contains("the node is Frozen (in flight)"), "{}", refused.text);
    assert!(refused.text.contains("changes are held: Pod default/arm-"), "{}", refused.text);
    assert_eq!(node.running(), before);

    // What was asked for meanwhile is withdrawn, so that there is something to compare.
    node.world.run(&["rollout", "undo", "deployment/arm"]).unwrap();
    node.world
        .wait("nothing waits", || {
            node.ask(&["changes"])["items"].as_array().is_some_and(Vec::is_empty).then_some(())
        })
        .unwrap();
    node.ask(&["node", "unfreeze"]);
    node.world.wait("the node is open", || (node.ask(&["status"])["state"] == "Open").then_some(())).unwrap();
    let uninstalled = node.agent(&["uninstall", "--yes"]);
    assert!(uninstalled.status.success(), "{}", uninstalled.text);
    node.world.wait_node_ready().unwrap();
    assert_eq!(node.running(), before, "the same containers");
    assert_eq!(node.files(), files, "byte for byte as it was");
    assert_eq!(node.asked.last().map(String::as_str), Some("daemon-reload"));
}

#[test]
fn an_installation_that_fails_leaves_everything_as_it_was() {
    let mut node = Node::new();
    node.deploy("arm", 2);
    let (before, files) = (node.running(), node.files());

    // The agent cannot start: there is no such group.
    let failed = node.agent(&["install", "--yes", "--timeout", "5s", "--group", "nobody-has-this-group"]);
    assert_eq!(failed.status.code(), Some(1), "{}", failed.text);
    assert!(failed.text.contains("everything is as it was"), "{}", failed.text);
    assert!(failed.text.contains("the last lines of safepoint-agent.service"), "{}", failed.text);
    assert_eq!(node.files(), files);
    assert!(!node.asked.iter().any(|asked| asked.starts_with("restart")), "the kubelet was left alone");
    assert_eq!(node.running(), before);

    // The agent dies at the worst moment: the kubelet has just been pointed at it.
    node.agent_dies_with_the_restart = true;
    let failed = node.agent(&["install", "--yes", "--timeout", "40s"]);
    assert_eq!(failed.status.code(), Some(1), "{}", failed.text);
    assert!(failed.text.contains("everything is as it was"), "{}", failed.text);
    assert!(failed.text.contains("was not ready within"), "{}", failed.text);
    assert_eq!(node.asked.iter().filter(|asked| asked.starts_with("restart")).count(), 2, "there and back");
    node.world.wait_node_ready().unwrap();
    assert_eq!(node.files(), files);
    assert_eq!(node.running(), before, "the same containers");

    // And then it works.
    let installed = node.agent(&["install", "--yes"]);
    assert!(installed.status.success(), "{}", installed.text);
    assert_eq!(node.running(), before, "the same containers");
    let uninstalled = node.agent(&["uninstall", "--yes"]);
    assert!(uninstalled.status.success(), "{}", uninstalled.text);
    assert_eq!(node.running(), before, "the same containers");
    assert_eq!(node.files(), files);
}

#[test]
fn a_second_installation_takes_over_what_runs_then_and_not_what_ran_before() {
    let mut node = Node::new();
    node.deploy("arm", 2);
    for (arguments, word) in
        [(&["install", "--yes"][..], "installed"), (&["uninstall", "--yes", "--keep-data"], "was kept")]
    {
        let ended = node.agent(arguments);
        assert!(ended.status.success() && ended.text.contains(word), "{}", ended.text);
    }
    // While no agent is there, other pods come and those from before go.
    node.deploy("leg", 2);
    // Foreground: their containers end before their objects go, and both have to be gone.
    node.world.run(&["delete", "deployment", "arm", "--wait", "--cascade=foreground"]).unwrap();
    let before = node.running();
    assert_eq!(before.len(), 2);
    let installed = node.agent(&["install", "--yes"]);
    assert!(installed.status.success(), "{}", installed.text);
    assert_eq!(node.running(), before, "the same containers");
    assert_eq!(node.ask(&["status"])["pods"], 2);
    assert!(node.at("var/lib/safepoint/journal.redb.1").exists(), "the earlier audit log is there");
}
