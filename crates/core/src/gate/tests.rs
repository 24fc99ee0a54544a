//! What the gate promises, told as stories of one node.
//!
//! A story is played event by event on a [`node::Node`], in the words of [`words`]. After every step the node checks
//! that a crash right then would lose nothing, that the index is true, and that the step ran to its end.

mod checks;
mod node;
mod told;
mod words;

mod advice;
mod annotation;
mod arrivals;
mod clock;
mod configuration;
mod deadlines;
mod explain;
mod freeze;
mod grants;
mod holds;
mod identity;
mod installs;
mod leases;
mod manifests;
mod mended;
mod orders;
mod overrides;
mod overriding;
mod recover;
mod release;
mod replicas;
mod reports;
mod rollout;
mod room;
mod sealed;
mod settling;
mod thaw;
