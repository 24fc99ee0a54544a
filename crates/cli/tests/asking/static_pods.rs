//! Roll-outs of static pods through the cluster: what is shown, a pause, and the way back to an earlier template.

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, CustomResourceExt};
use rustix::process::Signal;
use safepoint_api::StaticPod;
use safepoint_api::static_pod::revision;
use serde_json::{Value, json};

use crate::support::{Running, kubeconfig, safepoint, said};

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "proxy"}}, "spec": {"containers": [{"name": "proxy", "image": image}]}})
}

/// A StaticPod that wants the second template, and the revision of the first, as the hub keeps it.
async fn prepare(kubeconfig: &Path) {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": "site-proxy"},
        "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy", "template": template("proxy:2")}});
    // Somebody else may have defined them already.
    let _ = Api::all(client.clone()).create(&PostParams::default(), &StaticPod::crd()).await;
    let objects = Api::<StaticPod>::namespaced(client.clone(), "default");
    let object = serde_json::from_value(object).unwrap();
    let object = loop {
        match objects.create(&PostParams::default(), &object).await {
            Ok(object) => break object,
            // What has just been defined is served a moment later.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{error}"),
        }
    };
    let first = template("proxy:1");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "first",
            "labels": {"safepoint.dev/static-pod": "site-proxy", "safepoint.dev/static-pod-revision": revision(&first)},
            "annotations": {"safepoint.dev/static-pod-wanted-at": "2026-11-15T08:00:00Z"},
            "ownerReferences": [{"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "name": "site-proxy",
                "uid": object.metadata.uid}]},
        "data": {"template.json": first.to_string()}});
    let maps = Api::<ConfigMap>::namespaced(client, "default");
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
}

/// Ends with the test, also where it fails.
struct Up(Option<Running>);

impl Drop for Up {
    fn drop(&mut self) {
        if let Some(up) = self.0.take() {
            up.signal(Signal::TERM);
            up.ends();
        }
    }
}

#[test]
fn a_roll_out_is_shown_paused_and_taken_back_through_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let args = ["up", "--listen", "127.0.0.1:0", "--node-name", "rover-7", "--data"];
    let mut up = Running::new(safepoint(&args).arg(&data));
    while !up.line().contains("ready in") {}
    let _up = Up(Some(up));
    let kubeconfig = kubeconfig(&data);
    tokio::runtime::Runtime::new().unwrap().block_on(prepare(&kubeconfig));
    let asks =
        |args: &[&str]| said(safepoint(&[&["static-pod"], args].concat()).env("KUBECONFIG", &kubeconfig));

    let list = asks(&["list", "--cluster"]).done();
    assert!(list.contains("site-proxy") && list.contains("AdvancedRollingUpdate"), "{list}");
    assert_eq!(asks(&["list", "--cluster", "-o", "name"]).out, "staticpod/default/site-proxy\n");
    let page = asks(&["status", "site-proxy", "--cluster"]).done();
    assert!(page.contains("default/proxy"), "{page}");
    asks(&["pause", "site-proxy"]).done();
    assert_eq!(asks(&["status", "site-proxy", "--cluster", "-o", "json"]).json()["spec"]["paused"], true);
    asks(&["resume", "site-proxy"]).done();

    let first = revision(&template("proxy:1"));
    let history = asks(&["history", "site-proxy", "--cluster", "-o", "name"]).done();
    assert!(history.lines().any(|line| line == first), "{history}");
    asks(&["rollback", "site-proxy", "--to", &first]).done();
    let object = asks(&["status", "site-proxy", "--cluster", "-o", "json"]).json();
    assert_eq!(object["spec"]["template"], template("proxy:1"));
    assert_eq!(object["spec"]["paused"], false);

    let missing = asks(&["rollback", "site-proxy", "--to", "nothing"]).failed(4);
    assert!(missing.contains("keeps no such revision"), "{missing}");
    asks(&["status", "none", "--cluster"]).failed(4);
    // Nothing was installed on the node itself.
    let mut here = safepoint(&["static-pod", "list", "-o", "json"]);
    assert_eq!(said(here.env("SAFEPOINT_SOCKET", data.join("agent.sock"))).json()["items"], json!([]));
}
