//! Many nodes: found among ten thousand, and filling up while something is rolled out.

use super::driver::{Browser, ENTER};
use super::world::World;

/// Writes down, for every change that reaches the page, how many nodes are upgraded: as a number, and as squares.
const WATCH: &str = "
    window.seen = [];
    const look = () => window.seen.push([parseInt(document.querySelector('#progress [role=status]').textContent),
        document.querySelectorAll('#picture .cells .upgraded').length]);
    look();
    new MutationObserver(look).observe(document.querySelector('main'), {subtree: true, childList: true});
";

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_out_fills_the_picture_while_one_looks() {
    let world = World::start(&["--nodes=12"]);
    world.beacon();
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/static-pods").await;
    browser.until_says("#static-pods", "0 of 13").await;
    browser.click("a[href='/static-pods/default/beacon']").await;
    browser.until_says("#progress", "no further upgrade is started").await;
    browser.mark().await;
    browser.run(WATCH).await;
    world.pause_beacon(false);
    browser.until_says("#progress [role=status]", "13 of 13 nodes").await;
    browser.until_true("document.querySelectorAll('#picture .cells .upgraded').length === 13").await;
    assert!(browser.is_marked().await, "the page was loaded anew");

    let seen: Vec<(u64, u64)> = serde_json::from_value(browser.run("return window.seen").await).unwrap();
    assert!(seen.is_sorted_by_key(|(number, _)| *number), "what is upgraded stays upgraded: {seen:?}");
    let on_the_way = |many: &u64| (1..13).contains(many);
    assert!(seen.iter().any(|(number, _)| on_the_way(number)), "the number jumped: {seen:?}");
    assert!(seen.iter().any(|(_, squares)| on_the_way(squares)), "the picture jumped: {seen:?}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_ten_thousand_nodes_is_found_by_its_name() {
    let world = World::start(&["--nodes=10000"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/").await;
    browser.until_says("#news", "10001 nodes").await;
    let rows = async || browser.run("return document.querySelectorAll('#nodes tbody tr').length").await;
    assert_eq!(rows().await, 50, "a page has fifty");
    browser.type_into("#q", "sim-09999").await;
    browser.press(ENTER).await;
    browser.until("#nodes tbody", |nodes| nodes.contains("sim-09999") && !nodes.contains("sim-00001")).await;
    assert_eq!(rows().await, 1);
    browser.close().await;
}
