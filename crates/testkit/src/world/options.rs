//! What a world is to be like, and the settings of its kubelet that follow from it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::containerd::SOCKET;
use crate::options::Options;

/// What a world is to be like. The default is Kubernetes as it comes, with one node that is called `node`.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// The control plane. Controllers and scheduler run in any case.
    pub control: Options,
    /// The name of the node.
    pub node: String,
    /// Whether the kubelet asks for lists as the beginning of a watch, as it does by default; otherwise it lists, and
    /// then watches.
    pub watch_list: bool,
    /// Whether the kubelet speaks JSON instead of protobuf.
    pub json: bool,
    /// How long a node may be silent before it is tainted: fifty seconds, unless this is shorter. The kubelet then
    /// renews its lease more often.
    pub grace: Option<Duration>,
    /// Changes to the kubelet's configuration: objects are merged, anything else is replaced.
    pub kubelet: Value,
    /// Further flags of the kubelet.
    pub kubelet_flags: Vec<String>,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            control: Options::default(),
            node: "node".to_owned(),
            watch_list: true,
            json: false,
            grace: None,
            kubelet: Value::Null,
            kubelet_flags: Vec::new(),
        }
    }
}

impl WorldOptions {
    /// The options of the control plane, which has to know how to reach the kubelet.
    pub(crate) fn control_plane(&self, folder: &Path) -> Options {
        let file = |name: &str| folder.join(name).display().to_string();
        let mut options = self.control.clone();
        options.controllers = true;
        options.scheduler = true;
        options.apiserver_flags.extend([
            format!("--kubelet-certificate-authority={}", file("ca.crt")),
            format!("--kubelet-client-certificate={}", file("apiserver-kubelet.crt")),
            format!("--kubelet-client-key={}", file("apiserver-kubelet.key")),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
        ]);
        if let Some(grace) = self.grace {
            options.controller_flags.extend([
                format!("--node-monitor-grace-period={}ms", grace.as_millis()),
                // Looks often enough to see a node go within the time that was asked for.
                format!("--node-monitor-period={}ms", (grace / 8).as_millis().max(200)),
            ]);
        }
        options
    }

    /// The kubelet's configuration.
    pub(crate) fn kubelet(&self, folder: &Path, group: &str) -> Value {
        let file = |name: &str| folder.join(name).display().to_string();
        let mut features: serde_json::Map<_, _> =
            self.control.features.iter().map(|(name, on)| (name.clone(), Value::from(*on))).collect();
        features.insert("WatchListClient".to_owned(), self.watch_list.into());
        let mut config = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": { "enabled": false },
                "webhook": { "enabled": true },
                "x509": { "clientCAFile": file("ca.crt") },
            },
            "authorization": { "mode": "Webhook" },
            "tlsCertFile": file("kubelet.crt"),
            "tlsPrivateKeyFile": file("kubelet.key"),
            "containerRuntimeEndpoint": format!("unix://{SOCKET}"),
            "staticPodPath": file("static-pods"),
            "podLogsDir": file("pod-logs"),
            // There is nobody to ask for names.
            "resolvConf": "",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": format!("/{group}"),
            // Control groups are taken as they are found; the kubelet would refuse version 1.
            "failCgroupV1": false,
            "failSwapOn": false,
            // How full somebody's disk is must not decide how tests end.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {
                "memory.available": "10Mi",
                "nodefs.available": "0.1%",
                "nodefs.inodesFree": "0.1%",
                "imagefs.available": "0.1%",
                "imagefs.inodesFree": "0.1%",
            },
            "featureGates": features,
        });
        if self.json {
            config["contentType"] = "application/json".into();
        }
        if let Some(grace) = self.grace {
            // It is renewed four times while it lasts.
            config["nodeLeaseDurationSeconds"] = grace.as_secs().clamp(1, 40).into();
        }
        merge(&mut config, &self.kubelet);
        config
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (_, Value::Null) => {}
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use serde_json::json;

    use super::WorldOptions;

    #[test]
    fn what_the_options_say_of_the_kubelet_is_in_its_configuration() {
        let kubelet = json!({ "featureGates": { "Other": true }, "syncFrequency": "5s" });
        let options = WorldOptions { watch_list: false, json: true, kubelet, ..WorldOptions::default() };
        let config = options.kubelet(Path::new("/folder"), "group");
        assert_eq!(config["featureGates"], json!({ "WatchListClient": false, "Other": true }));
        assert_eq!(config["contentType"], "application/json");
        assert_eq!(config["syncFrequency"], "5s");
        assert_eq!(config["cgroupRoot"], "/group");
    }

    #[test]
    fn a_short_grace_is_known_to_both_sides() {
        let options = WorldOptions { grace: Some(Duration::from_secs(8)), ..WorldOptions::default() };
        let flags = options.control_plane(Path::new("/folder")).controller_flags;
        assert_eq!(flags, ["--node-monitor-grace-period=8000ms", "--node-monitor-period=1000ms"]);
        assert_eq!(options.kubelet(Path::new("/folder"), "group")["nodeLeaseDurationSeconds"], 8);
    }
}
