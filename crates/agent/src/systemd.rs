//! What systemd is told: that the agent is ready, and that it is alive.

use safepoint_supervisor::{Handle, Liveness};
use sd_notify::NotifyState;

/// Tells systemd when the agent is ready, and feeds its watchdog for as long as the supervisor itself says that no critical
/// module is stuck. Does nothing where systemd did not start us. Never returns.
pub async fn tell_systemd(handle: Handle) {
    let mut health = handle.health();
    let watchdog = sd_notify::watchdog_enabled();
    let mut ready = false;
    loop {
        if !ready && health.borrow_and_update().ready {
            notify(&[NotifyState::Ready]);
            ready = true;
        }
        let beat = async {
            match watchdog {
                // Twice within the time, as systemd asks for.
                Some(within) => tokio::time::sleep(within / 2).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = health.changed(), if !ready => {
                if changed.is_err() {
                    return std::future::pending().await;
                }
            }
            () = beat => {
                if handle.check().await == Liveness::Live {
                    notify(&[NotifyState::Watchdog]);
                }
            }
        }
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "systemd does not listen");
    }
}
