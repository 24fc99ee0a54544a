//! The certificate in its Secret: made by whichever replica comes first, replaced in time, and handed to whoever shows or
//! registers it.
//!
//! Every replica keeps it in order, and none is in charge: a Secret is created once, and changed only as it was read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::sync::watch;

use super::certificate::{Generation, Kept, Names, Step, plan};
use crate::clock::Clock;

/// The name of the Secret.
const SECRET: &str = "safepoint-webhook";

/// The clock may be set, and the machine may sleep: no wait is longer than this.
const LOOK_AGAIN: Duration = Duration::from_secs(10 * 60);

/// What is shown and what is trusted now.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    shown: Arc<CertifiedKey>,
    /// The first part of the path of every webhook.
    pub(crate) token: String,
    /// What the API server shall trust, as PEM.
    pub(crate) bundle: String,
    /// When it ends.
    pub(crate) ends: Timestamp,
}

/// Where the certificate is to be had, before and after every change.
#[derive(Clone)]
pub(crate) struct Certificates(watch::Sender<Option<Certificate>>);

/// The keeper as a module.
pub(crate) struct Keeper {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) names: Names,
    pub(crate) clock: Clock,
    pub(crate) certificates: Certificates,
    pub(crate) after: Vec<&'static str>,
}

// === impl Certificates ===

impl Certificates {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<Certificate>> {
        self.0.subscribe()
    }

    /// Whether somebody has called by a path that only an API server knows.
    pub(crate) fn knows(&self, token: &str) -> bool {
        let certificate = self.0.borrow();
        let Some(known) = certificate.as_ref().map(|certificate| certificate.token.as_bytes()) else {
            return false;
        };
        // Every octet is compared, so that the time it takes tells nothing.
        let differs =
            known.iter().zip(token.as_bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
        known.len() == token.len() && differs == 0
    }

    pub(crate) fn ends(&self) -> Option<Timestamp> {
        self.0.borrow().as_ref().map(|certificate| certificate.ends)
    }
}

impl ResolvesServerCert for Certificates {
    /// Every new connection gets the newest one, whatever name it asks for: the client checks itself whether it is there.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.borrow().as_ref().map(|certificate| Arc::clone(&certificate.shown))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates").field(&self.ends()).finish()
    }
}

// === impl Keeper ===

impl Keeper {
    /// The name of the module.
    pub(crate) const NAME: &str = "certificate";
}

impl Module for Keeper {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={SECRET}"));
        // Every event counts, also a list that shows nothing: then somebody has deleted it before it was ever seen.
        let mut changes = std::pin::pin!(watcher(secrets.clone(), only).default_backoff());
        loop {
            let wait = self.keep(&secrets).await?;
            ctx.ready();
            tokio::select! {
                change = changes.next() => match change {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                () = tokio::time::sleep(wait.min(LOOK_AGAIN)) => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Keeper {
    /// Takes every step that is due, hands out what is kept, and says how long nothing will be due.
    async fn keep(&self, secrets: &Api<Secret>) -> Result<Duration, Fault> {
        loop {
            let found = secrets.get_opt(SECRET).await.map_err(Fault::transient)?;
            let kept = found.as_ref().and_then(|secret| Kept::read(secret.data.as_ref()?));
            // A key that does not fit its certificate is as good as none.
            let certified = kept.as_ref().and_then(|kept| certified(&kept.current));
            let kept = kept.filter(|_| certified.is_some());
            let now = self.clock.now();
            let step = plan(kept.as_ref(), &self.names, now);
            // A step that is due does not keep anybody from using what there is, unless it cannot be used.
            if let (Some(kept), Some(shown)) = (&kept, certified)
                && step != Step::Make
            {
                self.hand_out(kept, shown);
            }
            let next = Kept::step(kept, &step, &self.names, now).map_err(Fault::transient)?;
            match (next, &step) {
                (Some(next), _) => {
                    tracing::info!(?step, "changing the certificate of the webhooks");
                    self.write(secrets, found, &next).await?;
                }
                (None, Step::Wait(until)) => {
                    return Ok(until.duration_since(now).try_into().unwrap_or_default());
                }
                (None, _) => return Ok(LOOK_AGAIN),
            }
        }
    }

    fn hand_out(&self, kept: &Kept, shown: CertifiedKey) {
        let bundle = kept.bundle();
        self.certificates.0.send_if_modified(|handed| {
            let same = handed.as_ref().is_some_and(|handed| {
                handed.bundle == bundle && handed.token == kept.token && handed.shown.cert == shown.cert
            });
            if !same {
                let (shown, token, ends) = (Arc::new(shown), kept.token.clone(), kept.ends());
                *handed = Some(Certificate { shown, token, bundle, ends });
            }
            !same
        });
    }

    /// Writes it where it was read. If somebody was faster, theirs counts, and it is read again.
    async fn write(&self, secrets: &Api<Secret>, found: Option<Secret>, kept: &Kept) -> Result<(), Fault> {
        let is_new = found.is_none();
        let mut secret = found.unwrap_or_else(|| Secret {
            metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        });
        secret.data = Some(kept.write());
        let written = match is_new {
            true => secrets.create(&PostParams::default(), &secret).await,
            false => secrets.replace(&secret.name_any(), &PostParams::default(), &secret).await,
        };
        match written {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 && is_new => self.make_namespace().await,
            Err(error) => Err(Fault::transient(error)),
        }
    }

    /// Where the hub runs in the cluster its namespace is there; where it runs beside it, perhaps not.
    async fn make_namespace(&self) -> Result<(), Fault> {
        ensure_namespace(&self.client, &self.namespace).await
    }
}

/// Makes the hub's namespace, if it is not there.
pub(crate) async fn ensure_namespace(client: &Client, name: &str) -> Result<(), Fault> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    match namespaces.create(&PostParams::default(), &namespace).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(Fault::transient(error)),
    }
}

/// Nothing if key and certificate do not belong together.
fn certified(generation: &Generation) -> Option<CertifiedKey> {
    let certificate = CertificateDer::from_pem_slice(generation.certificate.as_bytes()).ok()?;
    let key = PrivateKeyDer::from_pem_slice(generation.key.as_bytes()).ok()?;
    CertifiedKey::from_der(vec![certificate], key, &rustls::crypto::aws_lc_rs::default_provider()).ok()
}
