//! What the forms send, read.

use safepoint_api::node_gate::Override;
use safepoint_api::{Span, WorkloadRef};
use serde::Deserialize;

/// The fields of all forms. Every form has the first two.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Fields {
    pub(crate) form: String,
    pub(crate) reason: String,
    #[serde(rename = "for")]
    pub(crate) length: String,
    #[serde(rename = "override")]
    pub(crate) override_: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) ordinal: String,
    pub(crate) revision: String,
}

// === impl Fields ===

impl Fields {
    pub(crate) fn reason(&self) -> Result<String, String> {
        let reason = self.reason.trim();
        match reason.chars().count() {
            0 => Err("Say why.".to_owned()),
            1..=1_000 => Ok(reason.to_owned()),
            _ => Err("Say it in 1000 characters at most.".to_owned()),
        }
    }

    /// How long, if it is said.
    pub(crate) fn length(&self) -> Result<Option<Span>, String> {
        match self.length.trim() {
            "" => Ok(None),
            length => length.parse().map(Some).map_err(|error: safepoint_api::BadSpan| format!("{error}.")),
        }
    }

    /// The override, if one is asked for. Its reason is that of the whole.
    pub(crate) fn overriding(&self) -> Result<Option<Override>, String> {
        if self.override_.is_empty() {
            return Ok(None);
        }
        let duration = self.length()?.ok_or("Say for how long their hold is set aside, such as 10m.")?;
        Ok(Some(Override { reason: self.reason()?, duration }))
    }

    pub(crate) fn workload(&self) -> Result<WorkloadRef, String> {
        let unclear = || "The form does not say which workload: begin at the node's page.".to_owned();
        let ordinal = match self.ordinal.as_str() {
            "" => None,
            ordinal => Some(ordinal.parse().map_err(|_| unclear())?),
        };
        let [kind, namespace, name] = [&self.kind, &self.namespace, &self.name].map(Clone::clone);
        if [&kind, &namespace, &name].iter().any(|it| it.is_empty()) {
            return Err(unclear());
        }
        Ok(WorkloadRef { kind, namespace, name, ordinal })
    }

    pub(crate) fn revision(&self) -> Option<String> {
        (!self.revision.is_empty()).then(|| self.revision.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_done_without_a_reason() {
        let fields = |reason: &str| Fields { reason: reason.into(), ..Fields::default() };
        assert_eq!(fields("  \n").reason(), Err("Say why.".into()));
        assert_eq!(fields(" crane lift\n").reason(), Ok("crane lift".into()));
        assert!(fields(&"x".repeat(1_001)).reason().is_err());
    }

    #[test]
    fn an_override_has_an_end() {
        let mut fields = Fields { reason: "recall".into(), override_: "yes".into(), ..Fields::default() };
        assert!(fields.overriding().unwrap_err().contains("for how long"));
        fields.length = "10m".into();
        assert_eq!(fields.overriding().unwrap().unwrap().duration.to_string(), "10m");
        fields.length = "soon".into();
        assert!(fields.overriding().unwrap_err().contains("1h30m"));
        fields.override_ = String::new();
        assert_eq!(fields.overriding(), Ok(None));
    }
}
