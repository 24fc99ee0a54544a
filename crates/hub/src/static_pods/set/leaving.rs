//! The end of a StaticPod: what is waited for, and what goes with it. Pure.

use safepoint_core::rollout::{Order, Presence, Strategy, Work, plan};

use super::super::acts::{Acts, Mark};
use super::super::status::{Said, status};
use super::super::task::{Kind, Standing};
use super::super::view::{Sight, Whose};
use super::{Cluster, Set, removed};

// === impl Set ===

impl Set {
    /// The object is being deleted: nothing is begun any more, what has begun is waited for, and what was made for it goes.
    /// Static pods stay where they are, unless the spec says that what was installed is taken away.
    pub(super) fn leave(&mut self, cluster: &Cluster<'_>) -> Acts {
        let mut acts = Acts::default();
        if !self.held {
            return acts;
        }
        let Sight { pods, nodes, now, .. } = cluster.sight;
        let wanted = self.wanted.as_ref().ok().filter(|_| cluster.rival.is_none()).cloned();
        let mut left = 0;
        // In a namespace that ends nothing can be started, so nothing can be taken away.
        if let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.remove && !self.ending) {
            let whose = Whose { namespace: &self.namespace, uid: &self.uid, wanted, leaving: true };
            let seen = self.view.refresh(whose, &cluster.sight, &mut self.started);
            left = seen.len();
            // Nobody's owner is asked any more, and nobody waits for a pause to end.
            let order =
                Order { strategy: Strategy::Rolling, paused: false, canary: None, ..wanted.order.clone() };
            let planned = plan(&order, seen, now);
            self.again = planned.again;
            let ready = cluster.maps.contains_key(wanted.revision());
            self.ask_again(&planned, ready, &mut acts);
            if ready {
                self.start(&planned, wanted, cluster, &mut acts);
            } else {
                self.keep(wanted, cluster, &mut acts);
                acts.forget.clear();
            }
            self.remove(&planned, pods, &mut acts);
            // One that was not let is made again too: it is kept below, and would itself keep the next one from being made.
            self.take_back(pods, now, &mut acts);
            let said = Said { trouble: self.trouble.as_deref(), ..Said::default() };
            let status = status(&planned, wanted.revision(), self.generation, said, &self.status, now);
            self.tell(&mut acts, status, now);
        }
        for (node, task) in pods.all_tasks(&self.uid) {
            let is_ready = nodes.get(node).is_some_and(|facts| facts.presence == Presence::Ready);
            let waited_for = task.standing == Standing::Running && is_ready;
            left += usize::from(waited_for);
            let removes = task.kind == Kind::Work(Work::Remove) && left > 0;
            let doubled = acts.remove.iter().any(|removed| removed.uid == task.uid);
            if !waited_for && !task.removing && !removes && !doubled {
                acts.remove.push(removed(node, task));
            }
        }
        if let Some(wanted) = &wanted {
            for (node, mirror) in
                pods.mirrors(&wanted.static_pod).filter(|(_, mirror)| mirror.marked.is_some())
            {
                let (name, uid, about) = (mirror.name.clone(), mirror.uid.clone(), wanted.revision().clone());
                acts.mark.push(Mark { node: node.clone(), name, uid, revision: None, about });
            }
        }
        if left == 0 && acts.start.is_empty() && acts.make.is_none() {
            acts.forget =
                cluster.maps.iter().map(|(revision, map)| (revision.clone(), map.clone())).collect();
            acts.let_go = true;
        }
        acts
    }
}
