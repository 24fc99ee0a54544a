//! How many pods may be out of service at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RuledPod;
use crate::text::Text;

/// A bound on pods that are out of service, or in it, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Quota {
    /// At most so many out of service; a part is rounded up.
    pub max_unavailable: Option<Amount>,
    /// At least so many in service; a part is rounded down.
    pub min_available: Option<Amount>,
}

/// A number, or a part of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Amount {
    /// So many.
    Count(usize),
    /// So many of a hundred.
    Percent(usize),
}

// === impl Quota ===

impl Quota {
    /// The pods that may not go now, and why. A pod that is out of service anyway, or that was let go, may.
    pub(super) fn judge(
        &self,
        targets: &[&RuledPod],
        subjects: &[&RuledPod],
        uncreated: usize,
        passed_before: impl Fn(&RuledPod) -> bool,
    ) -> BTreeMap<Text, Text> {
        let all = targets.len();
        let most = self.max_unavailable.map_or(all, |amount| amount.of(all, true));
        let least = self.min_available.map_or(0, |amount| amount.of(all, false));
        let is_out = |pod: &RuledPod| !pod.available || passed_before(pod);
        let mut out = targets.iter().filter(|pod| is_out(pod)).count();
        let mut rejected = BTreeMap::new();
        for pod in subjects.iter().filter(|pod| !is_out(pod)) {
            let why = if out + uncreated >= most {
                format!("{} of {all} are out of service already, and {most} may be", out + uncreated)
            } else if all - out <= least {
                format!("{} of {all} are in service, and {least} have to be", all - out)
            } else {
                out += 1;
                continue;
            };
            rejected.insert(pod.name.clone(), why.into());
        }
        rejected
    }
}

impl Amount {
    /// How many that is of so many.
    #[must_use]
    pub const fn of(self, all: usize, up: bool) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) if up => (all * percent).div_ceil(100),
            Self::Percent(percent) => all * percent / 100,
        }
    }
}
