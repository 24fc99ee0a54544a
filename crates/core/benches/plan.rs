//! What a plan costs, in instructions, for fleets of 100, 1,000 and 10,000 nodes.
//!
//! A plan looks at every node once and sorts them by name: the figures grow with the fleet and little more.

#![expect(missing_docs, reason = "the macros of the harness make public items that nobody reads")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use safepoint_core::rollout::{Failure, Order, Phase, Plan, Seen, Task, Work, plan};
use safepoint_core::{Revision, Timestamp};

const NOW: Timestamp = Timestamp(1_794_700_800_000);

/// A fleet half way: one in two is upgraded, one in ten runs a task or has failed. Nodes come in no order.
fn half_way(nodes: usize) -> (Order, Vec<Seen>) {
    let node = |number: usize| {
        let revision = if number.is_multiple_of(2) { "new" } else { "old" };
        let mut seen = Seen::running(&format!("node-{:05}", number * 7919 % nodes), Revision::from(revision));
        let phase = match number % 20 {
            1 => Phase::Running,
            3 => Phase::Failed(Failure { code: "RolledBack".into(), text: "not ready".into(), at: NOW }),
            _ => return seen,
        };
        let name = format!("task-{number}").into();
        let revision = Revision::from("new");
        seen.tasks.push(Task { name, work: Work::Upgrade, revision, attempt: 1, phase, removing: false });
        seen
    };
    (Order::new(Revision::from("new")), (0..nodes).map(node).collect())
}

#[library_benchmark]
#[benches::nodes(args = [100, 1000, 10_000], setup = half_way)]
fn a_plan_half_way((order, seen): (Order, Vec<Seen>)) -> (Vec<Seen>, Plan) {
    let plan = plan(black_box(&order), black_box(&seen), NOW);
    (seen, plan)
}

library_benchmark_group!(name = plans, benchmarks = [a_plan_half_way]);
main!(library_benchmark_groups = plans);
