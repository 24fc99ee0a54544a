//! An admission webhook: a small TLS server on loopback that answers as a case tells it to.
//!
//! Servers under test run on this machine, so they reach it by its URL. A configuration takes effect a moment after
//! it was written, and no event tells when; so every configuration gets one more hook, for marked objects only, and is
//! in effect as soon as that one has been called.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::{call::Call, cx::Cx, objects::with, server::base64};

/// What a webhook answers: the `response` of the review, whose uid is that of the request unless it is given.
pub(crate) type Answer = dyn Fn(&str, &Value) -> Value + Send + Sync;

/// The path of the hook that tells when a configuration is in effect.
const MARKER: &str = "/marker";

/// A running webhook. It ends when it is dropped.
pub(crate) struct Hook {
    url: String,
    authority: String,
    seen: Seen,
    _tasks: JoinSet<()>,
}

/// The requests of reviews, with the path that was called, in order.
type Seen = Arc<Mutex<Vec<(String, Value)>>>;

// === impl Hook ===

impl Hook {
    /// Starts a webhook that answers each `(path, request)` with what `answer` says.
    pub(crate) async fn start(
        answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static,
    ) -> Result<Hook> {
        let (acceptor, authority) = tls()?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("https://127.0.0.1:{}", listener.local_addr()?.port());
        let (seen, answer): (Seen, Arc<Answer>) = (Seen::default(), Arc::new(answer));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, acceptor, Arc::clone(&seen), answer));
        Ok(Hook { url, authority, seen, _tasks: tasks })
    }

    /// A webhook that allows everything.
    pub(crate) async fn allowing() -> Result<Hook> {
        Hook::start(|_, _| json!({"allowed": true})).await
    }

    /// The client configuration of the hook at `path`.
    pub(crate) fn client(&self, path: &str) -> Value {
        json!({"url": format!("{}{path}", self.url), "caBundle": base64(&self.authority)})
    }

    /// One hook for the objects of the case's namespace, with `more` merged into it.
    pub(crate) fn hook(&self, cx: &Cx, path: &str, more: Value) -> Value {
        let hook = json!({
            "name": format!("{}.conformance.example", path.trim_matches('/')),
            "clientConfig": self.client(path),
            "namespaceSelector": {"matchLabels": {"case": cx.id()}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10});
        with(hook, more)
    }

    /// Creates a configuration of `kind` (`Mutating` or `Validating`) and waits until it is in effect.
    pub(crate) async fn configure(&self, cx: &Cx, kind: &str, mut hooks: Vec<Value>) -> Result<String> {
        let name = format!("{}-{}", cx.unique("hook"), kind.to_lowercase());
        // It is the first one, since a mutating hook that refuses keeps the others from being called.
        hooks.insert(0, self.hook(cx, MARKER, json!({"objectSelector": {"matchLabels": {"marker": kind}}})));
        let body = json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"), "metadata": {"name": name}, "webhooks": hooks});
        let path = configurations(kind);
        cx.create_for_now(&path, &body).await?;
        self.in_effect(cx, kind).await.context("the webhook was never called")?;
        Ok(format!("{path}/{name}"))
    }

    /// Waits until the hook for marked objects has been called, and forgets what was seen so far.
    async fn in_effect(&self, cx: &Cx, kind: &str) -> Result<()> {
        let marked = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "marker", "labels": {"marker": kind, "case": "marker"}}});
        let call = Call::post(cx.core("configmaps?dryRun=All"), &marked);
        cx.until(call, |reply| {
            let called = self.seen().iter().any(|(path, _)| path == MARKER);
            reply.holds(called, "a call of the webhook")?;
            Ok(())
        })
        .await?;
        self.forget();
        Ok(())
    }

    /// The requests of reviews so far, with the path that was called.
    pub(crate) fn seen(&self) -> Vec<(String, Value)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last request so far.
    ///
    /// A server may ask about an update or a deletion more than once: about what it remembers of the object, and
    /// again if the object turns out to have changed.
    pub(crate) fn last(&self) -> Result<Value> {
        let last = self.seen().pop().context("the webhook was not called")?;
        Ok(last.1)
    }

    /// The only request so far.
    pub(crate) fn only(&self) -> Result<Value> {
        let mut seen = self.seen();
        anyhow::ensure!(seen.len() == 1, "the webhook was to be called once, and was called for {seen:?}");
        Ok(seen.remove(0).1)
    }

    /// Forgets what was seen.
    pub(crate) fn forget(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The path of the configurations of a kind.
pub(crate) fn configurations(kind: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind.to_lowercase())
}

/// What accepts connections with a new certificate for loopback, and the PEM of the authority that signed it.
fn tls() -> Result<(TlsAcceptor, String)> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), authority.pem()))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, seen: Seen, answer: Arc<Answer>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, seen, answer) = (acceptor.clone(), Arc::clone(&seen), Arc::clone(&answer));
        connections.spawn(async move {
            // A peer that does not speak TLS, or goes away, is no concern of a case.
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(|request| review(request, Arc::clone(&seen), Arc::clone(&answer)));
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn review(
    request: Request<Incoming>,
    seen: Seen,
    answer: Arc<Answer>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = &review["request"];
    let response = if path == MARKER { json!({"allowed": true}) } else { answer(&path, asked) };
    let response = with(json!({"uid": asked["uid"]}), response);
    // Marked objects are only for finding out whether the configuration is in effect.
    let marked = asked["object"]["metadata"]["labels"]["case"] == "marker" && path != MARKER;
    // And these a server puts into every namespace, whenever it gets round to it.
    let given = asked["name"] == "kube-root-ca.crt" || asked["kind"]["kind"] == "ServiceAccount";
    if !marked && !given {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push((path, asked.clone()));
    }
    let reply = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    let reply = Response::builder().header("content-type", "application/json").body(reply.to_string().into());
    Ok(reply.expect("a response of constant parts"))
}
