//! What is held on a node shows by itself, and is released, frozen and thawed from its page.

use serde_json::json;

use super::driver::{Browser, ENTER};
use super::world::{World, now};

/// Writes down when the page shows it, by the clock.
const STAMP: &str = "
    const held = document.querySelector('#held');
    const look = () => {
        if (held.textContent.includes('update of pod default/rover')) window.shownAt ??= Date.now();
    };
    new MutationObserver(look).observe(held, {subtree: true, childList: true});
";
const PAGE: &str = "/nodes/rover-7";
/// How the node stands, in a word.
const STANDS: &str = "#standing .badge";

#[tokio::test(flavor = "multi_thread")]
async fn a_held_upgrade_appears_by_itself_and_is_released_with_a_click_and_a_reason() {
    let world = World::start(&[]);
    world.rover();
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, PAGE).await;
    browser.until_says("#held", "0 changes").await;
    browser.mark().await;
    browser.run(STAMP).await;
    let watcher = world.watch();
    let begun = now();
    world.push("v2");
    let pushed = now();
    let held = browser.until_says("#held", "update of pod default/rover").await;
    let shown = browser.run("return window.shownAt").await.as_i64().expect("the change was seen to appear");
    // How long that takes is told and not asserted: it is the machine's affair, and others use it too.
    println!(
        "the page shows it {} ms after kubectl had pushed it, {} ms after it was called, {} ms after the watch of another kubectl",
        shown - pushed,
        shown - begun,
        shown - watcher.held_at()
    );
    assert!(held.contains("annotated to hold its upgrades"), "{held}");
    assert!(browser.is_marked().await, "the page was loaded anew");
    // How long that is goes on with the time, whatever the node said when it said it.
    let long = browser.until("#held time.since", |long| long.starts_with("for ")).await;
    browser.until("#held time.since", |longer| longer != long).await;
    browser.click("#held details summary").await;
    let difference = browser.until_says("#held details", "rover:v2").await;
    assert!(difference.contains("rover:v1"), "{difference}");

    browser.click("#held a.button").await;
    browser.until_says("#what", "pod default/rover").await;
    // Without a reason it goes nowhere.
    browser.click("#ask button").await;
    assert_eq!(browser.run("return document.querySelector('#reason').validity.valueMissing").await, true);
    browser.ask_for("the road is free").await;
    browser.until("#said", |said| !said.is_empty()).await;
    browser.until_says("#held", "0 changes").await;
    let image = ["get", "pod", "rover", "-o", "jsonpath={.spec.containers[0].image}"];
    assert_eq!(world.kubectl(&image), "rover:v2");
    browser.until_says("#history", "the road is free").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_shows_what_it_waits_for_and_a_release_that_is_refused_says_why() {
    let world = World::start(&[]);
    world.rover();
    // It runs, and is not ready before somebody says so.
    world.apply(
        &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "camera", "namespace": "default"},
        "spec": {"readinessGates": [{"conditionType": "example.com/sees"}],
            "containers": [{"name": "main", "image": "camera:v1", "command": ["sleep", "infinity"]}]}}),
    );
    world.kubectl(&["wait", "--for=condition=ContainersReady", "pod/camera", "--timeout=300s"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, &format!("{PAGE}/freeze")).await;
    browser.ask_for("mission 7").await;
    browser.until("#said", |said| !said.is_empty()).await;
    let blockers = browser.until_says("#blockers", "camera").await;
    assert!(blockers.contains("PodUnsettled"), "{blockers}");
    browser.until_says(STANDS, "freezing").await;
    browser.mark().await;

    let sees =
        json!({"status": {"conditions": [{"type": "example.com/sees", "status": "True"}]}}).to_string();
    world.kubectl(&["patch", "pod", "camera", "--subresource=status", "-p", &sees]);
    browser.until_says(STANDS, "frozen").await;
    browser.until("#blockers", str::is_empty).await;
    assert!(browser.is_marked().await, "the page was loaded anew");
    let standing = browser.until_says("#standing", "Reason").await;
    assert!(standing.contains("mission 7") && standing.contains("kubernetes-admin"), "{standing}");

    world.push("v2");
    browser.until_says("#held", "update of pod default/rover").await;
    browser.click("#held a.button").await;
    browser.ask_for("now").await;
    let refused = browser.until("#said.bad", |said| !said.is_empty()).await;
    assert!(refused.contains("rover-7 refuses: the node is frozen by cluster.web-"), "{refused}");
    browser.until_says("#held", "update of pod default/rover").await;

    let over = "return document.querySelector(\"#acts a[href$='override=yes']\") === null";
    assert_eq!(browser.run(over).await, true, "what the cluster has frozen is thawed, and not overridden");
    browser.click("#acts a[href$='/thaw']").await;
    browser.ask_for("landed").await;
    // The annotation still holds it.
    browser.until_says(STANDS, "held").await;
    browser.until_says("#held", "annotated to hold its upgrades").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_can_be_done_with_a_keyboard() {
    let world = World::start(&[]);
    world.rover();
    world.push("v2");
    let browser = Browser::open(&world.dashboard).await;
    browser.go("/").await;
    // Where something is to be typed, that has the focus from the beginning.
    browser.until_focused("#token").await;
    browser.press(&world.token).await;
    browser.press(ENTER).await;
    browser.until_says("#nodes", "rover-7").await;
    browser.tab_to(".skip").await;
    browser.press(ENTER).await;
    browser.until_focused("main").await;
    browser.tab_to("a[href='/nodes/rover-7']").await;
    browser.press(ENTER).await;

    browser.until_says("#held", "update of pod default/rover").await;
    browser.tab_to("#held summary").await;
    // Whoever is somewhere stays there while the page changes.
    let before = browser.until("#held h3", |what| !what.is_empty()).await;
    world.push("v3");
    browser.until("#held h3", |what| what != before).await;
    browser.until_focused("#held summary").await;
    browser.press(ENTER).await;
    browser.until_says("#held details", "rover:v3").await;
    browser.tab_to("#held a.button").await;
    browser.press(ENTER).await;
    ask_for(&browser, "it stands").await;
    browser.until_says("#held", "0 changes").await;

    browser.tab_to("a[href='/nodes/rover-7/freeze']").await;
    browser.press(ENTER).await;
    ask_for(&browser, "by hand").await;
    browser.until_says(STANDS, "frozen").await;
    let standing = browser.until_says("#standing", "Reason").await;
    assert!(standing.contains("by hand"), "{standing}");
    browser.tab_to("a[href='/nodes/rover-7/thaw']").await;
    browser.press(ENTER).await;
    ask_for(&browser, "done").await;
    browser.until_says(STANDS, "open").await;
    browser.tab_to("#sign-out button").await;
    browser.press(ENTER).await;
    browser.until_focused("#token").await;
    browser.close().await;
}

/// The same as the browser's, without a mouse.
async fn ask_for(browser: &Browser, reason: &str) {
    browser.until_focused("#reason").await;
    browser.press(reason).await;
    browser.tab_to("#ask button").await;
    browser.press(ENTER).await;
    browser.until("#said:not(.bad)", |said| !said.is_empty()).await;
}
