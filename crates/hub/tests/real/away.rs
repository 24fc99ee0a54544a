//! A hub that was away and comes back.

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use safepoint_hub::Options;
use serde_json::json;

use crate::clock::Shifted;
use crate::hub::{RunningHub, options, until};
use crate::surfacing::{condition, events, held};
use crate::world::{HOLD, Plane, is_carried, is_plain, uids};

#[test]
fn what_happened_while_no_hub_was_there_is_caught_up_with_and_nothing_is_told_twice() {
    let plane = Plane::start();
    plane.runtime.block_on(async {
        let client = plane.client(None).await;
        let hub = RunningHub::leading(options(&client)).await;
        let world = plane.world(hub.address).await;
        world.asked().await;
        for name in ["web", "db", "still-held", "held-no-more"] {
            world.deployment(name, 1).await;
        }
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        world.annotate::<Deployment>("db", json!({HOLD: "true"})).await;
        let before = world.pods_when("web", 1, is_carried).await;
        world.pods_when("db", 1, is_carried).await;
        let of = |name: &str| held(&world, "Deployment", name);
        world.gate(json!({"state": "Open", "held": [of("still-held"), of("held-no-more")]})).await;
        until("it shows", async || condition(&world, "held-no-more").await).await;
        let shown = until("it shows", async || condition(&world, "still-held").await).await;
        let told = events(&world, "Deployment").await.len();

        hub.kill().await;
        let more = Patch::Merge(json!({"spec": {"replicas": 3}}));
        world.api::<Deployment>().patch("web", &PatchParams::default(), &more).await.unwrap();
        let meanwhile = world.pods_of("web", 3).await;
        assert_eq!(meanwhile.iter().filter(|pod| is_plain(pod)).count(), 2, "nobody was there to arm them");
        world.annotate::<Deployment>("db", json!({HOLD: null})).await;
        world.gate(json!({"state": "Open", "held": [of("still-held")]})).await;

        // Times are written in whole seconds: an hour later is another one.
        let clock = Shifted::new();
        clock.advance(SignedDuration::from_hours(1));
        let _hub = RunningHub::leading(Options { clock: clock.clock(), ..options(&client) }).await;
        let after = world.pods_when("web", 3, is_carried).await;
        assert_eq!(uids(&after), uids(&meanwhile));
        assert!(uids(&after).contains(&uids(&before)[0]));
        world.pods_when("db", 1, is_plain).await;
        assert_eq!(world.replica_sets().await, 4);
        until("it is over", async || {
            condition(&world, "held-no-more").await.filter(|condition| condition.status == "False")
        })
        .await;
        let still = until("it is looked at again", async || {
            condition(&world, "still-held").await.filter(|now| now.last_update_time != shown.last_update_time)
        })
        .await;
        assert_eq!((&*still.status, still.last_transition_time), ("True", shown.last_transition_time));
        assert_eq!(events(&world, "Deployment").await.len(), told);
    });
}
