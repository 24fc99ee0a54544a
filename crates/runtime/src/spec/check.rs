//! What of a manifest this machine cannot honour.
//!
//! Everything is named at once, so that a person mends it once. What can be left out without the container
//! noticing, or what the process door says beforehand that it does not do (`docs/process-door.md`), is no problem.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{TcpListener, UdpSocket},
    path::{Component, Path},
    sync::Mutex,
};

use super::{Container, Handler, Pod, Probe, Volume};
use crate::{
    env::{is_field, is_name},
    names::{inside, is_label, is_plain},
    runtime::lock,
    shim,
};

/// What a pod is checked against.
pub(crate) struct Surroundings<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    /// Ports of the host, by protocol and number, and whose they are.
    pub(crate) ports: &'a Mutex<BTreeMap<(String, u16), String>>,
    /// It runs already: whoever has its ports is itself.
    pub(crate) admitted: bool,
}

/// Every problem, in words. Claims the ports if there is none.
pub(crate) fn check(pod: &Pod, around: &Surroundings<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    if !is_plain(around.name) || !is_plain(around.namespace) {
        problems.push("the pod has no usable name and namespace".into());
    }
    if pod.spec.containers.is_empty() {
        problems.push("the pod has no containers".into());
    }
    if !pod.spec.resource_claims.is_empty() {
        problems.push("spec.resourceClaims: devices are not handed out".into());
    }
    let mut names = BTreeSet::new();
    for (index, volume) in pod.spec.volumes.iter().enumerate() {
        if !is_label(&volume.name) || !names.insert(&volume.name) {
            problems.push(format!("spec.volumes[{index}]: {:?} is no name of its own", volume.name));
        }
        check_volume(volume, &mut problems);
    }
    let mut names = BTreeSet::new();
    for (list, containers) in
        [("initContainers", &pod.spec.init_containers), ("containers", &pod.spec.containers)]
    {
        for (index, container) in containers.iter().enumerate() {
            if !is_label(&container.name) || !names.insert(&container.name) {
                problems.push(format!("spec.{list}[{index}]: {:?} is no name of its own", container.name));
            }
            check_container(pod, container, list == "initContainers", &mut problems);
        }
    }
    if problems.is_empty() {
        claim(pod, around, &mut problems);
    }
    problems
}

fn check_container(pod: &Pod, container: &Container, is_init: bool, problems: &mut Vec<String>) {
    let name = &container.name;
    let mut put = |problem: &str| problems.push(format!("container {name:?}: {problem}"));
    if container.command.is_empty() {
        put("it has no command, and without images there is no other way to know what to run");
    }
    if !container.volume_devices.is_empty() {
        put("volumeDevices are not handed out");
    }
    if container.stdin || container.tty {
        put("stdin and tty are not kept open");
    }
    let own = &container.security_context;
    let user = own.run_as_user.or(pod.spec.security_context.run_as_user);
    let group = own.run_as_group.or(pod.spec.security_context.run_as_group);
    let (me, mine) = (rustix::process::geteuid(), rustix::process::getegid());
    if !me.is_root() && (user.is_some_and(|u| u != me.as_raw()) || group.is_some_and(|g| g != mine.as_raw()))
    {
        put("runAsUser and runAsGroup need an agent that runs as root");
    }
    let must_not_be_root = own.run_as_non_root.or(pod.spec.security_context.run_as_non_root).unwrap_or(false);
    if must_not_be_root && user.map_or(me.is_root(), |user| user == 0) {
        put("runAsNonRoot is set, and it would run as root");
    }
    if container.restart_policy.is_some_and(|policy| policy != super::RestartPolicy::Always || !is_init) {
        put("restartPolicy of a container can only be Always, and only for an init container");
    }
    for variable in &container.env {
        if !is_name(&variable.name) || variable.value.contains('\0') {
            put(&format!("{:?} cannot be a variable", variable.name));
        }
        let Some(source) = &variable.value_from else { continue };
        if source.file_key_ref.is_some() {
            put(&format!("variable {:?}: fileKeyRef is not known", variable.name));
        }
        if let Some(field) = &source.field_ref
            && !is_field(&field.field_path)
        {
            put(&format!("variable {:?}: there is no field {:?}", variable.name, field.field_path));
        }
    }
    if container.command.iter().chain(&container.args).any(|text| text.contains('\0')) {
        put("a command cannot hold a zero byte");
    }
    check_mounts(pod, container, &mut put);
    if let Some(signal) = &container.lifecycle.stop_signal
        && shim::named(signal).is_none()
    {
        put(&format!("lifecycle.stopSignal: {signal:?} is not known"));
    }
    for (hook, handler) in
        [("postStart", &container.lifecycle.post_start), ("preStop", &container.lifecycle.pre_stop)]
    {
        if let Some(handler) = handler {
            check_hook(container, hook, handler, &mut put);
        }
    }
    for (kind, probe) in [
        ("startupProbe", &container.startup_probe),
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
    ] {
        if let Some(probe) = probe {
            check_probe(container, kind, probe, &mut put);
        }
    }
}

fn check_mounts(pod: &Pod, container: &Container, put: &mut impl FnMut(&str)) {
    let mut paths: Vec<&Path> = Vec::new();
    for mount in &container.volume_mounts {
        let path = Path::new(&mount.mount_path);
        let is_clean =
            path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !is_clean || path.components().count() < 2 || mount.mount_path.contains('\0') {
            put(&format!("mountPath {:?} is no path below the root", mount.mount_path));
        } else if paths.iter().any(|other| other.starts_with(path) || path.starts_with(other)) {
            put(&format!("mountPath {:?} is within another one; links cannot do that", mount.mount_path));
        }
        paths.push(path);
        if !pod.spec.volumes.iter().any(|volume| volume.name == mount.name) {
            put(&format!("there is no volume {:?}", mount.name));
        }
        if !mount.sub_path.is_empty() && inside(&mount.sub_path).is_none() {
            put(&format!("subPath {:?} leads out of the volume", mount.sub_path));
        }
    }
}

fn check_hook(container: &Container, hook: &str, handler: &Handler, put: &mut impl FnMut(&str)) {
    match handler {
        Handler { exec: Some(exec), .. } if !exec.command.is_empty() => {}
        Handler { sleep: Some(_), .. } => {}
        Handler { http_get: Some(get), .. } if get.scheme.eq_ignore_ascii_case("https") => {
            put(&format!("lifecycle.{hook}.httpGet: https is not spoken by hooks"));
        }
        Handler { http_get: Some(get), .. } if container.port(&get.port).is_some() => {}
        _ => put(&format!("lifecycle.{hook} is not of a kind that can be run")),
    }
}

fn check_probe(container: &Container, kind: &str, probe: &Probe, put: &mut impl FnMut(&str)) {
    match &probe.handler {
        Handler { exec: Some(exec), .. } if !exec.command.is_empty() => {}
        Handler { http_get: Some(get), .. } if container.port(&get.port).is_some() => {}
        Handler { tcp_socket: Some(tcp), .. } if container.port(&tcp.port).is_some() => {}
        Handler { grpc: Some(_), .. } => put(&format!("{kind}.grpc is not spoken")),
        _ => put(&format!("{kind} is not of a kind that can be asked, or its port is unknown")),
    }
}

fn check_volume(volume: &Volume, problems: &mut Vec<String>) {
    let mut put = |problem: String| problems.push(format!("volume {:?}: {problem}", volume.name));
    for kind in volume.other.keys() {
        put(format!("volumes of kind {kind} are not known"));
    }
    if let Some(host) = &volume.host_path {
        if !host.path.starts_with('/')
            || Path::new(&host.path).components().any(|p| p == Component::ParentDir)
        {
            put(format!("hostPath {:?} is no absolute path", host.path));
        }
        let kinds = [
            "",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ];
        if !host.kind.as_deref().is_none_or(|kind| kinds.contains(&kind)) {
            put("hostPath is of a type that is not known".into());
        }
    }
    let sources = volume.projected.iter().flat_map(|projected| &projected.sources);
    for kind in sources.clone().flat_map(|source| source.other.keys()) {
        put(format!("projected sources of kind {kind} are not known"));
    }
    let items = volume.config_map.iter().flat_map(|volume| &volume.items);
    let items = items.chain(volume.secret.iter().flat_map(|volume| &volume.items));
    let configs = sources.clone().flat_map(|source| source.config_map.iter().chain(&source.secret));
    let items = items.chain(configs.flat_map(|volume| &volume.items)).map(|item| &item.path);
    let downward = sources.flat_map(|source| &source.downward_api).chain(&volume.downward_api);
    let fields = downward.flat_map(|volume| &volume.items);
    for path in items.chain(fields.clone().map(|item| &item.path)) {
        if inside(path).is_none() || path.starts_with("..") {
            put(format!("the path {path:?} leads out of the volume"));
        }
    }
    for field in fields.filter_map(|item| item.field_ref.as_ref()) {
        if !is_field(&field.field_path) {
            put(format!("there is no field {:?}", field.field_path));
        }
    }
}

/// Takes the ports of the host that the pod asks for: all of them, or none.
fn claim(pod: &Pod, around: &Surroundings<'_>, problems: &mut Vec<String>) {
    let wanted: BTreeSet<(String, u16)> = pod
        .spec
        .containers
        .iter()
        .chain(&pod.spec.init_containers)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port != 0)
        .map(|port| {
            (if port.protocol.is_empty() { "TCP".into() } else { port.protocol.clone() }, port.host_port)
        })
        .collect();
    let mut ports = lock(around.ports);
    for (protocol, port) in &wanted {
        let key = (protocol.clone(), *port);
        match ports.get(&key) {
            Some(owner) if owner != around.uid => {
                problems.push(format!("hostPort {port}/{protocol} is used by the pod with uid {owner}"));
            }
            Some(_) => {}
            None if around.admitted => {}
            None if is_taken(protocol, *port) => {
                problems
                    .push(format!("hostPort {port}/{protocol} is used by another program of this machine"));
            }
            None => {}
        }
    }
    if problems.is_empty() {
        ports.extend(wanted.into_iter().map(|key| (key, around.uid.to_owned())));
    }
}

/// Tries the port, and lets it go again. What is refused for other reasons is the container's to find out.
fn is_taken(protocol: &str, port: u16) -> bool {
    let tried = match protocol {
        "TCP" => TcpListener::bind(("0.0.0.0", port)).map(drop),
        "UDP" => UdpSocket::bind(("0.0.0.0", port)).map(drop),
        _ => return false,
    };
    tried.is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}
