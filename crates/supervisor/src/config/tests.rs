//! What a configuration may say, and what is said about one that may not.

use serde_json::json;

use super::*;

fn uplink() -> Spec {
    Spec::new("uplink").heartbeat(Duration::from_secs(20))
}

/// The policy of the module `uplink` under a configuration file.
fn in_force(config: serde_json::Value) -> Result<Policy, ConfigError> {
    let config: Config = serde_json::from_value(config).expect("the file parses");
    Ok(config.policies(&[uplink(), Spec::new("journal")])?.remove(0))
}

fn problem(own: &serde_json::Value) -> String {
    in_force(json!({ "modules": { "uplink": own } })).unwrap_err().to_string()
}

#[test]
fn an_empty_file_restarts_modules_like_kubeedge_would_with_its_gate_on() {
    let config: Config = serde_json::from_value(json!({})).unwrap();
    assert!(config.feature_gates.module_restart);
    let policy = in_force(json!({})).unwrap();
    assert_eq!(policy.restart_type, RestartType::OnFailure);
    assert_eq!(policy.retries, 0);
    assert_eq!((policy.interval_second, policy.interval_time_growth_rate), (1, 2.0));
    assert_eq!(policy.restart_interval_limit, Duration::from_secs(30));
}

#[test]
fn the_gate_has_the_name_it_has_in_kubeedge() {
    let config: Config =
        serde_json::from_value(json!({ "featureGates": { "moduleRestart": false } })).unwrap();
    assert!(!config.feature_gates.module_restart);
    let typo = json!({ "featureGates": { "moduleRestrat": true } });
    assert!(serde_json::from_value::<Config>(typo).unwrap_err().to_string().contains("moduleRestrat"));
}

#[test]
fn a_policy_in_the_spelling_of_kubeedge_and_one_in_ours_mean_the_same() {
    let kubeedge = json!({ "modules": { "uplink": {
        "RestartType": "Always",
        "Retries": 5,
        "IntervalSecond": 2,
        "IntervalTimeGrowthRate": 1.5,
        "RestartIntervalLimit": "1m",
    } } });
    let ours = json!({ "modules": { "uplink": {
        "restartType": "Always",
        "retries": 5,
        "intervalSecond": 2,
        "intervalTimeGrowthRate": 1.5,
        "restartIntervalLimit": "60s",
    } } });
    let policy = in_force(kubeedge).unwrap();
    assert_eq!(policy, in_force(ours).unwrap());
    assert_eq!((policy.restart_type, policy.retries, policy.interval_second), (RestartType::Always, 5, 2));
}

#[test]
fn defaults_yield_to_the_profile_and_the_profile_to_the_module() {
    let file = |own| json!({ "profile": "dev", "modules": { "uplink": own } });
    let profile = in_force(file(json!({}))).unwrap();
    assert_eq!(profile.intensity, Intensity { failures: 3, window: Duration::from_secs(60) });
    assert!(profile.exit_on_panic);
    assert_eq!(profile.interval_time_growth_rate, 2.0, "not in the profile, so the default");

    let own =
        json!({ "exitOnPanic": false, "intensity": { "failures": 4, "window": "2m" }, "stopDeadline": "1s" });
    let module = in_force(file(own)).unwrap();
    assert_eq!(module.intensity, Intensity { failures: 4, window: Duration::from_secs(120) });
    assert!(!module.exit_on_panic);
    assert_eq!(module.stop_deadline, Duration::from_secs(1));
    assert_eq!(module.start_deadline, profile.start_deadline, "not among its own values, so the profile's");
}

#[test]
fn the_declared_heartbeat_can_be_changed_but_not_invented() {
    assert_eq!(in_force(json!({})).unwrap().heartbeat_deadline, Some(Duration::from_secs(20)));
    let longer = json!({ "modules": { "uplink": { "heartbeatDeadline": "45s" } } });
    assert_eq!(in_force(longer).unwrap().heartbeat_deadline, Some(Duration::from_secs(45)));
    let invented = in_force(json!({ "modules": { "journal": { "heartbeatDeadline": "45s" } } })).unwrap_err();
    assert_eq!(invented.problems[0].field, "modules.journal.heartbeatDeadline");
}

#[test]
fn every_wrong_value_is_reported_with_its_field() {
    assert!(problem(&json!({ "retries": -1 })).contains("modules.uplink.retries: must be 0"));
    assert!(
        problem(&json!({ "intervalSecond": 0 }))
            .contains("modules.uplink.intervalSecond: must be at least 1")
    );
    assert!(problem(&json!({ "jitter": 1.5 })).contains("modules.uplink.jitter: must be a share"));
    assert!(
        problem(&json!({ "intensity": { "failures": 0, "window": "1m" } }))
            .contains("uplink.intensity: needs")
    );
    for field in
        ["restartIntervalLimit", "healthyWindow", "startDeadline", "stopDeadline", "heartbeatDeadline"]
    {
        assert!(
            problem(&json!({ field: "0s" })).contains(&format!("modules.uplink.{field}: must be longer"))
        );
    }
    let growth = RestartPolicy { interval_time_growth_rate: Some(f64::NAN), ..RestartPolicy::default() };
    let config = Config { modules: BTreeMap::from([("uplink".into(), growth)]), ..Config::default() };
    assert!(config.policies(&[uplink()]).unwrap_err().to_string().contains("intervalTimeGrowthRate"));
}

#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    let error = in_force(json!({ "modules": { "uplnk": {}, "uplink": { "retries": -1, "jitter": 2 } } }))
        .unwrap_err();
    let fields: Vec<&str> = error.problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["modules.uplnk", "modules.uplink.retries", "modules.uplink.jitter"]);
    assert!(error.to_string().contains("there are: uplink, journal"));
}

#[test]
fn a_field_that_does_not_exist_is_an_error_and_not_ignored() {
    let typo = json!({ "modules": { "uplink": { "retrys": 3 } } });
    assert!(serde_json::from_value::<Config>(typo).unwrap_err().to_string().contains("retrys"));
}

#[test]
fn a_module_that_others_wait_for_must_be_able_to_complete() {
    let config: Config =
        serde_json::from_value(json!({ "modules": { "migration": { "restartType": "Always" } } })).unwrap();
    let migration = Spec::new("migration").one_shot();
    assert!(config.policies(std::slice::from_ref(&migration)).is_ok());
    let error = config.policies(&[migration, Spec::new("journal").after(["migration"])]).unwrap_err();
    assert_eq!(error.problems[0].field, "modules.migration.restartType");
}
