//! The dashboard as a whole: where it listens, and which modules it is.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use safepoint_supervisor::{Builder, Ctx, Fault, Module, Spec};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::acts::Job;
use crate::known::Known;
use crate::people::People;
use crate::places::Places;
use crate::routes::{App, Inner};
use crate::serve::{Served, serve};
use crate::session::Cookies;
use crate::watches::Watches;

/// So many orders may wait at once.
const JOBS: usize = 256;
/// How long orders may take to be taken back when the dashboard ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// What time it is.
pub(crate) type Clock = fn() -> Timestamp;

/// What a dashboard is to be.
pub struct Options {
    /// The cluster, as somebody who may list NodeGates, Nodes and StaticPods, and create Events.
    pub client: Client,
    /// The cluster, as nobody: what a person asks for goes through here, with that person's token.
    pub door: Client,
    /// Where it is looked at. Port 0 lets the system pick one.
    pub listen: SocketAddr,
    /// For TLS. Without it, it is looked at on the loopback only.
    pub certificate: Option<Certificate>,
    /// What has to be ready first.
    pub after: Vec<&'static str>,
    /// A sentence on where a token comes from.
    pub token_hint: String,
}

/// A certificate and its key, in files. They are read again when they change.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate and those that it rests on, as PEM.
    pub chain: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
}

/// Why a dashboard cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be taken.
    #[error("cannot listen on {address}: choose another address or port, or stop what uses it")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Tokens would go over the network for everybody to read.
    #[error(
        "the dashboard would take tokens on {address} without TLS: give it a certificate and a key, or let it listen on \
         the loopback (127.0.0.1) and reach it with `kubectl port-forward`"
    )]
    Plain {
        /// Where.
        address: SocketAddr,
    },
}

/// A dashboard whose address is taken, and which does nothing yet.
pub struct Dashboard {
    options: Options,
    listener: TcpListener,
    address: SocketAddr,
}

/// The server as a module.
struct Server {
    client: Client,
    people: Arc<People>,
    known: Arc<Known>,
    served: Served,
    hint: String,
    address: SocketAddr,
    first: Mutex<Option<TcpListener>>,
}

// === impl Dashboard ===

impl Dashboard {
    /// Takes the address.
    ///
    /// # Errors
    ///
    /// If it is in use, or tokens would go over it without TLS.
    pub fn bind(options: Options) -> Result<Self, StartError> {
        let listen = options.listen;
        if options.certificate.is_none() && !listen.ip().is_loopback() {
            return Err(StartError::Plain { address: listen });
        }
        let bound = || {
            let listener = TcpListener::bind(listen)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bound().map_err(|source| StartError::Listen { address: listen, source })?;
        Ok(Self { options, listener, address })
    }

    /// Where it is looked at.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.options.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Makes the dashboard part of a supervisor.
    #[must_use]
    pub fn register(self, builder: Builder) -> Builder {
        let Self { options, listener, address } = self;
        let Options { client, door, certificate, after, token_hint, .. } = options;
        let known = Arc::new(Known::new());
        let watches = Watches { client: client.clone(), known: Arc::clone(&known), clock: wall(), after };
        builder.module(watches).module(Server {
            client,
            people: People::new(door),
            known,
            served: certificate.map_or(Served::Plain, Served::Tls),
            hint: token_hint,
            address,
            first: Mutex::new(Some(listener)),
        })
    }
}

// === impl Server ===

impl Server {
    /// What handlers need, and the orders that they have waited for.
    fn app(&self, stop: CancellationToken) -> (App, mpsc::Receiver<Job>) {
        let (jobs, waiting) = mpsc::channel(JOBS);
        let app = App::new(Inner {
            known: Arc::clone(&self.known),
            people: Arc::clone(&self.people),
            own: self.client.clone(),
            cookies: Cookies { secure: matches!(self.served, Served::Tls(_)) },
            clock: wall(),
            hint: self.hint.clone(),
            jobs,
            places: Places::default(),
            stop,
        });
        (app, waiting)
    }
}

impl Module for Server {
    fn spec(&self) -> Spec {
        // Half a fleet is not shown as the whole.
        Spec::new("dashboard").after([Watches::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let listener = match first {
            Some(listener) => tokio::net::TcpListener::from_std(listener),
            None => tokio::net::TcpListener::bind(self.address).await,
        };
        let listener = listener.map_err(Fault::transient)?;
        let (app, jobs) = self.app(ctx.token());
        let server = self.served.open().map_err(Fault::transient)?;
        ctx.ready();
        tokio::join!(serve(listener, server, app.router(), ctx.token()), work(jobs, ctx.token()));
        Ok(())
    }
}

/// Does what is asked for, each in a task of its own, until it is stopped; what was ordered is taken back then.
pub(crate) async fn work(mut jobs: mpsc::Receiver<Job>, stop: CancellationToken) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => drop(tasks.spawn(job.run(stop.clone()))),
                None => break,
            },
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            () = stop.cancelled() => break,
        }
    }
    let _ = timeout(FAREWELL, async { while tasks.join_next().await.is_some() {} }).await;
}

#[expect(clippy::disallowed_methods, reason = "this is the driver's clock; nothing is decided by it")]
fn wall() -> Clock {
    Timestamp::now
}
