//! What several hubs are to each other.

use safepoint_supervisor::State;

use crate::hub::{PATIENCE, RunningHub};

/// Waits until it is clear to a hub that another one leads.
pub(crate) async fn follows(hub: &RunningHub) {
    let mut health = hub.handle.health();
    let waits = |state: &State| matches!(state, State::WaitingFor { what } if what == "leadership");
    let follows = health.wait_for(|health| waits(&health.modules["registration"].state));
    assert!(tokio::time::timeout(PATIENCE, follows).await.is_ok(), "it does not wait for the leadership");
}

/// Ends a hub in good order.
pub(crate) async fn stop(mut hub: RunningHub) {
    hub.handle.stop().await;
    while hub.tasks.join_next().await.is_some() {}
}
