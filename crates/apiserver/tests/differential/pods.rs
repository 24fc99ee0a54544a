//! What pods look like.

use serde_json::json;

use super::kinds::{amount, labels, list_of, time, whole};
use super::shape::{
    Member, Shape, always, any, choice, flag, in_patches, keyed, list, map, object, often, rarely,
};

/// A pod without its status, and without what the embedded server takes as it is: affinities, spread constraints, sysctls
/// and seccomp, for which there is nobody to act on them.
pub(crate) fn pod() -> Shape {
    whole(vec![always("spec", object(spec()))])
}

fn spec() -> Vec<Member> {
    let mut init = container();
    init.push(rarely("restartPolicy", any(["Always"]).or(["Never", "X"])));
    let toleration = vec![
        often("key", any(["a", "b", "node.kubernetes.io/not-ready"]).or(["a b"])),
        always("operator", any(["Exists", "Exists", "Equal", ""]).or(["X", "Gt"])),
        rarely("value", any(["", "x"]).or(["a b"])),
        often("effect", any(["NoSchedule", "NoExecute", ""]).or(["X"])),
        rarely("tolerationSeconds", any([0, 60, 300])),
    ];
    vec![
        always("containers", keyed("name", container())),
        rarely("initContainers", keyed("name", init)),
        often("volumes", keyed("name", volume())),
        often("tolerations", list(object(toleration))),
        rarely("nodeSelector", labels()),
        rarely("nodeName", any(["n1", "n2", ""]).or(["a b"])),
        rarely("restartPolicy", any(["Always", "OnFailure", "Never", ""]).or(["X"])),
        rarely("dnsPolicy", any(["ClusterFirst", "Default", ""]).or(["X", "None"])),
        rarely("hostNetwork", flag()),
        rarely("hostPID", flag()),
        rarely("serviceAccountName", any(["a", ""]).or(["a b"])),
        rarely("serviceAccount", any(["a", "b"])),
        rarely("hostname", any(["h", ""]).or(["a.b"])),
        rarely("subdomain", any(["s"]).or(["a.b"])),
        rarely("terminationGracePeriodSeconds", any([0, 5, -1])),
        often("activeDeadlineSeconds", any([10, 20, 30]).or([0, -1])),
        rarely("schedulerName", any(["mine", ""])),
        // There are no other classes here, and nobody computes a priority from one.
        rarely("priorityClassName", any(["system-node-critical", ""])),
        in_patches("priority", any([0, 5])),
        rarely("preemptionPolicy", any(["PreemptLowerPriority"])),
        rarely("automountServiceAccountToken", flag()),
        rarely("enableServiceLinks", flag()),
        rarely("shareProcessNamespace", flag()),
        rarely("setHostnameAsFQDN", flag()),
        rarely("securityContext", object(security_of_pod())),
        rarely("imagePullSecrets", keyed("name", vec![always("name", any(["a", "b", ""]))])),
        rarely(
            "hostAliases",
            keyed(
                "ip",
                vec![
                    always("ip", any(["10.0.0.1", "10.0.0.2"]).or(["x"])),
                    often("hostnames", list_of(&["a", "b"])),
                ],
            ),
        ),
        rarely(
            "schedulingGates",
            keyed("name", vec![always("name", any(["example.com/a", "example.com/b"]).or(["", "a b"]))]),
        ),
        rarely(
            "readinessGates",
            list(object(vec![always("conditionType", any(["example.com/x"]).or(["a b", ""]))])),
        ),
        rarely("os", object(vec![always("name", any(["linux"]).or(["X", ""]))])),
        rarely(
            "dnsConfig",
            object(vec![
                often("nameservers", list(any(["10.0.0.1"]).or(["x"]))),
                often(
                    "options",
                    list(object(vec![always("name", any(["n"]).or([""])), rarely("value", any(["v", ""]))])),
                ),
            ]),
        ),
    ]
}

fn security_of_pod() -> Vec<Member> {
    vec![
        often("runAsUser", any([0, 1000]).or([-1])),
        often("runAsNonRoot", flag()),
        rarely("fsGroup", any([0, 7]).or([-1])),
        rarely("supplementalGroups", list(any([1, 2]).or([-1]))),
        rarely("fsGroupChangePolicy", any(["Always"]).or(["X"])),
    ]
}

/// The members of a container, those that may change in a running pod first.
fn container() -> Vec<Member> {
    let digest =
        "registry.example/app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let port = vec![
        always("containerPort", any([80, 81, 443]).or([0, 70_000])),
        often("name", any(["a", "b", "", "http"]).or(["A", "1"])),
        often("protocol", any(["TCP", "UDP", ""]).or(["X"])),
        rarely("hostPort", any([0, 80, 81]).or([70_000])),
        rarely("hostIP", any(["", "10.0.0.1"])),
    ];
    let mount = vec![
        always("mountPath", any(["/a", "/b"]).or([""])),
        always("name", any(["v"]).or(["nothing", ""])),
        rarely("readOnly", flag()),
        rarely("subPath", any(["", "s"]).or(["../s", "/s"])),
        rarely("mountPropagation", any(["None", "HostToContainer"]).or(["X"])),
    ];
    vec![
        always("name", any(["a", "b", "c"]).or(["", "A b"])),
        always("image", any(["app:1", "app:2", "app", "app:latest", digest]).or(["", " app", "a b"])),
        rarely("imagePullPolicy", any(["Always", "IfNotPresent", "Never", ""]).or(["X"])),
        rarely("command", list_of(&["x", ""])),
        rarely("args", list_of(&["", "y"])),
        rarely("workingDir", any(["", "/w"])),
        often("ports", keyed("containerPort", port)),
        often("env", keyed("name", variable())),
        rarely("envFrom", list(object(sources_of_variables()))),
        often("resources", object(vec![often("limits", resources()), often("requests", resources())])),
        rarely("volumeMounts", keyed("mountPath", mount)),
        rarely("livenessProbe", probe()),
        rarely("readinessProbe", probe()),
        rarely("lifecycle", object(vec![often("preStop", object(handler()))])),
        rarely("terminationMessagePath", any(["", "/t"])),
        rarely("terminationMessagePolicy", any(["", "File", "FallbackToLogsOnError"]).or(["X"])),
        rarely("securityContext", object(security())),
        rarely("stdin", flag()),
        rarely("tty", flag()),
    ]
}

fn resources() -> Shape {
    map(&["cpu", "memory"], amount())
}

fn reference() -> Vec<Member> {
    vec![
        always("name", any(["a", "b"]).or([""])),
        always("key", any(["k", "l"]).or([""])),
        rarely("optional", flag()),
    ]
}

fn field() -> Shape {
    object(vec![
        always(
            "fieldPath",
            any(["metadata.name", "status.podIP", "metadata.labels['a']", "spec.nodeName"]).or(["x", ""]),
        ),
        rarely("apiVersion", any(["v1", ""]).or(["v2"])),
    ])
}

fn amount_of_container() -> Shape {
    object(vec![
        always("resource", any(["limits.cpu", "requests.memory"]).or(["x", ""])),
        rarely("divisor", any([json!("1"), json!("0"), json!("1m"), json!(1)]).or([json!("7")])),
        rarely("containerName", any(["a", ""])),
    ])
}

fn variable() -> Vec<Member> {
    let source = vec![
        choice("fieldRef", field()),
        choice("configMapKeyRef", object(reference())),
        choice("secretKeyRef", object(reference())),
        choice("resourceFieldRef", amount_of_container()),
    ];
    vec![
        always("name", any(["A", "B", "C"]).or(["", "a=b"])),
        often("value", any(["", "1", "x"])),
        rarely("valueFrom", object(source)),
    ]
}

fn sources_of_variables() -> Vec<Member> {
    let named = || object(vec![always("name", any(["a"]).or([""])), rarely("optional", flag())]);
    vec![
        choice("configMapRef", named()),
        choice("secretRef", named()),
        rarely("prefix", any(["", "P_"]).or(["a=b"])),
    ]
}

fn handler() -> Vec<Member> {
    let ports = || any([json!(80), json!("http")]).or([json!(0), json!("")]);
    let header = vec![always("name", any(["X-A"]).or(["a b"])), always("value", any(["", "v"]))];
    let get = vec![
        always("port", ports()),
        often("path", any(["", "/", "/p"])),
        rarely("scheme", any(["HTTP", "HTTPS", ""]).or(["X"])),
        rarely("host", any(["", "h"])),
        rarely("httpHeaders", list(object(header))),
    ];
    vec![
        choice("exec", object(vec![always("command", list_of(&["x", "y"]))])),
        choice("httpGet", object(get)),
        choice("tcpSocket", object(vec![always("port", ports()), rarely("host", any(["", "h"]))])),
    ]
}

fn probe() -> Shape {
    let mut members = handler();
    members.push(choice(
        "grpc",
        object(vec![always("port", any([80]).or([0])), rarely("service", any(["", "s"]))]),
    ));
    for (name, values) in [
        ("initialDelaySeconds", [0, 5]),
        ("timeoutSeconds", [0, 5]),
        ("periodSeconds", [0, 5]),
        ("successThreshold", [0, 1]),
        ("failureThreshold", [0, 5]),
        ("terminationGracePeriodSeconds", [1, 5]),
    ] {
        members.push(rarely(name, any(values).or([-1])));
    }
    object(members)
}

fn security() -> Vec<Member> {
    vec![
        often("privileged", flag()),
        often("runAsUser", any([0, 1000]).or([-1])),
        rarely("readOnlyRootFilesystem", flag()),
        rarely("allowPrivilegeEscalation", any([true])),
        rarely(
            "capabilities",
            object(vec![often("add", list_of(&["A", "B"])), often("drop", list_of(&["ALL"]))]),
        ),
        rarely("procMount", any(["Default"]).or(["X"])),
    ]
}

fn volume() -> Vec<Member> {
    let file = || {
        object(vec![
            always("key", any(["k"]).or([""])),
            always("path", any(["p", "p/q"]).or(["/p", "../p", ""])),
            rarely("mode", any([0, 420]).or([-1, 512])),
        ])
    };
    let mode = || any([0, 420, 256]).or([-1, 512]);
    let shown = || {
        object(vec![
            always("path", any(["p"]).or(["", "/p"])),
            choice(
                "fieldRef",
                object(vec![always(
                    "fieldPath",
                    any(["metadata.labels", "metadata.name"]).or(["spec.nodeName", ""]),
                )]),
            ),
            choice(
                "resourceFieldRef",
                object(vec![
                    always("containerName", any(["a"]).or([""])),
                    always("resource", any(["limits.cpu"]).or(["x"])),
                    rarely("divisor", any(["1", "0"])),
                ]),
            ),
        ])
    };
    let config = |name: &'static str| {
        vec![
            always(name, any(["a", "b"]).or([""])),
            rarely("items", list(file())),
            rarely("defaultMode", mode()),
            rarely("optional", flag()),
        ]
    };
    let source = vec![
        choice(
            "configMap",
            object(vec![
                always("name", any(["a"]).or([""])),
                rarely("items", list(file())),
                rarely("optional", flag()),
            ]),
        ),
        choice("secret", object(vec![always("name", any(["a"]).or([""])), rarely("items", list(file()))])),
        choice("downwardAPI", object(vec![often("items", list(shown()))])),
    ];
    vec![
        always("name", any(["v", "w", "x"]).or(["", "A b"])),
        choice(
            "emptyDir",
            object(vec![rarely("medium", any(["", "Memory"])), rarely("sizeLimit", amount())]),
        ),
        choice(
            "hostPath",
            object(vec![
                always("path", any(["/a", "/b"]).or(["", "../a"])),
                rarely("type", any(["", "File"]).or(["X"])),
            ]),
        ),
        choice("configMap", object(config("name"))),
        choice("secret", object(config("secretName"))),
        choice("downwardAPI", object(vec![often("items", list(shown())), rarely("defaultMode", mode())])),
        choice(
            "projected",
            object(vec![often("sources", list(object(source))), rarely("defaultMode", mode())]),
        ),
        choice(
            "persistentVolumeClaim",
            object(vec![always("claimName", any(["a"]).or([""])), rarely("readOnly", flag())]),
        ),
    ]
}

/// A pod with nothing but its status.
pub(crate) fn status() -> Shape {
    let condition = vec![
        always("type", any(["Ready", "PodScheduled", "example.com/x"]).or(["a b"])),
        always("status", any(["True", "False", "Unknown"]).or(["X"])),
        often("reason", any(["A", "B", ""])),
        often("message", any(["", "m"])),
        rarely("lastProbeTime", time()),
        rarely("lastTransitionTime", time()),
        rarely("observedGeneration", any([0, 1]).or([-1])),
    ];
    let ended =
        vec![always("exitCode", any([0, 1])), rarely("reason", any(["", "A"])), rarely("finishedAt", time())];
    let state = || {
        object(vec![
            choice("waiting", object(vec![often("reason", any(["A", ""]))])),
            choice("running", object(vec![rarely("startedAt", time())])),
            choice(
                "terminated",
                object(vec![
                    always("exitCode", any([0, 1])),
                    rarely("reason", any(["", "A"])),
                    rarely("containerID", any(["", "x://1"])),
                ]),
            ),
        ])
    };
    let container = vec![
        always("name", any(["a", "b", "c"])),
        always("image", any(["app:1"])),
        always("imageID", any(["", "id"])),
        always("ready", flag()),
        always("restartCount", any([0, 1])),
        often("state", state()),
        rarely("lastState", object(vec![often("terminated", object(ended))])),
        rarely("started", flag()),
        rarely("containerID", any(["", "x://1"])),
    ];
    let address =
        || keyed("ip", vec![always("ip", any(["10.0.0.1", "10.0.0.2", "2001:db8::1"]).or(["x", ""]))]);
    object(vec![always(
        "status",
        object(vec![
            often("phase", any(["Pending", "Running", "Succeeded", "Failed", ""])),
            often("conditions", keyed("type", condition)),
            rarely("podIP", any(["10.0.0.1", "10.0.0.2", ""]).or(["x"])),
            rarely("podIPs", address()),
            rarely("hostIP", any(["10.0.0.1", ""])),
            rarely("hostIPs", address()),
            often("containerStatuses", list(object(container))),
            rarely("startTime", time()),
            rarely("reason", any(["", "A"])),
            rarely("message", any(["", "m"])),
            rarely("nominatedNodeName", any(["", "n1"]).or(["a b"])),
            rarely("observedGeneration", any([0, 1]).or([-1])),
            in_patches("qosClass", any(["BestEffort", "Burstable", "Guaranteed", ""])),
        ]),
    )])
}
