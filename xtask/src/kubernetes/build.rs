//! Builds Kubernetes from its published Go modules, whole or not at all.
//!
//! The build goes into a folder beside its destination and is renamed when it is complete, so that what has the final name
//! can be used. Whoever builds holds a lock, which the system lets go of however the build ends.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use safepoint_testkit::{PROGRAMS, build_folder, version};

use super::progress::{Progress, TICK};

/// The file that all the names in [`PROGRAMS`] lead to.
const BINARY: &str = "kubernetes";

pub(super) fn unless_built(root: &Path) -> Result<()> {
    let folder = build_folder()?;
    if folder.exists() {
        return Ok(());
    }
    let parent = folder.parent().context("the cache is not the root of the file system")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let lock = File::create(parent.join("lock")).context("cannot make a lock file in the cache")?;
    take(&lock)?;
    if folder.exists() {
        return Ok(());
    }
    let unfinished = parent.join("unfinished");
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context("cannot remove an unfinished build");
        }
        _ => {}
    }
    let bin = unfinished.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    eprintln!(
        "building Kubernetes {} into {}: about six minutes on two cores, once; 3 GB of memory, 4 GB in Go's own cache",
        version(),
        folder.display()
    );
    compile(&root.join("xtask/kubernetes"), &bin)?;
    for program in PROGRAMS {
        symlink(BINARY, bin.join(program)).with_context(|| format!("cannot link {program}"))?;
    }
    fs::rename(&unfinished, &folder).context("cannot give the finished build its name")
}

/// Waits while another process builds.
fn take(lock: &File) -> Result<()> {
    let mut progress = Progress::new("waiting for another build of Kubernetes");
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {
                progress.tick("");
                thread::sleep(TICK);
            }
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the cache"),
        }
    }
}

fn compile(module: &Path, bin: &Path) -> Result<()> {
    // Finding out which packages there are fetches what is not in Go's cache.
    let list = bin.join("packages");
    let mut command = go(module, &["list", "-deps", "."]);
    command.stdout(File::create(&list).with_context(|| format!("cannot write {}", list.display()))?);
    let mut progress = Progress::new("fetching modules");
    run(command, &mut progress, |line| line.strip_prefix("go: downloading ").unwrap_or_default().to_owned())?;

    let packages = fs::read_to_string(&list).context("cannot read the list of packages")?;
    fs::remove_file(&list).context("cannot remove the list of packages")?;
    let mut left: HashSet<&str> = packages.lines().collect();
    let total = left.len();
    let output = bin.join(BINARY);
    let mut command =
        go(module, &["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", &ldflags(version())]);
    command.arg("-o").arg(&output).arg(".");
    let mut progress = Progress::new("compiling");
    // Go names a package when its turn comes, and none that it still has from an earlier build.
    run(command, &mut progress, |line| {
        left.remove(line);
        match total - left.len() {
            done if left.contains("safepoint/kubernetes") => format!("package {done} of at most {total}"),
            _ => "linking".to_owned(),
        }
    })
}

fn go(module: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("go");
    // The binaries have to run on this machine, whatever the user's other projects are built for, and without its C
    // library.
    command.args(arguments).current_dir(module).env("CGO_ENABLED", "0").env("GOWORK", "off");
    command.env_remove("GOOS").env_remove("GOARCH").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Runs Go and shows how it is getting on. What it says is kept back, and shown if it fails.
fn run(mut command: Command, progress: &mut Progress, status: impl FnMut(&str) -> String) -> Result<()> {
    let mut child = match command.stderr(Stdio::piped()).spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "Kubernetes for tests is built with Go, and there is none: install Go 1.26 or newer (https://go.dev/dl), or set \
             KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl"
        ),
        other => other.context("cannot run go")?,
    };
    let stderr = child.stderr.take().context("the output is piped")?;
    let said = progress.follow(stderr, status);
    let result = child.wait().context("go did not end")?;
    if !result.success() {
        bail!("go failed, {result}:\n  {}", said.join("\n  "));
    }
    Ok(())
}

/// Without these, every program would say that it is version 0.0.0. There is no commit in a published module.
///
/// A build is named after its sources and not after its flags: to have a change of these take effect where something is
/// built already, change a comment in main.go with it.
fn ldflags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let mut flags = "-s -w".to_owned();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (variable, value) in [
            ("gitVersion", version),
            ("gitMajor", major),
            ("gitMinor", minor),
            ("gitCommit", ""),
            ("gitTreeState", "archive"),
        ] {
            flags.push_str(&format!(" -X {package}.{variable}={value}"));
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::ldflags;

    #[test]
    fn both_packages_are_told_the_version() {
        let flags = ldflags("v1.36.4");
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            assert!(flags.contains(&format!("-X {package}.gitVersion=v1.36.4 ")), "{flags}");
            assert!(flags.contains(&format!("-X {package}.gitMinor=36 ")), "{flags}");
        }
    }
}
