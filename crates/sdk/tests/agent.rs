//! The client and the guard against the real node API.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[expect(dead_code, reason = "the tests of the command line use the rest")]
#[path = "support/node.rs"]
mod node;

use std::time::Duration;

use node::{Agent, ROVER, TestNode, pod};
use safepoint_api::local::{NoticeKind, Overriding, Release, TakeFreeze, Verdict};
use safepoint_core::{Ask, Health, Span};
use safepoint_sdk::{Client, Error, Hold, Lost, News, OnExpiry, Standing, blocking, reason, scope};

const SECOND: Duration = Duration::from_secs(1);

fn rover() -> (Agent, Client) {
    let agent = Agent::serving(TestNode::running([&pod("web", "shop", "web-1").annotated()]));
    let client = Client::at(agent.socket());
    (agent, client)
}

/// A pod has been let through and is not ready yet.
fn half_done() -> (Agent, Client, node::Object) {
    let cam = pod("cam", "robot", "cam-1");
    let node = TestNode::new();
    node.sees([&cam]);
    node.reports(&cam, Health::Starting);
    let agent = Agent::serving(node);
    let client = Client::at(agent.socket());
    (agent, client, cam)
}

fn freeze() -> TakeFreeze {
    TakeFreeze {
        id: None,
        holder: None,
        reason: "crane".into(),
        lease: None,
        deadline: None,
        hold_barrier: false,
    }
}

#[tokio::test]
async fn every_path_can_be_asked() {
    let (agent, client) = rover();
    agent.node.sees([&pod("web", "shop", "web-2").annotated().revision("b")]);
    agent.node.logs(Some("root (uid 0)"), "hold x on the node");

    assert_eq!(client.status().await.unwrap().node, ROVER);
    assert_eq!(client.changes().await.unwrap().items[0].name, "web-2");
    assert_eq!(client.why("shop", "web-2").await.unwrap().verdict, Verdict::Held);
    assert!(client.holds().await.unwrap().items.is_empty());
    assert_eq!(client.modules().await.unwrap().items.len(), 3);
    client.restart_module("gate").await.unwrap();
    assert_eq!(client.log(0, 10).await.unwrap().items[0].number, 1);
    assert!(client.metrics().await.unwrap().contains("safepoint_held_changes"));
    let released = client.release(&Release { node: true, ..Release::default() }).await.unwrap();
    assert_eq!(released.workloads[0].name, "web");
}

#[tokio::test]
async fn the_node_is_frozen_and_thawed() {
    let (_agent, client) = rover();
    let frozen = client.freeze(&freeze()).await.unwrap();
    assert_eq!(frozen.holds.len(), 1);
    assert!(client.freeze_state().await.unwrap().id.is_none());
    assert!(client.thaw(&Overriding::default()).await.unwrap().holds.is_empty());
}

#[tokio::test]
async fn a_refusal_carries_its_reason_and_every_blocker() {
    let (_agent, client, _) = half_done();
    let error = client.freeze(&freeze()).await.unwrap_err();
    assert_eq!(error.reason(), Some(reason::UNSETTLED));
    let failure = error.refusal().unwrap();
    assert_eq!((failure.code, failure.blockers.len()), (409, 1));
    assert_eq!(error.to_string(), failure.message);
    assert!(!error.is_passing());
}

#[tokio::test]
async fn what_is_not_there_is_not_found_whatever_it_is_called() {
    let (_agent, client) = rover();
    for name in ["nobody", "a/b", "?x", "ä"] {
        let error = client.drop_hold(name, &Overriding::default()).await.unwrap_err();
        assert_eq!(error.reason(), Some(reason::NOT_FOUND), "{name}");
        assert_eq!(client.why("shop", name).await.unwrap_err().reason(), Some(reason::NOT_FOUND), "{name}");
    }
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_told_from_one_that_says_no() {
    let (mut agent, client) = rover();
    agent.node.breaks(true);
    let error = client.status().await.unwrap_err();
    assert_eq!(error.reason(), Some(reason::UNAVAILABLE));
    assert!(error.is_passing());
    agent.ends();
    let error = client.status().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.is_passing() && error.hint().unwrap().contains("safepoint up"));
}

#[tokio::test]
async fn events_arrive_as_they_happen_and_end_with_the_agent() {
    let (mut agent, client) = rover();
    let mut events = client.events().await.unwrap();
    agent.node.tells("pod shop/web-2");
    let Some(News::Notice(notice)) = events.next().await.unwrap() else { panic!("a notice was told") };
    assert_eq!((notice.kind, &*notice.subject), (NoticeKind::Held, "pod shop/web-2"));
    for number in 0..40 {
        agent.node.tells(&format!("pod shop/{number}"));
    }
    let mut missed = false;
    while !missed {
        missed = matches!(events.next().await.unwrap(), Some(News::Missed(_)));
    }
    agent.ends();
    while let Ok(Some(_)) = events.next().await {}
}

#[tokio::test]
async fn a_guard_holds_renews_and_releases() {
    let (agent, client) = rover();
    let mut renewals = agent.node.renewals();
    let hold =
        Hold::node("flying").holder("flight-control").id("mission").lease(SECOND).client(client.clone());
    let hold = hold.take().await.unwrap();
    assert_eq!((hold.id(), hold.standing()), ("mission", Standing::Held));
    renewals.wait_for(|renewals| *renewals >= 2).await.unwrap();
    let known = client.holds().await.unwrap().items.remove(0);
    assert!(known.holder.starts_with("flight-control (uid "), "{}", known.holder);
    assert_eq!((known.reason.as_str(), known.on_expiry), ("flying", Some(OnExpiry::Stay)));
    hold.release().await.unwrap();
    assert!(agent.node.holds().is_empty());
}

#[tokio::test]
async fn a_guard_that_is_dropped_ends_its_hold() {
    let (agent, client) = rover();
    let hold = Hold::on(scope::namespace("shop"), "stocktaking").client(client).take().await.unwrap();
    assert_eq!(agent.node.holds(), [hold.id()]);
    drop(hold);
    assert!(agent.node.holds().is_empty());
}

#[tokio::test]
async fn a_hold_that_is_left_stays_and_its_program_takes_it_up_again() {
    let (agent, client) = rover();
    let mission = || Hold::node("flying").holder("pilot").id("mission").client(client.clone()).take();
    mission().await.unwrap().leave();
    // Nobody renews, and it is not opened.
    agent.node.after(Span::from_mins(5));
    assert!(client.holds().await.unwrap().items[0].orphaned);
    let again = mission().await.unwrap();
    assert!(!client.holds().await.unwrap().items[0].orphaned);
    let other = Hold::node("driving").holder("somebody").id("mission").client(client.clone()).take().await;
    assert_eq!(other.unwrap_err().reason(), Some(reason::NAME_TAKEN));
    again.release().await.unwrap();
}

#[tokio::test]
async fn a_program_is_told_that_somebody_has_ended_its_hold() {
    let (agent, client) = rover();
    let hold = Hold::node("flying").id("mission").lease(SECOND).client(client.clone()).take().await.unwrap();
    client.drop_hold("mission", &Overriding::default()).await.unwrap();
    assert_eq!(hold.lost().await, Lost::Ended);
    assert_eq!(hold.standing(), Standing::Lost(Lost::Ended));
    assert_eq!(hold.release().await.unwrap_err().reason(), Some(reason::NOT_FOUND));
    assert!(agent.node.holds().is_empty());
}

#[tokio::test]
async fn a_program_is_told_that_the_cluster_has_overridden_its_hold() {
    let (agent, client) = rover();
    let hold = Hold::node("flying").id("mission").lease(SECOND).client(client).take().await.unwrap();
    agent.node.overrides("mission");
    assert!(matches!(hold.lost().await, Lost::Overridden(_)));
    // It comes back by itself, so it is the program's to end.
    assert_eq!(agent.node.holds(), ["mission"]);
    drop(hold);
    assert!(agent.node.holds().is_empty());
}

#[tokio::test]
async fn an_agent_that_is_away_leaves_the_hold_unconfirmed_until_it_is_back() {
    let (mut agent, client) = rover();
    let hold = Hold::node("flying").lease(SECOND).client(client).take().await.unwrap();
    let mut standing = hold.watch();
    agent.ends();
    standing.wait_for(|standing| matches!(standing, Standing::Unconfirmed { .. })).await.unwrap();
    agent.starts();
    standing.wait_for(|standing| *standing == Standing::Held).await.unwrap();
    hold.release().await.unwrap();
}

#[tokio::test]
async fn a_hold_that_may_end_by_itself_is_lost_when_it_could_not_be_renewed() {
    let (mut agent, client) = rover();
    let hold = Hold::node("flying").lease(SECOND).on_expiry(OnExpiry::ThawIfSafe).client(client);
    let hold = hold.take().await.unwrap();
    agent.ends();
    assert_eq!(hold.lost().await, Lost::NotRenewed);
}

#[tokio::test]
async fn a_guard_can_wait_until_nothing_is_half_done() {
    let (agent, client, cam) = half_done();
    let taking = Hold::node("flying").client(client.clone());
    let refused = taking.clone().settled_within(Duration::ZERO).take().await.unwrap_err();
    assert_eq!(refused.reason(), Some(reason::UNSETTLED));
    let at_once = taking.clone().take().await.unwrap();
    assert_eq!(at_once.in_flight().len(), 1);
    at_once.release().await.unwrap();

    let waiting = taking.settled_within(Duration::from_secs(600)).take();
    tokio::pin!(waiting);
    while agent.node.waiting() == 0 {
        tokio::select! {
            _ = &mut waiting => panic!("a pod is still starting"),
            () = tokio::task::yield_now() => {}
        }
    }
    agent.node.ready(&cam);
    let hold = waiting.await.unwrap();
    assert!(hold.in_flight().is_empty());
    hold.release().await.unwrap();
}

#[tokio::test]
async fn a_freeze_that_nobody_waits_for_any_more_is_taken_back() {
    let (agent, client, cam) = half_done();
    let mut waiting =
        Box::pin(Hold::node("flying").client(client).settled_within(Duration::from_secs(600)).take());
    // It is asked for on another thread: that somebody waits and that the hold is there are seen one after the other.
    while agent.node.waiting() == 0 || agent.node.holds().is_empty() {
        tokio::select! {
            _ = &mut waiting => panic!("a pod is still starting"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(agent.node.holds().len(), 1);
    drop(waiting);
    assert!(agent.node.holds().is_empty());
    agent.node.ready(&cam);
    assert!(agent.node.holds().is_empty());
}

#[tokio::test]
async fn a_lease_of_nothing_and_a_part_that_settles_cannot_be_asked_for() {
    let (_agent, client) = rover();
    let nothing = Hold::node("flying").lease(Duration::ZERO).client(client.clone()).take().await;
    assert!(matches!(nothing.unwrap_err(), Error::Asked(_)));
    let part =
        Hold::on(scope::pod("shop", "web-1"), "why").settled_within(SECOND).client(client).take().await;
    assert!(matches!(part.unwrap_err(), Error::Asked(_)));
}

#[tokio::test]
async fn what_the_cluster_holds_is_not_dropped_without_an_override() {
    let (agent, client) = rover();
    let ask = Ask::Hold {
        id: "lift".into(),
        reason: "crane".into(),
        scope: safepoint_core::Scope::Node,
        lease: None,
    };
    agent.node.ordered(ask);
    let error = client.drop_hold("lift", &Overriding::default()).await.unwrap_err();
    assert_eq!(error.reason(), Some(reason::VETOED));
}

#[test]
fn a_program_without_tokio_holds_as_well() {
    let (agent, client) = rover();
    let asking = blocking::Client::new(client.clone()).unwrap();
    let hold = blocking::Hold::take(Hold::node("flying").id("mission").client(client.clone())).unwrap();
    assert_eq!((hold.id(), hold.standing(), hold.lost()), ("mission", Standing::Held, None));
    assert_eq!(asking.run(async |client| client.holds().await).unwrap().items.len(), 1);
    hold.release().unwrap();
    assert!(agent.node.holds().is_empty());

    drop(blocking::Hold::take(Hold::node("flying").client(client.clone())).unwrap());
    assert!(agent.node.holds().is_empty());
    blocking::Hold::take(Hold::node("flying").client(client).id("left")).unwrap().leave();
    assert_eq!(agent.node.holds(), ["left"]);

    let nobody = blocking::Hold::take(Hold::node("flying").client(Client::at("/nowhere/agent.sock")));
    assert!(matches!(nobody.unwrap_err(), Error::Unreachable { .. }));
}
