//! The pods that are written, and what is read out of answers without parsing them.

use anyhow::{Context as _, Result};
use bytes::Bytes;

/// The value of the annotation that every update changes, as it is at first.
const FIRST: &str = "00000000";
const ANNOTATION: &[u8] = b"\"step\":\"";

/// The collection of a namespace.
pub(crate) fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// A pod of the usual size. Put together as text: what a client spends, it takes from the server on the same machine.
pub(crate) fn pod(name: &str, node: &str) -> Bytes {
    let pod = format!(
        r#"{{
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {{
            "name": "{name}",
            "labels": {{ "app": "camera", "tier": "perception" }},
            "annotations": {{ "step": "{FIRST}" }}
        }},
        "spec": {{
            "nodeName": "{node}",
            "containers": [{{
                "name": "main",
                "image": "registry.example.com/perception/camera:1.4.2",
                "args": ["--device=/dev/video0", "--rate=30"],
                "env": [{{ "name": "MODE", "value": "fast" }}, {{ "name": "LOG", "value": "info" }}],
                "ports": [{{ "containerPort": 8080, "name": "http" }}],
                "resources": {{ "requests": {{ "cpu": "100m", "memory": "64Mi" }} }}
            }}]
        }}
    }}"#
    );
    pod.into()
}

/// The pod as the server answered it, with the annotation at another value: what the next update writes.
pub(crate) fn at_step(pod: &Bytes, step: u64) -> Result<Bytes> {
    let begin = find(pod, ANNOTATION).context("the annotation is gone")? + ANNOTATION.len();
    let mut changed = pod.to_vec();
    let value = format!("{step:08}");
    changed
        .get_mut(begin..begin + FIRST.len())
        .context("the value is cut off")?
        .copy_from_slice(value.as_bytes());
    Ok(changed.into())
}

/// The revision of a list, which comes before its items.
pub(crate) fn revision(list: &Bytes) -> Result<String> {
    const FIELD: &[u8] = b"\"resourceVersion\":\"";
    let begin = find(list, FIELD).context("no revision")? + FIELD.len();
    let digits = list[begin..].iter().take_while(|byte| byte.is_ascii_digit());
    Ok(digits.map(|byte| char::from(*byte)).collect())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
