//! What was done, told while it is done and once more at the end.

use crate::clock;
use crate::door::News;
use crate::outcome::{Outcome, Step};
use crate::stop::Stop;

pub(super) struct Log {
    steps: Vec<Step>,
    news: Option<News>,
}

impl Log {
    pub(super) fn new(news: Option<News>) -> Self {
        Self { steps: Vec::new(), news }
    }

    pub(super) fn say(&mut self, what: String) {
        tracing::info!("{what}");
        let step = Step { at: clock::now(), what };
        if let Some(news) = &self.news {
            news(&step);
        }
        self.steps.push(step);
    }

    /// Turns how it ended into the outcome, with all steps.
    pub(super) fn end(self, done: Result<Outcome, Stop>) -> Outcome {
        let mut outcome = done.unwrap_or_else(Into::into);
        outcome.steps = self.steps;
        outcome
    }
}
