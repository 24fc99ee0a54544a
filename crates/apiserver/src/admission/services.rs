//! The services of this process that a `clientConfig.service` may name.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;

/// Which namespace and name of a Service stand for which part of this process.
///
/// There is no cluster network here, so a Service has no address that a webhook could be called at. What runs in the
/// same process registers its router instead and is asked without a socket and without TLS: nothing is between the two
/// that could listen. A handle is cheap to clone, and all clones show the same services.
#[derive(Clone, Default)]
pub struct Services {
    routers: Arc<RwLock<HashMap<(String, String), Router>>>,
}

impl Services {
    /// No services.
    pub fn new() -> Services {
        Services::default()
    }

    /// Makes `router` answer for the Service of this namespace and name, on every port. One that did so before no
    /// longer does.
    pub fn register(&self, namespace: impl Into<String>, name: impl Into<String>, router: Router) {
        let key = (namespace.into(), name.into());
        self.routers.write().unwrap_or_else(PoisonError::into_inner).insert(key, router);
    }

    /// Lets nobody answer for the Service any more.
    pub fn remove(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.routers.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// Who answers for the Service.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Router> {
        let key = (namespace.to_owned(), name.to_owned());
        self.routers.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routers = self.routers.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(routers.keys()).finish()
    }
}
