//! Every word that another program may look for, each in one place.
//!
//! One module per system whose words they are, even where Safepoint is the one that writes them: a constant stands with
//! whoever defined its meaning. Its documentation says who writes it, who reads it, and what it means. The literals are
//! pinned by a test, because a change to any of them breaks programs that we will never see.

pub mod horizon;
pub mod kubeedge;
pub mod kubernetes;
pub mod kusionstack;
pub mod openyurt;
pub mod safepoint;
