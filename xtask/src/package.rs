//! What people install: the program, an image, a Debian package, and the files that go beside them.
//!
//! Everything is made from `deploy/` and one program, without a network and without Docker. The image has the program linked
//! statically, because there is nothing else in it; the Debian package has it linked to the system's C library, which
//! knows how that system looks names up.

mod archive;
mod check;
mod deb;
mod dockerfile;
mod files;
mod image;
mod program;

use std::cell::OnceCell;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

pub(crate) use check::run as check;
pub(crate) use program::executable;

use crate::steps::Steps;
use program::Linking;

/// The version of everything that is packaged.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to build.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Package {
    /// The program, with its libraries in it.
    Program,
    /// The image, as an archive for `ctr images import`, `podman load` or `skopeo copy oci-archive:…`.
    Image,
    /// The Debian package of the agent.
    Deb,
    /// Manifests in one file, the chart, units, alert rules and the dashboard.
    Files,
}

/// How the program is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// As it is shipped.
    Release,
    /// For checks: what the tests have compiled already is linked once more.
    Debug,
}

/// Where packages are made, and of what.
struct Shop {
    /// The checkout.
    root: PathBuf,
    /// Where they end up.
    out: PathBuf,
    profile: Profile,
    /// The program, once it was built, with its libraries in it and without.
    programs: [OnceCell<PathBuf>; 2],
}

/// Builds one package, or all.
pub(crate) fn run(root: &Path, what: Option<Package>) -> Result<()> {
    let shop = Shop::new(root, "package", Profile::Release)?;
    let wanted = |package| what.is_none_or(|what| what == package);
    if wanted(Package::Program) {
        show(&shop.program(Linking::Static)?);
    }
    if wanted(Package::Image) {
        show(&image::build(&shop)?);
    }
    if wanted(Package::Deb) {
        show(&deb::build(&shop)?);
    }
    if wanted(Package::Files) {
        for file in files::build(&shop)? {
            show(&file);
        }
    }
    Ok(())
}

/// Checks all packages, as one of the steps of all checks does.
pub(crate) fn checked(root: &Path) -> Result<()> {
    let mut steps = Steps::default();
    steps.count("packages", || check(root));
    steps.finish()
}

fn show(file: &Path) {
    println!("{}", file.display());
}

// === impl Shop ===

impl Shop {
    fn new(root: &Path, name: &str, profile: Profile) -> Result<Self> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let out = root.join(target).join(name);
        fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        Ok(Self { root: root.to_owned(), out, profile, programs: Default::default() })
    }

    /// The program, which is built first unless that was done already.
    fn program(&self, linking: Linking) -> Result<PathBuf> {
        let place = &self.programs[usize::from(linking == Linking::Dynamic)];
        if let Some(program) = place.get() {
            return Ok(program.clone());
        }
        let built = program::build(self, linking)?;
        Ok(place.get_or_init(|| built).clone())
    }

    fn deploy(&self, file: &str) -> PathBuf {
        self.root.join("deploy").join(file)
    }

    /// An empty folder for what is needed on the way.
    fn workshop(&self, name: &str) -> Result<PathBuf> {
        let folder = self.out.join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot empty {}", folder.display()));
            }
            _ => {}
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

/// Runs a command, and returns what it prints. If it fails, the error says what it said.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed:\n{}\n{}", stdout.trim(), stderr.trim());
    }
    Ok(stdout)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes a file, and makes the folders that lead to it.
fn write(file: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let folder = file.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Copies a file, and makes the folders that lead to it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
}
