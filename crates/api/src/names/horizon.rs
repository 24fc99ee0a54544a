//! Open Horizon: the state of a node as its agent's HTTP API shows it, with the `changefreeze` of the public design.
//!
//! Of the freeze itself nothing was ever built there, so the path and the form are theirs and the meaning is ours.

/// The agent's port on loopback.
pub const PORT: u16 = 8510;

/// `GET` and `PUT`: the state of the node, as `{"state": …, "last_update_time": seconds}`.
pub const PATH_CONFIGSTATE: &str = "/node/configstate";

/// The field that an error about the body of a `PUT` names in `{"error": …, "input": …}`.
pub const INPUT_STATE: &str = "configstate.state";

/// States of a node. Shown by the agent; [`CONFIGURED`](state::CONFIGURED) and [`CHANGEFREEZE`](state::CHANGEFREEZE) are
/// the two that a caller may ask for.
pub mod state {
    /// The node is not registered.
    pub const UNCONFIGURED: &str = "unconfigured";
    /// The node is being registered.
    pub const CONFIGURING: &str = "configuring";
    /// The node takes part: for us, the gate is open. Asking for it ends a freeze.
    pub const CONFIGURED: &str = "configured";
    /// The node is being taken out.
    pub const UNCONFIGURING: &str = "unconfiguring";
    /// Nothing on the node changes. Asking for it begins a freeze.
    pub const CHANGEFREEZE: &str = "changefreeze";
}
