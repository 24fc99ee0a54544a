//! Everything that has to be true before a change lands.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::steps::{Steps, Tally, cargo, run as run_command};
use crate::{book, kubernetes, model, package, suites, tidy, tools};

/// Runs all checks.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut steps = Steps::default();
    steps.check("kubernetes for tests", || kubernetes::build(root).map(drop));
    steps.check("containers for tests", tools::node_packages);
    steps.check("helm for tests", tools::build_helm);
    steps.check("axe-core for tests", tools::axe_core);
    steps.check("format", || run_command(cargo(root, &["fmt", "--all", "--check"])));
    steps.check("lints", || {
        run_command(cargo(
            root,
            &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        ))
    });
    steps.count("tests", || suites::run(root));
    steps.count("documentation tests", || count_tests(cargo(root, &["test", "--workspace", "--doc"])));
    steps.check("documentation", || {
        let mut doc = cargo(
            root,
            &["doc", "--workspace", "--features", "safepoint-sdk/lifecycle", "--no-deps", "--quiet"],
        );
        doc.env("RUSTDOCFLAGS", "-D warnings");
        run_command(doc)
    });
    // The model brings the feature `mutants` into a build of the whole workspace; the gate is shipped without it.
    steps.check("the gate as it is shipped: lints", || {
        let lint =
            ["clippy", "--package", "safepoint-core", "--all-targets", "--quiet", "--", "-D", "warnings"];
        run_command(cargo(root, &lint))
    });
    steps.count("the gate as it is shipped: tests", || {
        count_tests(cargo(root, &["test", "--package", "safepoint-core", "--lib", "--quiet"]))
    });
    steps.check("the binary", || run_command(cargo(root, &["build", "--quiet"])));
    // After the binary, of which it links the parts.
    steps.count("packages", || package::check(root));
    steps.check("model", || model::run(root, false));
    steps.check("tidy", || tidy::run(root));
    steps.check("the book", || book::build(root));
    steps.check("dependencies: bans, licences, sources", || {
        tools::deny(root, &["bans", "licenses", "sources"])
    });
    steps.finish()
}

/// Runs a test command, shows what it prints, and adds up the closing lines of its test binaries.
fn count_tests(mut command: Command) -> Result<Tally> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot run cargo test")?;
    let output = child.stdout.take().context("the output is piped")?;
    let mut tally = Tally::default();
    for line in BufReader::new(output).lines() {
        let line = line.context("cannot read what cargo test prints")?;
        println!("{line}");
        tally.read(&line);
    }
    let status = child.wait().context("cargo test did not end")?;
    if !status.success() {
        // A binary that does not compile, or dies, prints no closing line.
        tally.failed = tally.failed.max(1);
    }
    Ok(tally)
}
