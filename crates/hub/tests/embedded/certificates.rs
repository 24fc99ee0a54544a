//! The certificate: made once, kept through restarts, replaced while requests run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use safepoint_hub::Options;
use serde_json::json;
use tokio::task::JoinSet;

use crate::clock::Shifted;
use crate::hub::{RunningHub, options, until};
use crate::several::stop;
use crate::world::World;

const DAY: SignedDuration = SignedDuration::from_hours(24);

async fn secret(world: &World) -> Option<Secret> {
    let secrets: Api<Secret> = Api::namespaced(world.admin.clone(), "safepoint-system");
    secrets.get_opt("safepoint-webhook").await.unwrap()
}

fn part(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    Some(String::from_utf8(bytes.0.clone()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_started_again_uses_the_same_certificate_and_answers_again() {
    let (world, hub) = World::with_hub().await;
    let before = secret(&world).await.unwrap();
    stop(hub).await;
    let hub = RunningHub::leading(options(&world.admin)).await;
    world.pod("arm", json!({"edge.kubeedge.io/hold-upgrade": "true"})).await;
    world.gate_seen(json!({"state": "Open"}), "arm", true).await;
    assert_eq!(secret(&world).await.unwrap().data, before.data);
    drop(hub);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_damaged_or_deleted_is_made_anew() {
    let (world, _hub) = World::with_hub().await;
    let secrets: Api<Secret> = Api::namespaced(world.admin.clone(), "safepoint-system");
    let first = part(&secret(&world).await.unwrap(), "tls.crt").unwrap();
    let nonsense = json!({"data": {"tls.crt": "bm90aGluZw==", "tls.key": "bm90aGluZw=="}});
    secrets.patch("safepoint-webhook", &PatchParams::default(), &Patch::Merge(nonsense)).await.unwrap();
    let second = until("it is made anew", async || {
        part(&secret(&world).await?, "tls.crt").filter(|now| now.starts_with("-----BEGIN") && *now != first)
    })
    .await;
    secrets.delete("safepoint-webhook", &kube::api::DeleteParams::default()).await.unwrap();
    until("it is made anew", async || part(&secret(&world).await?, "tls.crt").filter(|now| *now != second))
        .await;
    world.pod("arm", json!({"edge.kubeedge.io/hold-upgrade": "true"})).await;
    world.gate_seen(json!({"state": "Open"}), "arm", true).await;
}

/// Asks for the end of a held pod all the time, and counts how often nobody stood against it.
fn keep_asking(
    world: &Arc<World>,
    stop: &Arc<AtomicBool>,
) -> (JoinSet<()>, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (asked, passed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    let (world, stop) = (Arc::clone(world), Arc::clone(stop));
    let counts = (Arc::clone(&asked), Arc::clone(&passed));
    tasks.spawn(async move {
        let dry = kube::api::DeleteParams { dry_run: true, ..kube::api::DeleteParams::default() };
        while !stop.load(Ordering::Relaxed) {
            let said = crate::world::said(world.pods("jane").delete("arm", &dry).await);
            counts.0.fetch_add(1, Ordering::Relaxed);
            counts.1.fetch_add(usize::from(!said.is_no()), Ordering::Relaxed);
        }
    });
    (tasks, asked, passed)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_is_replaced_in_time_and_no_request_is_lost_meanwhile() {
    let world = Arc::new(World::new().await);
    let clock = Shifted::new();
    let hub = RunningHub::leading(Options { clock: clock.clock(), ..options(&world.admin) }).await;
    world.registered().await;
    world.pod("arm", json!({"edge.kubeedge.io/hold-upgrade": "true"})).await;
    world.gate_seen(json!({"state": "Open"}), "arm", true).await;
    let first = secret(&world).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (mut tasks, asked, passed) = keep_asking(&world, &stop);
    // The keeper looks at the clock when something happens to the Secret, and every few minutes.
    let pokes = AtomicUsize::new(0);
    let poke = async || {
        let secrets: Api<Secret> = Api::namespaced(world.admin.clone(), "safepoint-system");
        let number = pokes.fetch_add(1, Ordering::Relaxed).to_string();
        let note = json!({"metadata": {"annotations": {"poked": number}}});
        secrets.patch("safepoint-webhook", &PatchParams::default(), &Patch::Merge(note)).await.unwrap();
    };
    let reached = async |what: &str, is_so: &dyn Fn(&Secret) -> bool| {
        until(what, async || {
            poke().await;
            secret(&world).await.filter(|secret| is_so(secret))
        })
        .await
    };
    let more = async || {
        let before = asked.load(Ordering::Relaxed);
        until("more requests", async || (asked.load(Ordering::Relaxed) > before + 20).then_some(())).await;
    };
    clock.advance(DAY * 59);
    poke().await;
    more().await;
    assert_eq!(part(&secret(&world).await.unwrap(), "next-tls.crt"), None, "two thirds are not over");
    clock.advance(DAY * 2);
    let staged = reached("the next one is staged", &|secret| part(secret, "next-tls.crt").is_some()).await;
    assert_eq!(part(&staged, "tls.crt"), part(&first, "tls.crt"));
    more().await;
    clock.advance(SignedDuration::from_mins(11));
    let promoted = reached("it is promoted", &|secret| part(secret, "next-tls.crt").is_none()).await;
    assert_eq!(part(&promoted, "tls.crt"), part(&staged, "next-tls.crt"));
    assert_eq!(part(&promoted, "past-ca.crt"), part(&first, "ca.crt"), "the old one is still trusted");
    more().await;
    clock.advance(SignedDuration::from_mins(11));
    reached("the old one is forgotten", &|secret| part(secret, "past-ca.crt").is_none()).await;
    more().await;
    stop.store(true, Ordering::Relaxed);
    while tasks.join_next().await.is_some() {}
    assert_eq!(passed.load(Ordering::Relaxed), 0, "of {} requests", asked.load(Ordering::Relaxed));
    drop(hub);
}
