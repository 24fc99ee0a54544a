//! Hold at the source: an end that the pod's node would hold is put off where it is asked for.
//!
//! A pod whose end is held on its node would otherwise hang in `Terminating`, and its controller, which counts it as gone, would
//! go on. Here the deletion or eviction is refused with who holds, why, and how to release; and written on the pod as a *wish*,
//! which the node honours when it is released: then the node deletes the pod itself. A wish that nobody has any more is taken
//! off by the [`Janitor`].

mod held;
mod hook;
mod janitor;
mod judge;
mod message;
mod surplus;
mod wish;
mod wishes;

pub(crate) use held::{Ends, held};
pub(crate) use hook::Source;
pub(crate) use janitor::Janitor;
pub(crate) use judge::covers;
pub(crate) use message::{Way, list};
pub(crate) use surplus::{Asks, Surplus};
pub(crate) use wish::{How, Wish};
pub(crate) use wishes::{WishWriter, Wishes};
