//! Where programs run: in this machine's own network, or in a network of a world's own.
//!
//! A network namespace is entered by whoever needs it and by nobody else: a program through `nsenter`, which becomes that
//! program, and a thread of ours for as long as one closure takes.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::panic;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Every process of a world has this in its environment, with the path of the world's folder: what is left of a world is
/// found by it. Containers do not inherit it, and end with the machine that they run on.
pub(crate) const MARK: &str = "SAFEPOINT_WORLD";

/// Where programs run.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In the network that this process is in.
    Here,
    /// In a network of a world's own.
    World {
        /// The namespace, as a file that can be entered.
        network: PathBuf,
        /// The world's folder, which marks its processes.
        folder: PathBuf,
    },
}

impl Place {
    /// A command that runs a program there. Arguments can be added to it, and its process is the program itself.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Here => Command::new(program),
            Self::World { network, folder } => {
                let mut net = OsStr::new("--net=").to_owned();
                net.push(network);
                let mut command = Command::new("nsenter");
                command.arg(net).arg("--").arg(program).env(MARK, folder);
                command
            }
        }
    }

    /// Does something there, in a thread that has gone there for it.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let Self::World { network, .. } = self else { return Ok(work()) };
        let file = File::open(network).with_context(|| format!("cannot open {}", network.display()))?;
        let result = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok::<_, rustix::io::Errno>(work())
            });
            worker.join()
        });
        // What `work` asserts is for whoever called.
        result.unwrap_or_else(|panic| panic::resume_unwind(panic)).context("cannot enter the world's network")
    }

    /// The port for a server there: in a world the usual one, since nobody else is there, and a server that is started
    /// again has to find it free. A port that the system picks could meanwhile be one end of somebody's connection.
    pub(crate) fn port(&self, usual: u16) -> Result<u16> {
        if let Self::World { .. } = self {
            return Ok(usual);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
        Ok(listener.local_addr().context("cannot find a free port")?.port())
    }
}
