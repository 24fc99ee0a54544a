//! What a program knows of its hold.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// What is known of a hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It stands, as of the last renewal.
    Held,
    /// The last renewal failed, and it is tried again. As far as anybody knows the hold stands: an agent that is away lets
    /// nothing through.
    Unconfirmed {
        /// What went wrong, as a sentence.
        problem: String,
    },
    /// The cluster has overridden it: it is out of force and protects nothing until then. It is renewed all the same, and is
    /// in force again by itself.
    Overridden {
        /// When it is in force again.
        until: Time,
    },
    /// It no longer protects the program. This is never taken back.
    Lost(Lost),
}

/// Why a hold no longer protects.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Lost {
    /// Somebody has ended it. `safepoint log` says who.
    Ended,
    /// Somebody else holds under this name now.
    Taken,
    /// The cluster has overridden it, until then.
    Overridden(Time),
    /// Its lease was over before it could be renewed, and it was taken so that it may end then.
    NotRenewed,
    /// The agent refuses to renew it.
    Refused(String),
}

// === impl Lost ===

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("somebody has ended the hold; `safepoint log` says who"),
            Self::Taken => f.write_str("somebody else holds under this name now"),
            Self::Overridden(until) => write!(f, "the cluster has overridden the hold until {}", until.0),
            Self::NotRenewed => f.write_str("the hold could not be renewed before its lease was over"),
            Self::Refused(why) => write!(f, "the agent does not renew the hold: {why}"),
        }
    }
}

impl std::error::Error for Lost {}
