//! The machine's clocks. The only place of the agent that reads them.

use std::fs;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use rustix::time::{ClockId, clock_gettime};
use safepoint_core::{Now, Span, Timestamp};

/// Says what time it is. Tests have their own.
pub trait Clock: Send + Sync + 'static {
    /// What the clocks say now.
    fn now(&self) -> Now;
}

/// The clocks of the machine that the agent runs on.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    boot: u64,
    trusted: bool,
}

/// Where systemd-timesyncd says that it has set the clock.
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";

// === impl MachineClock ===

impl MachineClock {
    /// Reads which boot this is. `trusted` says that whoever set the agent up vouches for the wall clock; otherwise it is
    /// trusted once systemd says that it was set from the network.
    #[must_use]
    pub fn new(trusted: bool) -> Self {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot = digest(&SHA256, &boot)
            .as_ref()
            .iter()
            .take(8)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        Self { boot, trusted }
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Now {
        // Sleep counts: a lease goes on while a laptop is shut.
        let since_boot = clock_gettime(ClockId::Boottime);
        let wall = clock_gettime(ClockId::Realtime);
        Now {
            monotonic: Span(u64::try_from(millis(since_boot)).unwrap_or(0)),
            boot: self.boot,
            wall: Timestamp(millis(wall)),
            trusted: self.trusted || Path::new(SYNCHRONIZED).exists(),
        }
    }
}

fn millis(time: rustix::time::Timespec) -> i64 {
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}
