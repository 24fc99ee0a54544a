//! What a module is, and what it declares about itself.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use crate::{ctx::Ctx, fault::Fault};

/// One part of the process that can fail, and be started again, alone.
///
/// `run` is called anew for every start and gets a fresh [`Ctx`]; everything it makes is gone before the next
/// call. State that must outlive a restart (a store, a queue with its policy of what happens to unread
/// messages) belongs to whoever builds the module, and the module holds an [`Arc`] of it.
pub trait Module: Send + Sync + 'static {
    /// What the module is called and how it is to be treated.
    fn spec(&self) -> Spec;

    /// Does the work until it is done, cannot be done, or [`Ctx::cancelled`] resolves.
    ///
    /// What it returns after the cancellation is not looked at: the end was planned.
    fn run(&self, ctx: Ctx) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What a module declares about itself. Names are part of the code, hence `'static`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) critical: bool,
    pub(crate) after: Vec<&'static str>,
    pub(crate) requires: Vec<&'static str>,
    pub(crate) heartbeat: Option<Duration>,
}

/// Whether a module may ever be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs until it is stopped. Its return is a failure, whatever it returns.
    LongRunning,
    /// Has an end, such as a migration.
    OneShot,
}

/// A [`Module`] made of a closure; see [`Spec::runs`].
pub struct FnModule<F> {
    spec: Spec,
    run: F,
}

/// The future of one run, with the module's type forgotten.
pub(crate) type Run = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>>;

/// A module as the supervisor keeps it.
pub(crate) struct Registered {
    pub(crate) spec: Spec,
    run: Box<dyn Fn(Ctx) -> Run + Send + Sync>,
}

// === impl Spec ===

impl Spec {
    /// A long-running module that is not critical and depends on nothing.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::LongRunning,
            critical: false,
            after: vec![],
            requires: vec![],
            heartbeat: None,
        }
    }

    /// The process is of no use without this module: if it cannot be kept running, the process exits
    /// and init starts a fresh one. A failure that a fresh process would meet again
    /// ([`Fault::Permanent`]) does not count as such.
    pub fn critical(mut self) -> Self {
        self.critical = true;
        self
    }

    /// The module has an end: returning `Ok` completes it, and only then those that depend on it
    /// start. Calling [`Ctx::ready`] before merely shows that it got going, which the start
    /// deadline asks for here as well.
    pub fn one_shot(mut self) -> Self {
        self.kind = Kind::OneShot;
        self
    }

    /// Starts once these are ready and stops before them, but keeps running while they restart.
    pub fn after(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.after.extend(names);
        self
    }

    /// Like [`after`](Self::after), and is torn down and started again whenever one of these is.
    pub fn requires(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.requires.extend(names);
        self
    }

    /// Promises to call [`Ctx::heartbeat`] more often than this while ready. Silence for longer is a hang.
    pub fn heartbeat(mut self, deadline: Duration) -> Self {
        self.heartbeat = Some(deadline);
        self
    }

    /// Makes a module of a closure, which is called for every start.
    pub fn runs<F, R>(self, run: F) -> FnModule<F>
    where
        F: Fn(Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Fault>> + Send,
    {
        FnModule { spec: self, run }
    }

    /// Everything that must be ready first.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &'static str> {
        self.after.iter().chain(&self.requires).copied()
    }
}

// === impl FnModule ===

impl<F, R> Module for FnModule<F>
where
    F: Fn(Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Fault>> + Send,
{
    fn spec(&self) -> Spec {
        self.spec.clone()
    }

    fn run(&self, ctx: Ctx) -> impl Future<Output = Result<(), Fault>> + Send {
        (self.run)(ctx)
    }
}

impl<F> fmt::Debug for FnModule<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnModule").field(&self.spec).finish()
    }
}

// === impl Registered ===

impl Registered {
    pub(crate) fn new(module: impl Module) -> Self {
        let spec = module.spec();
        let module = Arc::new(module);
        let run = move |ctx| {
            let module = Arc::clone(&module);
            // The call itself is inside the future: a panic in it is one of the task, not of the supervisor.
            Box::pin(async move { module.run(ctx).await }) as Run
        };
        Self { spec, run: Box::new(run) }
    }

    pub(crate) fn start(&self, ctx: Ctx) -> Run {
        (self.run)(ctx)
    }
}
