//! Label selectors with all their operators, and the fields by which each kind can be selected.

use anyhow::Result;
use serde_json::json;

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{node, pod, pod_on, secret, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![selectors:
        labels_are_selected_by_equality,
        labels_are_selected_by_set,
        labels_are_selected_by_existence,
        labels_are_selected_by_size,
        requirements_are_joined_by_and,
        a_broken_label_selector_is_refused,
        every_kind_is_selected_by_name,
        every_namespaced_kind_is_selected_by_namespace,
        fields_are_selected_by_inequality,
        pods_are_selected_by_node,
        pods_are_selected_by_phase,
        pods_are_selected_by_other_fields,
        secrets_are_selected_by_type,
        namespaces_are_selected_by_phase,
        nodes_are_selected_by_being_unschedulable,
        events_are_selected_by_what_they_are_about,
        label_and_field_selectors_are_joined,
        an_unknown_field_is_refused,
        a_broken_field_selector_is_refused,
    ]
}

/// Four secrets: `blue` and `red` by colour, `big` by size, and `plain` without labels.
async fn painted(cx: &Cx) -> Result<()> {
    for (name, labels) in [
        ("big", json!({"size": "10"})),
        ("blue", json!({"color": "blue"})),
        ("plain", json!({})),
        ("red", json!({"color": "red", "size": "2"})),
    ] {
        let body = with(secret(name), json!({"metadata": {"labels": labels}}));
        cx.create(cx.core("secrets"), &body).await?;
    }
    Ok(())
}

/// Claims what a label selector finds, in the encoding of a query.
async fn finds(cx: &Cx, selector: &str, names: &[&str]) -> Result<()> {
    let selector = selector.replace('=', "%3D").replace('!', "%21").replace(' ', "%20");
    let selector = selector.replace('>', "%3E").replace('<', "%3C");
    let list = cx.get(cx.core(&format!("secrets?labelSelector={selector}"))).await?.code(200)?;
    list.lists(names)?;
    Ok(())
}

async fn labels_are_selected_by_equality(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    finds(&cx, "color=red", &["red"]).await?;
    finds(&cx, "color==red", &["red"]).await?;
    // What has no such label is not equal to it either.
    finds(&cx, "color!=red", &["big", "blue", "plain"]).await?;
    finds(&cx, "color=", &[]).await
}

async fn labels_are_selected_by_set(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    finds(&cx, "color in (red,blue)", &["blue", "red"]).await?;
    finds(&cx, "color notin (red, green)", &["big", "blue", "plain"]).await
}

async fn labels_are_selected_by_existence(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    finds(&cx, "color", &["blue", "red"]).await?;
    finds(&cx, "!color", &["big", "plain"]).await?;
    finds(&cx, "", &["big", "blue", "plain", "red"]).await
}

async fn labels_are_selected_by_size(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    finds(&cx, "size>2", &["big"]).await?;
    finds(&cx, "size<10", &["red"]).await
}

async fn requirements_are_joined_by_and(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    finds(&cx, "color,size", &["red"]).await?;
    finds(&cx, "color in (red,blue),!size", &["blue"]).await?;
    finds(&cx, "color=red,color=blue", &[]).await
}

async fn a_broken_label_selector_is_refused(cx: Cx) -> Result<()> {
    for selector in ["a%20in%20b", "a%3Db%3Dc", "-a", "a%20b", "a%20in%20()%2C"] {
        let path = cx.core(&format!("configmaps?labelSelector={selector}"));
        let reply = cx.get(path).await?;
        reply.refused(400, "BadRequest")?;
    }
    Ok(())
}

async fn every_kind_is_selected_by_name(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    let list = cx.get(cx.core("secrets?fieldSelector=metadata.name%3Dred")).await?.code(200)?;
    list.at("/kind", "SecretList")?.lists(&["red"])?;
    let list = cx.get(cx.core("secrets?fieldSelector=metadata.name%3Dgreen")).await?.code(200)?;
    list.lists(&[])?;
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let list = cx.get(format!("/api/v1/nodes?fieldSelector=metadata.name%3D{name}")).await?.code(200)?;
    list.lists(&[&name])?;
    Ok(())
}

async fn every_namespaced_kind_is_selected_by_namespace(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    let path = format!("/api/v1/secrets?fieldSelector=metadata.namespace%3D{}", cx.namespace());
    cx.get(path).await?.code(200)?.lists(&["a"])?;
    let path = cx.core("secrets?fieldSelector=metadata.namespace%3Delsewhere");
    cx.get(path).await?.code(200)?.lists(&[])?;
    Ok(())
}

async fn fields_are_selected_by_inequality(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    let path = cx.core("secrets?fieldSelector=metadata.name%21%3Dred%2Cmetadata.name%21%3Dplain");
    cx.get(path).await?.code(200)?.lists(&["big", "blue"])?;
    Ok(())
}

async fn pods_are_selected_by_node(cx: Cx) -> Result<()> {
    let here = cx.unique("here");
    cx.create(cx.core("pods"), &pod_on("a", &here)).await?;
    cx.create(cx.core("pods"), &pod_on("b", "there")).await?;
    cx.create(cx.core("pods"), &pod("c")).await?;
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{here}");
    cx.get(path).await?.code(200)?.lists(&["a"])?;
    cx.get(cx.core("pods?fieldSelector=spec.nodeName%3D")).await?.code(200)?.lists(&["c"])?;
    cx.get(cx.core("pods?fieldSelector=spec.nodeName%21%3D")).await?.code(200)?.lists(&["a", "b"])?;
    Ok(())
}

async fn pods_are_selected_by_phase(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    cx.create(cx.core("pods"), &pod("b")).await?;
    let running = json!({"status": {"phase": "Running"}});
    cx.patch("merge", cx.core("pods/b/status"), &running).await?.code(200)?;
    cx.get(cx.core("pods?fieldSelector=status.phase%3DPending")).await?.code(200)?.lists(&["a"])?;
    cx.get(cx.core("pods?fieldSelector=status.phase%21%3DPending")).await?.code(200)?.lists(&["b"])?;
    Ok(())
}

async fn pods_are_selected_by_other_fields(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &with(pod("a"), json!({"spec": {"restartPolicy": "Never"}}))).await?;
    cx.create(cx.core("pods"), &with(pod("b"), json!({"spec": {"serviceAccountName": "robot"}}))).await?;
    cx.create(cx.core("pods"), &with(pod("c"), json!({"spec": {"hostNetwork": true}}))).await?;
    let find = async |selector: &str, names: &[&str]| -> Result<()> {
        cx.get(cx.core(&format!("pods?fieldSelector={selector}"))).await?.code(200)?.lists(names)?;
        Ok(())
    };
    find("spec.restartPolicy%3DNever", &["a"]).await?;
    find("spec.serviceAccountName%3Drobot", &["b"]).await?;
    find("spec.hostNetwork%3Dtrue", &["c"]).await?;
    find("spec.schedulerName%3Ddefault-scheduler", &["a", "b", "c"]).await
}

async fn secrets_are_selected_by_type(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.create(cx.core("secrets"), &with(secret("b"), json!({"type": "conformance.example/b"}))).await?;
    cx.get(cx.core("secrets?fieldSelector=type%3DOpaque")).await?.code(200)?.lists(&["a"])?;
    cx.get(cx.core("secrets?fieldSelector=type%21%3DOpaque")).await?.code(200)?.lists(&["b"])?;
    Ok(())
}

async fn namespaces_are_selected_by_phase(cx: Cx) -> Result<()> {
    let path = |phase: &str| {
        format!("/api/v1/namespaces?fieldSelector=status.phase%3D{phase}&labelSelector=case%3D{}", cx.id())
    };
    cx.get(path("Active")).await?.code(200)?.lists(&[cx.namespace()])?;
    cx.get(path("Terminating")).await?.code(200)?.lists(&[])?;
    Ok(())
}

async fn nodes_are_selected_by_being_unschedulable(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &with(node(&name), json!({"spec": {"unschedulable": true}}))).await?;
    let path = format!("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue%2Cmetadata.name%3D{name}");
    cx.get(path).await?.code(200)?.lists(&[&name])?;
    Ok(())
}

async fn events_are_selected_by_what_they_are_about(cx: Cx) -> Result<()> {
    for (name, about, kind) in [("one", "a", "Normal"), ("two", "b", "Warning")] {
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "type": kind,
            "reason": "Tested", "source": {"component": "suite"}, "involvedObject": {
            "kind": "Pod", "name": about, "namespace": cx.namespace(), "uid": format!("uid-{about}"),
            "apiVersion": "v1", "fieldPath": "spec"}});
        cx.create(cx.core("events"), &event).await?;
    }
    for selector in [
        "involvedObject.name%3Da",
        "involvedObject.uid%3Duid-a%2CinvolvedObject.kind%3DPod",
        "type%3DNormal",
        "reason%3DTested%2Ctype%21%3DWarning",
        "source%3Dsuite%2CinvolvedObject.name%3Da",
    ] {
        let list = cx.get(cx.core(&format!("events?fieldSelector={selector}"))).await?.code(200)?;
        list.lists(&["one"])?;
    }
    let path = cx.group("events.k8s.io/v1", "events?fieldSelector=regarding.name%3Db");
    cx.get(path).await?.code(200)?.lists(&["two"])?;
    Ok(())
}

async fn label_and_field_selectors_are_joined(cx: Cx) -> Result<()> {
    painted(&cx).await?;
    let path = cx.core("secrets?labelSelector=color&fieldSelector=metadata.name%21%3Dred");
    cx.get(path).await?.code(200)?.lists(&["blue"])?;
    Ok(())
}

async fn an_unknown_field_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.get(cx.core("configmaps?fieldSelector=data.a%3D1")).await?.refused(400, "BadRequest")?;
    reply.says(&[
        "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    ])?;
    let reply = cx.get(cx.core("pods?fieldSelector=spec.colour%3Dred")).await?.refused(400, "BadRequest")?;
    reply.says(&["field label not supported: spec.colour"])?;
    Ok(())
}

async fn a_broken_field_selector_is_refused(cx: Cx) -> Result<()> {
    let reply =
        cx.get(cx.core("configmaps?fieldSelector=metadata.name")).await?.refused(400, "BadRequest")?;
    reply.says(&["invalid selector"])?;
    Ok(())
}
