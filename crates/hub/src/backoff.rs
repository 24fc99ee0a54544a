//! Waits that grow.

use std::time::Duration;

/// A wait that doubles up to a limit.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

// === impl Backoff ===

impl Backoff {
    pub(crate) const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first }
    }

    /// The wait that is due now; the one after it is longer.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.most);
        wait
    }

    /// All is well: the next wait is the first again.
    pub(crate) const fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits: Vec<u64> = (0..5).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next(), Duration::from_secs(1));
    }
}
