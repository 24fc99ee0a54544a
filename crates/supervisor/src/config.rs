//! What a person writes about modules, and its one conversion into values in force.
//!
//! ```yaml
//! featureGates: { moduleRestart: true }
//! profile: production
//! modules:
//!   uplink: { restartType: OnFailure, restartIntervalLimit: 1m, healthyWindow: 20m }
//! ```
//!
//! The policy fields are those of KubeEdge, which has them in Go only (`RestartType`, …). In a file we
//! write them in camel case like every other field; the Go spelling is accepted as well, so that a
//! policy can be copied over.

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::fmt::serde::unsigned_duration::friendly::compact as friendly;
use serde::{Deserialize, Serialize};

use crate::{
    module::{Kind, Spec},
    policy::{Intensity, Policy, Profile, RestartType},
};

/// The configuration of the supervisor. Everything has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// KubeEdge's switches, by their names.
    pub feature_gates: FeatureGates,
    /// The values to start from.
    pub profile: Profile,
    /// Values of single modules, by module name. They win over the profile.
    pub modules: BTreeMap<String, RestartPolicy>,
}

/// The feature gates that this crate knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FeatureGates {
    /// On (the default; KubeEdge's is off): modules that fail are started again. Off: the first failure of a
    /// module is its last, shown as `Failed`, and that of a critical one ends the process cleanly.
    pub module_restart: bool,
}

/// A module's own values; what is not given comes from the profile. [`Policy`] says more about each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RestartPolicy {
    /// When it is started again.
    #[serde(alias = "RestartType")]
    pub restart_type: Option<RestartType>,
    /// Restarts allowed without a healthy window between them; 0 = no limit.
    // Signed like KubeEdge's: a negative number then gets our error, which names the
    // field, and not the parser's.
    #[serde(alias = "Retries")]
    pub retries: Option<i32>,
    /// The first wait, in seconds; at least 1.
    #[serde(alias = "IntervalSecond")]
    pub interval_second: Option<i32>,
    /// Factor from one wait to the next; 1 or less = no growth.
    #[serde(alias = "IntervalTimeGrowthRate")]
    pub interval_time_growth_rate: Option<f64>,
    /// The longest wait, before jitter, for example `30s`.
    #[serde(alias = "RestartIntervalLimit", with = "friendly::optional")]
    pub restart_interval_limit: Option<Duration>,
    /// Share by which a wait may be longer or shorter, from 0 to 1.
    pub jitter: Option<f64>,
    /// Ready for so long, and waits begin anew.
    #[serde(with = "friendly::optional")]
    pub healthy_window: Option<Duration>,
    /// How many failures in which time are too many.
    pub intensity: Option<Intensity>,
    /// Not ready after so long is a failure.
    #[serde(with = "friendly::optional")]
    pub start_deadline: Option<Duration>,
    /// From the cancellation to the abort.
    #[serde(with = "friendly::optional")]
    pub stop_deadline: Option<Duration>,
    /// Silent for so long is a hang; only for modules that give a heartbeat.
    #[serde(with = "friendly::optional")]
    pub heartbeat_deadline: Option<Duration>,
    /// A panic ends the process.
    pub exit_on_panic: Option<bool>,
}

/// Everything that is wrong with a configuration, at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid module configuration: {}", list(.problems))]
pub struct ConfigError {
    /// One entry per wrong field.
    pub problems: Vec<Problem>,
}

/// One wrong field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is, for example `modules.uplink.retries`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

// === impl Config ===

impl Config {
    /// The policy of each module, in the order of `specs`.
    pub(crate) fn policies(&self, specs: &[Spec]) -> Result<Vec<Policy>, ConfigError> {
        let mut problems = vec![];
        for name in self.modules.keys() {
            if !specs.iter().any(|spec| spec.name == name) {
                let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
                problems.push(Problem {
                    field: format!("modules.{name}"),
                    reason: format!("there is no such module; there are: {}", known.join(", ")),
                });
            }
        }
        let policies: Vec<Policy> = specs.iter().map(|spec| self.policy(spec, &mut problems)).collect();
        for (spec, policy) in specs.iter().zip(&policies) {
            let awaited = specs.iter().any(|other| other.needs().any(|need| need == spec.name));
            if awaited && spec.kind == Kind::OneShot && policy.restart_type == RestartType::Always {
                problems.push(Problem {
                    field: format!("modules.{}.restartType", spec.name),
                    reason: "others wait for this module to complete, which it never does with Always".into(),
                });
            }
        }
        if problems.is_empty() { Ok(policies) } else { Err(ConfigError { problems }) }
    }

    fn policy(&self, spec: &Spec, problems: &mut Vec<Problem>) -> Policy {
        let mut policy = Policy { heartbeat_deadline: spec.heartbeat, ..Policy::of(self.profile) };
        let Some(own) = self.modules.get(spec.name) else { return policy };
        let mut wrong = |field: &str, reason: &str| {
            let field = format!("modules.{}.{field}", spec.name);
            problems.push(Problem { field, reason: reason.into() });
        };
        if own.heartbeat_deadline.is_some() && spec.heartbeat.is_none() {
            wrong(
                "heartbeatDeadline",
                "this module gives no heartbeat, so it would be taken for hung; remove it",
            );
        }
        own.lay_over(&mut policy, &mut wrong);
        policy
    }
}

// === impl FeatureGates ===

impl Default for FeatureGates {
    fn default() -> Self {
        Self { module_restart: true }
    }
}

// === impl RestartPolicy ===

impl RestartPolicy {
    fn lay_over(&self, policy: &mut Policy, wrong: &mut impl FnMut(&str, &str)) {
        if let Some(restart_type) = self.restart_type {
            policy.restart_type = restart_type;
        }
        if let Some(exit_on_panic) = self.exit_on_panic {
            policy.exit_on_panic = exit_on_panic;
        }
        if let Some(retries) = self.retries {
            match u32::try_from(retries) {
                Ok(retries) => policy.retries = retries,
                Err(_) => wrong("retries", "must be 0 (no limit) or more"),
            }
        }
        if let Some(seconds) = self.interval_second {
            match u32::try_from(seconds) {
                Ok(seconds @ 1..) => policy.interval_second = seconds,
                _ => wrong("intervalSecond", "must be at least 1: a restart without a wait is a busy loop"),
            }
        }
        if let Some(rate) = self.interval_time_growth_rate {
            match rate.is_finite() {
                true => policy.interval_time_growth_rate = rate,
                false => wrong("intervalTimeGrowthRate", "must be a finite number; 1 or less = no growth"),
            }
        }
        if let Some(jitter) = self.jitter {
            match (0.0..=1.0).contains(&jitter) {
                true => policy.jitter = jitter,
                false => wrong("jitter", "must be a share from 0 to 1"),
            }
        }
        if let Some(intensity) = self.intensity {
            match intensity.failures >= 1 && !intensity.window.is_zero() {
                true => policy.intensity = intensity,
                false => wrong("intensity", "needs at least 1 failure and a window longer than 0s"),
            }
        }
        let mut set = |name: &str, own: Option<Duration>, place: &mut Duration| match own {
            Some(Duration::ZERO) => wrong(name, "must be longer than 0s"),
            Some(duration) => *place = duration,
            None => {}
        };
        set("restartIntervalLimit", self.restart_interval_limit, &mut policy.restart_interval_limit);
        set("healthyWindow", self.healthy_window, &mut policy.healthy_window);
        set("startDeadline", self.start_deadline, &mut policy.start_deadline);
        set("stopDeadline", self.stop_deadline, &mut policy.stop_deadline);
        if let Some(declared) = &mut policy.heartbeat_deadline {
            set("heartbeatDeadline", self.heartbeat_deadline, declared);
        }
    }
}

// === impl Problem ===

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

#[cfg(test)]
mod tests;
