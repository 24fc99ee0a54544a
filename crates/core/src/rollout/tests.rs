//! The planner, a scenario at a time.

mod failures;
mod owners;
mod window;
mod words;

use super::*;
use crate::text::Revision;
use crate::time::Span;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

fn ago(span: Span) -> Timestamp {
    Timestamp(NOW.0.saturating_sub_unsigned(span.0))
}

/// An order for revision `new`, so many at a time.
fn order(places: u32) -> Order {
    Order { budget: Share::Number(places), ..Order::new(Revision::from("new")) }
}

fn old(node: &str) -> Seen {
    Seen::running(node, Revision::from("old"))
}

fn new(node: &str) -> Seen {
    Seen::running(node, Revision::from("new"))
}

fn fleet(count: usize) -> Vec<Seen> {
    (0..count).map(|number| old(&format!("n{number}"))).collect()
}

fn task(revision: &str, attempt: u32, phase: Phase) -> Task {
    Task {
        name: format!("task-{revision}-{attempt}").into(),
        work: Work::Upgrade,
        revision: Revision::from(revision),
        attempt,
        phase,
        removing: false,
    }
}

fn failed(revision: &str, attempt: u32, when: Span) -> Task {
    let failure = Failure {
        code: "RolledBack".into(),
        text: "the new pod was not ready after 2m".into(),
        at: ago(when),
    };
    task(revision, attempt, Phase::Failed(failure))
}

impl Seen {
    fn with(mut self, task: Task) -> Self {
        self.tasks.push(task);
        self
    }

    fn unready(mut self) -> Self {
        if let Pod::Present { ready, .. } = &mut self.pod {
            *ready = None;
        }
        self
    }

    fn behind(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    fn away(self, span: Span) -> Self {
        Self { presence: Presence::Away { since: ago(span) }, ..self }
    }

    fn canary(self) -> Self {
        Self { canary: true, ..self }
    }
}

fn started(plan: &Plan) -> Vec<&str> {
    plan.start.iter().map(|start| &*start.node).collect()
}

fn removed(plan: &Plan) -> Vec<&str> {
    plan.remove.iter().map(|removal| &*removal.task).collect()
}

fn state<'a>(plan: &'a Plan, name: &str) -> &'a State {
    &plan.nodes.iter().find(|node| &*node.name == name).expect("the node is of the set").state
}
