//! What containers get that was left out, and what they are refused for.

use super::*;

/// A pod with one container that has these fields, and what is wrong with it.
fn problems(fields: &Value) -> Vec<String> {
    let mut container = json!({"name": "a", "image": "x"});
    container.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    default(&mut container);
    check(&json!({"containers": [container], "terminationGracePeriodSeconds": 30}))
}

fn check(spec: &Value) -> Vec<String> {
    let volumes = items(spec, "volumes").map(|volume| (word(volume, "name"), volume)).collect();
    let around = Around::new(spec, volumes);
    let mut problems = Problems::default();
    check_main(spec, &FieldPath::new("containers"), &around, &mut problems);
    check_init(spec, &FieldPath::new("initContainers"), &around, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn defaulted(mut container: Value) -> Value {
    default(&mut container);
    container
}

#[test]
fn a_container_without_a_word_has_defaults() {
    let expected = json!({
        "image": "x", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File", "resources": {},
    });
    assert_eq!(defaulted(json!({"image": "x"})), expected);
    assert_eq!(defaulted(expected.clone()), expected);
}

#[test]
fn probes_and_hooks_have_defaults() {
    let container = defaulted(json!({
        "livenessProbe": {"grpc": {"port": 1}, "timeoutSeconds": 0}, "ports": [{"containerPort": 1}],
        "lifecycle": {"postStart": {"httpGet": {"port": 1}}, "stopSignal": "SIGTERM"},
        "env": [
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
    }));
    assert_eq!(
        container["livenessProbe"],
        json!({
            "grpc": {"port": 1, "service": ""}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
            "failureThreshold": 3,
        })
    );
    assert_eq!(
        container["lifecycle"],
        json!({"postStart": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}}})
    );
    assert_eq!(container["ports"][0]["protocol"], "TCP");
    assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    assert_eq!(container["env"][1]["valueFrom"]["resourceFieldRef"]["divisor"], "0");
}

#[test]
fn what_is_not_asked_for_is_asked_for_up_to_the_limit() {
    let container = defaulted(
        json!({"resources": {"limits": {"cpu": "0.5", "memory": "1Gi"}, "requests": {"cpu": "100m"}}}),
    );
    assert_eq!(
        container["resources"],
        json!({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}})
    );
}

#[test]
fn a_pod_has_containers_with_names_and_images() {
    assert_eq!(check(&json!({"containers": []})), ["containers: Required value"]);
    assert_eq!(
        problems(
            &json!({"name": "", "image": "", "imagePullPolicy": "Maybe", "terminationMessagePolicy": "No"})
        ),
        [
            "containers[0].name: Required value",
            "containers[0].image: Required value",
            "containers[0].terminationMessagePolicy: Unsupported value: \"No\": \
             supported values: \"File\", \"FallbackToLogsOnError\"",
            "containers[0].imagePullPolicy: Unsupported value: \"Maybe\": \
             supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ]
    );
    let twin = defaulted(json!({"name": "a", "image": "x"}));
    assert_eq!(
        check(&json!({"containers": [twin, twin], "initContainers": [twin]})),
        ["containers[1].name: Duplicate value: \"a\"", "initContainers[0].name: Duplicate value: \"a\""]
    );
}

#[test]
fn ports_are_in_range_and_on_a_node_once() {
    assert_eq!(
        problems(&json!({"ports": [
            {"containerPort": 0}, {"containerPort": 70000, "protocol": "X"}, {"containerPort": 1, "hostPort": 2},
            {"containerPort": 3, "hostPort": 2}, {"containerPort": 3, "hostPort": 2, "protocol": "UDP"},
            {"name": "1", "containerPort": 1}, {"name": "p", "containerPort": 1}, {"name": "p", "containerPort": 2},
        ]})),
        [
            "containers[0].ports[0].containerPort: Required value",
            "containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "containers[0].ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "containers[0].ports[5].name: Invalid value: \"1\": must contain at least one letter (a-z)",
            "containers[0].ports[7].name: Duplicate value: \"p\"",
            "containers[0].ports[3].hostPort: Duplicate value: \"TCP//2\"",
        ]
    );
}

#[test]
fn a_variable_has_one_source() {
    assert_eq!(
        problems(&json!({"env": [
            {"name": ""}, {"name": "a=b"}, {"name": "A", "valueFrom": {}},
            {"name": "B", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}, "secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "spec.containers"}}},
            {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            {"name": "F", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}},
        ]})),
        [
            "containers[0].env[0].name: Required value",
            "containers[0].env[1].name: Invalid value: \"a=b\": a valid environment variable name must consist only of \
             printable ASCII characters other than '='",
            "containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, \
             `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            "containers[0].env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "containers[0].env[4].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
            "containers[0].env[5].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.containers\": \
             error converting fieldPath: field label not supported: spec.containers",
            "containers[0].env[6].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": supported values: \
             \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \
             \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\"",
            "containers[0].env[7].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": \
             only divisor's values 1m and 1 are supported with the cpu resource",
        ]
    );
    assert_eq!(
        problems(&json!({"envFrom": [{}, {"secretRef": {}}]})),
        [
            "containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
            "containers[0].envFrom[1].secretRef.name: Required value",
        ]
    );
}

#[test]
fn a_mount_is_of_a_volume_and_at_a_place_of_its_own() {
    let container = defaulted(json!({"name": "a", "image": "x", "volumeMounts": [
        {"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x", "subPath": "../y"}, {"name": "w"},
    ]}));
    assert_eq!(
        check(&json!({"containers": [container], "volumes": [{"name": "v"}]})),
        [
            "containers[0].volumeMounts[1].mountPath: Invalid value: \"/x\": must be unique",
            "containers[0].volumeMounts.subPath: Invalid value: \"../y\": must not contain '..'",
            "containers[0].volumeMounts[2].name: Not found: \"w\"",
            "containers[0].volumeMounts[2].mountPath: Required value",
        ]
    );
}

#[test]
fn a_container_asks_for_no_more_than_it_may_use() {
    let found = |resources: Value| problems(&json!({"resources": resources}));
    assert_eq!(
        found(json!({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}})),
        [
            "containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"
        ]
    );
    assert_eq!(
        found(json!({"limits": {"memory": "-1"}})),
        [
            "containers[0].resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
            "containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
        ]
    );
    assert_eq!(
        found(json!({"requests": {"example.com/gpu": "1"}})),
        [
            "containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"
        ]
    );
    assert_eq!(
        found(json!({"limits": {"hugepages-2Mi": "4Mi"}})),
        ["containers[0].resources: Forbidden: HugePages require cpu or memory"]
    );
}

#[test]
fn a_probe_has_one_way_to_ask() {
    assert_eq!(
        problems(&json!({
            "livenessProbe": {"exec": {}, "tcpSocket": {"port": 1}, "successThreshold": 2},
            "readinessProbe": {"periodSeconds": -1, "terminationGracePeriodSeconds": 5},
            "lifecycle": {"preStop": {"sleep": {"seconds": 31}}},
        })),
        [
            "containers[0].lifecycle.preStop.sleep: Invalid value: 31: \
             must be non-negative and less than terminationGracePeriodSeconds (30)",
            "containers[0].livenessProbe.exec.command: Required value",
            "containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            "containers[0].readinessProbe: Required value: must specify a handler type",
            "containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: \
             must not be set for readinessProbes",
        ]
    );
}

#[test]
fn only_a_sidecar_is_probed_before_the_others_start() {
    let main = defaulted(json!({"name": "a", "image": "x"}));
    let with = |fields: Value| {
        let mut container =
            json!({"name": "i", "image": "x", "livenessProbe": {"exec": {"command": ["true"]}}});
        container.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        check(&json!({"containers": [main], "initContainers": [defaulted(container)]}))
    };
    assert!(with(json!({"restartPolicy": "Always"})).is_empty());
    assert_eq!(
        with(json!({"restartPolicy": "Sometimes"})),
        [
            "initContainers[0].restartPolicy: Unsupported value: \"Sometimes\": \
             supported values: \"Always\", \"Never\", \"OnFailure\"",
            "initContainers[0].livenessProbe: Forbidden: \
             may not be set for init containers without restartPolicy=Always",
        ]
    );
}

#[test]
fn the_quality_of_service_follows_from_the_limits() {
    let quality_of = |all: &[Value]| {
        let containers: Vec<Value> = all.iter().map(|one| defaulted(json!({"resources": one}))).collect();
        quality(&json!({"containers": containers}))
    };
    let full = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    assert_eq!(quality_of(&[json!({})]), "BestEffort");
    assert_eq!(quality_of(std::slice::from_ref(&full)), "Guaranteed");
    assert_eq!(quality_of(&[full.clone(), json!({})]), "Burstable");
    assert_eq!(quality_of(&[json!({"limits": {"cpu": "1"}})]), "Burstable");
    assert_eq!(quality_of(&[json!({"requests": {"cpu": "0"}})]), "BestEffort");
    let init = json!({"containers": [defaulted(json!({"resources": full}))], "initContainers": [{}]});
    assert_eq!(quality(&init), "Burstable");
}

#[test]
fn a_pod_as_a_whole_asks_for_what_its_containers_ask_for() {
    let asks = |cpu: &str| defaulted(json!({"resources": {"requests": {"cpu": cpu}}}));
    let mut spec =
        json!({"containers": [asks("1500m"), asks("500m")], "resources": {"limits": {"cpu": "4"}}});
    default_pod_resources(&mut spec);
    assert_eq!(spec["resources"]["requests"], json!({"cpu": "2"}));
    spec["resources"] = json!({"requests": {"cpu": "1"}});
    let mut problems = Problems::default();
    check_pod_resources(&spec, &FieldPath::new("resources"), &mut problems);
    let texts: Vec<String> = problems.iter().map(FieldError::to_string).collect();
    assert_eq!(
        texts,
        ["resources.requests[cpu]: Invalid value: \"1\": \
          must be greater than or equal to aggregate container requests of 2"]
    );
}
