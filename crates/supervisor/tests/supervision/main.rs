//! The supervisor as a process sees it: real tasks, on a paused clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

mod containment;
mod escalation;
mod hang;
mod house;
mod operator;
mod order;
mod record;
mod waiting;
mod waits;
