//! A pod's manifest, as far as the runtime reads it.
//!
//! What is not named here is not looked at; [`check`] says what of it cannot be done without. Fields are
//! lenient where Kubernetes has defaults, because a manifest may come from a file and not from an API server.

mod check;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use check::{Surroundings, check};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Pod {
    pub(crate) metadata: Metadata,
    pub(crate) spec: PodSpec,
    pub(crate) status: GivenStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) generation: Option<i64>,
}

/// Of the status that came with the manifest, only what others have to say in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GivenStatus {
    pub(crate) conditions: Vec<GivenCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GivenCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) containers: Vec<Container>,
    pub(crate) init_containers: Vec<Container>,
    pub(crate) ephemeral_containers: Vec<Ephemeral>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) restart_policy: RestartPolicy,
    pub(crate) termination_grace_period_seconds: Option<i64>,
    pub(crate) active_deadline_seconds: Option<i64>,
    pub(crate) node_name: String,
    pub(crate) service_account_name: String,
    pub(crate) hostname: String,
    pub(crate) readiness_gates: Vec<ReadinessGate>,
    pub(crate) security_context: SecurityContext,
    pub(crate) resource_claims: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Ephemeral {
    pub(crate) name: String,
    pub(crate) image: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReadinessGate {
    pub(crate) condition_type: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecurityContext {
    pub(crate) run_as_user: Option<u32>,
    pub(crate) run_as_group: Option<u32>,
    pub(crate) run_as_non_root: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) working_dir: String,
    pub(crate) env: Vec<EnvVar>,
    pub(crate) env_from: Vec<EnvFrom>,
    pub(crate) volume_mounts: Vec<Mount>,
    pub(crate) volume_devices: Vec<Value>,
    pub(crate) ports: Vec<Port>,
    pub(crate) resources: Resources,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) startup_probe: Option<Probe>,
    pub(crate) liveness_probe: Option<Probe>,
    pub(crate) readiness_probe: Option<Probe>,
    pub(crate) restart_policy: Option<RestartPolicy>,
    pub(crate) security_context: SecurityContext,
    pub(crate) stdin: bool,
    pub(crate) tty: bool,
    pub(crate) termination_message_path: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvVar {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) value_from: Option<EnvSource>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvSource {
    pub(crate) field_ref: Option<FieldRef>,
    pub(crate) resource_field_ref: Option<ResourceFieldRef>,
    pub(crate) config_map_key_ref: Option<KeyRef>,
    pub(crate) secret_key_ref: Option<KeyRef>,
    pub(crate) file_key_ref: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FieldRef {
    pub(crate) field_path: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceFieldRef {
    pub(crate) container_name: String,
    pub(crate) resource: String,
    pub(crate) divisor: Option<Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KeyRef {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvFrom {
    pub(crate) prefix: String,
    pub(crate) config_map_ref: Option<ObjectRef>,
    pub(crate) secret_ref: Option<ObjectRef>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectRef {
    pub(crate) name: String,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Mount {
    pub(crate) name: String,
    pub(crate) mount_path: String,
    pub(crate) sub_path: String,
    pub(crate) sub_path_expr: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) container_port: u16,
    pub(crate) host_port: u16,
    #[serde(rename = "hostIP")]
    pub(crate) host_ip: String,
    pub(crate) protocol: String,
}

/// As written: `500m`, `64Mi`, or a bare number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Quantity {
    Text(String),
    Number(serde_json::Number),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Resources {
    pub(crate) limits: BTreeMap<String, Quantity>,
    pub(crate) requests: BTreeMap<String, Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Lifecycle {
    pub(crate) post_start: Option<Handler>,
    pub(crate) pre_stop: Option<Handler>,
    pub(crate) stop_signal: Option<String>,
}

/// What a hook or a probe does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Handler {
    pub(crate) exec: Option<ExecAction>,
    pub(crate) http_get: Option<HttpAction>,
    pub(crate) tcp_socket: Option<TcpAction>,
    pub(crate) sleep: Option<SleepAction>,
    pub(crate) grpc: Option<GrpcAction>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExecAction {
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HttpAction {
    pub(crate) host: String,
    pub(crate) port: PortRef,
    pub(crate) path: String,
    pub(crate) scheme: String,
    pub(crate) http_headers: Vec<Header>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TcpAction {
    pub(crate) host: String,
    pub(crate) port: PortRef,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SleepAction {
    pub(crate) seconds: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GrpcAction {
    pub(crate) port: u16,
    pub(crate) service: Option<String>,
}

/// A port by number, or by the name it has in the container's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PortRef {
    Number(u16),
    Name(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Probe {
    #[serde(flatten)]
    pub(crate) handler: Handler,
    #[serde(default)]
    pub(crate) initial_delay_seconds: u32,
    #[serde(default = "ten")]
    pub(crate) period_seconds: u32,
    #[serde(default = "one")]
    pub(crate) timeout_seconds: u32,
    #[serde(default = "one")]
    pub(crate) success_threshold: u32,
    #[serde(default = "three")]
    pub(crate) failure_threshold: u32,
    #[serde(default)]
    pub(crate) termination_grace_period_seconds: Option<i64>,
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn ten() -> u32 {
    10
}

/// A volume: its name, and the one source it has under a key of its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) config_map: Option<ConfigVolume>,
    pub(crate) secret: Option<SecretVolume>,
    pub(crate) empty_dir: Option<Value>,
    pub(crate) host_path: Option<HostPath>,
    #[serde(rename = "downwardAPI")]
    pub(crate) downward_api: Option<DownwardVolume>,
    pub(crate) projected: Option<Projected>,
    /// Sources of other kinds, kept to be named in the refusal.
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConfigVolume {
    pub(crate) name: String,
    pub(crate) items: Vec<Item>,
    pub(crate) default_mode: Option<u32>,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecretVolume {
    pub(crate) secret_name: String,
    pub(crate) items: Vec<Item>,
    pub(crate) default_mode: Option<u32>,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) path: String,
    pub(crate) mode: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HostPath {
    pub(crate) path: String,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DownwardVolume {
    pub(crate) items: Vec<DownwardItem>,
    pub(crate) default_mode: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DownwardItem {
    pub(crate) path: String,
    pub(crate) field_ref: Option<FieldRef>,
    pub(crate) resource_field_ref: Option<ResourceFieldRef>,
    pub(crate) mode: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Projected {
    pub(crate) sources: Vec<Source>,
    pub(crate) default_mode: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Source {
    pub(crate) config_map: Option<ConfigVolume>,
    /// Here, unlike in a volume of its own, the field is called `name`.
    pub(crate) secret: Option<ConfigVolume>,
    #[serde(rename = "downwardAPI")]
    pub(crate) downward_api: Option<DownwardVolume>,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

// === impl Pod ===

impl Pod {
    /// Reads a manifest; the error says in plain words why it is no pod.
    pub(crate) fn parse(manifest: &Value) -> Result<Self, String> {
        if !manifest.is_object() {
            return Err("the manifest is not an object".into());
        }
        // Absent and null mean the same in Kubernetes, and not to serde.
        serde_json::from_value(without_nulls(manifest))
            .map_err(|error| format!("the manifest is not a pod: {error}"))
    }

    pub(crate) fn grace(&self) -> Duration {
        seconds(self.spec.termination_grace_period_seconds.unwrap_or(30))
    }
}

// === impl Container ===

impl Container {
    pub(crate) fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(RestartPolicy::Always)
    }

    pub(crate) fn port(&self, port: &PortRef) -> Option<u16> {
        match port {
            PortRef::Number(number) => Some(*number),
            // Numbers in text are allowed where a name is.
            PortRef::Name(name) => name.parse().ok().or_else(|| {
                self.ports.iter().find(|port| port.name == *name).map(|port| port.container_port)
            }),
        }
    }
}

impl Default for PortRef {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// Seconds of a manifest; what is negative counts as none.
pub(crate) fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
