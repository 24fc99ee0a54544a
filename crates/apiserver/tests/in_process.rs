//! The cases of the conformance suite against the embedded server in the same process: no socket, no TLS, no token.

use std::process::ExitCode;

use safepoint_apiserver::{Api, Options, User};
use safepoint_conformance::{Server, run};
use tokio_util::sync::CancellationToken;

#[expect(clippy::disallowed_methods, reason = "the server runs beside the cases until the process ends")]
fn main() -> ExitCode {
    run(async || {
        let data = tempfile::tempdir()?;
        let api = Api::open(Options::new(data.path())).await?;
        let stop = CancellationToken::new();
        let router = api.router(User::admin());
        tokio::spawn({
            let stop = stop.clone();
            async move { api.run_controllers(stop).await }
        });
        let guard = (data, stop.drop_guard());
        Ok(Server::in_process("embedded", router, "").with_controllers().keeping(guard))
    })
}
