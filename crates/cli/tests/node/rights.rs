//! Who may: on the node, and in the cluster.

use std::process::Command;

use serde_json::json;

use super::world::{World, held};

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_rights_is_refused_and_changes_nothing() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to call as somebody else");
        return;
    }
    let mut world = World::without_agent().await;
    // The group may open the socket; nobody is not in it.
    world.extra = vec!["--group".into(), "root".into(), "--compat".into(), "kubeedge=127.0.0.1:0".into()];
    world.start_agent();
    world.pod("rover", held()).await;
    world.until_ready("rover").await;
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    std::fs::set_permissions(world.socket(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    open_way_to(&world);
    let body = json!({"pod": {"namespace": "default", "name": "rover"}}).to_string();
    let socket = world.socket();
    let curl = |path: &str, extra: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "curl", "-s", "--unix-socket"])
            .arg(&socket);
        let output = command.args(extra).arg(format!("http://node{path}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = curl("/v1/releases", &["-X", "POST", "-H", "content-type: application/json", "-d", &body]);
    assert!(refused.contains("\"reason\":\"Forbidden\"") && refused.contains("\"code\":403"), "{refused}");
    let refused = curl(
        "/v1/freeze",
        &["-X", "POST", "-H", "content-type: application/json", "-d", r#"{"reason":"x"}"#],
    );
    assert!(refused.contains("\"reason\":\"Forbidden\""), "{refused}");
    assert!(
        curl("/v1/why/default/rover", &[]).contains("\"verdict\":\"Held\""),
        "reading is for whoever can open the socket"
    );
    assert_eq!(world.why("rover").await["verdict"], "Held");
}

/// Folders of a test are closed to others.
fn open_way_to(world: &World) {
    let mut folder = Some(world.folder.path());
    while let Some(path) = folder.filter(|path| path.parent().is_some()) {
        if let Ok(metadata) = std::fs::metadata(path) {
            let mut permissions = metadata.permissions();
            let mode = std::os::unix::fs::PermissionsExt::mode(&permissions) | 0o111;
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode);
            let _ = std::fs::set_permissions(path, permissions);
        }
        folder = path.parent();
    }
}
