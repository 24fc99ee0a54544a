//! Wishes that nobody has any more.

use jiff::SignedDuration;
use safepoint_hub::Options;
use serde_json::json;

use crate::clock::Shifted;
use crate::hub::{RunningHub, options, until};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_that_is_not_asked_for_any_more_is_withdrawn_and_a_persons_deletion_is_not() {
    let world = World::new().await;
    let clock = Shifted::new();
    let _hub = RunningHub::leading(Options { clock: clock.clock(), ..options(&world.admin) }).await;
    world.registered().await;
    for pod in ["arm", "leg", "head"] {
        world.pod(pod, json!({})).await;
    }
    world.gate_seen(json!({"state": "Frozen"}), "arm", true).await;
    assert!(world.evict("drain", "arm").await.is_no());
    assert!(world.evict("drain", "head").await.is_no());
    assert!(world.delete("jane", "leg").await.is_no());
    for pod in ["arm", "leg", "head"] {
        world.wished(pod).await;
    }
    clock.advance(SignedDuration::from_secs(45));
    assert!(world.evict("drain", "head").await.is_no());
    let again = until("it is written anew", async || {
        let wish = world.wish("head").await?;
        let at: jiff::Timestamp = wish["at"].as_str()?.parse().unwrap();
        (clock.now().duration_since(at) < SignedDuration::from_secs(30)).then_some(wish)
    })
    .await;
    clock.advance(SignedDuration::from_secs(20));
    until("it is withdrawn", async || world.wish("arm").await.is_none().then_some(())).await;
    assert_eq!(world.wish("head").await, Some(again));
    clock.advance(SignedDuration::from_hours(24));
    until("it is withdrawn", async || world.wish("head").await.is_none().then_some(())).await;
    assert_eq!(world.wish("leg").await.unwrap()["by"], "jane");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wish_of_a_controller_that_is_not_known_here_stands() {
    let world = World::new().await;
    let clock = Shifted::new();
    let _hub = RunningHub::leading(Options { clock: clock.clock(), ..options(&world.admin) }).await;
    world.registered().await;
    world.pod("arm", json!({})).await;
    world.pod("leg", json!({})).await;
    world.gate_seen(json!({"state": "Frozen"}), "arm", true).await;
    let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    assert!(world.delete(collector, "arm").await.is_no());
    assert!(world.evict("drain", "leg").await.is_no());
    world.wished("arm").await;
    world.wished("leg").await;
    clock.advance(SignedDuration::from_hours(1));
    // Both are looked at in one round, the older one first.
    until("a round is over", async || world.wish("leg").await.is_none().then_some(())).await;
    assert_eq!(world.wish("arm").await.unwrap()["by"], collector);
}
