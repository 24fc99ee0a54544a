//! What is worth an Event: how it all stands has changed, or a node has failed. Pure.
//!
//! An Event is named by what it tells, so that a hub that starts anew tells nothing twice.

use std::collections::HashMap;

use safepoint_api::names::safepoint::event;
use safepoint_core::rollout::{Node, Plan, State, Verdict};
use safepoint_core::{Revision, Text};

use super::names::digest;

/// So many nodes that have failed are told one by one in one pass; of more, only the number.
const ONE_BY_ONE: usize = 20;

/// Something to tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct News {
    /// One word.
    pub(crate) reason: &'static str,
    /// Whether somebody has to look.
    pub(crate) warning: bool,
    /// A sentence.
    pub(crate) text: String,
    /// What makes it different from other Events of the object: the end of its name.
    pub(crate) name: String,
}

/// What has been told.
#[derive(Default)]
pub(crate) struct Told {
    /// Whoever looked before has told what the first look finds.
    is_known: bool,
    standing: Option<(Revision, Verdict)>,
    /// The last failed attempt of each node at the revision.
    failures: HashMap<Text, u32>,
    /// Trouble that stands.
    trouble: Option<String>,
}

// === impl Told ===

impl Told {
    /// Of an object that a hub has looked at as it is now, or that is news itself.
    pub(crate) fn new(is_known: bool) -> Self {
        Self { is_known, ..Self::default() }
    }

    /// Says what is new.
    pub(crate) fn compare(&mut self, plan: &Plan, target: &Revision, generation: Option<i64>) -> Vec<News> {
        let was_told = self.standing.is_none() && self.is_known;
        let mut news = Vec::new();
        let before = self.standing.replace((target.clone(), plan.verdict));
        let anew = before.as_ref().is_none_or(|(revision, _)| revision != target);
        if anew {
            self.failures.clear();
        }
        if before != self.standing {
            news.extend(standing(plan, target, generation));
        }
        let mut failed: Vec<(&Node, u32)> = Vec::new();
        for node in plan.nodes.iter().filter(|node| matches!(node.state, State::Failed(_))) {
            let told = self.failures.insert(node.name.clone(), node.attempts);
            if told != Some(node.attempts) {
                failed.push((node, node.attempts));
            }
        }
        for (node, attempts) in failed.iter().take(ONE_BY_ONE) {
            let name = digest(&["failed", target.as_str(), &node.name, &attempts.to_string()]);
            let text = format!("node {}: {node}", node.name);
            news.push(News { reason: event::NODE_UPGRADE_FAILED, warning: true, text, name });
        }
        if failed.len() > ONE_BY_ONE {
            let text = format!("{} more nodes have failed: see the status", failed.len() - ONE_BY_ONE);
            let name = digest(&["more", target.as_str(), &plan.counts.failed.to_string()]);
            news.push(News { reason: event::NODE_UPGRADE_FAILED, warning: true, text, name });
        }
        if was_told {
            news.clear();
        }
        news
    }

    /// Something cannot be done, or can be done again.
    pub(crate) fn trouble(&mut self, trouble: Option<&str>, reason: &'static str) -> Option<News> {
        if self.trouble.as_deref() == trouble {
            return None;
        }
        self.trouble = trouble.map(str::to_owned);
        let text = self.trouble.clone()?;
        let name = digest(&["trouble", reason, &text]);
        Some(News { reason, warning: true, text, name })
    }
}

fn standing(plan: &Plan, target: &Revision, generation: Option<i64>) -> Option<News> {
    let (reason, warning) = match plan.verdict {
        // Nothing to do is nothing to tell.
        Verdict::Success if plan.counts.total == 0 => return None,
        Verdict::Success => (event::UPGRADE_SUCCEEDED, false),
        Verdict::Upgrading => (event::UPGRADE_STARTED, false),
        Verdict::Failed => (event::UPGRADE_FAILED, true),
        Verdict::Paused => (event::UPGRADE_PAUSED, false),
        Verdict::Stopped => (event::UPGRADE_STOPPED, true),
    };
    let generation = generation.unwrap_or_default().to_string();
    let counts = plan.counts;
    let what = format!("{}/{}/{}", counts.total, counts.upgraded, counts.failed);
    let name = digest(&[reason, target.as_str(), &generation, &what]);
    Some(News { reason, warning, text: format!("revision {target}: {}", plan.why), name })
}

#[cfg(test)]
mod tests {
    use safepoint_core::Timestamp;
    use safepoint_core::rollout::{Failure, Order, Phase, Seen, Task, Work, plan};

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_700_800_000);

    fn planned(revisions: &[&str], failed: usize) -> Plan {
        let node = |(index, revision): (usize, &&str)| {
            let mut seen = Seen::running(&format!("n{index:03}"), Revision::from(*revision));
            if index < failed {
                let failure = Failure { code: "RolledBack".into(), text: "no".into(), at: NOW };
                seen.tasks.push(Task {
                    name: "t".into(),
                    work: Work::Upgrade,
                    revision: "new".into(),
                    attempt: 1,
                    phase: Phase::Failed(failure),
                    removing: false,
                });
            }
            seen
        };
        let seen: Vec<Seen> = revisions.iter().enumerate().map(node).collect();
        plan(&Order::new("new".into()), &seen, NOW)
    }

    fn reasons(news: &[News]) -> Vec<&'static str> {
        news.iter().map(|news| news.reason).collect()
    }

    #[test]
    fn one_that_nobody_has_looked_at_is_news() {
        let (mut told, target) = (Told::new(false), Revision::from("new"));
        assert_eq!(reasons(&told.compare(&planned(&["old"; 3], 0), &target, Some(1))), ["UpgradeStarted"]);
        assert!(told.compare(&planned(&["old"; 3], 0), &target, Some(1)).is_empty());
    }

    #[test]
    fn what_has_changed_is_told_once() {
        let (mut told, target) = (Told::new(true), Revision::from("new"));
        assert!(told.compare(&planned(&["old"; 3], 0), &target, Some(1)).is_empty(), "it was so before");
        assert!(told.compare(&planned(&["old"; 3], 0), &target, Some(1)).is_empty());
        let news = told.compare(&planned(&["old"; 3], 1), &target, Some(1));
        assert_eq!(reasons(&news), ["NodeUpgradeFailed"]);
        assert!(news[0].text.starts_with("node n000: attempt 1 failed: no"), "{}", news[0].text);
        assert!(told.compare(&planned(&["old"; 3], 1), &target, Some(1)).is_empty());
        assert_eq!(reasons(&told.compare(&planned(&["new"; 3], 0), &target, Some(1))), ["UpgradeSucceeded"]);
        let newer = Revision::from("newer");
        assert_eq!(reasons(&told.compare(&planned(&["new"; 3], 0), &newer, Some(2))), ["UpgradeSucceeded"]);
    }

    #[test]
    fn a_fleet_that_fails_does_not_flood_the_cluster_with_events() {
        let (mut told, target) = (Told::new(true), Revision::from("new"));
        told.compare(&planned(&["old"; 100], 0), &target, Some(1));
        let news = told.compare(&planned(&["old"; 100], 50), &target, Some(1));
        assert_eq!(news.len(), ONE_BY_ONE + 1);
        assert!(news.last().unwrap().text.starts_with("30 more nodes"));
    }

    #[test]
    fn trouble_is_told_when_it_begins() {
        let mut told = Told::default();
        assert!(told.trouble(Some("no right"), "TaskRefused").is_some());
        assert!(told.trouble(Some("no right"), "TaskRefused").is_none());
        assert!(told.trouble(None, "TaskRefused").is_none());
        assert!(told.trouble(Some("no right"), "TaskRefused").is_some());
    }
}
