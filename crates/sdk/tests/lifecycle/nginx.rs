//! A real nginx in a folder of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

use tokio::net::TcpStream;

use crate::cluster::{free_port, until};
use crate::traffic::{UPSTREAM, configuration};

pub(crate) struct Nginx {
    pub(crate) address: SocketAddr,
    folder: tempfile::TempDir,
    child: Child,
}

impl Nginx {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        fs::write(folder.path().join("nginx.conf"), configuration(address)).unwrap();
        fs::write(
            folder.path().join("upstream.conf"),
            format!("upstream {UPSTREAM} {{ server 127.0.0.1:1 down; }}\n"),
        )
        .unwrap();
        let child = command(folder.path())
            .spawn()
            .expect("nginx is there: `cargo xtask test` installs it, or install the package nginx");
        let nginx = Self { address, folder, child };
        until("nginx answers", async || TcpStream::connect(address).await.ok()).await;
        nginx
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Asked to end, it takes its workers with it.
        let _ = command(self.folder.path()).args(["-s", "stop"]).status();
        let _ = self.child.wait();
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("nginx");
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    command
}
