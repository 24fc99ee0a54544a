//! One text for all pods that have it. Ten thousand pods have the same label keys, and mostly the same values.

use std::collections::HashSet;
use std::sync::Arc;

use safepoint_core::Text;

use super::known::Known;

/// Fewer are never looked through.
const FEW: usize = 1_024;

/// The texts.
pub(super) struct Shared {
    all: HashSet<Text>,
    /// With so many it is looked which of them nobody has any more.
    limit: usize,
}

// === impl Shared ===

impl Shared {
    /// The same pod, with texts that others have as well.
    pub(super) fn pod(&mut self, mut known: Known) -> Known {
        let labels = std::mem::take(&mut known.labels);
        known.labels = labels.iter().map(|(key, value)| (self.text(key), self.text(value))).collect();
        known.annotations.iter_mut().for_each(|(_, value)| *value = self.text(value));
        known.finalizers.iter_mut().for_each(|finalizer| *finalizer = self.text(finalizer));
        known
    }

    pub(super) fn text(&mut self, text: &Text) -> Text {
        if let Some(known) = self.all.get(text) {
            return Arc::clone(known);
        }
        // A time is nobody else's.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            if self.all.len() >= self.limit {
                self.all.retain(|text| Arc::strong_count(text) > 1);
                self.limit = (2 * self.all.len()).max(FEW);
            }
            self.all.insert(Arc::clone(text));
        }
        Arc::clone(text)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self { all: HashSet::new(), limit: FEW }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_goes_with_the_last_who_has_it() {
        let mut shared = Shared::default();
        let (one, other) = (shared.text(&"app".into()), shared.text(&"app".into()));
        assert!(Arc::ptr_eq(&one, &other));
        for number in 0..3 * FEW {
            drop(shared.text(&format!("web-{number}").into()));
            drop(shared.text(&number.to_string().into()));
        }
        assert!(shared.all.len() <= FEW && shared.all.contains("app"));
    }
}
