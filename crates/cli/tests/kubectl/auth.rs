//! `kubectl auth`: who may do what, and who one is.

use crate::support::{POD, Space, assert_has, assert_table};

#[test]
fn the_admin_may_do_everything() {
    let space = Space::new();
    assert_eq!(space.run("auth can-i create pods"), "yes\n");
    assert_eq!(space.run("auth can-i '*' '*' -A"), "yes\n");
    assert_eq!(space.run("auth can-i get /healthz"), "yes\n");
    let list = space.run("auth can-i --list");
    let rows: Vec<_> =
        list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows[0], "Resources Non-Resource URLs Resource Names Verbs");
    assert!(rows.contains(&"*.* [] [] [*]".to_owned()), "{rows:?}");
    assert!(rows.contains(&"[*] [] [*]".to_owned()), "{rows:?}");
}

#[test]
fn the_admin_knows_who_he_is() {
    let space = Space::new();
    let text = space.run("auth whoami");
    assert_has(&text, "[system:masters system:authenticated]");
    if space.is_safepoint() {
        assert_table(
            &text,
            &["ATTRIBUTE VALUE", "Username kubernetes-admin", "Groups [system:masters system:authenticated]"],
        );
    }
    assert_table(
        &space.run("auth whoami --as=ada --as-group=engineers --as-uid=7"),
        &["ATTRIBUTE VALUE", "Username ada", "UID 7", "Groups [engineers system:authenticated]"],
    );
}

#[test]
fn somebody_else_may_only_look_around() {
    let space = Space::new();
    let denied = space.kubectl("auth can-i list pods --as=ada");
    assert!(denied.out.starts_with("no"), "{}", denied.out);
    assert_eq!(denied.code, Some(1));
    let list = space.kubectl("auth can-i --list --as=ada");
    assert_eq!(list.err, "", "nothing is left out of the list");
    let list = list.ok();
    assert_has(&list, "selfsubjectaccessreviews.authorization.k8s.io");
    assert_has(&list, "[/version]");
    assert_eq!(space.run("get --raw /healthz --as=ada"), "ok");
    assert_has(
        &space.refused("get pods --as=ada"),
        &format!(
            "Error from server (Forbidden): pods is forbidden: User \"ada\" cannot list resource \"pods\" in API group \"\" \
             in the namespace \"{}\"",
            space.namespace()
        ),
    );
    assert_has(
        &space.refused("get nodes --as=ada"),
        "cannot list resource \"nodes\" in API group \"\" at the cluster scope",
    );
}

#[test]
fn a_node_may_read_the_secrets_of_its_own_pods() {
    let space = Space::new();
    let node = format!("node-{}", space.namespace());
    let node = node.as_str();
    space.run("create secret generic used");
    space.run("create secret generic unused");
    space.apply(&format!(
        "{}  volumes: [{{name: key, secret: {{secretName: used}}}}]\n",
        POD.replace("rover", node)
    ));
    let may = |what: &str, node: &str| {
        let said =
            space.kubectl(&format!("auth can-i {what} --as=system:node:{node} --as-group=system:nodes"));
        (said.out.trim().to_owned(), said.code)
    };
    assert_eq!(may("create pods", node), ("yes".to_owned(), Some(0)));
    assert_eq!(may("get secrets/used", node), ("yes".to_owned(), Some(0)));
    for (what, whose) in [
        ("get secrets/unused", node),
        ("get secrets/used", "other"),
        ("list secrets", node),
        ("delete namespaces", node),
    ] {
        let (said, code) = may(what, whose);
        assert!(said.starts_with("no"), "{what}: {said}");
        assert_eq!(code, Some(1), "{what}");
    }
    let list = space.kubectl(&format!("auth can-i --list --as=system:node:{node} --as-group=system:nodes"));
    let (_, why) = list.err.split_once("Warning: the list may be incomplete: ").unwrap();
    assert!(!why.trim().is_empty(), "a node's rights depend on its pods, and somebody should say so");
}

#[test]
fn a_token_that_nobody_knows_opens_nothing() {
    let space = Space::new();
    assert_has(&space.refused("get pods --token=friend"), "error: You must be logged in to the server");
}
