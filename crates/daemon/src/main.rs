//! `safepoint-agent`: the agent and nothing else.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use safepoint_daemon::{AgentArgs, EXAMPLES, log, run, shim};

/// Run the node side of Safepoint, against any Kubernetes.
///
/// Pods of this node run as plain processes, and nothing is isolated, unless --door puts a kubelet behind it. The same as `safepoint agent`, in a smaller program.
#[derive(Parser, Debug)]
#[command(name = "safepoint-agent", version, after_help = EXAMPLES)]
struct Args {
    #[command(flatten)]
    agent: AgentArgs,
}

#[expect(clippy::disallowed_methods, reason = "the age of the process is measured from its beginning")]
fn main() -> ExitCode {
    if let Some(ended) = shim() {
        return ended;
    }
    let begun = Instant::now();
    let args = Args::parse();
    log();
    match run(&args.agent, || begun.elapsed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
