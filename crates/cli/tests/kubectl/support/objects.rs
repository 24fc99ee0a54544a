//! Objects that more than one test needs.

/// A pod with labels, on a node that need not be there.
pub(crate) const POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web, tier: front}
  annotations: {note: hello}
spec:
  nodeName: rover
  containers:
  - name: server
    image: server:1
    ports: [{name: http, containerPort: 80}]
    env: [{name: MODE, value: fast}]
    resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}
";

/// A node.
pub(crate) fn node(name: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{kubernetes.io/os: linux, node-role.kubernetes.io/edge: ''}}
spec:
  podCIDR: 10.1.0.0/24
"
    )
}

/// What a kubelet would say about itself.
pub(crate) const NODE_STATUS: &str = r#"{"status": {
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "all is well",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    "nodeInfo": {"kubeletVersion": "v1.36.4", "osImage": "Linux", "kernelVersion": "6.12", "architecture": "amd64",
        "containerRuntimeVersion": "containerd://2", "operatingSystem": "linux", "machineID": "m", "systemUUID": "u",
        "bootID": "b", "kubeProxyVersion": ""}}}"#;

/// An event about an object of the core group.
pub(crate) fn event_about(
    kind: &str,
    name: &str,
    namespace: &str,
    uid: &str,
    reason: &str,
    message: &str,
) -> String {
    format!(
        "
apiVersion: v1
kind: Event
metadata: {{name: {name}.{lower}}}
involvedObject: {{apiVersion: v1, kind: {kind}, namespace: {namespace}, name: {name}, uid: '{uid}'}}
type: Warning
reason: {reason}
message: {message}
count: 3
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:01:00Z'
source: {{component: tester, host: here}}
",
        lower = reason.to_lowercase()
    )
}

/// A kind with everything that kubectl knows of custom ones: columns, a status, a scale. Its group is the namespace's own,
/// so that tests do not meet.
pub(crate) fn widgets(group: &str) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
      scale: {{specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {{name: Size, type: integer, jsonPath: .spec.replicas}}
    - {{name: Colour, type: string, jsonPath: .spec.colour, priority: 1}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [colour]
            properties:
              replicas: {{type: integer, minimum: 0, default: 1}}
              colour: {{type: string, enum: [red, green], description: What it looks like.}}
          status:
            type: object
            properties:
              replicas: {{type: integer}}
              conditions:
                type: array
                items: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"
    )
}
