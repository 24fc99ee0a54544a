//! Runs the cases against one server, each as one test.

use std::{
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, stream};
use http::Method;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::{runtime::Runtime, time::timeout};

use crate::{call::Call, case::Case, cases::cases, cx::Cx, server::Server, transcript::Transcript};

/// How long a case may take. It only turns a hang into a failure.
const LIMIT: Duration = Duration::from_secs(120);

/// How many cases run at the same time. Cases wait far more than they compute.
const AT_ONCE: usize = 12;

/// The name of the server to which the differences belong.
const EMBEDDED: &str = "embedded";

/// Runs the suite as the main function of a test binary, with the arguments of the process.
///
/// The server is started only if cases are run, not for a list of them.
pub fn run(server: impl AsyncFnOnce() -> Result<Server>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    if arguments.list {
        let trials = cases().into_iter().map(|case| Trial::test(case.name(), || Ok(())));
        return libtest_mimic::run(&arguments, trials.collect()).exit_code();
    }
    let started = Runtime::new().map_err(anyhow::Error::from).and_then(|runtime| {
        let server = runtime.block_on(server())?;
        Ok(Arc::new(Suite { server, runtime, namespaces: Mutex::default() }))
    });
    let suite = match started {
        Ok(suite) => suite,
        Err(error) => {
            eprintln!("the server under test cannot be started: {error:?}");
            return ExitCode::FAILURE;
        }
    };
    let trials = cases().into_iter().map(|case| suite.trial(case)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    suite.sweep();
    conclusion.exit_code()
}

/// The cases that the embedded server answers differently on purpose, with the reason.
#[must_use]
pub fn differences() -> Vec<(&'static str, &'static str)> {
    cases().iter().filter_map(|case| Some((case.name(), case.difference()?))).collect()
}

/// One run of the suite.
struct Suite {
    server: Server,
    runtime: Runtime,
    /// The namespaces of cases that are over. Removing a namespace is much work for a server, so it comes last and
    /// disturbs no case that waits for just that.
    namespaces: Mutex<Vec<String>>,
}

// === impl Suite ===

impl Suite {
    fn trial(self: &Arc<Self>, case: Case) -> Trial {
        let suite = Arc::clone(self);
        Trial::ignorable_test(case.name(), move || {
            if let Some(reason) = case.difference().filter(|_| suite.server.name() == EMBEDDED) {
                return Ok(Completion::ignored_with(reason));
            }
            if case.waits_for_controllers() && !suite.server.has_controllers() {
                return Ok(Completion::ignored_with("no controllers run beside this server"));
            }
            let outcome = suite.runtime.block_on(suite.run(&case));
            outcome.map_err(|error| Failed::from(format!("{error:#}")))?;
            Ok(Completion::Completed)
        })
    }

    async fn run(&self, case: &Case) -> Result<()> {
        let cx = Cx::open(&self.server, case.name()).await?;
        let outcome = timeout(LIMIT, case.run(cx.clone())).await.context("the case never ends");
        let kept = cx.transcript().keep(case.name());
        let namespace = cx.close().await;
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner).push(namespace);
        outcome??;
        kept
    }

    fn sweep(&self) {
        let namespaces = std::mem::take(&mut *self.namespaces.lock().unwrap_or_else(PoisonError::into_inner));
        self.runtime.block_on(stream::iter(namespaces).for_each_concurrent(AT_ONCE, |path| async move {
            // The run is over, and a namespace that stays harms nobody.
            let _ = self.server.send(&Call::new(Method::DELETE, path), &Transcript::default()).await;
        }));
    }
}
