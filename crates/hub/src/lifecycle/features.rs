//! Feature gates, in the form in which KusionStack's manager takes them: `--feature-gates=GraceDeleteWebhook=true`.

use std::str::FromStr;

use safepoint_api::names::kusionstack::webhook::GRACE_DELETE_GATE;

/// Which features of the lifecycle are on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Features {
    /// Deletions and evictions of pods that take part go through the lifecycle. Off unless asked for, as in KusionStack.
    pub grace_delete: bool,
}

/// A feature gate that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is no feature gate: write NAME=true or NAME=false, with commas between several; known is {GRACE_DELETE_GATE}"
)]
pub struct UnknownFeature(String);

// === impl Features ===

impl FromStr for Features {
    type Err = UnknownFeature;

    fn from_str(text: &str) -> Result<Self, UnknownFeature> {
        let mut features = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let unknown = || UnknownFeature(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(unknown)?;
            // Go's flags take more ways to say yes; these are the ones that people write.
            let value = match value.trim() {
                "true" | "True" | "1" => true,
                "false" | "False" | "0" => false,
                _ => return Err(unknown()),
            };
            match name.trim() {
                GRACE_DELETE_GATE => features.grace_delete = value,
                _ => return Err(unknown()),
            }
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_off_unless_it_is_switched_on() {
        let on = |text: &str| text.parse::<Features>().map(|features| features.grace_delete);
        assert_eq!(on(""), Ok(false));
        assert_eq!(on("GraceDeleteWebhook=true"), Ok(true));
        assert_eq!(on("GraceDeleteWebhook=true, GraceDeleteWebhook=false"), Ok(false));
    }

    #[test]
    fn what_is_no_gate_is_refused_with_the_ones_that_are() {
        for text in ["GraceDelete=true", "GraceDeleteWebhook", "GraceDeleteWebhook=yes"] {
            let error = text.parse::<Features>().unwrap_err().to_string();
            assert!(error.contains("known is GraceDeleteWebhook"), "{error}");
        }
    }
}
