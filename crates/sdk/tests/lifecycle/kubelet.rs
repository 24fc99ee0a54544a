//! A node: pods get an address on loopback and answer HTTP there, until they are told to end; then not a moment longer.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::middle::condition;

/// Every pod of this process has an address of its own.
static ADDRESSES: AtomicU32 = AtomicU32::new(0x7f4d_0001);

/// What runs of a pod. Dropped, it ends at once, with everything that it was answering.
struct Running {
    address: Ipv4Addr,
    _server: JoinSet<()>,
}

/// Runs the pods of the cluster until it is dropped; all of them listen on this port.
pub(crate) async fn run(client: Client, port: u16) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    let mut running: HashMap<String, Running> = HashMap::new();
    let mut events = pin!(watcher(pods.clone(), Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => look(&pods, &pod, &mut running, port).await,
            Ok(Event::Delete(pod)) => drop(running.remove(&pod.uid().unwrap())),
            Ok(Event::Init | Event::InitDone) | Err(_) => {}
        }
    }
}

async fn look(pods: &Api<Pod>, pod: &Pod, running: &mut HashMap<String, Running>, port: u16) {
    let (name, uid) = (pod.name_any(), pod.uid().unwrap());
    if pod.metadata.deletion_timestamp.is_some() {
        drop(running.remove(&uid));
        let this = Preconditions { uid: Some(uid), resource_version: None };
        let now = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(this),
            ..DeleteParams::default()
        };
        // It may be gone already; where a finalizer keeps it, nothing more is to be done.
        let _ = pods.delete(&name, &now).await;
        return;
    }
    if !running.contains_key(&uid) {
        running.insert(uid.clone(), serve(&name, port).await);
    }
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let broken = pod.annotations().contains_key("test/broken");
    let ready = !broken && gates.into_iter().all(|gate| condition(pod, &gate.condition_type) == Some(true));
    if condition(pod, "Ready") != Some(ready) {
        let address = running[&uid].address.to_string();
        let status = json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]}});
        let _ = pods.patch_status(&name, &PatchParams::default(), &Patch::Strategic(status)).await;
    }
}

async fn serve(name: &str, port: u16) -> Running {
    let address = Ipv4Addr::from(ADDRESSES.fetch_add(1, Ordering::Relaxed));
    let listener = TcpListener::bind(SocketAddr::from((address, port))).await.unwrap();
    let (name, mut server) = (name.to_owned(), JoinSet::new());
    server.spawn(async move {
        let mut answering = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let name = name.clone();
            answering.spawn(async move { drop(answer(client, &name).await) });
            while answering.try_join_next().is_some() {}
        }
    });
    Running { address, _server: server }
}

/// Takes its time, so that something is always under way.
async fn answer(mut client: TcpStream, name: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if client.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let length = name.len();
    let text = format!("HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
    client.write_all(text.as_bytes()).await
}
