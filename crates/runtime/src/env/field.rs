//! Fields of the pod and of the machine that manifests refer to (`fieldRef`, `resourceFieldRef`).

use super::{
    Who,
    quantity::{Amount, parse},
};
use crate::spec::{Container, Pod, ResourceFieldRef};

/// The value of a `fieldPath`.
pub(crate) fn field(who: Who<'_>, path: &str) -> Result<String, String> {
    let metadata = &who.pod.metadata;
    if let Some((map, key)) = subscript(path) {
        let map = match map {
            "metadata.labels" => &metadata.labels,
            "metadata.annotations" => &metadata.annotations,
            _ => return Err(format!("there is no field {path:?}")),
        };
        return Ok(map.get(key).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => who.name.to_owned(),
        "metadata.namespace" => who.namespace.to_owned(),
        "metadata.uid" => who.uid.to_owned(),
        // Whole maps: allowed in files only, which is where a manifest that was admitted has them.
        "metadata.labels" => lines(&metadata.labels),
        "metadata.annotations" => lines(&metadata.annotations),
        "spec.nodeName" => who.pod.spec.node_name.clone(),
        "spec.serviceAccountName" => who.pod.spec.service_account_name.clone(),
        "status.hostIP" | "status.hostIPs" | "status.podIP" | "status.podIPs" => who.address.to_string(),
        _ => return Err(format!("there is no field {path:?}")),
    })
}

/// Whether [`field`] knows the path.
pub(crate) fn is_field(path: &str) -> bool {
    match subscript(path) {
        Some((map, _)) => matches!(map, "metadata.labels" | "metadata.annotations"),
        None => matches!(
            path,
            "metadata.name"
                | "metadata.namespace"
                | "metadata.uid"
                | "metadata.labels"
                | "metadata.annotations"
                | "spec.nodeName"
                | "spec.serviceAccountName"
                | "status.hostIP"
                | "status.hostIPs"
                | "status.podIP"
                | "status.podIPs"
        ),
    }
}

/// The value of a `resourceFieldRef`; without a limit it is what the machine has, as with the kubelet.
pub(crate) fn resource(
    pod: &Pod,
    container: Option<&Container>,
    of: &ResourceFieldRef,
) -> Result<String, String> {
    let container = match of.container_name.as_str() {
        "" => container,
        name => pod.spec.containers.iter().chain(&pod.spec.init_containers).find(|other| other.name == name),
    };
    let container = container.ok_or_else(|| format!("there is no container {:?}", of.container_name))?;
    let Some((list, name)) = of.resource.split_once('.') else {
        return Err(format!("there is no resource {:?}", of.resource));
    };
    let limits = &container.resources.limits;
    let value = match list {
        "limits" => limits.get(name),
        "requests" => container.resources.requests.get(name).or_else(|| limits.get(name)),
        _ => return Err(format!("there is no resource {:?}", of.resource)),
    };
    let amount = match (value, list) {
        (Some(value), _) => {
            parse(value).ok_or_else(|| format!("{:?} of {:?} is no quantity", of.resource, container.name))?
        }
        (None, "limits") => machine(name),
        (None, _) => Amount::default(),
    };
    let divisor = match &of.divisor {
        Some(divisor) => parse(divisor).ok_or_else(|| "the divisor is no quantity".to_owned())?,
        None => Amount::default(),
    };
    Ok(amount.in_units_of(divisor).to_string())
}

fn machine(name: &str) -> Amount {
    match name {
        "cpu" => Amount::whole(std::thread::available_parallelism().map_or(1, |n| n.get() as u64)),
        "memory" => {
            let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
            let kib = text
                .lines()
                .find_map(|line| {
                    line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.trim().parse().ok()
                })
                .unwrap_or(0_u64);
            Amount::whole(kib * 1024)
        }
        _ => Amount::default(),
    }
}

fn subscript(path: &str) -> Option<(&str, &str)> {
    let (map, key) = path.strip_suffix("']")?.split_once("['")?;
    Some((map, key))
}

/// One line for each pair, the value quoted, as the kubelet writes such files.
fn lines(map: &std::collections::BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join("\n")
}
