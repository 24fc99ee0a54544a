//! What is told when, and what is claimed to be complete.

use serde_json::json;

use super::*;

fn pod(name: &str, uses: &[&str]) -> Value {
    let volumes: Vec<Value> =
        uses.iter().map(|name| json!({"name": name, "configMap": {"name": name}})).collect();
    json!({"metadata": {"namespace": "default", "name": name, "uid": format!("uid-{name}")}, "spec": {"volumes": volumes}})
}

fn config(name: &str, data: &str) -> Value {
    json!({"metadata": {"namespace": "default", "name": name, "uid": format!("uid-{name}")}, "data": {"a": data}})
}

fn key(name: &str) -> Key {
    Key::config_map("default", name)
}

/// What was told: names of what is there, `-name` of what is gone, and how many kinds the list is complete of.
fn told(steps: &[Step]) -> Option<(Vec<String>, usize)> {
    steps.iter().find_map(|step| match step {
        Step::Observe(Event::Observed { sightings, complete }, _) => {
            let names = sightings.iter().map(|sighting| match sighting {
                Sighting::Present(key, _) => key.name.to_string(),
                Sighting::Gone(key, _) => format!("-{}", key.name),
            });
            Some((names.collect(), complete.len()))
        }
        _ => None,
    })
}

fn names(names: &[&str], complete: usize) -> Option<(Vec<String>, usize)> {
    Some((names.iter().map(ToString::to_string).collect(), complete))
}

/// A node on which `nav` runs with its configuration.
fn settled() -> Gather {
    let mut gather = Gather::new("rover-7", Known::default());
    gather.pods_listed(&[pod("nav", &["maps"])]).unwrap();
    gather.config_is(&key("maps"), Some(&config("maps", "1"))).unwrap();
    gather
}

#[test]
fn the_first_list_waits_for_all_configuration_and_is_complete() {
    let mut gather = Gather::new("rover-7", Known::default());
    let steps = gather.pods_listed(&[pod("nav", &["maps", "env"]), pod("cam", &[])]).unwrap();
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::Follow(_))).count(), 2);
    assert_eq!(told(&steps), None);
    assert_eq!(told(&gather.config_is(&key("maps"), Some(&config("maps", "1"))).unwrap()), None);
    assert_eq!(told(&gather.config_is(&key("env"), None).unwrap()), names(&["cam", "nav", "maps"], 3));
}

#[test]
fn a_node_without_pods_has_a_complete_list_as_well() {
    assert_eq!(told(&Gather::new("rover-7", Known::default()).pods_listed(&[]).unwrap()), names(&[], 3));
}

#[test]
fn a_pod_waits_for_configuration_that_nobody_has_looked_at_and_others_do_not() {
    let mut gather = settled();
    assert_eq!(told(&gather.pod_changed(&pod("arm", &["arm"])).unwrap()), None);
    assert_eq!(told(&gather.pod_changed(&pod("cam", &["maps"])).unwrap()), names(&["cam"], 0));
    let steps = gather.config_is(&key("arm"), Some(&config("arm", "1"))).unwrap();
    assert_eq!(told(&steps), names(&["arm", "arm"], 0));
}

#[test]
fn configuration_without_an_answer_stops_no_pod_and_no_list_claims_to_know_it() {
    let mut gather = Gather::new("rover-7", Known::default());
    gather.pods_listed(&[pod("nav", &["maps"])]).unwrap();
    assert_eq!(told(&gather.config_unclear(&key("maps"))), names(&["nav"], 2), "pods and secrets");
    let steps = gather.config_is(&key("maps"), Some(&config("maps", "1"))).unwrap();
    assert_eq!(told(&steps), names(&["maps"], 1), "and now the ConfigMaps");
}

#[test]
fn a_complete_list_names_what_was_told_before() {
    let mut gather = Gather::new("rover-7", Known::default());
    gather.pods_listed(&[pod("nav", &["maps", "env"])]).unwrap();
    gather.config_is(&key("maps"), Some(&config("maps", "1"))).unwrap();
    assert_eq!(told(&gather.config_unclear(&key("env"))), names(&["nav", "maps"], 2));
    assert_eq!(told(&gather.config_is(&key("env"), None).unwrap()), names(&["maps"], 1));
}

#[test]
fn a_list_that_follows_is_complete_of_pods_only_and_what_is_not_in_it_is_gone() {
    let mut gather = settled();
    gather.pod_changed(&pod("cam", &[])).unwrap();
    assert_eq!(told(&gather.pods_listed(&[pod("nav", &["maps"])]).unwrap()), names(&["nav"], 1));
}

#[test]
fn configuration_that_no_pod_uses_any_more_is_let_go() {
    let mut gather = settled();
    let steps = gather.pod_gone(&pod("nav", &["maps"])).unwrap();
    assert!(steps.iter().any(|step| matches!(step, Step::Leave(left) if *left == key("maps"))));
    assert_eq!(told(&steps), names(&["-nav", "-maps"], 0));
}

#[test]
fn a_list_with_something_unreadable_in_it_is_not_believed() {
    let mut gather = settled();
    assert!(gather.pods_listed(&[json!({"metadata": {"name": "x"}})]).is_err());
    assert_eq!(
        told(&gather.config_is(&key("maps"), Some(&config("maps", "2"))).unwrap()),
        names(&["maps"], 0)
    );
}

#[test]
fn configuration_that_the_server_will_not_show_is_what_the_gate_has() {
    let (_, version) = version::of_config(Kind::ConfigMap, &config("maps", "1")).unwrap();
    let known = Known { configs: BTreeMap::from([(key("maps"), version)]), pods: BTreeSet::new() };
    let mut gather = Gather::new("rover-7", known);
    gather.pods_listed(&[pod("nav", &["maps", "secret-maps"])]).unwrap();
    assert_eq!(told(&gather.config_refused(&key("maps"))), None);
    assert_eq!(told(&gather.config_refused(&key("secret-maps"))), names(&["maps", "nav"], 3));
}

#[test]
fn a_pod_that_is_over_is_not_told_unless_it_ran_here() {
    let over = |name: &str| {
        let mut pod = pod(name, &[]);
        pod["status"] = json!({"phase": "Succeeded"});
        pod
    };
    let known = Known { configs: BTreeMap::new(), pods: BTreeSet::from([Uid::from("uid-here")]) };
    let mut gather = Gather::new("rover-7", known);
    assert_eq!(told(&gather.pods_listed(&[over("here"), over("elsewhere")]).unwrap()), names(&["here"], 3));
    gather.pod_changed(&pod("job", &[])).unwrap();
    assert_eq!(told(&gather.pod_changed(&over("job")).unwrap()), names(&["job"], 0));
}
