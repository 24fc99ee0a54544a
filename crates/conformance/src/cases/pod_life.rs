//! What may happen to a pod after it was created: changes, binding, eviction, status.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{pod, pod_on, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![pod_life:
        an_image_may_change,
        a_deadline_may_be_set_and_shortened,
        a_toleration_may_be_added,
        nothing_else_of_the_spec_may_change,
        containers_may_not_come_or_go,
        labels_and_annotations_may_change,
        a_status_is_written_by_its_own_path,
        a_status_keeps_its_class,
        a_status_is_checked,
        a_binding_sets_the_node,
        a_second_binding_is_a_conflict,
        a_binding_needs_a_pod,
        a_binding_of_another_kind_is_invalid,
        a_binding_brings_labels_and_annotations,
        a_pod_cannot_be_bound_by_an_update,
        an_eviction_deletes,
        an_eviction_gives_grace,
        an_eviction_needs_a_pod,
        an_eviction_has_preconditions,
        a_dry_eviction_evicts_nothing,
        a_pod_is_made_ready_by_a_strategic_patch,
        pods_have_no_such_subresource,
    ]
}

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`";

async fn change(cx: &Cx, patch: Value) -> Result<Reply> {
    cx.patch("strategic", cx.core("pods/a"), &json!({"spec": patch})).await
}

fn binding(pod: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
}

fn eviction(pod: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}})
}

async fn an_image_may_change(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = change(&cx, json!({"containers": [{"name": "app", "image": "app:2"}]})).await?.code(200)?;
    reply.at("/spec/containers/0/image", "app:2")?.at("/metadata/generation", 2)?;
    Ok(())
}

async fn a_deadline_may_be_set_and_shortened(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    change(&cx, json!({"activeDeadlineSeconds": 60})).await?.code(200)?;
    change(&cx, json!({"activeDeadlineSeconds": 30})).await?.code(200)?;
    let longer = change(&cx, json!({"activeDeadlineSeconds": 90})).await?;
    longer.invalid(&[("FieldValueInvalid", "spec.activeDeadlineSeconds")])?;
    Ok(())
}

async fn a_toleration_may_be_added(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let mut tolerations = made.get("/spec/tolerations").as_array().cloned().unwrap_or_default();
    tolerations.push(json!({"key": "more", "operator": "Exists"}));
    let reply = change(&cx, json!({"tolerations": tolerations})).await?.code(200)?;
    reply.at("/metadata/generation", 2)?;
    Ok(())
}

async fn nothing_else_of_the_spec_may_change(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    for patch in [
        json!({"restartPolicy": "Never"}),
        json!({"hostNetwork": true}),
        json!({"terminationGracePeriodSeconds": 5}),
        json!({"containers": [{"name": "app", "command": ["x"]}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"serviceAccountName": "other"}),
    ] {
        let reply = change(&cx, patch).await?.invalid(&[("FieldValueForbidden", "spec")])?;
        reply.about("Pod", "a")?.says(&["spec: Forbidden: ", MAY_CHANGE])?;
    }
    Ok(())
}

async fn containers_may_not_come_or_go(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let more = json!({"containers": [{"name": "more", "image": "more:1"}]});
    let reply = change(&cx, more).await?.invalid(&[("FieldValueForbidden", "spec.containers")])?;
    reply.says(&["pod updates may not add or remove containers"])?;
    Ok(())
}

async fn labels_and_annotations_may_change(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let patch = json!({"metadata": {"labels": {"a": "1"}, "annotations": {"b": "any text {}"}}});
    cx.patch("merge", cx.core("pods/a"), &patch).await?.code(200)?.at("/metadata/generation", 1)?;
    Ok(())
}

async fn a_status_is_written_by_its_own_path(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let body = with(
        made.value.clone(),
        json!({"status": {"phase": "Running", "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}], "startTime": "2024-01-01T00:00:00Z"}}),
    );
    let reply = cx.put(cx.core("pods/a/status"), &body).await?.code(200)?;
    reply.at("/status/phase", "Running")?.at("/status/startTime", "2024-01-01T00:00:00Z")?;
    reply.at("/metadata/generation", 1)?.holds(reply.revision()? != made.revision()?, "a new revision")?;
    Ok(())
}

async fn a_status_keeps_its_class(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let patch = json!({"status": {"qosClass": "Guaranteed"}});
    let reply = cx.patch("merge", cx.core("pods/a/status"), &patch).await?;
    reply.invalid(&[("FieldValueInvalid", "status.qosClass")])?;
    Ok(())
}

async fn a_status_is_checked(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let patch = json!({"status": {"podIPs": [{"ip": "not an address"}], "podIP": "not an address"}});
    cx.patch("merge", cx.core("pods/a/status"), &patch).await?.refused(422, "Invalid")?;
    // A container that has ended may not run again in a pod that never restarts.
    let never = with(pod("b"), json!({"spec": {"restartPolicy": "Never"}}));
    cx.create(cx.core("pods"), &never).await?;
    let status = |state: Value| {
        json!({"status": {"containerStatuses": [{"name": "app", "ready": false,
        "restartCount": 0, "image": "app:1", "imageID": "", "state": state}]}})
    };
    let ended = status(json!({"terminated": {"exitCode": 0}}));
    cx.patch("merge", cx.core("pods/b/status"), &ended).await?.code(200)?;
    let again = status(json!({"running": {"startedAt": "2024-01-01T00:00:00Z"}}));
    let reply = cx.patch("merge", cx.core("pods/b/status"), &again).await?;
    reply.invalid(&[("FieldValueForbidden", "status.containerStatuses[0].state")])?;
    Ok(())
}

async fn a_binding_sets_the_node(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.post(cx.core("pods/a/binding"), &binding("a", "edge")).await?.code(201)?;
    reply.at("/kind", "Status")?.at("/status", "Success")?.at("/code", 201)?;
    let bound = cx.get(cx.core("pods/a")).await?.code(200)?;
    bound.at("/spec/nodeName", "edge")?;
    let conditions = bound.list("/status/conditions")?;
    let scheduled = conditions.iter().any(|c| c["type"] == "PodScheduled" && c["status"] == "True");
    bound.holds(scheduled, "a condition PodScheduled")?;
    Ok(())
}

async fn a_second_binding_is_a_conflict(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    cx.post(cx.core("pods/a/binding"), &binding("a", "one")).await?.code(201)?;
    let reply = cx.post(cx.core("pods/a/binding"), &binding("a", "two")).await?.refused(409, "Conflict")?;
    reply.about("pods/binding", "a")?.says(&["pod a is already assigned to node \"one\""])?;
    Ok(())
}

async fn a_binding_needs_a_pod(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("pods/nope/binding"), &binding("nope", "edge")).await?;
    reply.refused(404, "NotFound")?.says(&["\"nope\" not found"])?;
    Ok(())
}

async fn a_binding_of_another_kind_is_invalid(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    for target in [json!({"kind": "Pod", "name": "edge"}), json!({"kind": "Node", "name": ""})] {
        // The code is not asserted: the real server makes it an internal error.
        let body = with(binding("a", "edge"), json!({"target": target}));
        let reply = cx.post(cx.core("pods/a/binding"), &body).await?;
        reply.holds(reply.status >= 400, "a refusal")?.at("/kind", "Status")?;
        reply.says(&["target."])?;
    }
    let reply = cx.post(cx.core("pods/a/binding"), &binding("b", "edge")).await?;
    reply.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_binding_brings_labels_and_annotations(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let body = with(binding("a", "edge"), json!({"metadata": {"annotations": {"placed": "yes"}}}));
    cx.post(cx.core("pods/a/binding"), &body).await?.code(201)?;
    cx.get(cx.core("pods/a")).await?.at("/metadata/annotations/placed", "yes")?;
    Ok(())
}

async fn a_pod_cannot_be_bound_by_an_update(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    change(&cx, json!({"nodeName": "edge"})).await?.invalid(&[("FieldValueForbidden", "spec")])?;
    Ok(())
}

async fn an_eviction_deletes(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.post(cx.core("pods/a/eviction"), &eviction("a")).await?.code(201)?;
    reply.at("/kind", "Status")?.at("/status", "Success")?.at("/code", 201)?;
    cx.get(cx.core("pods/a")).await?.code(404)?;
    Ok(())
}

async fn an_eviction_gives_grace(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let body = with(eviction("a"), json!({"deleteOptions": {"gracePeriodSeconds": 7}}));
    cx.post(cx.core("pods/a/eviction"), &body).await?.code(201)?;
    let read = cx.get(cx.core("pods/a")).await?.code(200)?;
    read.at("/metadata/deletionGracePeriodSeconds", 7)?;
    let conditions = read.list("/status/conditions")?;
    let told = conditions.iter().any(|c| {
        c["type"] == "DisruptionTarget" && c["status"] == "True" && c["reason"] == "EvictionByEvictionAPI"
    });
    read.holds(told, "a condition DisruptionTarget")?;
    Ok(())
}

async fn an_eviction_needs_a_pod(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("pods/nope/eviction"), &eviction("nope")).await?;
    reply.refused(404, "NotFound")?.message("pods \"nope\" not found")?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.post(cx.core("pods/a/eviction"), &eviction("b")).await?;
    reply.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_eviction_has_preconditions(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let body = with(eviction("a"), json!({"deleteOptions": {"preconditions": {"uid": "another"}}}));
    cx.post(cx.core("pods/a/eviction"), &body).await?.refused(409, "Conflict")?;
    cx.get(cx.core("pods/a")).await?.code(200)?;
    Ok(())
}

async fn a_dry_eviction_evicts_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let body = with(eviction("a"), json!({"deleteOptions": {"dryRun": ["All"]}}));
    cx.post(cx.core("pods/a/eviction"), &body).await?.code(201)?;
    cx.post(cx.core("pods/a/eviction?dryRun=All"), &eviction("a")).await?.code(201)?;
    cx.get(cx.core("pods/a")).await?.code(200)?.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn a_pod_is_made_ready_by_a_strategic_patch(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    // This is how a kubelet writes: with the uid, and with the order of all conditions.
    let patch = json!({"metadata": {"uid": made.uid()?}, "status": {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"},
            {"type": "PodScheduled", "status": "True"}],
        "phase": "Running", "observedGeneration": 1}});
    let reply = cx.patch("strategic", cx.core("pods/a/status"), &patch).await?.code(200)?;
    reply.at("/status/conditions/0/type", "Ready")?.at("/status/conditions/1/type", "PodScheduled")?;
    reply.at("/status/phase", "Running")?;
    let other = json!({"metadata": {"uid": "another"}, "status": {"phase": "Failed"}});
    let reply = cx.patch("strategic", cx.core("pods/a/status"), &other).await?;
    reply.holds(matches!(reply.status, 409 | 422), "no status for another pod of this name")?;
    Ok(())
}

async fn pods_have_no_such_subresource(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let reply = cx.get(cx.core("pods/a/colour")).await?.refused(404, "NotFound")?;
    reply.says(&["the server could not find the requested resource"])?;
    Ok(())
}
