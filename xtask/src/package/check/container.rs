//! The image in a cluster with real containers: nothing is in it but the program.

use std::net::UdpSocket;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use safepoint_testkit::{World, WorldOptions};
use serde_json::{Value, json};

use super::super::files::kustomize;
use super::super::{Shop, VERSION, image, read};

/// How the API server is called in a cluster. Only the name server here knows it.
const SERVER: &str = "kubernetes.default.svc";
const NAMESPACE: &str = "safepoint-system";

/// The program says its version and helps, and leads as the hub that the manifests describe.
///
/// A static program of this C library looks names up by itself, without the modules that other programs load for it. So the
/// hub is given a name server and the name of the API server, and nothing else to find it by.
pub(super) fn runs(shop: &Shop) -> Result<()> {
    let archive = image::build(shop)?;
    let mut world = World::start(&WorldOptions::default())?;
    import(&world, &archive)?;
    let direct = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&direct)?;
    world.wait_node_ready()?;
    for file in ["crds/nodegates.safepoint.dev.yaml", "hub/namespace.yaml"] {
        world.apply(&read(&shop.deploy(file))?)?;
    }
    world.run(&["wait", "--for=create", "--timeout=60s", "-n", NAMESPACE, "serviceaccount/default"])?;

    let version = ran(&world, "version", &["--version"])?;
    ensure!(version.trim() == format!("safepoint {VERSION}"), "it says that it is {version}");
    let help = ran(&world, "help", &["hub", "--help"])?;
    ensure!(help.contains("--webhook-service"), "hub --help says {help}");

    serve_names(&world)?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&kustomize(shop, &shop.deploy(""))?)?;
    for mut object in objects {
        adapt(&mut object, &world)?;
        world.apply(&object.to_string())?;
    }
    let ready = world.wait("the hub of the image is ready", || {
        let hub = world.json(&["get", "deployment", "safepoint-hub", "-n", NAMESPACE]).ok()?;
        (hub["status"]["readyReplicas"] == 1).then_some(())
    });
    ready.with_context(|| {
        let logs = world.run(&["logs", "-n", NAMESPACE, "deployment/safepoint-hub", "--tail=20"]);
        logs.unwrap_or_else(|error| error.to_string())
    })?;
    world.wait("the hub has made a gate for the node", || {
        world.run(&["get", "nodegate", world.node()]).ok()
    })?;
    Ok(())
}

/// Gives an archive to the node's runtime.
fn import(world: &World, archive: &Path) -> Result<()> {
    let mut import = world.resident("import", "ctr", |ctr| {
        ctr.args(["--namespace=k8s.io", "images", "import"]).arg(archive);
    })?;
    world.wait("the image is imported", || import.check().err())?;
    ensure!(import.log().contains(&image::name()), "containerd does not take the image: {}", import.log());
    Ok(())
}

/// Runs the image's own program in a pod to its end, and returns what it prints.
fn ran(world: &World, name: &str, arguments: &[&str]) -> Result<String> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": { "restartPolicy": "Never", "containers": [{
            "name": "main", "image": image::name(), "imagePullPolicy": "Never", "args": arguments,
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
                "capabilities": { "drop": ["ALL"] }, "seccompProfile": { "type": "RuntimeDefault" },
            },
        }] },
    });
    world.apply(&pod.to_string())?;
    let phase = world.wait(&format!("{arguments:?} has ended"), || {
        let pod = world.json(&["get", "pod", name, "-n", NAMESPACE]).ok()?;
        let phase = pod["status"]["phase"].as_str()?.to_owned();
        matches!(&*phase, "Succeeded" | "Failed").then_some(phase)
    })?;
    let said = world.run(&["logs", name, "-n", NAMESPACE])?;
    if phase == "Failed" {
        bail!("{arguments:?} failed in the image: {said}");
    }
    Ok(said)
}

/// What a world of one node without a network of services needs: the hub in the node's network, once, and the way to the server.
fn adapt(object: &mut Value, world: &World) -> Result<()> {
    if object["kind"] == "Namespace" {
        object["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged".into();
    }
    if object["kind"] != "Deployment" {
        return Ok(());
    }
    let url = world.control_plane().url();
    let port = url.rsplit(':').next().context("the server's address has a port")?;
    object["spec"]["replicas"] = 1.into();
    let pod = &mut object["spec"]["template"]["spec"];
    pod["hostNetwork"] = true.into();
    pod["dnsPolicy"] = "None".into();
    pod["dnsConfig"] = json!({ "nameservers": ["127.0.0.1"] });
    let variables = pod["containers"][0]["env"].as_array_mut().context("the hub has variables")?;
    variables.push(json!({ "name": "KUBERNETES_SERVICE_HOST", "value": SERVER }));
    variables.push(json!({ "name": "KUBERNETES_SERVICE_PORT", "value": port }));
    Ok(())
}

/// A name server on the world's loopback that knows one name: it ends with this process.
#[expect(clippy::disallowed_methods, reason = "a thread of a check, which serves until the process ends")]
fn serve_names(world: &World) -> Result<()> {
    let socket = world.in_namespace(|| UdpSocket::bind(("127.0.0.1", 53))).context("cannot serve names")?;
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            // Whoever has gone meanwhile needs no answer.
            let _ = socket.send_to(&answer(&question[..length]), from);
        }
    });
    Ok(())
}

/// The answer to one question: the loopback for [`SERVER`] where an address of four bytes is asked for, nothing else for it, and
/// that there is no such name for all others.
fn answer(question: &[u8]) -> Vec<u8> {
    const HEADER: usize = 12;
    let labels = question.get(HEADER..).unwrap_or_default();
    let end = labels.iter().position(|byte| *byte == 0).unwrap_or_default();
    let asked = labels.get(end + 1..end + 5).unwrap_or_default();
    let name: Vec<u8> =
        SERVER.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    let known = labels.get(..end) == Some(&name);
    let address = known && asked == [0, 1, 0, 1];
    let mut answer = question.get(..2).unwrap_or_default().to_vec();
    // An answer with authority; one question, at most one record, no others.
    answer.extend([0x84, if known { 0 } else { 3 }, 0, 1, 0, u8::from(address), 0, 0, 0, 0]);
    answer.extend(labels.get(..end + 5).unwrap_or_default());
    if address {
        // The name of the question, class and kind as asked, a minute, four bytes.
        answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    answer
}
