//! Pods from their first defaults to the word that kubectl prints.

use serde_json::json;

use super::*;

fn pod() -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "x:1"}]}})
}

fn made(mut pod: Value) -> Value {
    Pods.default(&mut pod);
    Pods.begin(&mut pod);
    pod
}

fn problems(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut pod = pod();
    change(&mut pod["spec"]);
    let pod = made(pod);
    let mut problems = Problems::default();
    Pods.check(&pod, &mut problems);
    Pods.check_new(&pod, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn row(status: &Value) -> Vec<String> {
    let pod = json!({
        "metadata": {"name": "p"}, "status": status,
        "spec": {
            "containers": [{"name": "a"}, {"name": "b"}],
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        },
    });
    let now: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
    Pods.cells(&pod, now).iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_pod_without_a_word_has_defaults() {
    let tolerates = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    let pod = made(pod());
    assert_eq!(
        pod,
        json!({
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{
                    "name": "a", "image": "x:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                }],
                "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
                "securityContext": {}, "terminationGracePeriodSeconds": 30, "enableServiceLinks": true,
                "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
                "tolerations": [
                    tolerates("node.kubernetes.io/not-ready"), tolerates("node.kubernetes.io/unreachable"),
                ],
            },
            "status": {"phase": "Pending", "qosClass": "BestEffort"},
        })
    );
    let mut again = pod.clone();
    Pods.default(&mut again);
    assert_eq!(again, pod);
}

#[test]
fn what_says_nothing_is_left_out() {
    let mut object = pod();
    object["spec"]["hostNetwork"] = false.into();
    object["spec"]["nodeSelector"] = json!({});
    object["spec"]["volumes"] = json!([]);
    object["spec"]["containers"][0]["env"] = json!([]);
    object["spec"]["containers"][0]["tty"] = false.into();
    assert_eq!(made(object), made(pod()));
    let mut quiet = pod();
    quiet["spec"]["enableServiceLinks"] = false.into();
    assert_eq!(made(quiet)["spec"]["enableServiceLinks"], false);
}

#[test]
fn an_account_has_two_names() {
    let account = |spec: Value| {
        let mut object = pod();
        object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let spec = made(object)["spec"].clone();
        (spec["serviceAccountName"].clone(), spec["serviceAccount"].clone())
    };
    assert_eq!(account(json!({"serviceAccount": "a"})), (json!("a"), json!("a")));
    assert_eq!(account(json!({"serviceAccountName": "a", "serviceAccount": "b"})), (json!("a"), json!("a")));
    assert_eq!(account(json!({})), (Value::Null, Value::Null));
}

#[test]
fn on_the_network_of_the_node_a_port_is_the_nodes() {
    let mut object = pod();
    object["spec"]["hostNetwork"] = true.into();
    object["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    assert_eq!(made(object)["spec"]["containers"][0]["ports"][0]["hostPort"], 80);
    assert_eq!(
        problems(|spec| {
            spec["hostNetwork"] = true.into();
            spec["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 81}]);
        }),
        ["spec.containers[0].ports[0].hostPort: Invalid value: 81: \
          must match `containerPort` when `hostNetwork` is true"]
    );
}

#[test]
fn a_gated_pod_begins_with_the_reason_that_it_waits() {
    let mut object = pod();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    object["spec"]["schedulingGates"] = json!([{"name": "a/b"}]);
    let condition = made(object)["status"]["conditions"][0].clone();
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("PodScheduled"), &json!("SchedulingGated"))
    );
    assert_eq!(condition["lastTransitionTime"], "2026-01-01T00:00:00Z");
    assert_eq!(
        problems(|spec| {
            spec["schedulingGates"] = json!([{"name": "a/b"}]);
            spec["nodeName"] = "n".into();
            spec["ephemeralContainers"] = json!([{"name": "e", "image": "x"}]);
        }),
        [
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ]
    );
}

#[test]
fn words_are_known_and_numbers_in_range() {
    assert_eq!(
        problems(|spec| {
            spec["restartPolicy"] = "Sometimes".into();
            spec["dnsPolicy"] = "Guess".into();
            spec["activeDeadlineSeconds"] = 0.into();
            spec["hostname"] = "a.b".into();
        }),
        [
            "spec.restartPolicy: Unsupported value: \"Sometimes\": \
             supported values: \"Always\", \"OnFailure\", \"Never\"",
            "spec.dnsPolicy: Unsupported value: \"Guess\": \
             supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", \"Default\", \"None\"",
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "spec.hostname: Invalid value: \"a.b\": must not contain dots",
        ]
    );
}

#[test]
fn tolerations_and_aliases_are_well_formed() {
    assert_eq!(
        problems(|spec| {
            spec["tolerations"] = json!([
                {"operator": "Equal"}, {"key": "a", "operator": "Exists", "value": "b"},
                {"key": "a", "tolerationSeconds": 5}, {"key": "a", "operator": "Gt", "value": "1"},
            ]);
            spec["hostAliases"] = json!([{"ip": "x", "hostnames": ["ok"]}]);
        }),
        [
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, \
             which means \"match all values and all keys\"",
            "spec.tolerations[1].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
            "spec.tolerations[2].effect: Invalid value: \"\": \
             effect must be 'NoExecute' when `tolerationSeconds` is set",
            "spec.tolerations[3].operator: Unsupported value: \"Gt\": \
             supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"",
            "spec.hostAliases[0].ip: Invalid value: \"x\": \
             must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ]
    );
}

#[test]
fn a_token_is_somebodys_and_an_image_has_no_spaces_around_it() {
    let token = json!([{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]);
    assert_eq!(
        problems(|spec| {
            spec["volumes"] = token.clone();
            spec["containers"][0]["image"] = " x".into();
        }),
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: \
             must not be specified when serviceAccountName is not set",
            "spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace",
        ]
    );
}

#[test]
fn an_amount_that_is_none_cannot_be_read() {
    let mut object = pod();
    assert_eq!(Pods.unreadable(&object), None);
    object["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "lots"}});
    assert!(Pods.unreadable(&object).is_some_and(|text| text.starts_with("quantities must match")));
}

#[test]
fn an_address_is_in_the_old_field_and_in_the_new_one() {
    let status = |status: Value| {
        let mut pod = json!({"spec": {}, "status": status});
        Pods.default(&mut pod);
        pod["status"].clone()
    };
    let both = json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]});
    assert_eq!(status(json!({"podIP": "10.0.0.1"})), both);
    assert_eq!(status(json!({"podIPs": [{"ip": "10.0.0.1"}]})), both);
    assert_eq!(status(json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]})), both);
}

#[test]
fn a_writer_of_the_status_cannot_take_away_what_it_does_not_know() {
    let old = json!({"status": {
        "qosClass": "Burstable", "observedGeneration": 3,
        "conditions": [{"type": "Ready", "observedGeneration": 2}],
    }});
    let mut new = json!({"status": {"phase": "Running", "conditions": [{"type": "New"}, {"type": "Ready"}]}});
    Pods.carry_status(&mut new, &old);
    assert_eq!(
        new["status"],
        json!({
            "phase": "Running", "qosClass": "Burstable", "observedGeneration": 3,
            "conditions": [{"type": "New"}, {"type": "Ready", "observedGeneration": 2}],
        })
    );
}

#[test]
fn a_container_that_has_ended_for_good_stays_ended() {
    let pod = |restart: &str, state: Value| {
        json!({
            "spec": {"restartPolicy": restart, "containers": [{"name": "a"}]},
            "status": {"containerStatuses": [{"name": "a", "state": state}]},
        })
    };
    let texts = |restart: &str, code: i64| {
        let old = pod(restart, json!({"terminated": {"exitCode": code}}));
        let mut problems = Problems::default();
        Pods.check_status(&pod(restart, json!({"running": {}})), &old, &mut problems);
        problems.iter().map(FieldError::to_string).collect::<Vec<_>>()
    };
    assert!(texts("Always", 0).is_empty());
    assert!(texts("OnFailure", 1).is_empty());
    let refusal =
        ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"];
    assert_eq!(texts("OnFailure", 0), refusal);
    assert_eq!(texts("Never", 1), refusal);
}

#[test]
fn a_status_says_what_can_be() {
    let old = json!({"spec": {"nodeName": "n"}, "status": {"qosClass": "Burstable"}});
    let new = json!({"spec": {"nodeName": "n"}, "status": {
        "qosClass": "Guaranteed", "nominatedNodeName": "m", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}],
        "conditions": [{"type": "a b"}],
    }});
    let mut problems = Problems::default();
    Pods.check_status(&new, &old, &mut problems);
    let paths: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
    assert_eq!(
        paths,
        ["status.conditions[0].Type", "status.nominatedNodeName", "status.qosClass", "status.podIPs"]
    );
}

#[test]
fn a_row_says_in_a_word_how_a_pod_is() {
    let running = json!({"running": {}});
    let ended = |code: i64, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
    let cases = [
        (json!({"phase": "Pending"}), "0/3", "Pending"),
        (json!({"phase": "Failed", "reason": "Evicted"}), "0/3", "Evicted"),
        (
            json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {}}]}),
            "0/3",
            "Init:0/2",
        ),
        (
            json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": ended(2, "")}]}),
            "0/3",
            "Init:ExitCode:2",
        ),
        (
            json!({"phase": "Running", "initContainerStatuses": [
                {"name": "i", "state": ended(0, "Completed")},
                {"name": "s", "state": running, "started": true, "ready": true},
            ], "containerStatuses": [
                {"name": "a", "state": running, "ready": true}, {"name": "b", "state": running, "ready": true},
            ]}),
            "3/3",
            "Running",
        ),
        (
            json!({"phase": "Running", "containerStatuses": [
                {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}, {"name": "b", "state": running, "ready": true},
            ]}),
            "1/3",
            "CrashLoopBackOff",
        ),
        (
            json!({"phase": "Running", "containerStatuses": [
                {"name": "a", "state": ended(0, "Completed")}, {"name": "b", "state": running, "ready": true},
            ]}),
            "1/3",
            "NotReady",
        ),
        (
            json!({"phase": "Failed", "containerStatuses": [
                {"name": "a", "state": ended(0, "Completed")}, {"name": "b", "state": ended(1, "Error")},
            ]}),
            "0/3",
            "Error",
        ),
    ];
    for (status, ready, word) in cases {
        assert_eq!(row(&status)[..2], [ready.to_owned(), word.to_owned()], "{status}");
    }
}

#[test]
fn a_row_counts_restarts_and_says_when_the_last_was() {
    let last = json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}});
    let status = json!({"phase": "Running", "containerStatuses": [
        {"name": "a", "state": {"running": {}}, "restartCount": 2, "lastState": last},
        {"name": "b", "state": {"running": {}}, "restartCount": 1},
    ]});
    assert_eq!(row(&status)[2], "3 (5m ago)");
    assert_eq!(row(&json!({}))[2], "0");
}

#[test]
fn a_pod_that_is_going_says_so_unless_it_has_ended() {
    let going = |status: Value| {
        let pod = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": status});
        Pods.cells(&pod, Timestamp::UNIX_EPOCH)[1].clone()
    };
    assert_eq!(going(json!({"phase": "Running"})), "Terminating");
    assert_eq!(going(json!({"phase": "Succeeded"})), "Succeeded");
    assert_eq!(going(json!({"phase": "Running", "reason": "NodeLost"})), "Unknown");
    assert_eq!(Pods.row_conditions(&json!({"status": {"phase": "Failed"}}))[0]["reason"], "Failed");
    assert!(Pods.row_conditions(&json!({"status": {"phase": "Running"}})).is_empty());
    assert_eq!(Pods.columns().len(), row(&json!({})).len());
}

#[test]
fn a_pod_may_take_a_while_to_end() {
    assert_eq!(Pods.grace(&json!({})), Some(30));
    assert_eq!(Pods.grace(&json!({"spec": {"terminationGracePeriodSeconds": 5}})), Some(5));
    assert_eq!(Pods.grace(&json!({"spec": {"terminationGracePeriodSeconds": -5}})), Some(1));
    assert_eq!(Pods.field(&json!({}), "spec.hostNetwork").as_deref(), Some("false"));
}
