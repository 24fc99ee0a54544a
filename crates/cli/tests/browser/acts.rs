//! What can be done besides freezing and releasing, each with a click and a reason; and a page that comes back to what it shows.

use serde_json::json;

use super::driver::Browser;
use super::world::World;

const BEACON: &str = "/static-pods/default/beacon";

/// Clicks on an act, gives a reason, and returns what became of it.
async fn act(browser: &Browser, link: &str, reason: &str) -> String {
    browser.click(&format!("#acts a[href$='{link}']")).await;
    browser.ask_for(reason).await;
    browser.until("#said:not(.bad)", |said| !said.is_empty()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_out_is_resumed_paused_and_brought_back_with_a_click_and_a_reason() {
    let world = World::start(&["--nodes=3"]);
    world.beacon();
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/static-pods").await;
    browser.until_says("#static-pods", "0 of 4").await;
    browser.go(BEACON).await;
    let said = act(&browser, "/resume", "no doubt").await;
    assert!(said.contains("upgrades go on"), "{said}");
    browser.until_says("#progress [role=status]", "4 of 4 nodes").await;

    let said = act(&browser, "/pause", "a doubt").await;
    assert!(said.contains("no other is started"), "{said}");
    browser.until_says("#progress", "no further upgrade is started").await;
    assert_eq!(world.kubectl(&["get", "staticpod", "beacon", "-o", "jsonpath={.spec.paused}"]), "true");

    world.push_beacon("v2");
    browser.until_says("#progress [role=status]", "0 of 4 nodes").await;
    browser.click("#acts a[href$='/roll-back']").await;
    browser.until_says("#what", "an earlier revision").await;
    assert_eq!(browser.run("return document.querySelectorAll('#revision option').length").await, 1);
    browser.ask_for("v2 is worse").await;
    browser.until_says("#said:not(.bad)", "goes back to revision").await;
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(world.kubectl(&["get", "staticpod", "beacon", "-o", image]), "beacon:v1");
    browser.until_says("#progress [role=status]", "4 of 4 nodes").await;
    browser.go("/log").await;
    let log = browser.until_says("#log", "v2 is worse").await;
    assert!(log.contains("no doubt") && log.contains("a doubt"), "{log}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_that_was_taken_on_the_node_is_overridden_with_a_click_and_a_reason() {
    let world = World::start(&[]);
    world.on_the_node(&["node", "freeze", "--when-settled", "--reason", "mission 7", "--as", "pilot"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/nodes/rover-7").await;
    browser.until_says("#standing .badge", "frozen").await;
    browser.until_says("#holds", "mission 7").await;
    browser.click("#acts a[href$='override=yes']").await;
    browser.until_says("#what", "On the node itself it is also frozen by pilot").await;
    assert_eq!(browser.run("return document.querySelector('#override').checked").await, true);
    browser.ask_for("recall").await;
    browser.until("#said:not(.bad)", |said| !said.is_empty()).await;
    browser.until_says("#standing .badge", "open").await;
    // The pilot's hold is there still, and will be in force again.
    browser.until_says("#holds", "set aside until").await;
    browser.until_says("#history", "against whoever holds it there: recall").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_connection_is_refused_comes_back_by_itself() {
    let world = World::start(&[]);
    world.rover();
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/").await;
    let refuse_twice = "
        window.tries = 0;
        window.EventSource = class extends EventSource {
            constructor(address) { super(window.tries++ < 2 ? '/nowhere' : address); }
        };
    ";
    browser.command("Page.addScriptToEvaluateOnNewDocument", json!({"source": refuse_twice})).await;
    browser.go("/nodes/rover-7").await;
    browser.until_says("#link", "Not connected").await;
    browser.mark().await;
    world.push("v2");
    browser.until_says("#held", "update of pod default/rover").await;
    browser.until("#link", str::is_empty).await;
    assert_eq!(browser.run("return window.tries").await, 3);
    assert!(browser.is_marked().await, "the page was loaded anew");
    let complaints = browser.console().await;
    assert!(complaints.iter().all(|it| it.contains("/nowhere")), "{complaints:?}");
    browser.close().await;
}
