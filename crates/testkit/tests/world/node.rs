//! What a node does while everything runs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use safepoint_testkit::{ContainerState, UNPULLABLE_IMAGE};

use crate::support::{deploy, only, running, world};

#[test]
fn a_deployment_becomes_ready_and_the_runtime_shows_what_runs() -> Result<()> {
    let world = world()?;
    let namespace = deploy(&world)?;
    let pods = world.json(&["get", "pods", "-n", &namespace])?;
    let pod = &pods["items"][0];
    let seen = only(&world, &namespace)?;
    ensure!(pod["metadata"]["name"] == seen.pod_name && pod["metadata"]["uid"] == seen.pod_uid, "{seen:?}");
    let said = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap_or_default();
    ensure!(said.ends_with(&seen.id), "{said} is not {seen:?}");
    ensure!((seen.name.as_str(), seen.image.as_str(), seen.attempt) == ("main", "app:v1", 0), "{seen:?}");
    ensure!(seen.started_at.is_some());
    ensure!(world.sandboxes().iter().any(|sandbox| sandbox.pod_uid == seen.pod_uid));

    ensure!(world.exec_read(&seen.id, "/image")? == b"v1\n");
    // The token is there because controllers and admission do their part.
    let token = world.exec_read(&seen.id, "/var/run/secrets/kubernetes.io/serviceaccount/token")?;
    ensure!(token.starts_with(b"ey"));
    let environment = world.environment(&seen.id)?;
    ensure!(environment.get("MODE").is_some_and(|mode| mode == "fast"), "{environment:?}");

    world.kill_container(&seen.id)?;
    let after = world.wait("the container is started again", || {
        running(&world, &namespace).ok()?.into_iter().find(|after| after.id != seen.id)
    })?;
    ensure!((after.attempt, &after.pod_uid) == (1, &seen.pod_uid), "{after:?}");
    let before = world.containers()?.into_iter().find(|container| container.id == seen.id);
    ensure!(before.is_none_or(|before| before.state == ContainerState::Exited { code: 137 }));
    Ok(())
}

#[test]
fn logs_exec_and_port_forward_reach_a_container() -> Result<()> {
    let world = world()?;
    let namespace = deploy(&world)?;
    let on = ["-n", &namespace, "deployment/app"];
    let logs = world.wait("the container says something", || {
        world.run(&[&["logs"], &on[..]].concat()).ok().filter(|logs| !logs.is_empty())
    })?;
    ensure!(logs == "this is app:v1\n", "{logs}");
    let said = world.run(&[&["exec"], &on[..], &["--", "sh", "-c", "echo $MODE"]].concat())?;
    ensure!(said == "fast\n", "{said}");

    let serve = "echo served >/tmp/index.html; httpd -p 127.0.0.1:8080 -h /tmp";
    world.run(&[&["exec"], &on[..], &["--", "sh", "-c", serve]].concat())?;
    let mut forward = world.kubectl();
    forward.arg("port-forward").args(on).arg("8080").stdout(Stdio::null()).stderr(Stdio::null());
    let mut forward = forward.spawn()?;
    // Through three networks: this machine's, the world's, the pod's.
    let port = world.forward(8080)?;
    let answer = world.wait("the port is forwarded", || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer).filter(|answer| !answer.is_empty())
    });
    forward.kill()?;
    forward.wait()?;
    ensure!(answer.as_ref().is_ok_and(|answer| answer.ends_with("served\n")), "{answer:?}");
    Ok(())
}

#[test]
fn a_change_of_a_mounted_configmap_arrives_in_the_running_container() -> Result<()> {
    let world = world()?;
    let namespace = world.namespace()?;
    let settings = |mode: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: settings, namespace: {namespace} }}\ndata: {{ mode: {mode} }}\n"
        )
    };
    world.apply(&settings("slow"))?;
    world.apply(&format!(
        r#"
apiVersion: v1
kind: Pod
metadata: {{ name: app, namespace: {namespace} }}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: app:v2
    imagePullPolicy: Never
    volumeMounts: [{{ name: settings, mountPath: /etc/settings }}]
  volumes: [{{ name: settings, configMap: {{ name: settings }} }}]
"#
    ))?;
    let before = only(&world, &namespace)?;
    ensure!(world.exec_read(&before.id, "/etc/settings/mode")? == b"slow");
    world.apply(&settings("fast"))?;
    // Volumes are looked at when a pod is: once a minute, or when it changes.
    world.run(&["annotate", "pod", "app", "-n", &namespace, "look=again"])?;
    world.wait("the change arrives", || {
        world.exec_read(&before.id, "/etc/settings/mode").ok().filter(|mode| mode == b"fast")
    })?;
    ensure!(only(&world, &namespace)? == before, "it was started again");
    Ok(())
}

#[test]
fn a_static_pod_runs_as_long_as_its_file_is_there() -> Result<()> {
    let world = world()?;
    let file = world.static_pods().join("still.yaml");
    let pod = "
apiVersion: v1
kind: Pod
metadata: { name: still }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: main, image: app:v3, imagePullPolicy: Never }]
";
    // Whole or not at all: the kubelet looks at the folder at any time.
    fs::write(world.folder().join("still.yaml"), pod)?;
    fs::rename(world.folder().join("still.yaml"), &file)?;
    let mine = |container: &safepoint_testkit::ContainerSeen| container.pod_name == "still-node";
    world.wait("the static pod runs", || world.containers().ok()?.into_iter().find(|seen| mine(seen)))?;
    world.run(&["wait", "--for=create", "pod/still-node", "--timeout=60s"])?;
    fs::remove_file(file)?;
    world.wait("the static pod is gone", || {
        (!world.containers().ok()?.iter().any(|seen| mine(seen) && seen.pid().is_some())).then_some(())
    })
}

#[test]
fn a_pod_whose_image_nobody_has_waits_for_it() -> Result<()> {
    let world = world()?;
    let namespace = world.namespace()?;
    let image = format!("--image={UNPULLABLE_IMAGE}");
    world.run(&["run", "waiting", &image, "-n", &namespace])?;
    let reason = world.wait("the image cannot be pulled", || {
        let pod = world.json(&["get", "pod", "waiting", "-n", &namespace]).ok()?;
        let reason = pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].as_str()?.to_owned();
        (reason != "ContainerCreating").then_some(reason)
    })?;
    ensure!(["ErrImagePull", "ImagePullBackOff"].contains(&reason.as_str()), "{reason}");
    ensure!(world.image("v9")? == "app:v9");
    world.run(&["run", "other", "--image=app:v9", "--image-pull-policy=Never", "-n", &namespace])?;
    let other = only(&world, &namespace)?;
    ensure!(world.exec_read(&other.id, "/image")? == b"v9\n");
    Ok(())
}

#[test]
fn the_node_and_others_are_who_their_certificates_say() -> Result<()> {
    let world = world()?;
    let whoami = |certificate: &std::path::Path, key: &std::path::Path| -> Result<String> {
        let mut kubectl = world.kubectl();
        // Only what is given here may identify the client.
        kubectl.env("KUBECONFIG", "/dev/null").args(["auth", "whoami"]);
        kubectl.arg("--output=jsonpath={.status.userInfo.username} {.status.userInfo.groups[0]}");
        kubectl.arg(format!("--server={}", world.control_plane().url()));
        kubectl.arg(format!("--certificate-authority={}", world.node_certificate().ca.display()));
        kubectl.arg(format!("--client-certificate={}", certificate.display()));
        let output = kubectl.arg(format!("--client-key={}", key.display())).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let current = world.node_certificate().current;
    let first = fs::read(&current)?;
    world.rotate_node_certificate()?;
    ensure!(fs::read(&current)? != first);
    ensure!(whoami(&current, &current)? == "system:node:node system:nodes");
    let other = world.issue("system:node:other", Some("system:nodes"))?;
    ensure!(whoami(&other.certificate, &other.key)? == "system:node:other system:nodes");
    let nobody = world.issue("nobody", None)?;
    ensure!(whoami(&nobody.both, &nobody.both)? == "nobody system:authenticated");
    Ok(())
}

#[test]
fn a_guest_is_in_the_network_and_ends_with_its_holder() -> Result<()> {
    let world = world()?;
    let mut guest = world.guest("guest", "sh", |command| {
        command.args(["-c", "ip -o addr; exec sleep 1000"]);
    })?;
    world.wait("the guest has looked around", || guest.log().contains("10.244.0.1/24").then_some(()))?;
    guest.check()?;
    let pid = guest.pid();
    ensure!(fs::read_to_string(format!("/proc/{pid}/comm"))?.trim() == "sleep");
    let address = world.in_namespace(|| TcpStream::connect("127.0.0.1:6443")?.peer_addr());
    ensure!(address.context("the API server is in there")?.port() == 6443);
    // No way out: there is not even a route for the attempt.
    let outside = world.in_namespace(|| TcpStream::connect("192.0.2.1:80")).unwrap_err();
    ensure!(outside.kind() == std::io::ErrorKind::NetworkUnreachable, "{outside}");
    drop(guest);
    ensure!(!crate::killed::runs(pid));
    Ok(())
}
