//! Numbers about the hub, for whoever scrapes metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use safepoint_supervisor::{Health, Page};

/// The numbers.
#[derive(Debug, Default)]
pub(crate) struct Facts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    reviews: BTreeMap<(&'static str, &'static str), u64>,
    counts: BTreeMap<Count, u64>,
    held_workloads: u64,
    /// Pods that take part in the lifecycle, and those of them that an operation takes too long on.
    lifecycle: (u64, u64),
    /// How many passes took no longer than each of [`STEPS`], and longer than the one before; the last is for all others.
    passes: [u64; STEPS.len() + 1],
    /// How long all of them took.
    pass_time: Duration,
}

/// A pass over a StaticPod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pass {
    /// How long it took to look and to plan.
    pub(crate) took: Duration,
}

/// The steps of how long a pass takes, in milliseconds.
const STEPS: [u32; 8] = [1, 2, 5, 10, 20, 50, 100, 500];

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Count {
    WishesNoted,
    WishesWithdrawn,
    WishesLost,
    PodsArmed,
    PodsDisarmed,
    TasksStarted,
    TasksRemoved,
    RolloutStatuses,
    LifecycleWrites,
    LifecycleDeletions,
    LifecycleAlarms,
}

/// What is not counted but looked at when somebody asks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Now {
    pub(crate) now: Timestamp,
    pub(crate) leads: bool,
    pub(crate) certificate_ends: Option<Timestamp>,
}

// === impl Facts ===

impl Facts {
    pub(crate) fn reviewed(&self, hook: &'static str, verdict: &'static str) {
        *self.lock().reviews.entry((hook, verdict)).or_default() += 1;
    }

    pub(crate) fn count(&self, what: Count) {
        *self.lock().counts.entry(what).or_default() += 1;
    }

    pub(crate) fn held_workloads(&self, number: usize) {
        self.lock().held_workloads = number as u64;
    }

    pub(crate) fn lifecycle(&self, pods: usize, overdue: usize) {
        self.lock().lifecycle = (pods as u64, overdue as u64);
    }

    pub(crate) fn passed(&self, pass: Pass) {
        let mut facts = self.lock();
        let step = STEPS.iter().position(|step| pass.took <= Duration::from_millis(u64::from(*step)));
        facts.passes[step.unwrap_or(STEPS.len())] += 1;
        facts.pass_time += pass.took;
    }

    /// Everything in the text form of OpenMetrics.
    pub(crate) fn metrics(&self, now: Now, health: Option<&Health>) -> String {
        let facts = self.lock();
        let mut page = Page::default();
        page.head("safepoint_webhook_reviews", "counter", "Questions of the API server that were answered.");
        for ((hook, verdict), count) in &facts.reviews {
            let labels = format!("hook=\"{hook}\",verdict=\"{verdict}\"");
            page.line("safepoint_webhook_reviews_total", &labels, *count as f64);
        }
        for (what, name, help) in [
            (
                Count::WishesNoted,
                "safepoint_wishes_noted",
                "Ends of pods that were put off and written down.",
            ),
            (Count::WishesWithdrawn, "safepoint_wishes_withdrawn", "Wishes that nobody had any more."),
            (Count::WishesLost, "safepoint_wishes_lost", "Wishes that could not be written down."),
            (
                Count::PodsArmed,
                "safepoint_pods_armed",
                "Pods that the annotation of their workload was put on.",
            ),
            (Count::PodsDisarmed, "safepoint_pods_disarmed", "Pods that it was taken off."),
            (Count::TasksStarted, "safepoint_static_pod_tasks_started", "Task pods that were made."),
            (Count::TasksRemoved, "safepoint_static_pod_tasks_removed", "Task pods that were removed."),
            (
                Count::RolloutStatuses,
                "safepoint_static_pod_statuses",
                "Statuses of StaticPods that were written.",
            ),
            (
                Count::LifecycleWrites,
                "safepoint_lifecycle_writes",
                "Pods that the lifecycle controller has written.",
            ),
            (
                Count::LifecycleDeletions,
                "safepoint_lifecycle_deletions",
                "Pods that were deleted through the lifecycle.",
            ),
            (
                Count::LifecycleAlarms,
                "safepoint_lifecycle_alarms",
                "Operations that were too long in a phase, as often as it was told.",
            ),
        ] {
            page.counter(name, help, facts.counts.get(&what).copied().unwrap_or_default());
        }
        page.gauge(
            "safepoint_held_workloads",
            "Workloads with held changes, as the leader sees them.",
            facts.held_workloads as f64,
        );
        let (pods, overdue) = facts.lifecycle;
        page.gauge(
            "safepoint_lifecycle_pods",
            "Pods that take part in the lifecycle, as the leader sees them.",
            pods as f64,
        );
        page.gauge(
            "safepoint_lifecycle_overdue_pods",
            "Those of them on which an operation is too long in a phase.",
            overdue as f64,
        );
        let name = "safepoint_static_pod_pass_seconds";
        page.head(name, "histogram", "How long it took to look at a StaticPod and to plan.");
        let mut count = 0;
        for (passes, step) in facts.passes.iter().zip(STEPS.iter().map(Some).chain([None])) {
            count += passes;
            let step =
                step.map_or_else(|| "+Inf".to_owned(), |step| (f64::from(*step) / 1_000.0).to_string());
            page.line(&format!("{name}_bucket"), &format!("le=\"{step}\""), count as f64);
        }
        page.line(&format!("{name}_sum"), "", facts.pass_time.as_secs_f64());
        page.line(&format!("{name}_count"), "", count as f64);
        page.gauge("safepoint_leader", "Whether this replica leads.", f64::from(u8::from(now.leads)));
        if let Some(ends) = now.certificate_ends {
            page.gauge(
                "safepoint_webhook_certificate_seconds_left",
                "How long the certificate is good.",
                ends.duration_since(now.now).as_secs_f64(),
            );
        }
        page.modules(health);
        page.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Numbers are right or a little old, never half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use safepoint_supervisor::{ModuleHealth, Policy, Profile, State};

    use super::*;

    #[test]
    fn the_page_is_open_metrics() {
        let facts = Facts::default();
        facts.reviewed("hold.safepoint.dev", "denied");
        facts.count(Count::WishesNoted);
        for took in [1, 3, 1_000] {
            facts.passed(Pass { took: Duration::from_millis(took) });
        }
        let now = Timestamp::UNIX_EPOCH;
        let ends = Some("1970-01-01T00:01:00Z".parse().unwrap());
        let carrying = ModuleHealth {
            state: State::Ready,
            critical: false,
            restarts: 1,
            consecutive_failures: 0,
            failures: Arc::default(),
            policy: Arc::new(Policy::default()),
        };
        let modules = BTreeMap::from([("carrying".to_owned(), carrying)]);
        let health =
            Health { live: true, ready: true, profile: Profile::default(), module_restart: true, modules };
        let page = facts.metrics(Now { now, leads: true, certificate_ends: ends }, Some(&health));
        for line in [
            "safepoint_webhook_reviews_total{hook=\"hold.safepoint.dev\",verdict=\"denied\"} 1",
            "safepoint_wishes_noted_total 1",
            "safepoint_wishes_lost_total 0",
            "safepoint_static_pod_pass_seconds_bucket{le=\"0.001\"} 1",
            "safepoint_static_pod_pass_seconds_bucket{le=\"0.5\"} 2",
            "safepoint_static_pod_pass_seconds_bucket{le=\"+Inf\"} 3",
            "safepoint_leader 1",
            "safepoint_webhook_certificate_seconds_left 60",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(page.ends_with("# EOF\n"));
        insta::assert_snapshot!("metrics", page);
        let samples = page.lines().filter(|line| !line.starts_with('#'));
        for sample in samples {
            let name = sample.split(['{', ' ']).next().unwrap();
            let family =
                ["_total", "_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let family = family.unwrap_or(name);
            assert!(page.contains(&format!("# TYPE {family} ")), "{sample}");
        }
    }
}
