//! What must hold for the specification of a service.

use std::net::IpAddr;

use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::{Value, json};

use super::super::check::{
    self, IMMUTABLE, each, has, int, ip, labels, needed_label, one_of, one_of_if_any, part, port_number, word,
};
use super::super::items;
use super::address::is_headless;
use super::{address, is_reached_from_outside};
use crate::fault::Problems;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const BALANCED_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn check(object: &Value, problems: &mut Problems) {
    let (spec, at) = (part(object, "spec"), FieldPath::new("spec"));
    let kind = word(spec, "type");
    if items(spec, "ports").next().is_none() && !is_headless(spec) && kind != "ExternalName" {
        problems.push(FieldError::required(at.child("ports"), ""));
    }
    check_type(spec, &at, problems);
    check_ports(spec, &at.child("ports"), problems);
    labels(problems, &at.child("selector"), spec, "selector");
    check_affinity(spec, &at, problems);
    address::check(spec, problems);
    for (index, address) in items(spec, "externalIPs").enumerate() {
        check_outside_address(
            address.as_str().unwrap_or_default(),
            &at.child("externalIPs").index(index),
            problems,
        );
    }
    one_of(problems, &at.child("type"), kind, &TYPES);
    check_numbers(spec, &at.child("ports"), problems);
    check_balancer(object, &at, problems);
    check_traffic(spec, &at, problems);
}

pub(super) fn check_change(new: &Value, old: &Value, problems: &mut Problems) {
    let at = FieldPath::new("spec");
    let balances = |spec: &Value| word(spec, "type") == "LoadBalancer";
    if balances(new) && balances(old) && part(new, "loadBalancerClass") != part(old, "loadBalancerClass") {
        let class = part(new, "loadBalancerClass").clone();
        problems.push(FieldError::invalid(at.child("loadBalancerClass"), class, "may not change once set"));
    }
    let is_watched = |spec: &Value| balances(spec) && word(spec, "externalTrafficPolicy") == "Local";
    if is_watched(new)
        && is_watched(old)
        && int(new, "healthCheckNodePort") != int(old, "healthCheckNodePort")
    {
        problems.push(FieldError::forbidden(at.child("healthCheckNodePort"), IMMUTABLE));
    }
}

/// What a balancer says of itself in the status.
pub(super) fn check_ingress(object: &Value, at: &FieldPath, problems: &mut Problems) {
    let ingress = part(part(object, "status"), "loadBalancer");
    if word(part(object, "spec"), "type") != "LoadBalancer" && items(ingress, "ingress").next().is_some() {
        problems.push(FieldError::forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'"));
        return;
    }
    for (index, ingress) in items(ingress, "ingress").enumerate() {
        let at = at.index(index);
        let (address, host, mode) = (word(ingress, "ip"), word(ingress, "hostname"), word(ingress, "ipMode"));
        if address.is_empty() {
            if has(ingress, "ipMode") {
                problems.push(FieldError::forbidden(
                    at.child("ipMode"),
                    "may not be specified when `ip` is not set",
                ));
            }
        } else {
            ip(problems, &at.child("ip"), address);
            match mode {
                "" => problems
                    .push(FieldError::required(at.child("ipMode"), "must be specified when `ip` is set")),
                _ => one_of_if_any(problems, &at.child("ipMode"), mode, &["Proxy", "VIP"]),
            }
        }
        if !host.is_empty() {
            each(problems, &at.child("hostname"), host, names::dns1123_subdomain(host));
            if host.parse::<IpAddr>().is_ok() {
                let why = "must be a DNS name, not an IP address";
                problems.push(FieldError::invalid(at.child("hostname"), host, why));
            }
        }
    }
}

fn check_type(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    match word(spec, "type") {
        kind @ ("LoadBalancer" | "NodePort") if is_headless(spec) => {
            let why = format!("may not be set to 'None' for {kind} services");
            problems.push(FieldError::invalid(at.child("clusterIPs").index(0), "None", why));
        }
        "ExternalName" => {
            for field in
                ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].into_iter().filter(|field| has(spec, field))
            {
                problems
                    .push(FieldError::forbidden(at.child(field), "may not be set for ExternalName services"));
            }
            // A dot at the end says that the name is complete.
            let name = word(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => problems.push(FieldError::required(at.child("externalName"), "")),
                name => each(problems, &at.child("externalName"), name, names::dns1123_subdomain(name)),
            }
        }
        _ => {}
    }
}

fn check_ports(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let needs_names = items(spec, "ports").nth(1).is_some();
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in items(spec, "ports").enumerate() {
        let at = at.index(index);
        let name = word(port, "name");
        if needs_names || !name.is_empty() {
            needed_label(problems, &at.child("name"), name);
        }
        if !name.is_empty() {
            if seen.contains(&name) {
                problems.push(FieldError::duplicate(at.child("name"), name));
            }
            seen.push(name);
        }
        port_number(problems, &at.child("port"), int(port, "port").unwrap_or_default());
        one_of(problems, &at.child("protocol"), word(port, "protocol"), &PROTOCOLS);
        check::port(problems, &at.child("targetPort"), part(port, "targetPort"));
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            each(problems, &at.child("appProtocol"), protocol, names::qualified_name(protocol));
        }
    }
}

/// No port twice, neither the service's own nor that of the nodes.
fn check_numbers(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let ports: Vec<&Value> = items(spec, "ports").collect();
    let node_port = |port: &Value| int(port, "nodePort").filter(|number| *number != 0);
    let is_same = |a: &Value, b: &Value, field: &str| {
        int(a, field) == int(b, field) && word(a, "protocol") == word(b, "protocol")
    };
    for (index, port) in ports.iter().enumerate() {
        let at = at.index(index).child("nodePort");
        if word(spec, "type") == "ClusterIP" && node_port(port).is_some() {
            problems.push(FieldError::forbidden(&at, "may not be used when `type` is 'ClusterIP'"));
        }
        if let Some(number) = node_port(port)
            && ports[..index].iter().any(|other| is_same(other, port, "nodePort"))
        {
            problems.push(FieldError::duplicate(&at, number));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if ports[..index].iter().any(|other| is_same(other, port, "port")) {
            let shown = json!({
                "Name": "", "Protocol": word(port, "protocol"), "AppProtocol": null, "Port": part(port, "port"),
                "TargetPort": 0, "NodePort": 0,
            });
            problems.push(FieldError::duplicate(at.index(index), shown));
        }
    }
}

fn check_affinity(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    /// A day.
    const MOST: i64 = 86_400;
    let affinity = word(spec, "sessionAffinity");
    one_of(problems, &at.child("sessionAffinity"), affinity, &["ClientIP", "None"]);
    let at = at.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
    let timeout = spec.pointer("/sessionAffinityConfig/clientIP/timeoutSeconds").and_then(Value::as_i64);
    if affinity == "ClientIP"
        && let Some(timeout) = timeout.filter(|timeout| !(1..=MOST).contains(timeout))
    {
        problems.push(FieldError::invalid(
            &at,
            timeout,
            format!("must be greater than 0 and less than {MOST}"),
        ));
    }
}

fn check_outside_address(address: &str, at: &FieldPath, problems: &mut Problems) {
    let before = problems.len();
    ip(problems, at, address);
    let Ok(parsed) = address.parse::<IpAddr>() else { return };
    if problems.len() > before {
        return;
    }
    let (is_link_local, is_local_multicast) = match parsed {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    let mut refuse = |why: String| problems.push(FieldError::invalid(at, address, why));
    if parsed.is_unspecified() {
        refuse(format!("may not be unspecified ({address})"));
    }
    if parsed.is_loopback() {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned());
    }
    if is_link_local {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned());
    }
    if is_local_multicast {
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned());
    }
}

fn check_balancer(object: &Value, at: &FieldPath, problems: &mut Problems) {
    const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let spec = part(object, "spec");
    let balances = word(spec, "type") == "LoadBalancer";
    if items(spec, "loadBalancerSourceRanges").next().is_some() {
        let at = at.child("LoadBalancerSourceRanges");
        if !balances {
            problems.push(FieldError::forbidden(&at, BALANCED_ONLY));
        }
        for (index, range) in items(spec, "loadBalancerSourceRanges").enumerate() {
            check::cidr(problems, &at.index(index), range.as_str().unwrap_or_default().trim());
        }
    } else if let Some(ranges) = meta::annotation(object, RANGES) {
        let at = FieldPath::new("metadata").child("annotations").key(RANGES);
        if !balances {
            problems.push(FieldError::forbidden(&at, BALANCED_ONLY));
        }
        for range in ranges.split(',').map(str::trim).filter(|_| !ranges.trim().is_empty()) {
            check::cidr(problems, &at, range);
        }
    }
    if !balances && has(spec, "allocateLoadBalancerNodePorts") {
        problems.push(FieldError::forbidden(at.child("allocateLoadBalancerNodePorts"), BALANCED_ONLY));
    }
    if let Some(class) = spec.get("loadBalancerClass").and_then(Value::as_str) {
        match balances {
            true => each(problems, &at.child("loadBalancerClass"), class, names::qualified_name(class)),
            false => problems.push(FieldError::forbidden(at.child("loadBalancerClass"), BALANCED_ONLY)),
        }
    }
}

fn check_traffic(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let outside = word(spec, "externalTrafficPolicy");
    let outside_at = at.child("externalTrafficPolicy");
    if is_reached_from_outside(spec) {
        one_of(problems, &outside_at, outside, &["Cluster", "Local"]);
    } else if !outside.is_empty() {
        let why = "may only be set for externally-accessible services";
        problems.push(FieldError::invalid(&outside_at, outside, why));
    }
    // On a cluster somebody would give out a port for the checks of the balancer; here there is one or there is none.
    let port_at = at.child("healthCheckNodePort");
    match int(spec, "healthCheckNodePort").filter(|port| *port != 0) {
        Some(port) if word(spec, "type") == "LoadBalancer" && outside == "Local" => {
            port_number(problems, &port_at, port);
        }
        Some(port) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            problems.push(FieldError::invalid(&port_at, port, why));
        }
        None => {}
    }
    let inside = word(spec, "internalTrafficPolicy");
    one_of_if_any(problems, &at.child("internalTrafficPolicy"), inside, &["Cluster", "Local"]);
    if let Some(spread) = spec.get("trafficDistribution").and_then(Value::as_str) {
        const KNOWN: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        if !KNOWN.contains(&spread) {
            problems.push(FieldError::not_supported(at.child("trafficDistribution"), spread, &KNOWN));
        }
    }
}
