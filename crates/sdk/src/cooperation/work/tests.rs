//! One look, with an API server in this process that nobody else writes to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use safepoint_apiserver::{Api as EmbeddedApi, Options, User};
use serde_json::{Value, json};

use super::Tools;
use crate::cooperation::decide::{Standing, addresses_of};
use crate::cooperation::{BoxError, Cooperation, Employer, Member};
use crate::pods::PodName;

#[derive(Default)]
struct Calls(Mutex<Vec<String>>);

impl Cooperation for Calls {
    async fn turn_on(&self, _: &Employer, pod: &Pod) -> Result<(), BoxError> {
        self.0.lock().unwrap().push(format!("on {}", pod.name_any()));
        Ok(())
    }

    async fn turn_off(&self, _: &Employer, member: &Member) -> Result<(), BoxError> {
        self.0.lock().unwrap().push(format!("off {}", member.name));
        Ok(())
    }
}

fn front() -> Employer {
    Employer::new("nginx", "Upstream", "default", "front").selecting([("app", "web")])
}

async fn status(pods: &Api<Pod>, gate: &str) -> Arc<Pod> {
    let status = json!({"status": {"conditions": [
        {"type": "Ready", "status": "True"}, {"type": "pod.kusionstack.io/service-ready", "status": gate}]}});
    let patch: Patch<Value> = Patch::Merge(status);
    Arc::new(pods.patch_status("web-0", &PatchParams::default(), &patch).await.unwrap())
}

/// The watch told of the ready pod after the operation had begun and the finalizer was gone: it was switched on in the middle.
#[tokio::test]
async fn an_old_pod_is_not_switched_on_while_the_one_that_it_is_now_is_operated_on() {
    let data = tempfile::tempdir().unwrap();
    let api = EmbeddedApi::open(Options::new(data.path())).await.unwrap();
    let client = Client::new(api.router(User::admin()), "default");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let (key, value) = front().declaration();
    let pod = json!({
        "metadata": {"name": "web-0", "labels": {"app": "web", "kusionstack.io/control": "true"},
            "annotations": {key: value}},
        "spec": {"containers": [{"name": "main", "image": "web:v1"}]},
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let old = status(&pods, "True").await;
    let new = status(&pods, "False").await;
    let tools = Tools {
        client,
        cooperation: Calls::default(),
        declares: true,
        patience: Duration::from_secs(60),
        controller: None,
        namespace: None,
    };
    let name = PodName::of(&old);
    let mut standing = Standing::Off;
    tools.member(&front(), &name, Some(Arc::clone(&old)), &mut standing).await.unwrap();
    assert!(tools.cooperation.0.lock().unwrap().is_empty(), "it was switched on");
    assert!(matches!(standing, Standing::Off) && new.finalizers().is_empty());

    // Back in service, it is, and from the newest that there is.
    let back = status(&pods, "True").await;
    tools.member(&front(), &name, Some(old), &mut standing).await.unwrap();
    assert_eq!(*tools.cooperation.0.lock().unwrap(), ["on web-0"]);
    assert!(matches!(standing, Standing::On(_, addresses) if addresses == addresses_of(&back)));
    assert_eq!(pods.get("web-0").await.unwrap().finalizers(), [front().finalizer()]);
}
