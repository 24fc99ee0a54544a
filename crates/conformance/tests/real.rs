//! The cases against the real kube-apiserver: what is true there is true.

use std::process::ExitCode;

use safepoint_conformance::{Server, run};
use safepoint_testkit::{ControlPlane, Options};

fn main() -> ExitCode {
    run(async || {
        let options = Options {
            controllers: true,
            // The plugin wants an account for every pod, and gives every pod a volume.
            apiserver_flags: vec!["--disable-admission-plugins=ServiceAccount".to_owned()],
            ..Options::default()
        };
        let kubernetes = ControlPlane::start_with(&options)?;
        let ca = kubernetes.ca_pem().as_bytes();
        let server = Server::connect("real", kubernetes.url(), ca, kubernetes.token())?.with_controllers();
        Ok(server.keeping(kubernetes))
    })
}
