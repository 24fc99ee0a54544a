//! Services without anybody who gives out addresses.

use safepoint_machinery::status::FieldError;

use super::*;

fn made(mut object: Value) -> Value {
    Services.default(&mut object);
    Services.begin(&mut object);
    object
}

fn problems(object: Value) -> Vec<String> {
    let mut problems = Problems::default();
    Services.check(&made(object), &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn changed(mut new: Value, old: &Value) -> (Value, Vec<String>) {
    Services.carry(&mut new, old);
    Services.default(&mut new);
    let mut problems = Problems::default();
    Services.check(&new, &mut problems);
    Services.check_change(&new, old, &mut problems);
    (new, problems.iter().map(FieldError::to_string).collect())
}

#[test]
fn a_service_without_a_word_is_reached_inside_the_cluster() {
    assert_eq!(
        made(json!({"spec": {"ports": [{"port": 80}]}})),
        json!({
            "spec": {
                "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
            },
            "status": {"loadBalancer": {}},
        })
    );
}

#[test]
fn no_address_is_given_out_and_a_given_one_is_kept() {
    let service = made(json!({"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 1}]}}));
    assert_eq!(service["spec"]["clusterIPs"], json!(["10.0.0.1"]));
    let open = made(json!({"spec": {"clusterIP": "None"}}));
    assert_eq!(open["spec"]["clusterIPs"], json!(["None"]));
    assert_eq!(open["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(open["spec"]["ipFamilyPolicy"], "RequireDualStack");
    let headless = made(json!({"spec": {"clusterIP": "None", "selector": {"a": "b"}}}));
    assert_eq!(headless["spec"]["ipFamilyPolicy"], "SingleStack");
    assert!(made(json!({"spec": {"type": "ExternalName"}}))["spec"].get("ipFamilies").is_none());
}

#[test]
fn sessions_stick_for_three_hours() {
    let spec = made(json!({"spec": {"sessionAffinity": "ClientIP"}}))["spec"].clone();
    assert_eq!(spec["sessionAffinityConfig"], json!({"clientIP": {"timeoutSeconds": 10800}}));
    assert_eq!(
        problems(json!({"spec": {
            "clusterIP": "None", "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
        }})),
        ["spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: \
          must be greater than 0 and less than 86400"]
    );
}

#[test]
fn ports_are_named_when_there_are_several_and_none_is_there_twice() {
    assert_eq!(problems(json!({})), ["spec.ports: Required value"]);
    assert!(problems(json!({"spec": {"clusterIP": "None"}})).is_empty());
    let mut found = problems(json!({"spec": {"ports": [
        {"port": 80, "targetPort": "http"}, {"name": "b", "port": 80, "protocol": "HTTP"}, {"name": "b", "port": 0},
        {"name": "c", "port": 80},
    ]}}));
    let duplicate = found.pop().unwrap();
    assert_eq!(
        found,
        [
            "spec.ports[0].name: Required value",
            "spec.ports[1].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "spec.ports[2].name: Duplicate value: \"b\"",
            "spec.ports[2].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[2].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
        ]
    );
    assert!(duplicate.starts_with("spec.ports[3]: Duplicate value: {"), "{duplicate}");
}

#[test]
fn a_type_says_what_may_be_set() {
    let port = json!([{"port": 1, "nodePort": 30000}]);
    assert_eq!(
        problems(
            json!({"spec": {"ports": port, "loadBalancerClass": "a/b", "externalTrafficPolicy": "Local"}})
        ),
        [
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
            "spec.externalTrafficPolicy: Invalid value: \"Local\": \
             may only be set for externally-accessible services",
        ]
    );
    assert!(problems(json!({"spec": {"ports": port, "type": "NodePort"}})).is_empty());
    assert_eq!(
        problems(json!({"spec": {"type": "ExternalName", "clusterIPs": ["None"]}})),
        [
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
            "spec.externalName: Required value",
        ]
    );
    assert_eq!(
        problems(json!({"spec": {"type": "Other", "clusterIP": "None"}})),
        ["spec.type: Unsupported value: \"Other\": \
          supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\""]
    );
}

#[test]
fn addresses_fit_each_other() {
    let found = |spec: Value| {
        let mut spec = spec;
        spec["ports"] = json!([{"port": 1}]);
        problems(json!({"spec": spec}))
    };
    assert!(found(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]})).is_empty());
    assert_eq!(
        found(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]})),
        ["spec.clusterIPs: Invalid value: [\"10.0.0.2\"]: first value must match `clusterIP`"]
    );
    assert_eq!(
        found(json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv6"]})),
        ["spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": \
          expected an IPv6 value as indicated by `ipFamilies[0]`"]
    );
    assert_eq!(found(json!({"clusterIP": "x"})).len(), 1);
    assert_eq!(found(json!({"externalIPs": ["127.0.0.1", "8.8.8.8"]})).len(), 1);
}

#[test]
fn what_was_given_stays_even_if_it_is_left_out() {
    let old = made(json!({"spec": {
        "type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"name": "a", "port": 1, "nodePort": 30000}],
    }}));
    let (new, found) =
        changed(json!({"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 2}]}}), &old);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(new["spec"]["clusterIP"], "10.0.0.1");
    assert_eq!(new["spec"]["ports"][0]["nodePort"], 30000);
    let (_, found) = changed(json!({"spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 1}]}}), &old);
    assert_eq!(found.len(), 1, "{found:?}");
    let other =
        json!({"spec": {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ports": [{"port": 1}]}});
    let (_, found) = changed(other, &old);
    assert_eq!(found, ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.9\"]: may not change once set"]);
}

#[test]
fn what_belongs_to_a_type_goes_with_it() {
    let mut old = made(json!({"spec": {
        "type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 1, "nodePort": 30000}],
    }}));
    old["status"] = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}});
    let mut new = old.clone();
    new["spec"]["type"] = "ExternalName".into();
    new["spec"]["externalName"] = "example.com".into();
    let (new, found) = changed(new, &old);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        new,
        json!({
            "spec": {
                "type": "ExternalName", "externalName": "example.com", "sessionAffinity": "None",
                "ports": [{"port": 1, "targetPort": 1, "protocol": "TCP"}],
            },
            "status": {"loadBalancer": {}},
        })
    );
}

#[test]
fn only_a_balancer_has_an_ingress() {
    let texts = |object: Value| {
        let mut problems = Problems::default();
        Services.check_status(&object, &json!({}), &mut problems);
        problems.iter().map(FieldError::to_string).collect::<Vec<_>>()
    };
    let status = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "1.2.3.4"}]}});
    assert_eq!(texts(json!({"spec": {"type": "ClusterIP"}, "status": status})).len(), 1);
    assert_eq!(
        texts(json!({"spec": {"type": "LoadBalancer"}, "status": status})),
        [
            "status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set",
            "status.loadBalancer.ingress[1].hostname: Invalid value: \"1.2.3.4\": \
             must be a DNS name, not an IP address",
        ]
    );
}

#[test]
fn a_row_says_where_a_service_is() {
    let service = made(json!({"spec": {
        "type": "NodePort", "clusterIP": "10.0.0.1", "selector": {"a": "b", "c": "d"},
        "ports": [{"name": "x", "port": 80, "nodePort": 30000}, {"name": "y", "port": 53, "protocol": "UDP"}],
    }}));
    assert_eq!(
        Services.cells(&service, Timestamp::UNIX_EPOCH),
        ["NodePort", "10.0.0.1", "<none>", "80:30000/TCP,53/UDP", "<unknown>", "a=b,c=d"]
    );
    let pending = made(json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}}));
    assert_eq!(Services.cells(&pending, Timestamp::UNIX_EPOCH)[1..3], ["<none>", "<pending>"]);
}

#[test]
fn a_name_may_start_with_a_digit_and_has_no_dots() {
    assert!(Services.check_name("1a", false).is_empty());
    assert_eq!(Services.check_name("a.b", false), ["must not contain dots"]);
}
