//! Nodes, leases, services and events: what is particular to each.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{lease, node, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![kinds:
        a_node_is_in_no_namespace,
        a_node_has_a_status_of_its_own,
        a_node_is_cordoned_by_a_patch,
        a_node_is_checked,
        the_provider_of_a_node_stays,
        a_kubelet_patches_conditions_and_images,
        a_lease_is_renewed,
        a_renewal_loses_against_a_newer_one,
        a_lease_is_checked,
        times_of_a_lease_have_microseconds,
        a_headless_service_is_filled_in,
        a_service_of_another_name_needs_no_address,
        a_service_is_checked,
        an_event_is_seen_in_both_groups,
        a_new_event_is_seen_in_the_old_group,
        an_old_event_is_taken_as_it_is,
        a_new_event_is_checked,
        an_event_counts_by_patches,
    ]
}

const LEASES: &str = "coordination.k8s.io/v1";
const EVENTS: &str = "events.k8s.io/v1";

async fn a_node_is_in_no_namespace(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    let made = cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    made.absent("/metadata/namespace")?.at("/kind", "Node")?;
    let again = cx.post("/api/v1/nodes", &node(&name)).await?.refused(409, "AlreadyExists")?;
    again.message(&format!("nodes \"{name}\" already exists"))?;
    cx.get(cx.core(&format!("nodes/{name}"))).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_node_has_a_status_of_its_own(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let path = format!("/api/v1/nodes/{name}");
    let both = json!({"spec": {"unschedulable": true}, "status": {"capacity": {"cpu": "4"}}});
    let written = cx.patch("merge", format!("{path}/status"), &both).await?.code(200)?;
    written.at("/status/capacity/cpu", "4")?.absent("/spec/unschedulable")?;
    let both = json!({"spec": {"unschedulable": true}, "status": {"capacity": {"cpu": "8"}}});
    let written = cx.patch("merge", path, &both).await?.code(200)?;
    written.at("/status/capacity/cpu", "4")?.at("/spec/unschedulable", true)?;
    Ok(())
}

async fn a_node_is_cordoned_by_a_patch(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let path = format!("/api/v1/nodes/{name}");
    let patch = json!({"spec": {"unschedulable": true}});
    cx.patch("strategic", path.clone(), &patch).await?.code(200)?.at("/spec/unschedulable", true)?;
    let patch = json!({"spec": {"unschedulable": null}});
    cx.patch("strategic", path, &patch).await?.code(200)?.absent("/spec/unschedulable")?;
    Ok(())
}

async fn a_node_is_checked(cx: Cx) -> Result<()> {
    let body =
        with(node(&cx.unique("node")), json!({"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}}));
    let reply = cx.post("/api/v1/nodes", &body).await?;
    reply.invalid(&[("FieldValueNotSupported", "metadata.taints[0].effect")])?.at("/details/kind", "Node")?;
    Ok(())
}

async fn the_provider_of_a_node_stays(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &with(node(&name), json!({"spec": {"providerID": "one://1"}})))
        .await?;
    let patch = json!({"spec": {"providerID": "two://2"}});
    let reply = cx.patch("merge", format!("/api/v1/nodes/{name}"), &patch).await?;
    reply.refused(422, "Invalid")?.says(&["spec.providerID: Forbidden: "])?;
    Ok(())
}

async fn a_kubelet_patches_conditions_and_images(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let path = format!("/api/v1/nodes/{name}/status");
    let ready = |status: &str| {
        json!({"type": "Ready", "status": status, "reason": "KubeletReady",
            "lastHeartbeatTime": "2024-01-01T00:00:00Z", "lastTransitionTime": "2024-01-01T00:00:00Z"})
    };
    let patch = json!({"status": {"$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}],
        "conditions": [{"type": "MemoryPressure", "status": "False"}, ready("False")],
        "images": [{"names": ["app:1"], "sizeBytes": 7}], "nodeInfo": {"kubeletVersion": "v1.36.4"}}});
    cx.patch("strategic", path.clone(), &patch).await?.code(200)?;
    let patch = json!({"status": {"$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}],
        "conditions": [ready("True")], "images": [{"names": ["app:2"], "sizeBytes": 9}]}});
    let reply = cx.patch("strategic", path, &patch).await?.code(200)?;
    reply.at("/status/conditions/1/status", "True")?.at("/status/conditions/0/type", "MemoryPressure")?;
    reply.at("/status/images", json!([{"names": ["app:2"], "sizeBytes": 9}]))?;
    reply.at("/status/nodeInfo/kubeletVersion", "v1.36.4")?.at("/status/nodeInfo/kernelVersion", "")?;
    Ok(())
}

async fn a_lease_is_renewed(cx: Cx) -> Result<()> {
    let body = with(
        lease("a"),
        json!({"spec": {"holderIdentity": "edge", "leaseDurationSeconds": 40,
        "renewTime": "2024-01-01T00:00:00.000000Z"}}),
    );
    let made = cx.create(cx.group(LEASES, "leases"), &body).await?;
    made.at("/apiVersion", LEASES)?.at("/spec/leaseDurationSeconds", 40)?.absent("/metadata/generation")?;
    let renewed = with(made.value.clone(), json!({"spec": {"renewTime": "2024-01-01T00:00:10.000000Z"}}));
    let reply = cx.put(cx.group(LEASES, "leases/a"), &renewed).await?.code(200)?;
    reply.at("/spec/renewTime", "2024-01-01T00:00:10.000000Z")?;
    Ok(())
}

async fn a_renewal_loses_against_a_newer_one(cx: Cx) -> Result<()> {
    let made = cx.create(cx.group(LEASES, "leases"), &lease("a")).await?;
    let held = |by: &str| with(made.value.clone(), json!({"spec": {"holderIdentity": by}}));
    cx.put(cx.group(LEASES, "leases/a"), &held("one")).await?.code(200)?;
    let late = cx.put(cx.group(LEASES, "leases/a"), &held("two")).await?.refused(409, "Conflict")?;
    late.about("leases", "a")?.at("/details/group", "coordination.k8s.io")?;
    late.says(&[
        "Operation cannot be fulfilled on leases.coordination.k8s.io \"a\": the object has been modified",
    ])?;
    Ok(())
}

async fn a_lease_is_checked(cx: Cx) -> Result<()> {
    let body = with(lease("a"), json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}));
    let reply = cx.post(cx.group(LEASES, "leases"), &body).await?;
    reply.invalid(&[
        ("FieldValueInvalid", "spec.leaseDurationSeconds"),
        ("FieldValueInvalid", "spec.leaseTransitions"),
    ])?;
    Ok(())
}

async fn times_of_a_lease_have_microseconds(cx: Cx) -> Result<()> {
    let body = with(
        lease("a"),
        json!({"spec": {"renewTime": "2024-01-01T00:00:00.000001Z",
        "acquireTime": "2024-01-01T01:00:00.500000+01:00"}}),
    );
    let made = cx.create(cx.group(LEASES, "leases"), &body).await?;
    made.at("/spec/renewTime", "2024-01-01T00:00:00.000001Z")?;
    made.at("/spec/acquireTime", "2024-01-01T00:00:00.500000Z")?;
    let body = with(lease("b"), json!({"spec": {"renewTime": "yesterday"}}));
    cx.post(cx.group(LEASES, "leases"), &body).await?.refused(400, "BadRequest")?;
    Ok(())
}

fn service(spec: Value) -> Value {
    let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}});
    service["spec"] = spec;
    service
}

async fn a_headless_service_is_filled_in(cx: Cx) -> Result<()> {
    let body = service(json!({"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}]}));
    let made = cx.create(cx.core("services"), &body).await?;
    made.at("/spec/type", "ClusterIP")?.at("/spec/sessionAffinity", "None")?.at("/spec/clusterIP", "None")?;
    made.at("/spec/ports", json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]))?;
    made.at("/spec/internalTrafficPolicy", "Cluster")?.at("/status", json!({"loadBalancer": {}}))?;
    let gone = cx.delete(cx.core("services/a")).await?.code(200)?;
    gone.at("/kind", "Service")?.at("/metadata/name", "a")?;
    Ok(())
}

async fn a_service_of_another_name_needs_no_address(cx: Cx) -> Result<()> {
    let body = service(json!({"type": "ExternalName", "externalName": "example.com"}));
    let made = cx.create(cx.core("services"), &body).await?;
    made.at("/spec/externalName", "example.com")?.absent("/spec/clusterIP")?.absent("/spec/ports")?;
    Ok(())
}

async fn a_service_is_checked(cx: Cx) -> Result<()> {
    let body = service(json!({"clusterIP": "None", "type": "Magic", "ports": [{"port": 0}, {"port": 80}]}));
    let reply = cx.post(cx.core("services"), &body).await?;
    reply.invalid(&[
        ("FieldValueRequired", "spec.ports[0].name"),
        ("FieldValueInvalid", "spec.ports[0].port"),
        ("FieldValueRequired", "spec.ports[1].name"),
        ("FieldValueNotSupported", "spec.type"),
    ])?;
    Ok(())
}

/// An event of the core group about a pod.
fn old_event(cx: &Cx) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "type": "Warning", "reason": "Failed",
        "message": "it failed", "source": {"component": "kubelet", "host": "edge"}, "count": 3,
        "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T00:01:00Z",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": cx.namespace()}})
}

fn new_event(cx: &Cx) -> Value {
    json!({"apiVersion": EVENTS, "kind": "Event", "metadata": {"name": "a"}, "type": "Normal", "reason": "Started",
        "note": "it started", "action": "Starting", "eventTime": "2024-01-01T00:00:00.000000Z",
        "reportingController": "example.com/suite", "reportingInstance": "one",
        "regarding": {"kind": "Pod", "name": "p", "namespace": cx.namespace()}})
}

async fn an_event_is_seen_in_both_groups(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("events"), &old_event(&cx)).await?;
    let seen = cx.get(cx.group(EVENTS, "events/a")).await?.code(200)?;
    seen.at("/apiVersion", EVENTS)?.at("/regarding/name", "p")?.at("/note", "it failed")?;
    seen.at("/deprecatedSource", json!({"component": "kubelet", "host": "edge"}))?
        .at("/deprecatedCount", 3)?;
    seen.at("/metadata/uid", made.uid()?)?.at("/metadata/resourceVersion", made.revision()?)?;
    cx.delete(cx.group(EVENTS, "events/a")).await?.code(200)?;
    cx.get(cx.core("events/a")).await?.code(404)?;
    Ok(())
}

async fn a_new_event_is_seen_in_the_old_group(cx: Cx) -> Result<()> {
    cx.create(cx.group(EVENTS, "events"), &new_event(&cx)).await?;
    let seen = cx.get(cx.core("events/a")).await?.code(200)?;
    seen.at("/apiVersion", "v1")?.at("/message", "it started")?.at("/involvedObject/name", "p")?;
    seen.at("/reportingComponent", "example.com/suite")?.at("/eventTime", "2024-01-01T00:00:00.000000Z")?;
    seen.holds(seen.get("/firstTimestamp").is_null(), "no first time")?.at("/source", json!({}))?;
    Ok(())
}

async fn an_old_event_is_taken_as_it_is(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("events"), &old_event(&cx)).await?;
    made.at("/count", 3)?.at("/lastTimestamp", "2024-01-01T00:01:00Z")?.at("/reportingComponent", "")?;
    let body = with(
        old_event(&cx),
        json!({"metadata": {"name": "b"}, "involvedObject": {"namespace": "elsewhere"}}),
    );
    let reply = cx.post(cx.core("events"), &body).await?;
    reply.invalid(&[("FieldValueInvalid", "involvedObject.namespace")])?;
    Ok(())
}

async fn a_new_event_is_checked(cx: Cx) -> Result<()> {
    let body = with(new_event(&cx), json!({"eventTime": null, "action": null, "reportingController": null}));
    let reply = cx.post(cx.group(EVENTS, "events"), &body).await?;
    reply.refused(422, "Invalid")?.says(&["eventTime: Required value"])?;
    let body = with(new_event(&cx), json!({"action": null, "reportingController": null}));
    let reply = cx.post(cx.group(EVENTS, "events"), &body).await?;
    reply.invalid(&[("FieldValueRequired", "reportingController"), ("FieldValueRequired", "action")])?;
    Ok(())
}

async fn an_event_counts_by_patches(cx: Cx) -> Result<()> {
    cx.create(cx.core("events"), &old_event(&cx)).await?;
    let patch = json!({"count": 4, "lastTimestamp": "2024-01-01T00:02:00Z"});
    let reply = cx.patch("strategic", cx.core("events/a"), &patch).await?.code(200)?;
    reply.at("/count", 4)?.at("/message", "it failed")?;
    Ok(())
}
