//! Many nodes: found among ten thousand, and filling up while something is rolled out.

use std::collections::BTreeSet;

use super::driver::{Browser, ENTER};
use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_out_fills_the_picture_while_one_looks() {
    let world = World::start(&["--demo", "--nodes=40"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/static-pods").await;
    browser.until_says("#static-pods", "default/beacon").await;
    browser.go("/static-pods/default/beacon").await;
    browser.mark().await;
    let mut seen = BTreeSet::new();
    let upgraded = |text: &str| text.split(' ').next().and_then(|number| number.parse::<u32>().ok());
    while !seen.contains(&41) {
        let last = seen.last().copied();
        let text = browser.until("#progress [role=status]", |text| upgraded(text) != last).await;
        seen.extend(upgraded(&text));
    }
    assert!(seen.len() > 3, "it went from nothing to all at once: {seen:?}");
    let squares = browser.run("return document.querySelectorAll('#picture .upgraded').length").await;
    assert!(squares.as_u64().is_some_and(|squares| squares > 0), "{squares}");
    assert!(browser.is_marked().await, "the page was loaded anew");
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
