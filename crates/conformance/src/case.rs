//! A case: a sentence about a Kubernetes API and the requests that prove it.

use std::{pin::Pin, sync::Arc};

use anyhow::Result;

use crate::cx::Cx;

type Run = dyn Fn(Cx) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync;

/// One case of the suite.
#[derive(Clone)]
pub struct Case {
    name: &'static str,
    differs: Option<&'static str>,
    controllers: bool,
    run: Arc<Run>,
}

// === impl Case ===

impl Case {
    /// A case of this name, `theme::sentence`.
    pub fn new<F, Fut>(name: &'static str, run: F) -> Case
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        Case { name, differs: None, controllers: false, run: Arc::new(move |cx| Box::pin(run(cx))) }
    }

    /// Says why the embedded server answers this one differently on purpose.
    #[must_use]
    pub fn differs(mut self, reason: &'static str) -> Case {
        self.differs = Some(reason);
        self
    }

    /// Says that the case waits for what controllers do.
    #[must_use]
    pub fn needs_controllers(mut self) -> Case {
        self.controllers = true;
        self
    }

    /// `theme::sentence`
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Why the embedded server answers differently, if it does.
    #[must_use]
    pub fn difference(&self) -> Option<&'static str> {
        self.differs
    }

    /// Whether the case waits for what controllers do.
    #[must_use]
    pub fn waits_for_controllers(&self) -> bool {
        self.controllers
    }

    /// Runs the case.
    pub async fn run(&self, cx: Cx) -> Result<()> {
        (self.run)(cx).await
    }
}

/// The cases of one theme, from the functions that are named.
macro_rules! cases {
    ($theme:ident: $($case:ident $(.$method:ident($($argument:expr),*))*),+ $(,)?) => {
        vec![$(
            $crate::case::Case::new(concat!(stringify!($theme), "::", stringify!($case)), $case)
                $(.$method($($argument),*))*
        ),+]
    };
}
pub(crate) use cases;
