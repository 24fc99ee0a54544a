//! A stop and a start between two commands.

use crate::support::{Server, Space, assert_table};

#[test]
fn what_was_written_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let space = Space::on(&server);
    space.run("create configmap settings --from-literal=mode=fast");
    space.run("create serviceaccount robot");
    let token = space.run("create token robot");
    let (namespace, revision) =
        (space.namespace().to_owned(), space.run("get cm settings -o jsonpath={.metadata.resourceVersion}"));
    drop(space);
    let (well, log) = server.stop();
    assert!(well, "{log}");

    let server = Server::start(folder.path());
    let space = Space::named(&server, &namespace);
    assert_table(&space.run("get cm settings"), &["NAME DATA AGE", "settings 1 *"]);
    assert_eq!(space.run("get cm settings -o jsonpath={.metadata.resourceVersion}"), revision);
    // Whoever had a token still has it.
    space.run(&format!("auth whoami --token={token}"));
}
