//! How much a rule may compute.
//!
//! Rules come from definitions and data from objects, neither of which is trusted, so every step is charged in the units
//! and with the limits of an API server: about a tenth of a second for one rule, about a second for all rules of one
//! object. What runs out stops at once, also inside operators that would otherwise forgive an error.

/// Units for one evaluation of one expression.
pub(crate) const CALL_LIMIT: u64 = 1_000_000;
/// Units for all expressions of one object.
pub(crate) const OBJECT_LIMIT: u64 = 10_000_000;

/// Making a list or a map costs more than looking at one.
pub(super) const LIST_COST: u64 = 10;
pub(super) const MAP_COST: u64 = 30;

/// Why an evaluation ended without a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The rule failed on this object.
    Error(String),
    /// The rule computed too much.
    OutOfBudget,
}

impl Stop {
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }

    pub(super) fn no_such_overload() -> Self {
        Self::error("no such overload")
    }
}

/// What is left for one evaluation.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
}

// === impl Budget ===

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { left: limit, limit }
    }

    pub(super) fn spend(&mut self, units: u64) -> Result<(), Stop> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Stop::OutOfBudget)
            }
        }
    }

    /// Charges for looking through text: a tenth of a unit per byte.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(tenth(bytes))
    }

    pub(super) fn spent(&self) -> u64 {
        self.limit - self.left
    }
}

/// A tenth, rounded up.
pub(super) fn tenth(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(10)
}
