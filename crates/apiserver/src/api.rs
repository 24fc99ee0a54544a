//! The API itself, without sockets: what is served, from which store, by whose say.

use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use safepoint_store::{OpenError, Scope, Store};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::admission::Services;
use crate::clock::Clock;
use crate::controllers;
use crate::identity::{Identity, IdentityError, Names, User};
use crate::registry::Current;
use crate::resource::Resource;
use crate::verbs;
use crate::webhooks::Webhooks;

/// How to begin.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept: the objects, the certificates, the kubeconfigs.
    pub data: PathBuf,
    /// Names and addresses besides those of the loopback by which clients may call the server.
    pub names: Vec<String>,
    /// In-process answers for webhooks that point at a service.
    pub services: Services,
}

/// Why the API cannot begin.
#[derive(Debug, Error)]
pub enum StartError {
    /// The folder cannot be made.
    #[error("cannot make the folder {}: check that its parent exists and is writable", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The objects cannot be read.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// Certificates or tokens cannot be read or made.
    #[error("{0}")]
    Identity(String),
    /// The address cannot be taken.
    #[error("cannot listen on {address}: choose another address or port, or stop what uses it")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The first namespaces cannot be written.
    #[error("cannot write the first objects: {0}")]
    Seed(String),
}

/// A Kubernetes API over an embedded store. Cheap to clone; all clones are the same API.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) registry: Current,
    pub(crate) identity: Identity,
    pub(crate) webhooks: Webhooks,
    pub(crate) clock: Clock,
    /// For the bodies of requests, in pages.
    pub(crate) room: Semaphore,
    /// Rung after every write that may leave work for the controllers.
    pub(crate) bell: Notify,
}

// === impl Options ===

impl Options {
    /// Everything below one folder, reachable on the loopback.
    pub fn new(data: impl Into<PathBuf>) -> Options {
        Options { data: data.into(), names: Vec::new(), services: Services::default() }
    }
}

// === impl Api ===

impl Api {
    /// Opens what the folder holds, or begins in an empty one.
    ///
    /// # Errors
    ///
    /// If the folder is in use, or something in it cannot be read. Nothing is replaced then.
    pub async fn open(options: Options) -> Result<Api, StartError> {
        make_folder(&options.data)?;
        let clock = Clock::wall();
        let objects = options.data.join("objects.redb");
        let store = Store::open(&objects, store_options())?;
        make_private(&objects)?;
        let mut names = Names::local();
        for name in &options.names {
            names.add(name).map_err(identity_error)?;
        }
        let identity = Identity::open(&options.data, names, clock.now()).map_err(identity_error)?;
        let api = Api(Arc::new(Inner {
            store,
            registry: Current::default(),
            identity,
            webhooks: Webhooks::new(options.services),
            clock,
            room: Semaphore::new(crate::http::body::ROOM),
            bell: Notify::new(),
        }));
        api.refresh_registry();
        api.0.webhooks.refresh(&api);
        controllers::seed(&api).await.map_err(StartError::Seed)?;
        Ok(api)
    }

    /// The API as a service that takes whoever calls for `user`. For clients in the same process: there is no socket, no
    /// TLS and no token, and the rights are those of `user`.
    pub fn router(&self, user: User) -> Router {
        let api = self.clone();
        Router::new().fallback(move |request| verbs::answer_as(api.clone(), user.clone(), request))
    }

    /// The API as a service that asks everybody for a bearer token.
    pub fn guarded_router(&self) -> Router {
        let api = self.clone();
        Router::new().fallback(move |request| verbs::answer(api.clone(), request))
    }

    /// Finishes what deletions begin, until it is stopped: dependents of what is gone, the contents of namespaces and of
    /// CRDs. Without it the API answers everything, but a namespace stays `Terminating`.
    pub async fn run_controllers(&self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = controllers::run(self) => {}
        }
    }

    /// The kubeconfig of the administrator, for a server at `url`. Written to the data folder when it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn admin_kubeconfig(&self, url: &str) -> Result<PathBuf, StartError> {
        self.0.identity.tokens.admin(url).map_err(identity_error)
    }

    /// The kubeconfig of a node, for a server at `url`. Written to the data folder when it is not there.
    ///
    /// # Errors
    ///
    /// If the name is not one of a node, or it cannot be written.
    pub fn node_kubeconfig(&self, node: &str, url: &str) -> Result<PathBuf, StartError> {
        self.0.identity.tokens.node(node, url).map_err(identity_error)
    }

    /// Makes the token of a node worthless. Says whether it had one.
    ///
    /// # Errors
    ///
    /// If that cannot be written down; the token is still good then.
    pub fn revoke_node(&self, node: &str) -> Result<bool, StartError> {
        self.0.identity.tokens.revoke(node).map_err(identity_error)
    }

    /// Reads the CRDs again. Called after every change of one.
    pub(crate) fn refresh_registry(&self) {
        self.0.registry.refresh(|| self.everything("customresourcedefinitions.apiextensions.k8s.io"));
    }

    /// All objects of a collection as they are stored: built-in ones without their kind. For collections that are small.
    pub(crate) fn everything(&self, collection: &str) -> Vec<Value> {
        let scope = Scope::collection(collection);
        let listing = self.0.store.list(&scope, None, usize::MAX);
        listing.objects.iter().filter_map(|object| serde_json::from_slice(&object.json).ok()).collect()
    }

    /// An object as its endpoint shows it.
    pub(crate) fn fetch(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Value> {
        let object = self.0.store.get(&resource.key(namespace, name))?;
        Some(resource.to_served(serde_json::from_slice(&object.json).ok()?))
    }
}

/// The error and its causes in one line: the types behind it are nobody else's affair.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn identity_error(error: IdentityError) -> StartError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    StartError::Identity(text)
}

/// Secrets are in there: nobody else may look.
fn make_folder(path: &Path) -> Result<(), StartError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| StartError::Folder { path: path.to_owned(), source })
}

fn make_private(path: &Path) -> Result<(), StartError> {
    let made = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    made.map_err(|source| StartError::Folder { path: path.to_owned(), source })
}

/// What the store must know of our objects: where selectors look, and which watches are narrow.
fn store_options() -> safepoint_store::Options {
    safepoint_store::Options {
        tags: crate::verbs::select::tags,
        indexed: &[("pods", "spec.nodeName")],
        ..Default::default()
    }
}
