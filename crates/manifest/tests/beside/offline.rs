//! Without an API server: what was staged is applied, and what is no good goes back, by the word of the runtime alone.

use safepoint_manifest::{Auths, Cause, Code, Manifest, pull_images};
use safepoint_testkit::Part;

use super::node::{Node, app, run};

#[test]
fn what_was_staged_is_applied_without_a_cluster_and_rolled_back_without_one() {
    let mut node = Node::alone_with("alone");
    node.install("one", &app("v1"));
    let (door, ask) = (node.door(), node.ask("two", &app("v2")));
    let manifest = Manifest::parse(ask.text.as_str()).unwrap();
    let images = run(pull_images(&node.cri(), &manifest, &Auths::none(), &mut |_| {})).unwrap();
    door.stage(&ask, images).unwrap();
    assert_eq!(door.all_staged().unwrap().len(), 1);

    node.world.alone().control_plane_mut().kill(Part::ApiServer).unwrap();
    let mut runtime = node.runtime();
    let applied = run(door.apply_staged(&node.key(), false, &mut runtime));
    let (images, left) = (node.images(), door.staged(&node.key()).unwrap());
    let crashing = format!("{}, command: [sh, -c, sleep 1; exit 1]", app("v3"));
    let undone = node.upgrade("three", &crashing, &mut runtime);
    let back = node.images();
    node.world.alone().control_plane_mut().start_again(Part::ApiServer).unwrap();

    assert_eq!((applied.code, left), (Code::Upgraded, None), "{applied:?}");
    assert_eq!(images, ["app:v2"]);
    assert_eq!((undone.code, undone.cause), (Code::RolledBack, Some(Cause::Restarted)), "{undone:?}");
    assert_eq!(back, ["app:v2"]);
}
