//! An operation controller that restarts pods, out of service and a few at a time.
//!
//! ```text
//! cargo run --package safepoint-sdk --features lifecycle --example restart_pods -- shop app=web 1
//! kubectl annotate pods --namespace shop --selector app=web example.safepoint.dev/restart=please
//! ```

mod restart;

use std::process::ExitCode;
use std::time::Duration;

use restart::{RESTART, Restart};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (namespace, selector, at_once) = match &*arguments {
        [namespace, selector, at_once] => match at_once.parse() {
            Ok(at_once) => (namespace, selector, at_once),
            Err(_) => return usage(),
        },
        _ => return usage(),
    };
    let client = match kube::Client::try_default().await {
        Ok(client) => client,
        Err(error) => {
            eprintln!("error: cannot reach a cluster: {error}");
            return ExitCode::FAILURE;
        }
    };
    match Restart::new(client, namespace, selector, at_once, Duration::ZERO) {
        Ok(restart) => {
            println!("restarting pods of {namespace} with {selector} that have the annotation {RESTART}");
            restart.run().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: restart_pods NAMESPACE LABEL=VALUE AT_ONCE");
    ExitCode::FAILURE
}
