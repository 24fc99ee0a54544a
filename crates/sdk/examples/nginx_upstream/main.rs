//! A cooperation controller that keeps the upstream list of an nginx in step with the pods of a workload.
//!
//! nginx sends requests to a pod only while the pod is in service, and nobody restarts, upgrades or deletes a pod through the
//! lifecycle before nginx has let go of it. Try it beside an nginx of your own:
//!
//! ```text
//! cargo run --package safepoint-sdk --features lifecycle --example nginx_upstream -- /etc/nginx/shop web shop app=web 8080
//! ```
//!
//! The folder has an `nginx.conf` that says `pid nginx.pid;` and, in its `http` block, `include upstream.conf;`. Set
//! `worker_shutdown_timeout`: a pod waits for as long as one client keeps a request open.

mod upstream;

use std::process::ExitCode;

use safepoint_sdk::cooperation::{BoxError, Employer, Frame};
use upstream::Nginx;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, upstream, namespace, selector, port] = &*arguments else {
        eprintln!("usage: nginx_upstream FOLDER UPSTREAM NAMESPACE LABEL=VALUE PORT");
        return ExitCode::FAILURE;
    };
    match run(folder, upstream, namespace, selector, port).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(
    folder: &str,
    upstream: &str,
    namespace: &str,
    selector: &str,
    port: &str,
) -> Result<(), BoxError> {
    let selector = selector.split_once('=').ok_or("a selector is LABEL=VALUE")?;
    let employer = Employer::new("nginx-upstream", "Upstream", namespace, upstream).selecting([selector]);
    println!("finalizer: {}", employer.finalizer());
    let nginx = Nginx::new(folder, upstream, port.parse()?)?;
    let client = kube::Client::try_default().await?;
    Frame::new(client, nginx).employer(employer).namespace(namespace).run(interrupted()).await?;
    Ok(())
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without signals it runs until it is killed, which is as good.
        std::future::pending::<()>().await;
    }
}
