//! The row of a service, as kubectl prints it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::super::check::{entries, int, part, word};
use super::super::items;
use crate::table::{self, Column};

pub(super) fn columns() -> Vec<Column> {
    let text = |name: &str, description: &str| Column::new(name, "string", description);
    vec![
        text("Type", "How it is reached."),
        text("Cluster-IP", "Its address inside the cluster."),
        text("External-IP", "Its addresses outside of it."),
        text("Port(s)", "Its ports, and those of the nodes behind a colon."),
        Column::age(),
        text("Selector", "The labels of its pods.").wide(),
    ]
}

pub(super) fn cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let spec = part(service, "spec");
    let address = items(spec, "clusterIPs").next().and_then(Value::as_str).unwrap_or("<none>");
    let ports: Vec<String> = items(spec, "ports").map(port).collect();
    let selector: Vec<String> =
        entries(spec, "selector").map(|(key, value)| format!("{key}={value}")).collect();
    vec![
        word(spec, "type").into(),
        address.into(),
        outside(service).into(),
        or_none(&ports).into(),
        table::age(service, now),
        or_none(&selector).into(),
    ]
}

fn port(port: &Value) -> String {
    let number = int(port, "port").unwrap_or_default();
    let protocol = word(port, "protocol");
    match int(port, "nodePort").filter(|node| *node > 0) {
        Some(node) => format!("{number}:{node}/{protocol}"),
        None => format!("{number}/{protocol}"),
    }
}

fn outside(service: &Value) -> String {
    let spec = part(service, "spec");
    let named = items(spec, "externalIPs").filter_map(Value::as_str).map(str::to_owned);
    match word(spec, "type") {
        "ClusterIP" | "NodePort" => or_none(&named.collect::<Vec<_>>()),
        "LoadBalancer" => {
            let balancer = part(part(service, "status"), "loadBalancer");
            let balanced: BTreeSet<&str> = items(balancer, "ingress")
                .map(|ingress| match word(ingress, "ip") {
                    "" => word(ingress, "hostname"),
                    address => address,
                })
                .filter(|address| !address.is_empty())
                .collect();
            let all: Vec<String> = balanced.into_iter().map(str::to_owned).chain(named).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => word(spec, "externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn or_none(texts: &[String]) -> String {
    if texts.is_empty() { "<none>".to_owned() } else { texts.join(",") }
}
