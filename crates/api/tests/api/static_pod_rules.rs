//! The rules of StaticPod, each with what it accepts and what it refuses.

use serde_json::{Value, json};

use crate::support::{assert_accepted, assert_every_rule_refuses};

const MAX_UNAVAILABLE: &str = "/spec/upgradeStrategy/maxUnavailable";
const STOP: &str = "/spec/upgradeStrategy/stopAfterFailed";
const CANARY: &str = "/spec/upgradeStrategy/canary";
const MANIFEST: &str = "/spec/staticPodManifest";

#[test]
fn what_a_fleet_owner_means_is_accepted() {
    assert_accepted(
        "StaticPod",
        &[
            ("one node at a time", MAX_UNAVAILABLE, json!(1)),
            ("many nodes at a time", MAX_UNAVAILABLE, json!(12345)),
            ("one in a hundred", MAX_UNAVAILABLE, json!("1%")),
            ("all at once", MAX_UNAVAILABLE, json!("100%")),
            ("the node's owner decides", "/spec/upgradeStrategy", json!({"type": "OTA"})),
            ("the first failure ends it", STOP, json!(0)),
            ("a tenth of failures is borne", STOP, json!("10%")),
            ("canaries with a wait", CANARY, json!({"nodeSelector": {"ring": "0"}, "waitSeconds": 600})),
            ("retries, never", "/spec/upgradeStrategy/retry", json!({"limit": 0})),
            ("everybody gets it", "/spec/upgradeStrategy/install", json!({"nodeSelector": {}})),
            ("a manifest with dots in its name", MANIFEST, json!("10-site.proxy_v2")),
            ("a template without a name", "/spec/template/metadata/name", Value::Null),
            ("a template without metadata", "/spec/template/metadata", Value::Null),
        ],
    );
}

#[test]
fn every_rule_refuses_what_it_is_there_for() {
    assert_every_rule_refuses(
        "StaticPod",
        &[
            ("no node may be without the pod", MAX_UNAVAILABLE, json!(0)),
            ("the number is negative", MAX_UNAVAILABLE, json!(-1)),
            ("the share is none", MAX_UNAVAILABLE, json!("0%")),
            ("the share is over all", MAX_UNAVAILABLE, json!("101%")),
            ("the share has no sign", MAX_UNAVAILABLE, json!("10")),
            ("less than no failure is borne", STOP, json!(-1)),
            ("the share of failures has no sign", STOP, json!("10")),
            ("everybody is a canary", CANARY, json!({"nodeSelector": {}})),
            ("the template has another name", "/spec/template/metadata/name", json!("other")),
            ("the name has changed", "/spec/staticPodName", json!("other")),
            ("the manifest has changed", MANIFEST, json!("other")),
            ("the manifest has its suffix", MANIFEST, json!("site-proxy.yaml")),
            ("the manifest is in a folder", MANIFEST, json!("../site-proxy")),
            ("the kubelet would not see the manifest", MANIFEST, json!(".site-proxy")),
        ],
    );
}
