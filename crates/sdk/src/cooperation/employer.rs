//! Employers: what pods are employed for.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use safepoint_api::names::kusionstack::PROTECTION_FINALIZER_PREFIX;
use serde_json::json;

use super::{Error, declaration};
use crate::pods::is_controlled;

/// The longest name part of a finalizer.
const LONGEST: usize = 63;
/// So much of it is the digest of what the employer is, and a dash.
const DIGEST: usize = 17;

/// The kind of employers that are Services.
pub(super) const SERVICE: &str = "Service";

/// Something that pods of one namespace are employed for: a Service, one load balancer, one entry in a registry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Employer {
    kind: String,
    namespace: String,
    name: String,
    selector: BTreeMap<String, String>,
    finalizer: String,
    /// It is going: nothing is to be on for it any more.
    leaving: bool,
}

// === impl Employer ===

impl Employer {
    /// An employer by its kind, namespace and name. It employs the pods of its namespace that it is told to
    /// [select](Self::selecting).
    ///
    /// The kind may be any word but `Service`, which a frame refuses: see [`Frame::services`](super::Frame::services).
    ///
    /// The controller's name is how people recognise its finalizer on a pod. The rest of the finalizer is a digest of kind,
    /// namespace and name, so that no two employers have the same.
    ///
    /// ```
    /// use safepoint_sdk::cooperation::Employer;
    ///
    /// let front = Employer::new("nginx-upstream", "Nginx", "shop", "front").selecting([("app", "web")]);
    /// assert!(front.finalizer().starts_with("prot.podopslifecycle.kusionstack.io/nginx-upstream-"));
    /// assert_eq!(front.to_string(), "Nginx/shop/front");
    /// ```
    pub fn new(
        controller: &str,
        kind: impl Into<String>,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        let (kind, namespace, name) = (kind.into(), namespace.into(), name.into());
        let digest = fnv(&format!("{kind}/{namespace}/{name}"));
        let most = controller.floor_char_boundary(LONGEST - DIGEST);
        let finalizer = format!("{PROTECTION_FINALIZER_PREFIX}/{}-{digest:016x}", &controller[..most]);
        Self { kind, namespace, name, selector: BTreeMap::new(), finalizer, leaving: false }
    }

    /// The employer that a Service is.
    pub(super) fn of_service(controller: &str, service: &Service) -> Self {
        let namespace = service.namespace().unwrap_or_default();
        let mut employer = Self::new(controller, SERVICE, namespace, service.name_any());
        employer.selector = service.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
        employer.leaving = service.metadata.deletion_timestamp.is_some();
        employer
    }

    /// One that a Service was, which it is no more.
    pub(super) fn of_former_service(controller: &str, namespace: &str, name: &str) -> Self {
        let mut employer = Self::new(controller, SERVICE, namespace, name);
        employer.leave();
        employer
    }

    /// Employs the pods that have all of these labels. With none, it employs nobody.
    #[must_use]
    pub fn selecting<K: Into<String>, V: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.selector = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self
    }

    /// Takes this finalizer instead of one that is made from the names.
    #[must_use]
    pub fn with_finalizer(mut self, finalizer: impl Into<String>) -> Self {
        self.finalizer = finalizer.into();
        self
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The namespace of its pods.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is on a pod while something is on for it.
    #[must_use]
    pub fn finalizer(&self) -> &str {
        &self.finalizer
    }

    /// The annotation that declares the finalizer as expected, for the template of a workload. The frame declares it on pods as
    /// well, a moment after they are made; in the template it is there from the beginning.
    ///
    /// ```
    /// use safepoint_sdk::cooperation::Employer;
    ///
    /// let (key, value) = Employer::new("nginx-upstream", "Nginx", "shop", "front").declaration();
    /// assert_eq!(key, "pod.kusionstack.io/available-conditions");
    /// assert!(value.starts_with(r#"{"expectedFinalizers":{"Nginx/shop/front":"prot.podopslifecycle"#));
    /// ```
    #[must_use]
    pub fn declaration(&self) -> (&'static str, String) {
        let value = json!({"expectedFinalizers": {self.to_string(): self.finalizer}});
        (declaration::ANNOTATION, value.to_string())
    }

    /// Whether this pod works for it.
    pub(super) fn employs(&self, pod: &Pod) -> bool {
        let has = |(key, value): (&String, &String)| pod.labels().get(key) == Some(value);
        !self.leaving
            && is_controlled(pod)
            && pod.metadata.namespace.as_deref() == Some(&*self.namespace)
            && !self.selector.is_empty()
            && self.selector.iter().all(has)
    }

    /// It is gone, or about to be.
    pub(super) const fn leave(&mut self) {
        self.leaving = true;
    }

    pub(super) const fn is_leaving(&self) -> bool {
        self.leaving
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let name = self.finalizer.strip_prefix(PROTECTION_FINALIZER_PREFIX);
        let name = name.and_then(|name| name.strip_prefix('/')).unwrap_or_default();
        let at_ends = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_name = name.len() <= LONGEST
            && at_ends(name.bytes().next())
            && at_ends(name.bytes().last())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if is_name {
            return Ok(());
        }
        Err(Error::Finalizer { employer: self.to_string(), finalizer: self.finalizer.clone() })
    }
}

/// As it is called in declarations.
impl fmt::Display for Employer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// FNV-1a of 64 bits. The result is on pods, so it stays what it is in every version.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
