//! The image, made by what `deploy/image/Dockerfile` says, as an archive in the layout of the Open Container Initiative.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::archive::{gzip, sha256, tar};
use super::dockerfile::Dockerfile;
use super::program::Linking;
use super::{Shop, VERSION, copy, output, read, write};

/// The name under which the manifests ask for it.
pub(super) fn name() -> String {
    format!("safepoint:{VERSION}")
}

/// Builds it.
pub(super) fn build(shop: &Shop) -> Result<PathBuf> {
    let program = shop.program(Linking::Static)?;
    let dockerfile = Dockerfile::read(&read(&shop.deploy("image/Dockerfile"))?)?;
    let context = program.parent().context("a program is in a folder")?;
    let archive = shop.out.join(format!("safepoint-{VERSION}-image.tar"));
    pack(&dockerfile, context, &shop.workshop("image")?, &archive)?;
    Ok(archive)
}

/// Makes the archive, with an empty folder to make it in.
fn pack(dockerfile: &Dockerfile, context: &Path, workshop: &Path, archive: &Path) -> Result<()> {
    let layout = workshop.join("layout");
    let root = workshop.join("root");
    for copied in &dockerfile.copied {
        let to = root.join(copied.to.trim_start_matches('/'));
        copy(&context.join(&copied.from), &to)?;
        output(Command::new("chmod").arg(&copied.mode).arg(to))?;
    }
    // A folder is as whoever builds makes folders, which is not always for everybody.
    output(Command::new("find").arg(&root).args(["-type", "d", "-exec", "chmod", "755", "{}", "+"]))?;
    let layer = workshop.join("layer.tar");
    tar(&root, &layer)?;
    let unpacked = digest_of(&layer)?;
    gzip(&layer, 6)?;
    let layer = fs::read(workshop.join("layer.tar.gz")).context("cannot read the layer")?;

    let configuration = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": dockerfile.config,
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
    });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(&layout, "config.v1+json", configuration.to_string().as_bytes())?,
        "layers": [blob(&layout, "layer.v1.tar+gzip", &layer)?],
    });
    let mut manifest = blob(&layout, "manifest.v1+json", manifest.to_string().as_bytes())?;
    // containerd reads the first, others the second, and both find the image under the name that the manifests use.
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{}", name()),
        "org.opencontainers.image.ref.name": name(),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    write(&layout.join("index.json"), index.to_string())?;
    write(&layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    tar(&layout, archive)
}

/// Puts bytes among the blobs, and returns how an image refers to them.
fn blob(layout: &Path, kind: &str, bytes: &[u8]) -> Result<Value> {
    let digest = sha256(bytes);
    write(&layout.join("blobs").join(digest.replace(':', "/")), bytes)?;
    let kind = format!("application/vnd.oci.image.{kind}");
    Ok(json!({ "mediaType": kind, "digest": digest, "size": bytes.len() }))
}

fn digest_of(file: &Path) -> Result<String> {
    Ok(sha256(&fs::read(file).with_context(|| format!("cannot read {}", file.display()))?))
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use serde_json::Value;

    use super::super::dockerfile::Dockerfile;
    use super::super::output;
    use super::{name, pack};

    fn packed(folder: &Path) -> Vec<u8> {
        let (context, workshop) = (folder.join("context"), folder.join("workshop"));
        fs::create_dir_all(&context).unwrap();
        fs::create_dir_all(&workshop).unwrap();
        fs::write(context.join("app"), "program").unwrap();
        let text = "FROM scratch\nCOPY --chmod=755 app /usr/bin/app\nENTRYPOINT [\"/usr/bin/app\"]\n";
        let archive = folder.join("image.tar");
        pack(&Dockerfile::read(text).unwrap(), &context, &workshop, &archive).unwrap();
        fs::read(archive).unwrap()
    }

    #[test]
    fn the_same_program_makes_the_same_image_and_everything_in_it_is_found_by_its_digest() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(packed(one.path()) == packed(other.path()));
        let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        let take = |path: &str| {
            output(Command::new("tar").arg("-xOf").arg(one.path().join("image.tar")).arg(path)).unwrap()
        };
        let blob = |entry: &Value| {
            let text = take(&format!("blobs/{}", entry["digest"].as_str().unwrap().replace(':', "/")));
            assert_eq!(entry["size"], text.len());
            json(text)
        };
        let index = json(take("index.json"));
        assert_eq!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], name());
        let manifest = blob(&index["manifests"][0]);
        let configuration = blob(&manifest["config"]);
        assert_eq!(configuration["config"]["Entrypoint"][0], "/usr/bin/app");
        assert_eq!(configuration["rootfs"]["diff_ids"].as_array().unwrap().len(), 1);
    }
}
