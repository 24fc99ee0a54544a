//! The Debian package of the agent, with the program linked to the system's libraries.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::archive::gzip;
use super::program::Linking;
use super::{Profile, Shop, VERSION, copy, output, read, write};

/// What the package is called.
pub(super) const NAME: &str = "safepoint-agent";
/// Where the package has units, and from where in `deploy` they come.
pub(super) const UNITS: [&str; 3] =
    ["safepoint-agent.service", "safepoint-metrics.service", "safepoint-metrics.timer"];
/// The names by which kubectl runs the program as its plugin, and asks it for completions.
pub(super) const PLUGIN: [&str; 2] = ["kubectl-safepoint", "kubectl_complete-safepoint"];

/// Builds it.
pub(super) fn build(shop: &Shop) -> Result<PathBuf> {
    let program = shop.program(Linking::Dynamic)?;
    let workshop = shop.workshop("deb")?;
    let tree = workshop.join("tree");
    furnish(shop, &program, &tree)?;
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
    let control = read(&shop.deploy("debian/control"))?
        .replace("@VERSION@", VERSION)
        .replace("@ARCHITECTURE@", &architecture)
        .replace("@DEPENDS@", &libraries(&workshop, &program)?)
        .replace("@INSTALLED_SIZE@", &kibibytes(&tree)?.to_string());
    write(&tree.join("DEBIAN/control"), control)?;
    write(&tree.join("DEBIAN/md5sums"), checksums(&tree)?)?;
    copy(&shop.deploy("debian/conffiles"), &tree.join("DEBIAN/conffiles"))?;
    for script in ["postinst", "prerm", "postrm"] {
        copy(&shop.deploy("debian").join(script), &tree.join("DEBIAN").join(script))?;
    }
    modes(&tree)?;
    let package = shop.out.join(format!("{NAME}_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    // No file is younger than the commit, so that the same commit makes the same package.
    build.env("SOURCE_DATE_EPOCH", commit(shop, "%ct")?).args(["--root-owner-group", "-Zxz"]);
    if shop.profile == Profile::Debug {
        // For checks: nobody downloads it.
        build.arg("-z0");
    }
    output(build.arg("--build").args([&tree, &package]))?;
    Ok(package)
}

/// What is installed.
fn furnish(shop: &Shop, program: &Path, tree: &Path) -> Result<()> {
    copy(program, &tree.join("usr/bin/safepoint"))?;
    for unit in UNITS {
        copy(&shop.deploy("systemd").join(unit), &tree.join("lib/systemd/system").join(unit))?;
    }
    copy(&shop.deploy("systemd/agent.env"), &tree.join("etc/safepoint/agent.env"))?;
    let completion = output(Command::new(program).args(["completion", "bash"]))?;
    write(&tree.join("usr/share/bash-completion/completions/safepoint"), completion)?;
    let manual = tree.join("usr/share/man/man1");
    output(Command::new(program).arg("man").arg(&manual))?;
    for page in list(&manual)? {
        gzip(page, 9)?;
    }
    for name in PLUGIN {
        link("safepoint", &tree.join("usr/bin").join(name))?;
        link("safepoint.1.gz", &manual.join(format!("{name}.1.gz")))?;
    }
    let documentation = tree.join("usr/share/doc").join(NAME);
    copy(&shop.deploy("debian/copyright"), &documentation.join("copyright"))?;
    let changelog = documentation.join("changelog");
    write(&changelog, self::changelog(&commit(shop, "%cD")?))?;
    gzip(changelog, 9)
}

/// Another name for what is beside it.
fn link(to: &str, name: &Path) -> Result<()> {
    symlink(to, name).with_context(|| format!("cannot make {}", name.display()))
}

/// Debian's form says who released what and when; what is new in it stands in our own.
fn changelog(date: &str) -> String {
    format!(
        "{NAME} ({VERSION}) unstable; urgency=medium\n\n  * What users notice is in CHANGELOG.md of the sources.\n\n \
         -- Safepoint maintainers <maintainers@safepoint.invalid>  {date}\n"
    )
}

/// The packages that have the program's libraries, in versions that have what it uses of them.
fn libraries(workshop: &Path, program: &Path) -> Result<String> {
    // The tool wants a source package around it.
    write(
        &workshop.join("debian/control"),
        format!("Source: {NAME}\n\nPackage: {NAME}\nArchitecture: any\n"),
    )?;
    let found = output(
        Command::new("dpkg-shlibdeps").args(["-O", "--warnings=0"]).arg(program).current_dir(workshop),
    )?;
    let found = found.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    found.map(str::to_owned).context("dpkg-shlibdeps found no libraries, and there is at least the C library")
}

/// A fact about the last commit, in git's format.
fn commit(shop: &Shop, format: &str) -> Result<String> {
    let mut git = Command::new("git");
    git.args(["log", "-1", &format!("--format={format}")]).current_dir(&shop.root);
    Ok(output(&mut git)?.trim().to_owned())
}

fn kibibytes(tree: &Path) -> Result<u64> {
    let bytes =
        files(tree)?.iter().map(|file| Ok(fs::metadata(file)?.len().div_ceil(1024))).sum::<Result<_>>();
    bytes.context("cannot tell how large the package is")
}

fn checksums(tree: &Path) -> Result<String> {
    let installed = files(tree)?.into_iter().filter_map(|file| {
        let path = file.strip_prefix(tree).ok()?.to_owned();
        // What people change is compared by dpkg itself, and what is in DEBIAN is not installed.
        (!path.starts_with("etc") && !path.starts_with("DEBIAN")).then_some(path)
    });
    output(Command::new("md5sum").args(installed).current_dir(tree))
}

/// The usual modes, whatever the user's habits are.
fn modes(tree: &Path) -> Result<()> {
    output(Command::new("chmod").args(["--recursive", "u=rwX,go=rX"]).arg(tree))?;
    for file in files(tree)? {
        let path = file.strip_prefix(tree)?;
        let scripts = ["DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm"];
        let runs = path.starts_with("usr/bin") || scripts.iter().any(|script| path == Path::new(script));
        let mode = fs::Permissions::from_mode(if runs { 0o755 } else { 0o644 });
        fs::set_permissions(&file, mode).with_context(|| format!("cannot change {}", file.display()))?;
    }
    Ok(())
}

/// All files below a folder, sorted. Other names of theirs are none.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in list(folder)? {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if !path.is_symlink() {
            found.push(path);
        }
    }
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<_> = entries.with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}
