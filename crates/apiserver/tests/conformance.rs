//! The cases of the conformance suite against the embedded server, over TLS. The same cases run against the real
//! kube-apiserver in `safepoint-conformance`.

use std::process::ExitCode;

use anyhow::Context as _;
use safepoint_apiserver::{Api, Options, Server, ServerOptions};
use safepoint_conformance::run;
use tokio_util::sync::CancellationToken;

#[expect(clippy::disallowed_methods, reason = "the server runs beside the cases until the process ends")]
fn main() -> ExitCode {
    run(async || {
        let data = tempfile::tempdir()?;
        let api = Api::open(Options::new(data.path())).await?;
        let server = Server::bind(api.clone(), &ServerOptions::default()).await?;
        let url = server.url();
        let kubeconfig = std::fs::read_to_string(api.admin_kubeconfig(&url)?)?;
        let token =
            kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token:")).context("a token")?;
        let token = token.trim().trim_matches('"').to_owned();
        let ca = std::fs::read(data.path().join("pki/ca.crt"))?;
        let stop = CancellationToken::new();
        tokio::spawn(server.run(stop.clone()));
        let guard = (data, stop.drop_guard());
        Ok(safepoint_conformance::Server::connect("embedded", &url, &ca, &token)?
            .with_controllers()
            .keeping(guard))
    })
}
