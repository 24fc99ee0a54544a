//! What is read of a PodTransitionRule.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use safepoint_core::Labels;
use serde_json::json;

use super::*;

fn read(spec: Value) -> Reading {
    Reading::of("shop", "set", &spec, &BTreeSet::new())
}

fn rules(rules: Value) -> Reading {
    read(json!({"selector": {"matchLabels": {"app": "web"}}, "rules": rules}))
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect()
}

fn why(reading: &Reading) -> String {
    reading.trouble().unwrap_or_default()
}

#[test]
fn every_kind_of_rule_is_read() {
    let reading = rules(json!([
        {"name": "most", "availablePolicy": {"maxUnavailableValue": "50%", "minAvailableValue": 2}},
        {"name": "labels", "stage": "PostCheck", "labelCheck": {"requires": {"matchLabels": {"ok": "true"}}},
            "filter": {"labelSelector": {"matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}}},
        {"name": "ask", "webhook": {"clientConfig": {"url": "https://a.example/ask", "caBundle": "Cg==",
            "poll": {"url": "http://a.example/poll?x=1", "rawQueryKey": "run", "timeoutSeconds": 7}}}},
    ]));
    assert_eq!(reading.broken, []);
    let [most, labels_rule, ask] = reading.set.rules.as_slice() else { panic!("three rules: {reading:?}") };
    let quota = Quota { max_unavailable: Some(Amount::Percent(50)), min_available: Some(Amount::Count(2)) };
    assert_eq!((most.stage, &most.demand), (Stage::PreCheck, &Demand::Available(quota)));
    assert_eq!(labels_rule.stage, Stage::PostCheck);
    assert!(labels_rule.filter.as_ref().unwrap().matches(&labels(&[("app", "web")])));
    let polling = Polling { interval: Nanos::from_secs(5), timeout: Nanos::from_secs(7) };
    assert_eq!(ask.demand, Demand::Webhook(polling));
    let hook = &reading.hooks["ask"];
    assert_eq!(
        (hook.url.to_string(), hook.poll.as_ref().unwrap().key.as_str()),
        ("https://a.example/ask".into(), "run")
    );
    assert!(reading.set.selector.matches(&labels(&[("app", "web"), ("x", "y")])));
}

#[test]
fn what_is_switched_off_or_has_conditions_is_left_out() {
    let all = json!([
        {"name": "off", "disabled": true, "availablePolicy": {"maxUnavailableValue": "strange"}},
        {"name": "dead", "conditions": ["WeekDay"], "labelCheck": {"requires": {}}},
        {"name": "stands", "labelCheck": {"requires": {}}},
        {"name": "ask", "webhook": {"clientConfig": {"url": "https://a.example"}}},
    ]);
    let spec = json!({"selector": {}, "rules": all});
    let names = |skipped: &[&str]| {
        let skipped = skipped.iter().map(|kind| (*kind).to_owned()).collect();
        let reading = Reading::of("shop", "set", &spec, &skipped);
        assert_eq!(reading.broken, []);
        reading.set.rules.iter().map(|rule| rule.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["stands", "ask"]);
    assert_eq!(names(&["webhook"]), ["stands"]);
    assert!(names(&["webhook", "labelCheck", "availablePolicy"]).is_empty());
}

#[test]
fn a_rule_that_cannot_be_read_is_told_and_the_others_are_read() {
    for (rule, part) in [
        (json!({"availablePolicy": {"maxUnavailableValue": "half"}}), "maxUnavailableValue must be"),
        (json!({"availablePolicy": {"minAvailableValue": -1}}), "minAvailableValue must be"),
        (json!({"availablePolicy": {}}), "neither"),
        (json!({"availablePolicy": 7}), "availablePolicy: "),
        (
            json!({"labelCheck": {"requires": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}),
            "operator \"Near\"",
        ),
        (json!({"webhook": {"clientConfig": {"url": "file:///etc/passwd"}}}), "no address"),
        (
            json!({"webhook": {"clientConfig": {"url": "https://a", "poll": {"url": "ftp://a"}}}}),
            "no address",
        ),
        (
            json!({"webhook": {"clientConfig": {"url": "https://a", "poll": {"url": "https://a", "intervalSeconds": 0}}}}),
            "from 1 up",
        ),
        (json!({"stage": "Lunch", "labelCheck": {"requires": {}}}), "stage must be"),
        (json!({"filter": {"labelSelector": 3}, "labelCheck": {"requires": {}}}), "filter cannot be read"),
        (json!({"somethingNew": {}}), "none of"),
    ] {
        let mut rule = rule;
        rule["name"] = json!("bad");
        let reading = rules(json!([rule, {"name": "good", "labelCheck": {"requires": {}}}]));
        assert_eq!(reading.set.rules.len(), 1, "{rule}");
        assert!(
            why(&reading).starts_with("bad: ") && why(&reading).contains(part),
            "{rule}: {}",
            why(&reading)
        );
    }
    let twice = rules(
        json!([{"name": "a", "labelCheck": {"requires": {}}}, {"name": "a", "labelCheck": {"requires": {}}}]),
    );
    assert!(why(&twice).contains("same name"));
}

#[test]
fn a_selector_that_cannot_be_read_is_about_every_pod_and_one_that_is_not_there_about_none() {
    let strange = read(json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}));
    assert!(strange.set.selector.matches(&labels(&[("any", "thing")])));
    assert_eq!((strange.broken[0].stage, &*strange.broken[0].rule), (None, "set"));
    assert!(why(&strange).contains("needs values"));
    for spec in [json!({}), json!({"selector": null}), Value::Null] {
        let none = read(spec);
        assert!(none.broken.is_empty() && !none.set.selector.matches(&labels(&[("any", "thing")])));
    }
    assert!(why(&read(json!({"selector": {}, "rules": {"a": 1}}))).contains("no list"));
}
