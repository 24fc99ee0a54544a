//! A source that is told: whoever calls knows what runs, as the agent does, which sees the mirror pod's status pass.

use super::{Blind, Looking, PodSeen, Source, Wanted};

/// A function as a source.
pub struct Told<F> {
    name: String,
    tell: F,
}

// === impl Told ===

impl<F> Told<F>
where
    F: FnMut(&Wanted) -> Result<Vec<PodSeen>, String> + Send,
{
    /// A source of this name that knows what the function says.
    pub fn new(name: impl Into<String>, tell: F) -> Self {
        Self { name: name.into(), tell }
    }
}

impl<F> std::fmt::Debug for Told<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Told").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F> Source for Told<F>
where
    F: FnMut(&Wanted) -> Result<Vec<PodSeen>, String> + Send,
{
    fn name(&self) -> String {
        self.name.clone()
    }

    fn look<'a>(&'a mut self, wanted: &'a Wanted) -> Looking<'a> {
        let told = (self.tell)(wanted).map_err(Blind);
        Box::pin(std::future::ready(told))
    }
}
