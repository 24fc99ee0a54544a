//! The cases of the conformance suite against the embedded server in the same process: no socket and no TLS.

use std::process::ExitCode;

use anyhow::Context as _;
use safepoint_apiserver::{Api, Options};
use safepoint_conformance::{Server, run};
use tokio_util::sync::CancellationToken;

#[expect(clippy::disallowed_methods, reason = "the server runs beside the cases until the process ends")]
fn main() -> ExitCode {
    run(async || {
        let data = tempfile::tempdir()?;
        let api = Api::open(Options::new(data.path())).await?;
        let stop = CancellationToken::new();
        let kubeconfig = std::fs::read_to_string(api.admin_kubeconfig("https://in.process")?)?;
        let token =
            kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token:")).context("a token")?;
        let token = token.trim().trim_matches('"').to_owned();
        let router = api.guarded_router();
        tokio::spawn({
            let stop = stop.clone();
            async move { api.run_controllers(stop).await }
        });
        let guard = (data, stop.drop_guard());
        Ok(Server::in_process("embedded", router, &token).with_controllers().keeping(guard))
    })
}
