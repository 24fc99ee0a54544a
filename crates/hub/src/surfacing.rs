//! Shows on a workload that its changes are held, where people look: an Event, and on a Deployment a condition that explains
//! why its progress deadline has passed.
//!
//! Both are written when something begins or ends to be held, and the text of a condition at most once a minute in between: a
//! workload on ten thousand nodes is held and released node by node.

mod held;
mod tell;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::facts::Facts;
use crate::seen::Seen;
use held::{Held, Summary, Top};
use tell::Teller;

/// A text that has changed is written anew so much later.
const REWRITTEN: Duration = Duration::from_secs(60);
/// What could not be written is tried again this much later.
const AGAIN: Duration = Duration::from_secs(10);

/// Surfacing as a module.
pub(crate) struct Surfacing {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) clock: Clock,
    pub(crate) facts: Arc<Facts>,
    pub(crate) after: Vec<&'static str>,
}

/// What was last said about the workloads that are held.
#[derive(Default)]
struct Said(HashMap<Top, (String, Instant)>);

// === impl Surfacing ===

impl Module for Surfacing {
    fn spec(&self) -> Spec {
        Spec::new("surfacing").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let teller = Teller { client: self.client.clone(), clock: self.clock.clone() };
        let mut said = Said::default();
        for top in teller.shown().await.map_err(Fault::transient)? {
            said.0.insert(top, (String::new(), Instant::now()));
        }
        let dirty = self.seen.dirty_nodes();
        let mut held = Held::default();
        // What a hub before this one has shown may be over: that is known once every node has been heard.
        let mut changed: HashSet<Top> = said.0.keys().cloned().collect();
        let nodes: Vec<String> = self.seen.gates().nodes().cloned().collect();
        changed.extend(self.hear(&mut held, nodes));
        ctx.ready();
        loop {
            let wake = self.tell(&teller, &held, &mut said, &mut changed).await;
            self.facts.held_workloads(held.len());
            tokio::select! {
                nodes = dirty.next() => changed.extend(self.hear(&mut held, nodes)),
                () = tokio::time::sleep(wake) => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Surfacing {
    /// Takes what nodes say now, and returns the workloads about which there may be something new to say.
    fn hear(&self, held: &mut Held, nodes: impl IntoIterator<Item = String>) -> Vec<Top> {
        let heard = nodes.into_iter().flat_map(|node| {
            let gate = self.seen.gates().get(&node);
            held.update(&node, gate.as_deref())
        });
        heard.collect()
    }

    /// Says what has to be said now about what has changed, and returns when to look again.
    async fn tell(
        &self,
        teller: &Teller,
        held: &Held,
        said: &mut Said,
        changed: &mut HashSet<Top>,
    ) -> Duration {
        let mut wake = Duration::MAX;
        for top in std::mem::take(changed) {
            let summary = held.summary(&top);
            match said.due(&top, summary.as_ref()) {
                Due::Never => continue,
                Due::In(wait) => wake = wake.min(wait),
                Due::Now { is_transition } => {
                    match teller.tell(&top, summary.as_ref(), is_transition).await {
                        Ok(()) => {
                            said.remember(top, summary);
                            continue;
                        }
                        Err(error) => {
                            tracing::warn!(%error, workload = %top, "cannot show what is held; it is tried again");
                            wake = wake.min(AGAIN);
                        }
                    }
                }
            }
            changed.insert(top);
        }
        wake
    }
}

/// When something has to be said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Never,
    In(Duration),
    Now { is_transition: bool },
}

// === impl Said ===

impl Said {
    fn due(&self, top: &Top, summary: Option<&Summary>) -> Due {
        match (self.0.get(top), summary) {
            (None, None) => Due::Never,
            (None, Some(_)) | (Some(_), None) => Due::Now { is_transition: true },
            (Some((text, _)), Some(summary)) if *text == summary.text => Due::Never,
            // Nobody remembers what was said before this process: it is put right at once, and is no news.
            (Some((text, _)), Some(_)) if text.is_empty() => Due::Now { is_transition: false },
            (Some((_, at)), Some(_)) => match REWRITTEN.saturating_sub(at.elapsed()) {
                Duration::ZERO => Due::Now { is_transition: false },
                wait => Due::In(wait),
            },
        }
    }

    fn remember(&mut self, top: Top, summary: Option<Summary>) {
        match summary {
            Some(summary) => drop(self.0.insert(top, (summary.text, Instant::now()))),
            None => drop(self.0.remove(&top)),
        }
    }
}

#[cfg(test)]
mod tests {
    use safepoint_api::node_gate::NodeGateStatus;
    use serde_json::json;

    use super::*;
    use crate::seen::Carrier;

    fn web() -> Top {
        Top { kind: Carrier::Deployment, namespace: "shop".into(), name: "web".into() }
    }

    fn holding(reason: &str) -> NodeGateStatus {
        let status = json!({
            "holds": [{"id": "lift-42", "holder": "crane", "origin": "Local", "reason": reason, "scope": {"kind": "Node"},
                "since": "2026-11-15T11:30:00Z"}],
            "held": [{"kind": "Pod", "namespace": "shop", "name": "web-1", "change": "Stop", "since": "2026-11-15T12:00:00Z",
                "why": "because", "heldBy": ["lift-42"],
                "workload": {"kind": "Deployment", "namespace": "shop", "name": "web"}}],
        });
        serde_json::from_value(status).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_beginning_and_an_end_are_told_at_once_and_what_is_between_once_a_minute() {
        let (mut held, mut said) = (Held::default(), Said::default());
        assert_eq!(said.due(&web(), None), Due::Never);
        held.update("rover-7", Some(&holding("lift")));
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::Now { is_transition: true });
        said.remember(web(), held.summary(&web()));
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::Never);
        held.update("rover-7", Some(&holding("another lift")));
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::In(REWRITTEN));
        tokio::time::advance(REWRITTEN).await;
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::Now { is_transition: false });
        said.remember(web(), held.summary(&web()));
        held.update("rover-7", None);
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::Now { is_transition: true });
    }

    #[tokio::test(start_paused = true)]
    async fn what_another_hub_has_shown_is_no_news_and_ends_if_nothing_is_held() {
        let (mut held, mut said) = (Held::default(), Said::default());
        said.0.insert(web(), (String::new(), Instant::now()));
        assert_eq!(said.due(&web(), None), Due::Now { is_transition: true });
        held.update("rover-7", Some(&holding("lift")));
        assert_eq!(said.due(&web(), held.summary(&web()).as_ref()), Due::Now { is_transition: false });
    }
}
