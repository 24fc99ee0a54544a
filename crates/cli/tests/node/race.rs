//! A freeze that races with everything that could change the machine: after the 201 nothing does.
//!
//! Each round lets something happen and asks for a freeze at the same time, in an order that the seed chooses. Once the 201
//! is there, what runs and what is mounted is written down; then the round waits until the gate has seen what happened, and
//! looks again. `SAFEPOINT_RACES` is the number of rounds and `SAFEPOINT_RACE_SEED` the seed.

use std::fs;

use serde_json::{Value, json};

use super::hold::fastrand;
use super::world::{Run, World, pod_path};

const CONFIG_MAP: &str = "/api/v1/namespaces/default/configmaps/maps";
const ROUNDS: u64 = 1000;
/// Rounds are shared by so many nodes, which race at the same time.
const NODES: u64 = 4;

#[test]
fn after_the_201_of_a_freeze_nothing_changes_whatever_races_with_it() {
    let rounds = number("SAFEPOINT_RACES").unwrap_or(ROUNDS);
    let seed = number("SAFEPOINT_RACE_SEED").unwrap_or(0x5afe_7e57);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let nodes: Vec<_> = (1..=NODES)
            .map(|node| {
                scope.spawn(move || {
                    let runtime =
                        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
                    runtime.unwrap().block_on(race(rounds / NODES, seed ^ node << 32))
                })
            })
            .collect();
        for node in nodes {
            let Tally { frozen, refused, raced } = node.join().unwrap();
            tally = Tally {
                frozen: tally.frozen + frozen,
                refused: tally.refused + refused,
                raced: tally.raced + raced,
            };
        }
    });
    println!("{tally:?}");
    // Otherwise the changes all came too late or too early, and nothing was shown.
    assert!(tally.frozen > rounds / 2 && tally.raced > rounds / 20, "{tally:?}");
}

#[derive(Debug, Default)]
struct Tally {
    /// Freezes that were acknowledged.
    frozen: u64,
    /// And that were not, because the node did not settle in time.
    refused: u64,
    /// Changes that were caught by the freeze.
    raced: u64,
}

/// What runs and what is mounted.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    runs: Vec<(String, Vec<Run>)>,
    mounted: Vec<String>,
}

fn look(world: &World) -> Seen {
    let mut uids = world.started();
    uids.sort();
    let mounted = uids.iter().filter(|uid| world.run_of(uid).is_alive());
    let mounted =
        mounted.map(|uid| fs::read_to_string(world.root(uid).join("etc/maps/area")).unwrap_or_default());
    Seen { mounted: mounted.collect(), runs: uids.iter().map(|uid| (uid.clone(), world.runs(uid))).collect() }
}

async fn race(rounds: u64, seed: u64) -> Tally {
    let mut world = World::new().await;
    let maps =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps"}, "data": {"area": "0"}});
    world.create("/api/v1/namespaces/default/configmaps", maps).await;
    make(&world).await;
    world.until_ready("rover").await;
    let mut random = fastrand(seed);
    let mut tally = Tally::default();
    for round in 1..=rounds {
        let what = random() % 20;
        let freeze =
            world.ask("POST", "/v1/freeze", Some(json!({"id": "race", "reason": "race", "deadline": "20s"})));
        let pause = random() % 6;
        let (answer, ()) = tokio::join!(
            async {
                for _ in 0..pause {
                    tokio::time::sleep(std::time::Duration::from_micros(700)).await;
                }
                freeze.await
            },
            change(&mut world, what, round)
        );
        match answer {
            Some((201, _)) => tally.frozen += 1,
            // Killed in the middle: what it has on record is what counts.
            _ if world.state().await == "Frozen" => tally.frozen += 1,
            _ => {
                tally.refused += 1;
                settle(&world).await;
                continue;
            }
        }
        let frozen = look(&world);
        if seen_by_the_gate(&world, round, what).await {
            tally.raced += 1;
        }
        assert_eq!(
            look(&world),
            frozen,
            "round {round} of seed {seed:#x} ({what}): something changed after the 201"
        );
        assert_eq!(world.state().await, "Frozen");
        settle(&world).await;
    }
    tally
}

async fn make(world: &World) {
    let spec = json!({
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "rover:v0", "command": ["sleep", "600"],
            "volumeMounts": [{"name": "maps", "mountPath": "/etc/maps"}]}],
        "volumes": [{"name": "maps", "configMap": {"name": "maps"}}],
    });
    world.pod_with("rover", json!({}), spec).await;
}

/// What races with the freeze.
async fn change(world: &mut World, what: u64, round: u64) {
    match what {
        0..8 => world.push("rover", &format!("rover:v{round}")).await,
        8..13 => drop(world.merge(CONFIG_MAP, json!({"data": {"area": round.to_string()}})).await),
        13..17 => {
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
            world.call("DELETE", &pod_path("rover"), Some(("application/json", options))).await;
            make(world).await;
        }
        17 => {
            world.push("rover", &format!("rover:v{round}")).await;
            world.drop_link().await;
            world.go_online().await;
        }
        _ => {
            world.push("rover", &format!("rover:v{round}")).await;
            world.kill_agent();
            world.start_agent();
        }
    }
}

/// Waits until the gate knows of what happened. True: it came after the freeze, and waits.
async fn seen_by_the_gate(world: &World, round: u64, what: u64) -> bool {
    let pod = world.get(&pod_path("rover")).await.1;
    let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
    world
        .until("the gate knows of it", async |world| {
            let status = world.local("GET", "/v1/status", None).await.1;
            if status["heldCount"].as_i64()? > 0 {
                return Some(true);
            }
            let applied = match what {
                8..13 => look(world).mounted == [round.to_string()],
                13..17 => world.started() == [uid.clone()],
                _ => {
                    world.get(&pod_path("rover")).await.1["status"]["containerStatuses"][0]["image"]
                        == format!("rover:v{round}")
                }
            };
            applied.then_some(false)
        })
        .await
}

/// Thaws, and waits until the node has what the cluster wants.
async fn settle(world: &World) {
    world.thaw().await;
    world
        .until("the node has settled", async |world| {
            let status: Value = world.local("GET", "/v1/status", None).await.1;
            let open = status["state"] == "Open" && status["heldCount"] == 0;
            let pod = world.get(&pod_path("rover")).await.1;
            let same =
                pod["status"]["containerStatuses"][0]["image"] == pod["spec"]["containers"][0]["image"];
            let ready = world.condition("rover", "Ready").await.as_deref() == Some("True");
            let only = world.started().len() == 1;
            (open && same && ready && only).then_some(())
        })
        .await;
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {value}")))
}
