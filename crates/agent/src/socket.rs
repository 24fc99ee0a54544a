//! The node API as modules: the socket, and each compatible API by itself, so that a port that is taken costs nobody else
//! anything.

use std::net::SocketAddr;
use std::path::PathBuf;

use safepoint_nodeapi::compat::Compat;
use safepoint_nodeapi::serve::{Port, Server};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};

use crate::keeper;
use crate::local::LocalNode;

/// The name of the module.
pub(crate) const NAME: &str = "node-api";

/// The socket.
pub(crate) struct SocketModule {
    pub(crate) path: PathBuf,
    pub(crate) group: Option<String>,
    pub(crate) node: LocalNode,
}

/// One compatible API.
pub(crate) struct CompatModule {
    pub(crate) compat: Compat,
    pub(crate) address: SocketAddr,
    pub(crate) node: LocalNode,
    pub(crate) group: Option<String>,
}

// === impl SocketModule ===

impl Module for SocketModule {
    fn spec(&self) -> Spec {
        Spec::new(NAME).critical().after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let bound = Server::bind(self.node.clone(), &self.path, self.group.as_deref()).await;
        let server = bound.map_err(Fault::transient)?;
        ctx.ready();
        server.run(ctx.token()).await;
        Ok(())
    }
}

// === impl CompatModule ===

impl Module for CompatModule {
    fn spec(&self) -> Spec {
        Spec::new(match self.compat {
            Compat::KubeEdge => "compat-kubeedge",
            Compat::YurtHub => "compat-yurthub",
            Compat::Horizon => "compat-horizon",
        })
        .after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let bound = Port::bind(self.node.clone(), self.compat, self.address, self.group.as_deref()).await;
        let port = bound.map_err(Fault::transient)?;
        ctx.ready();
        port.run(ctx.token()).await;
        Ok(())
    }
}
