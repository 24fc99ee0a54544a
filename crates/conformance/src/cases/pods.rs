//! Pods: what is filled in, what is checked, what may change later.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{pod, pod_with_container, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![pods:
        the_spec_is_filled_in,
        containers_are_filled_in,
        an_image_without_a_tag_is_always_pulled,
        ports_have_a_protocol,
        probes_are_filled_in,
        sources_are_filled_in,
        limits_become_requests,
        the_quality_follows_from_the_resources,
        a_pod_is_pending,
        the_status_of_a_new_pod_is_the_servers,
        a_pod_without_containers_is_invalid,
        containers_have_different_names,
        a_container_needs_a_name_and_an_image,
        a_port_is_within_range,
        policies_are_known_words,
        a_variable_has_a_name_and_one_source,
        a_mount_needs_its_volume,
        a_volume_has_one_source,
        a_request_is_within_its_limit,
        quantities_are_written_in_one_way,
        a_broken_quantity_is_refused,
        a_probe_has_one_handler,
        a_name_of_a_pod_is_a_domain,
        every_problem_is_told_at_once,
        init_containers_are_checked_too,
    ]
}

/// Claims what a pod lacks, as `(reason, field)`.
async fn lacks(cx: &Cx, body: &Value, causes: &[(&str, &str)]) -> Result<Reply> {
    let reply = cx.post(cx.core("pods"), body).await?.invalid(causes)?;
    reply.at("/details/kind", "Pod")?;
    Ok(reply)
}

async fn the_spec_is_filled_in(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    made.at("/spec/restartPolicy", "Always")?.at("/spec/dnsPolicy", "ClusterFirst")?;
    made.at("/spec/terminationGracePeriodSeconds", 30)?.at("/spec/schedulerName", "default-scheduler")?;
    made.at("/spec/securityContext", json!({}))?.at("/spec/enableServiceLinks", true)?;
    made.at("/metadata/generation", 1)?.absent("/spec/nodeName")?;
    Ok(())
}

async fn containers_are_filled_in(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    let container = json!({"name": "app", "image": "app:1", "resources": {}, "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"});
    made.at("/spec/containers/0", container)?;
    Ok(())
}

async fn an_image_without_a_tag_is_always_pulled(cx: Cx) -> Result<()> {
    let digest = format!("app@sha256:{}", "0".repeat(64));
    for (name, image, policy) in [
        ("tagged", "app:1", "IfNotPresent"),
        ("untagged", "app", "Always"),
        ("latest", "app:latest", "Always"),
        ("port", "registry.example:5000/app", "Always"),
        ("digest", digest.as_str(), "IfNotPresent"),
    ] {
        let made = cx.create(cx.core("pods"), &pod_with_container(name, json!({"image": image}))).await?;
        made.at("/spec/containers/0/imagePullPolicy", policy)?;
    }
    Ok(())
}

async fn ports_have_a_protocol(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"ports": [{"containerPort": 80}]}));
    let made = cx.create(cx.core("pods"), &body).await?;
    made.at("/spec/containers/0/ports/0", json!({"containerPort": 80, "protocol": "TCP"}))?;
    let host = with(body, json!({"metadata": {"name": "b"}, "spec": {"hostNetwork": true}}));
    let made = cx.create(cx.core("pods"), &host).await?;
    made.at("/spec/containers/0/ports/0/hostPort", 80)?;
    Ok(())
}

async fn probes_are_filled_in(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"livenessProbe": {"httpGet": {"port": 80}}}));
    let made = cx.create(cx.core("pods"), &body).await?;
    made.at(
        "/spec/containers/0/livenessProbe",
        json!({"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1,
            "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
    )?;
    Ok(())
}

async fn sources_are_filled_in(cx: Cx) -> Result<()> {
    let field = json!({"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    let body = with(
        pod_with_container("a", json!({"env": [field]})),
        json!({"spec": {"volumes": [{"name": "s", "secret": {"secretName": "s"}},
            {"name": "c", "configMap": {"name": "c"}}, {"name": "h", "hostPath": {"path": "/x"}}, {"name": "e"}]}}),
    );
    let made = cx.create(cx.core("pods"), &body).await?;
    made.at("/spec/containers/0/env/0/valueFrom/fieldRef/apiVersion", "v1")?;
    made.at("/spec/volumes/0/secret/defaultMode", 420)?.at("/spec/volumes/1/configMap/defaultMode", 420)?;
    made.at("/spec/volumes/2/hostPath/type", "")?.at("/spec/volumes/3/emptyDir", json!({}))?;
    Ok(())
}

async fn limits_become_requests(cx: Cx) -> Result<()> {
    let resources = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}});
    let made = cx.create(cx.core("pods"), &pod_with_container("a", json!({"resources": resources}))).await?;
    made.at("/spec/containers/0/resources/requests", json!({"cpu": "500m", "memory": "1Gi"}))?;
    Ok(())
}

async fn the_quality_follows_from_the_resources(cx: Cx) -> Result<()> {
    let all = json!({"cpu": "1", "memory": "1Gi"});
    for (name, resources, quality) in [
        ("none", json!({}), "BestEffort"),
        ("some", json!({"requests": {"cpu": "1"}}), "Burstable"),
        ("all", json!({"limits": all}), "Guaranteed"),
    ] {
        let body = pod_with_container(name, json!({"resources": resources}));
        cx.create(cx.core("pods"), &body).await?.at("/status/qosClass", quality)?;
    }
    Ok(())
}

async fn a_pod_is_pending(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod("a")).await?;
    made.at("/status", json!({"phase": "Pending", "qosClass": "BestEffort"}))?;
    Ok(())
}

async fn the_status_of_a_new_pod_is_the_servers(cx: Cx) -> Result<()> {
    let body =
        with(pod("a"), json!({"status": {"phase": "Running", "message": "mine", "podIP": "10.0.0.1"}}));
    let made = cx.create(cx.core("pods"), &body).await?;
    made.at("/status", json!({"phase": "Pending", "qosClass": "BestEffort"}))?;
    Ok(())
}

async fn a_pod_without_containers_is_invalid(cx: Cx) -> Result<()> {
    for containers in [json!([]), Value::Null] {
        let body = with(pod("a"), json!({"spec": {"containers": containers}}));
        let reply = lacks(&cx, &body, &[("FieldValueRequired", "spec.containers")]).await?;
        reply.message("Pod \"a\" is invalid: spec.containers: Required value")?.about("Pod", "a")?;
    }
    Ok(())
}

async fn containers_have_different_names(cx: Cx) -> Result<()> {
    let twice = json!([{"name": "app", "image": "app:1"}, {"name": "app", "image": "app:2"}]);
    let body = with(pod("a"), json!({"spec": {"containers": twice}}));
    let reply = lacks(&cx, &body, &[("FieldValueDuplicate", "spec.containers[1].name")]).await?;
    reply.message("Pod \"a\" is invalid: spec.containers[1].name: Duplicate value: \"app\"")?;
    Ok(())
}

async fn a_container_needs_a_name_and_an_image(cx: Cx) -> Result<()> {
    let body = with(pod("a"), json!({"spec": {"containers": [{}]}}));
    let required = "FieldValueRequired";
    lacks(&cx, &body, &[(required, "spec.containers[0].name"), (required, "spec.containers[0].image")])
        .await?;
    let body = pod_with_container("a", json!({"name": "No_Name", "image": " app"}));
    let invalid = "FieldValueInvalid";
    lacks(&cx, &body, &[(invalid, "spec.containers[0].name"), (invalid, "spec.containers[0].image")]).await?;
    Ok(())
}

async fn a_port_is_within_range(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"ports": [{"containerPort": 70000}]}));
    let reply =
        lacks(&cx, &body, &[("FieldValueInvalid", "spec.containers[0].ports[0].containerPort")]).await?;
    reply.says(&["must be between 1 and 65535, inclusive"])?;
    let body = pod_with_container("a", json!({"ports": [{"containerPort": 80, "protocol": "tcp"}]}));
    lacks(&cx, &body, &[("FieldValueNotSupported", "spec.containers[0].ports[0].protocol")]).await?;
    Ok(())
}

async fn policies_are_known_words(cx: Cx) -> Result<()> {
    let body = with(pod("a"), json!({"spec": {"restartPolicy": "Sometimes", "dnsPolicy": "Guess"}}));
    let unknown = "FieldValueNotSupported";
    let reply = lacks(&cx, &body, &[(unknown, "spec.restartPolicy"), (unknown, "spec.dnsPolicy")]).await?;
    reply.says(&["spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: "])?;
    let body = pod_with_container("a", json!({"imagePullPolicy": "Later"}));
    lacks(&cx, &body, &[(unknown, "spec.containers[0].imagePullPolicy")]).await?;
    Ok(())
}

async fn a_variable_has_a_name_and_one_source(cx: Cx) -> Result<()> {
    let field = json!({"fieldRef": {"fieldPath": "metadata.name"}});
    let env = json!([{"name": ""}, {"name": "A=B"}, {"name": "C", "value": "1", "valueFrom": field},
        {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "spec.colour"}}}]);
    let body = pod_with_container("a", json!({"env": env}));
    lacks(
        &cx,
        &body,
        &[
            ("FieldValueRequired", "spec.containers[0].env[0].name"),
            ("FieldValueInvalid", "spec.containers[0].env[1].name"),
            ("FieldValueInvalid", "spec.containers[0].env[2].valueFrom"),
            ("FieldValueInvalid", "spec.containers[0].env[3].valueFrom.fieldRef.fieldPath"),
        ],
    )
    .await?;
    Ok(())
}

async fn a_mount_needs_its_volume(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"volumeMounts": [{"name": "data", "mountPath": "/data"}]}));
    let reply =
        lacks(&cx, &body, &[("FieldValueNotFound", "spec.containers[0].volumeMounts[0].name")]).await?;
    reply.message("Pod \"a\" is invalid: spec.containers[0].volumeMounts[0].name: Not found: \"data\"")?;
    let mounts = json!([{"name": "data", "mountPath": "/x"}, {"name": "data", "mountPath": "/x"}]);
    let body = with(
        pod_with_container("a", json!({"volumeMounts": mounts})),
        json!({"spec": {"volumes": [{"name": "data", "emptyDir": {}}]}}),
    );
    lacks(&cx, &body, &[("FieldValueInvalid", "spec.containers[0].volumeMounts[1].mountPath")]).await?;
    Ok(())
}

async fn a_volume_has_one_source(cx: Cx) -> Result<()> {
    let volumes = json!([{"name": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}]);
    let body = with(pod("a"), json!({"spec": {"volumes": volumes}}));
    lacks(&cx, &body, &[("FieldValueForbidden", "spec.volumes[0].hostPath")]).await?;
    let volumes = json!([{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]);
    let body = with(pod("a"), json!({"spec": {"volumes": volumes}}));
    lacks(&cx, &body, &[("FieldValueDuplicate", "spec.volumes[1].name")]).await?;
    Ok(())
}

async fn a_request_is_within_its_limit(cx: Cx) -> Result<()> {
    let resources = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    let body = pod_with_container("a", json!({"resources": resources}));
    let reply = lacks(&cx, &body, &[("FieldValueInvalid", "spec.containers[0].resources.requests")]).await?;
    reply.says(&["must be less than or equal to cpu limit of 1"])?;
    Ok(())
}

async fn quantities_are_written_in_one_way(cx: Cx) -> Result<()> {
    let resources =
        json!({"limits": {"cpu": 1, "memory": "1024Mi"}, "requests": {"cpu": 0.5, "memory": "1000k"}});
    let made = cx.create(cx.core("pods"), &pod_with_container("a", json!({"resources": resources}))).await?;
    made.at("/spec/containers/0/resources/limits", json!({"cpu": "1", "memory": "1Gi"}))?;
    made.at("/spec/containers/0/resources/requests", json!({"cpu": "500m", "memory": "1M"}))?;
    Ok(())
}

async fn a_broken_quantity_is_refused(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"resources": {"limits": {"cpu": "much"}}}));
    let reply = cx.post(cx.core("pods"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["quantities must match the regular expression"])?;
    Ok(())
}

async fn a_probe_has_one_handler(cx: Cx) -> Result<()> {
    let body = pod_with_container("a", json!({"readinessProbe": {}}));
    lacks(&cx, &body, &[("FieldValueRequired", "spec.containers[0].readinessProbe")]).await?;
    Ok(())
}

async fn a_name_of_a_pod_is_a_domain(cx: Cx) -> Result<()> {
    lacks(&cx, &pod("Pod_1"), &[("FieldValueInvalid", "metadata.name")]).await?;
    cx.create(cx.core("pods"), &pod("pod.with.dots")).await?;
    Ok(())
}

async fn every_problem_is_told_at_once(cx: Cx) -> Result<()> {
    let body = with(pod("A"), json!({"spec": {"containers": [{"name": "a"}], "restartPolicy": "x"}}));
    let reply = lacks(
        &cx,
        &body,
        &[
            ("FieldValueInvalid", "metadata.name"),
            ("FieldValueRequired", "spec.containers[0].image"),
            ("FieldValueNotSupported", "spec.restartPolicy"),
        ],
    )
    .await?;
    reply.says(&["Pod \"A\" is invalid: ["])?;
    Ok(())
}

async fn init_containers_are_checked_too(cx: Cx) -> Result<()> {
    let init = json!([{"name": "app", "image": "init:1"}, {"name": "b"}]);
    let body = with(pod("a"), json!({"spec": {"initContainers": init}}));
    lacks(
        &cx,
        &body,
        &[
            ("FieldValueDuplicate", "spec.initContainers[0].name"),
            ("FieldValueRequired", "spec.initContainers[1].image"),
        ],
    )
    .await?;
    Ok(())
}
