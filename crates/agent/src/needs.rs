//! What a pod takes of the machine, as the scheduler and the kubelet count it: requests, in thousandths, and ports of the host.

use std::collections::BTreeMap;

use safepoint_core::{Needs, PORT, Text};
use safepoint_machinery::Quantity;
use serde_json::Value;

/// What a pod with this spec takes.
pub(crate) fn of_pod(spec: &Value) -> Needs {
    let mut needs = Needs::from([(Text::from("pods"), 1000)]);
    let own = requests(&spec["resources"]["requests"]);
    for (name, amount) in of_containers(spec) {
        // What is asked for the pod as a whole counts in place of what its containers ask for.
        needs.insert(name.clone(), own.get(&name).copied().unwrap_or(amount));
    }
    needs.extend(own);
    for (name, amount) in requests(&spec["overhead"]) {
        let sum = needs.entry(name).or_default();
        *sum = sum.saturating_add(amount);
    }
    for container in list(spec, "containers").chain(list(spec, "initContainers").filter(|it| is_sidecar(it)))
    {
        for port in list(container, "ports").filter_map(|port| {
            let number = port["hostPort"].as_u64().filter(|number| *number != 0)?;
            Some(format!("{PORT}{}/{number}", port["protocol"].as_str().unwrap_or("TCP")))
        }) {
            needs.insert(port.into(), 1);
        }
    }
    needs
}

/// What a machine of this Node has for pods.
pub(crate) fn of_node(node: &Value) -> Needs {
    requests(&node["status"]["allocatable"])
}

/// Containers run together, beside every sidecar. Init containers run before them, one after the other, each beside the
/// sidecars that were started before it.
fn of_containers(spec: &Value) -> Needs {
    let (mut most, mut sidecars) = (Needs::new(), Needs::new());
    for container in list(spec, "initContainers") {
        let its = requests(&container["resources"]["requests"]);
        let mut now = sidecars.clone();
        add(&mut now, &its);
        for (name, amount) in &now {
            let highest = most.entry(name.clone()).or_default();
            *highest = (*highest).max(*amount);
        }
        if is_sidecar(container) {
            sidecars = now;
        }
    }
    for container in list(spec, "containers") {
        add(&mut sidecars, &requests(&container["resources"]["requests"]));
    }
    for (name, amount) in sidecars {
        let highest = most.entry(name).or_default();
        *highest = (*highest).max(amount);
    }
    most
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn add(sum: &mut Needs, more: &Needs) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

fn requests(list: &Value) -> Needs {
    let items = list.as_object().into_iter().flatten();
    let amount = |value: &Value| {
        let milli = Quantity::from_value(value).ok()?.milli_value()?;
        u64::try_from(milli).ok()
    };
    items
        .filter_map(|(name, value)| Some((Text::from(name.as_str()), amount(value)?)))
        .collect::<BTreeMap<_, _>>()
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cpu(spec: &Value) -> u64 {
        of_pod(spec)["cpu"]
    }

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_run_together() {
        assert_eq!(cpu(&json!({"containers": [container("100m"), container("1")]})), 1100);
    }

    #[test]
    fn init_containers_run_before_and_one_after_the_other() {
        let spec =
            json!({"initContainers": [container("2"), container("3")], "containers": [container("1")]});
        assert_eq!(cpu(&spec), 3000);
    }

    #[test]
    fn a_sidecar_runs_beside_what_comes_after_it() {
        let mut sidecar = container("1");
        sidecar["restartPolicy"] = json!("Always");
        let spec = json!({"initContainers": [container("2"), sidecar, container("3")], "containers": [container("1")]});
        assert_eq!(cpu(&spec), 4000);
    }

    #[test]
    fn what_the_pod_asks_for_as_a_whole_counts_and_overhead_is_added() {
        let spec = json!({"containers": [container("1")], "resources": {"requests": {"cpu": "1500m"}}, "overhead": {"cpu": "250m"}});
        assert_eq!(cpu(&spec), 1750);
    }

    #[test]
    fn every_pod_is_one_and_takes_its_ports_of_the_host() {
        let spec = json!({"containers": [{"ports": [{"hostPort": 80}, {"hostPort": 53, "protocol": "UDP"}, {"containerPort": 1}]}]});
        let expected =
            Needs::from([("pods".into(), 1000), ("port/TCP/80".into(), 1), ("port/UDP/53".into(), 1)]);
        assert_eq!(of_pod(&spec), expected);
    }

    #[test]
    fn a_machine_has_what_is_allocatable() {
        let node = json!({"status": {"allocatable": {"cpu": "2", "memory": "1Ki", "pods": "110"}}});
        let expected =
            Needs::from([("cpu".into(), 2000), ("memory".into(), 1_024_000), ("pods".into(), 110_000)]);
        assert_eq!(of_node(&node), expected);
    }
}
