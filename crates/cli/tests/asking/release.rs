//! Pending upgrades, let through by name.

use crate::support::{rover, upgrade, waiting};

#[test]
fn a_workload_is_released_by_its_name_its_pod_or_with_everything() {
    for args in [
        &["release", "deploy/web", "-n", "shop"][..],
        &["release", "shop/web-1"],
        &["release", "pod/web-2", "-n", "shop"],
        &["release", "--all"],
        &["release", "deployment/web", "-n", "shop", "--revision", "b"],
    ] {
        assert_eq!(waiting().says(args).done(), "released deployment shop/web\n", "{args:?}");
    }
    assert_eq!(waiting().says(&["release", "--all", "-o", "name"]).done(), "deployment shop/web\n");
}

#[test]
fn a_release_that_lets_nothing_through_is_a_failure() {
    assert!(rover().says(&["release", "shop/web-1"]).failed(3).contains("nothing waits"));
    assert!(waiting().says(&["release", "deploy/nobody"]).failed(4).contains("is not known on this node"));
    waiting().says(&["release", "deploy/web", "-n", "shop", "--revision", "c"]).failed(3);
    waiting().says(&["release"]).failed(2);
    waiting().says(&["release", "x", "--all"]).failed(2);
}

#[test]
fn what_a_holder_holds_is_not_released() {
    let agent = waiting();
    agent.says(&["hold", "-n", "shop", "--reason", "stocktaking", "--id", "stock"]).done();
    let one = agent.says(&["release", "deploy/web", "-n", "shop"]);
    assert_eq!(one.code, Some(3), "{one:?}");
    let all = agent.says(&["release", "--all"]);
    assert_eq!(all.code, Some(3), "{all:?}");
    assert!(format!("{}{}", all.out, all.err).contains("stock"), "{all:?}");
}

#[test]
fn a_frozen_node_releases_nothing() {
    let agent = rover();
    agent.says(&["node", "freeze", "--reason", "lift"]).done();
    agent.node.sees([&upgrade()]);
    assert!(agent.says(&["release", "deploy/web", "-n", "shop"]).failed(3).contains("frozen"));
}
