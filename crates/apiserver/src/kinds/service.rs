//! `Service`: a name for some pods.
//!
//! Nothing is handed out here: no cluster IP, no node port. What a client asks for by name is kept, `None` stays `None`,
//! and whoever needs an address has to bring one. The families of addresses are filled in as on a cluster with IPv4.

mod address;
mod row;
mod spec;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use safepoint_machinery::names;
use safepoint_machinery::status::FieldPath;
use serde_json::{Value, json};

use super::check::{drop_empty, flag, has, int, object_at, part, set, word};
use super::{Rules, items, items_mut, remove, set_default, take_from};
use crate::fault::Problems;
use crate::table::Column;

pub(crate) struct Services;

impl Rules for Services {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object_at(object, "spec") {
            default_spec(spec);
        }
        let balances = word(part(object, "spec"), "type") == "LoadBalancer";
        if let Some(status) = object_at(object, "status")
            && let Some(balancer) = object_at(status, "loadBalancer")
        {
            for ingress in items_mut(balancer, "ingress") {
                if balances && !word(ingress, "ip").is_empty() {
                    set_default(ingress, "ipMode", "VIP");
                }
            }
        }
    }

    fn begin(&self, object: &mut Value) {
        set(object, "status", json!({"loadBalancer": {}}));
    }

    fn carry(&self, new: &mut Value, old: &Value) {
        take_from(new, old, "status");
        if let Some(spec) = object_at(new, "spec") {
            let old = part(old, "spec");
            // A service that had no policy gets one by what it is now, any other keeps what it has.
            if has(old, "ipFamilyPolicy") && needs_address_of(word(spec, "type")) {
                set_default(spec, "ipFamilyPolicy", part(old, "ipFamilyPolicy").clone());
            }
            keep_given(spec, old);
            default_spec(spec);
            drop_dependent(spec, old);
        }
        if word(part(new, "spec"), "type") != "LoadBalancer"
            && let Some(status) = object_at(new, "status")
        {
            set(status, "loadBalancer", json!({}));
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        spec::check(object, problems);
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        let (new, old) = (part(new, "spec"), part(old, "spec"));
        address::check_change(new, old, problems);
        spec::check_change(new, old, problems);
    }

    fn check_status(&self, new: &Value, _old: &Value, problems: &mut Problems) {
        let at = FieldPath::new("status").child("loadBalancer").child("ingress");
        spec::check_ingress(new, &at, problems);
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        // Kubernetes once wanted a letter first; since v1.36 any DNS label will do.
        let masked = if is_prefix { names::as_prefix(name) } else { name.into() };
        names::dns1123_label(&masked)
    }

    fn fields(&self) -> &'static [&'static str] {
        &["spec.clusterIP", "spec.type"]
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn shows_deleted(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        row::columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        row::cells(object, now)
    }
}

// === defaults ===

fn default_spec(spec: &mut Value) {
    for field in [
        "ports",
        "selector",
        "clusterIP",
        "clusterIPs",
        "externalIPs",
        "externalName",
        "sessionAffinity",
        "type",
        "externalTrafficPolicy",
        "internalTrafficPolicy",
        "ipFamilies",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
    ] {
        drop_empty(spec, field);
    }
    if !flag(spec, "publishNotReadyAddresses") {
        remove(spec, "publishNotReadyAddresses");
    }
    default_affinity(spec);
    set_default(spec, "type", "ClusterIP");
    for port in items_mut(spec, "ports") {
        drop_empty(port, "protocol");
        drop_empty(port, "name");
        set_default(port, "protocol", "TCP");
        drop_empty(port, "targetPort");
        if int(port, "targetPort") == Some(0) {
            remove(port, "targetPort");
        }
        let number = part(port, "port").clone();
        set_default(port, "targetPort", number);
        if int(port, "nodePort") == Some(0) {
            remove(port, "nodePort");
        }
    }
    if is_reached_from_outside(spec) {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    let kind = word(spec, "type").to_owned();
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "ExternalName" {
        remove(spec, "internalTrafficPolicy");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    address::default(spec);
}

fn default_affinity(spec: &mut Value) {
    /// Three hours.
    const TIMEOUT: i64 = 10_800;
    const SECONDS: &str = "/sessionAffinityConfig/clientIP/timeoutSeconds";
    set_default(spec, "sessionAffinity", "None");
    match word(spec, "sessionAffinity") {
        "None" => remove(spec, "sessionAffinityConfig"),
        "ClientIP" if spec.pointer(SECONDS).is_none_or(Value::is_null) => {
            set(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": TIMEOUT}}));
        }
        _ => {}
    }
}

/// Whether anything from outside the cluster may arrive.
fn is_reached_from_outside(spec: &Value) -> bool {
    match word(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => items(spec, "externalIPs").next().is_some(),
        _ => false,
    }
}

fn needs_node_port(spec: &Value) -> bool {
    matches!(word(spec, "type"), "NodePort" | "LoadBalancer")
}

fn needs_address(spec: &Value) -> bool {
    needs_address_of(word(spec, "type"))
}

fn needs_address_of(kind: &str) -> bool {
    kind != "ExternalName"
}

// === changes ===

/// What a client left out of a whole object it did not mean to give back.
fn keep_given(spec: &mut Value, old: &Value) {
    if needs_address(spec) && needs_address(old) {
        if word(spec, "clusterIP").is_empty() {
            take_from(spec, old, "clusterIP");
        }
        if items(spec, "clusterIPs").next().is_none() {
            take_from(spec, old, "clusterIPs");
        }
        // Who changes only the old field means both.
        let address = word(spec, "clusterIP").to_owned();
        if address != word(old, "clusterIP") && part(spec, "clusterIPs") == part(old, "clusterIPs") {
            set(spec, "clusterIPs", json!([address]));
        }
    }
    if needs_node_port(spec) && needs_node_port(old) {
        let given = |spec: &Value| -> Vec<i64> {
            items(spec, "ports").filter_map(|port| int(port, "nodePort")).filter(|port| *port != 0).collect()
        };
        let used = given(spec);
        for port in items_mut(spec, "ports").filter(|port| int(port, "nodePort").unwrap_or_default() == 0) {
            let before = items(old, "ports").find(|other| word(other, "name") == word(port, "name"));
            if let Some(number) =
                before.and_then(|before| int(before, "nodePort")).filter(|port| !used.contains(port))
            {
                set(port, "nodePort", number);
            }
        }
    }
}

/// What only made sense for the type that a service had, and was not changed by the client, goes with the type.
fn drop_dependent(spec: &mut Value, old: &Value) {
    let same = |spec: &Value, field: &str| part(spec, field) == part(old, field);
    if needs_address(old) && !needs_address(spec) {
        if same(spec, "clusterIP") && same(spec, "clusterIPs") {
            remove(spec, "clusterIP");
            remove(spec, "clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, field) {
                remove(spec, field);
            }
        }
    }
    if needs_node_port(old) && !needs_node_port(spec) {
        let before: Vec<i64> = items(old, "ports").filter_map(|port| int(port, "nodePort")).collect();
        let is_subset =
            items(spec, "ports").filter_map(|port| int(port, "nodePort")).all(|port| before.contains(&port));
        if is_subset {
            items_mut(spec, "ports").for_each(|port| remove(port, "nodePort"));
        }
    }
    if word(old, "type") == "LoadBalancer" && word(spec, "type") != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"] {
            if same(spec, field) {
                remove(spec, field);
            }
        }
    }
    if is_reached_from_outside(old) && !is_reached_from_outside(spec) && same(spec, "externalTrafficPolicy") {
        remove(spec, "externalTrafficPolicy");
    }
}
