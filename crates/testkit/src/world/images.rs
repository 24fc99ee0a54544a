//! Images without a registry: busybox, and a file that says which image it is.
//!
//! They come as an archive such as `docker save` makes. All of them share one layer, and each has a small one of its own,
//! so that two of them differ in their contents and not only in their names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

/// What sandboxes run. Nobody asks it to end: the runtime kills it.
pub(crate) const PAUSE: &str = "pause:v1";

/// What an image does that is not told otherwise: it says which it is, and ends when it is asked to, at once.
const COMMAND: &str =
    r#"echo "this is app:$(cat /image)"; trap exit TERM; while :; do sleep 1000 & wait; done"#;

/// Programs of busybox that tests may want. The shell runs busybox's own, whatever their links.
const APPLETS: [&str; 20] = [
    "cat", "cp", "date", "echo", "env", "false", "grep", "head", "httpd", "kill", "ls", "mkdir", "nc", "ps",
    "rm", "sh", "sleep", "touch", "true", "wget",
];

/// Makes an archive of `app:TAG` for each of the tags, and of [`PAUSE`], in an empty folder.
pub(crate) fn archive(folder: &Path, busybox: &Path, tags: &[&str]) -> Result<PathBuf> {
    let base = base(folder, busybox)?;
    let mut images = vec![image(folder, PAUSE, &[&base], &json!(["/bin/sleep", "1000000000"]))?];
    for tag in tags {
        let name = format!("marker-{tag}");
        let marker = folder.join(&name);
        fs::create_dir(&marker).context("cannot make the folder of a layer")?;
        fs::write(marker.join("image"), format!("{tag}\n")).context("cannot write the marker of an image")?;
        let marker = layer(folder, &name)?;
        let command = json!(["/bin/sh", "-c", COMMAND]);
        images.push(image(folder, &format!("app:{tag}"), &[&base, &marker], &command)?);
    }
    save(folder, images)
}

/// Makes an archive of one image that has a program of this machine, with the libraries that it needs, in an empty folder.
pub(crate) fn archive_of_program(
    folder: &Path,
    busybox: &Path,
    name: &str,
    program: &Path,
) -> Result<PathBuf> {
    let base = base(folder, busybox)?;
    let root = folder.join("program");
    let file = program.file_name().context("a program has a name")?;
    let copy = |from: &Path, to: PathBuf| {
        fs::create_dir_all(to.parent().unwrap_or(&root)).context("cannot make the folder of a layer")?;
        fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
    };
    copy(program, root.join("bin").join(file))?;
    let listed = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
    for library in
        String::from_utf8_lossy(&listed.stdout).split_whitespace().filter(|word| word.starts_with('/'))
    {
        copy(Path::new(library), root.join(library.trim_start_matches('/')))?;
    }
    let layer = layer(folder, "program")?;
    let images = vec![image(folder, name, &[&base, &layer], &json!(["/bin/sh"]))?];
    save(folder, images)
}

/// The archive of everything that lies in a folder.
fn save(folder: &Path, images: Vec<Value>) -> Result<PathBuf> {
    fs::write(folder.join("manifest.json"), Value::from(images).to_string())
        .context("cannot write the manifest of images")?;
    let entries = fs::read_dir(folder).context("cannot list what images consist of")?;
    let files = entries.filter_map(|entry| {
        entry.ok().filter(|entry| entry.path().is_file())?.file_name().into_string().ok()
    });
    let files: Vec<_> = files.collect();
    tar(folder, "images.tar", &files.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A layer: the name of its file, and its digest.
struct Layer {
    file: String,
    digest: String,
}

fn base(folder: &Path, busybox: &Path) -> Result<Layer> {
    let bin = folder.join("base/bin");
    fs::create_dir_all(&bin).context("cannot make the folder of a layer")?;
    fs::copy(busybox, bin.join("busybox")).with_context(|| format!("cannot copy {}", busybox.display()))?;
    for applet in APPLETS {
        symlink("busybox", bin.join(applet)).with_context(|| format!("cannot link {applet}"))?;
    }
    for name in ["etc", "proc", "tmp", "var"] {
        fs::create_dir(folder.join("base").join(name)).context("cannot make the folder of a layer")?;
    }
    layer(folder, "base")
}

fn layer(folder: &Path, name: &str) -> Result<Layer> {
    let file = format!("{name}.tar");
    let path = tar(folder, &file, &["--directory", name, "."])?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let digest: String = digest(&SHA256, &bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Layer { file, digest: format!("sha256:{digest}") })
}

/// Writes an image's configuration, and returns its entry in the manifest.
fn image(folder: &Path, name: &str, layers: &[&Layer], command: &Value) -> Result<Value> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let digests: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
    let files: Vec<_> = layers.iter().map(|layer| &layer.file).collect();
    let configuration = json!({
        "architecture": architecture,
        "os": "linux",
        "config": { "Cmd": command, "Env": ["PATH=/bin"] },
        "rootfs": { "type": "layers", "diff_ids": digests },
    });
    let file = format!("{}.json", name.replace(':', "-"));
    fs::write(folder.join(&file), configuration.to_string())
        .context("cannot write an image's configuration")?;
    Ok(json!({ "Config": file, "RepoTags": [name], "Layers": files }))
}

/// What is in an archive belongs to root, whoever made it, and is of no date, so that the same makes the same digest.
fn tar(folder: &Path, file: &str, arguments: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new("tar");
    command
        .args(["--create", "--owner=0", "--group=0", "--mtime=@0", "--sort=name", "--file", file])
        .args(arguments)
        .current_dir(folder);
    let output = command.output().context("cannot run tar")?;
    if !output.status.success() {
        bail!("cannot make {file}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(folder.join(file))
}
