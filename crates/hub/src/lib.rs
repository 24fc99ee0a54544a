//! The cluster side: what one machine cannot decide alone.
//!
//! So far it is what the embedded default needs: its resource definitions, and [`Placement`], because it has no scheduler.

mod definitions;
mod gates;
mod placement;

pub use definitions::Definitions;
pub use gates::Gates;
pub use placement::Placement;
