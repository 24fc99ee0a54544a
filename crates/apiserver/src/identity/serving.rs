//! The certificate that is shown to clients, exchangeable while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// Hands every new connection the newest certificate. Connections that are open keep theirs.
#[derive(Debug)]
pub(super) struct Serving(RwLock<Arc<CertifiedKey>>);

// === impl Serving ===

impl Serving {
    pub(super) fn new(certificate: CertifiedKey) -> Self {
        Self(RwLock::new(Arc::new(certificate)))
    }

    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        // Nothing but an assignment happens under the lock, so a poisoned one is still consistent.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace(&self, certificate: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(certificate);
    }
}

impl ResolvesServerCert for Serving {
    /// The same for whatever name the client asks for: it checks itself whether the certificate has that name.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}
