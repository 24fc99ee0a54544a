//! The rules of NodeGate, each with what it accepts and what it refuses.

use serde_json::{Value, json};

use crate::support::{assert_accepted, assert_every_rule_refuses, broken_rules, example, set};

#[test]
fn what_an_admin_means_is_accepted() {
    let nav_pod = json!({"pod": {"namespace": "drive", "name": "nav-0"}});
    let ui = json!({"workload": {"kind": "Deployment", "namespace": "drive", "name": "ui"}});
    assert_accepted(
        "NodeGate",
        &[
            ("no wish at all", "/spec", json!({})),
            ("freeze with nothing but a reason", "/spec", json!({"freeze": {"reason": "crane lift"}})),
            ("freeze for a second", "/spec/freeze/lease/for", json!("1s")),
            ("freeze for a year", "/spec/freeze/lease/for", json!("8760h")),
            ("freeze by name, without a lease", "/spec/freeze/lease", Value::Null),
            ("release of a pod", "/spec/orders/0/release", nav_pod),
            ("release of a workload that has no ordinals", "/spec/orders/0/release", ui),
            ("thaw of everything", "/spec/orders/1/thaw", json!({})),
        ],
    );
}

#[test]
fn every_rule_refuses_what_it_is_there_for() {
    let nav_pod = json!({"namespace": "drive", "name": "nav-0"});
    assert_every_rule_refuses(
        "NodeGate",
        &[
            ("it does not say why it freezes", "/spec/freeze/reason", json!(" \n")),
            ("a lease has no id", "/spec/freeze/id", Value::Null),
            ("a lease lasts no time", "/spec/freeze/lease/for", json!("0s")),
            ("a deadline is over a year", "/spec/freeze/deadline", json!("8761h")),
            ("an order says two things", "/spec/orders/0/thaw", json!({})),
            ("an order says nothing", "/spec/orders/0/release", Value::Null),
            ("an order has changed under its id", "/spec/orders/0/release/revision", json!("nav-88d")),
            ("a release names a workload and a pod", "/spec/orders/0/release/pod", nav_pod),
            ("a release names nothing", "/spec/orders/0/release/workload", Value::Null),
            ("a Deployment has an ordinal", "/spec/orders/0/release/workload/kind", json!("Deployment")),
            ("an override does not say why", "/spec/orders/1/override/reason", json!("  ")),
            ("an override lasts no time", "/spec/orders/1/override/for", json!("0m")),
        ],
    );
}

#[test]
fn orders_may_be_given_in_any_order_and_taken_out_again() {
    let old = example("NodeGate");
    let mut new = old.clone();
    let orders = new["spec"]["orders"].as_array_mut().unwrap();
    orders.reverse();
    orders.insert(0, json!({"id": "one-more", "thaw": {}}));
    assert!(broken_rules("NodeGate", &new, Some(&old)).is_empty());
    set(&mut new, "/spec/orders", &Value::Null);
    assert!(broken_rules("NodeGate", &new, Some(&old)).is_empty());
}
