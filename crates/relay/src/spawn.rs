//! The tasks of a connection. Hyper hands them out; each ends with the connection's token, so that a connection that is
//! given up leaves nothing behind.

use std::future::Future;

use tokio_util::sync::CancellationToken;

/// Starts tasks that end when the token says so.
#[derive(Clone)]
pub(crate) struct Spawn(pub(crate) CancellationToken);

impl Spawn {
    #[expect(
        clippy::disallowed_methods,
        reason = "a connection outlives the request that opened it, and ends with its token"
    )]
    pub(crate) fn start(&self, task: impl Future<Output: Send> + Send + 'static) {
        let token = self.0.clone();
        tokio::spawn(async move {
            token.run_until_cancelled_owned(task).await;
        });
    }
}

impl<F> hyper::rt::Executor<F> for Spawn
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.start(task);
    }
}
