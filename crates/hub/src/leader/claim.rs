//! Whether a Lease can be had. Pure.
//!
//! No two machines' clocks are compared: a Lease is free when nothing in it has changed for its length, as counted here.

use k8s_openapi::api::coordination::v1::LeaseSpec;
use std::time::Duration;
use tokio::time::Instant;

use super::LENGTH;

/// What to do about the Lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claim {
    /// It is ours.
    Renew,
    /// It is nobody's.
    Take,
    /// It is somebody else's.
    Wait,
}

/// The Lease as it was last seen, and since when it has looked like that.
#[derive(Debug, Default)]
pub(super) struct Sight(Option<(LeaseSpec, Instant)>);

// === impl Sight ===

impl Sight {
    pub(super) fn look(&mut self, lease: Option<&LeaseSpec>, me: &str, now: Instant) -> Claim {
        let Some(lease) = lease else {
            self.0 = None;
            return Claim::Take;
        };
        let since = match &self.0 {
            Some((seen, since)) if seen == lease => *since,
            _ => {
                self.0 = Some((lease.clone(), now));
                now
            }
        };
        let length = lease.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let length = length.map_or(LENGTH, Duration::from_secs);
        match lease.holder_identity.as_deref() {
            None | Some("") => Claim::Take,
            Some(holder) if holder == me => Claim::Renew,
            Some(_) if now.duration_since(since) > length => Claim::Take,
            Some(_) => Claim::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;

    fn held_by(holder: &str, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_lease_is_had_where_there_is_none_or_nobody_has_it() {
        let now = Instant::now();
        assert_eq!(Sight::default().look(None, "a", now), Claim::Take);
        assert_eq!(Sight::default().look(Some(&held_by("", 0)), "a", now), Claim::Take);
        assert_eq!(Sight::default().look(Some(&held_by("a", 0)), "a", now), Claim::Renew);
    }

    #[test]
    fn somebody_elses_lease_is_taken_only_when_it_has_not_changed_for_its_length() {
        let (begin, mut sight) = (Instant::now(), Sight::default());
        let after = |seconds| begin + Duration::from_secs(seconds);
        // What it says about the time may be ages ago by our clock: that means nothing.
        assert_eq!(sight.look(Some(&held_by("b", 0)), "a", begin), Claim::Wait);
        assert_eq!(sight.look(Some(&held_by("b", 0)), "a", after(15)), Claim::Wait);
        assert_eq!(sight.look(Some(&held_by("b", 2)), "a", after(16)), Claim::Wait, "it was renewed");
        assert_eq!(sight.look(Some(&held_by("b", 2)), "a", after(31)), Claim::Wait);
        assert_eq!(sight.look(Some(&held_by("b", 2)), "a", after(32)), Claim::Take);
    }
}
