//! The hub as a whole: which modules there are, and in which order they start.
//!
//! | module | where | starts after | if it fails |
//! |---|---|---|---|
//! | `health` | every replica | | nobody can ask how it is |
//! | `definitions` | every replica | | nothing else starts |
//! | `watches` | every replica | definitions | webhooks judge by what was seen last |
//! | `certificate` | every replica | | the last one is shown |
//! | `webhooks` (critical for `safepoint hub`) | every replica | watches, certificate | deletions pass, and the nodes hold |
//! | `wishes` | every replica | | who wishes asks again |
//! | `leader` | every replica | | somebody else leads |
//! | `gates`, `registration`, `carrying`, `janitor`, `surfacing`, `static-pods`, `lifecycle`, `transition-rules` | the leader | watches | it is done later |

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};

use http::Uri;
use kube::Client;
use safepoint_core::Span;
use safepoint_core::lifecycle::Timeouts;
use safepoint_supervisor::{Builder, Handle, Module};

use crate::carrying::{Carry, Carrying, Owners};
use crate::clock::Clock;
use crate::definitions::Definitions;
use crate::facts::Facts;
use crate::gates::Gates;
use crate::health::{HealthServer, Sources};
use crate::leader::{Election, Leadership, Led};
use crate::lifecycle::{self, Admit, Controller, Deletions, Evict, Features, Own, Pods, RuleKeeper, Rules};
use crate::seen::{Seen, Watches};
use crate::source::{Janitor, Source, Surplus, WishWriter, Wishes};
use crate::static_pods::{Check, StaticPods, Tasks};
use crate::surfacing::Surfacing;
use crate::webhook::{Certificates, Endpoint, Hook, Keeper, Names, Registration, Server};

/// How long an operation may be in each phase. Rules may wait for people, and an operation does what it does.
const TIMEOUTS: Timeouts = Timeouts {
    pre_check: Some(Span::from_secs(10 * 60)),
    preparing: Some(Span::from_secs(5 * 60)),
    operating: Some(Span::from_secs(30 * 60)),
    post_check: Some(Span::from_secs(10 * 60)),
    completing: Some(Span::from_secs(5 * 60)),
};

/// How the API server reaches the webhooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// At a URL, such as `https://hub.example:8443`.
    Url(String),
    /// Through a Service of the hub's namespace, on port 443.
    Service(String),
    /// At the address that is listened on: for an API server on the same machine.
    Bound,
}

/// What a hub is to be.
#[derive(Clone)]
pub struct Options {
    /// The cluster, as somebody who may.
    pub client: Client,
    /// Where the certificate and the lease are kept. Made if it is not there.
    pub namespace: String,
    /// Where webhooks are listened for. Port 0 lets the system pick one.
    pub listen: SocketAddr,
    /// How the API server reaches them.
    pub address: Address,
    /// The name under which it is elected, of which there is no other; nothing where there is one hub only.
    pub elected_as: Option<String>,
    /// Where `/healthz`, `/readyz` and `/metrics` answer, if anywhere.
    pub health: Option<SocketAddr>,
    /// Whether the process is there for the hub: then it is ready when the webhooks answer, and leaves if they cannot be kept
    /// answering.
    pub critical: bool,
    /// A module that has to be ready first, if any.
    pub after: Option<&'static str>,
    /// What the tasks of static pods run.
    pub tasks: Tasks,
    /// Which features of the lifecycle are on.
    pub features: Features,
    /// How long an operation on a pod may be in each phase before somebody is told.
    pub timeouts: Timeouts,
    /// What time it is.
    pub clock: Clock,
}

/// Why a hub cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address cannot be taken.
    #[error("cannot listen on {address}: choose another address or port, or stop what uses it")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The URL of the webhooks is none.
    #[error(
        "{url:?} cannot be the URL of the webhooks: it begins with https://, names a host, and has no query"
    )]
    Url {
        /// What was given.
        url: String,
    },
}

/// A hub whose addresses are taken, and which does nothing yet.
pub struct Hub {
    options: Options,
    webhooks: TcpListener,
    health: Option<TcpListener>,
    endpoint: Endpoint,
    names: Names,
    /// Where the webhooks are listened for.
    address: SocketAddr,
    seen: Arc<Seen>,
    more: Vec<Arc<dyn Hook>>,
}

/// A hub that is part of a supervisor.
#[derive(Debug)]
pub struct Registered(Arc<OnceLock<Handle>>);

// === impl Options ===

impl Options {
    /// A single hub on the loopback, for an API server on the same machine.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            namespace: "safepoint-system".to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            address: Address::Bound,
            elected_as: None,
            health: None,
            critical: false,
            after: None,
            tasks: Tasks::Image(None),
            features: Features::default(),
            timeouts: TIMEOUTS,
            clock: Clock::wall(),
        }
    }
}

// === impl Hub ===

impl Hub {
    /// Takes the addresses.
    ///
    /// # Errors
    ///
    /// If one is in use, or the URL is none.
    pub fn bind(options: Options) -> Result<Self, StartError> {
        let webhooks = listen(options.listen)?;
        let address = webhooks.local_addr();
        let address = address.map_err(|source| StartError::Listen { address: options.listen, source })?;
        let health = options.health.map(listen).transpose()?;
        let (endpoint, names) = reach(&options, address)?;
        let (seen, more) = (Arc::default(), Vec::new());
        Ok(Self { options, webhooks, health, endpoint, names, address, seen, more })
    }

    /// Where webhooks are listened for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where health is told, if anywhere.
    #[must_use]
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref()?.local_addr().ok()
    }

    /// Adds a webhook to the hub's own: it is registered, asked and counted like them.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.more.push(Arc::new(hook));
        self
    }

    /// Makes the hub part of a supervisor.
    ///
    /// # Errors
    ///
    /// If a listening socket cannot be asked for its address.
    pub fn register(self, builder: Builder) -> Result<(Builder, Registered), StartError> {
        let Self { options, webhooks, health, endpoint, names, address, seen, more } = self;
        let Options { client, namespace, clock, elected_as, tasks, features, timeouts, .. } = options;
        let first: Vec<&'static str> = options.after.into_iter().collect();
        let facts: Arc<Facts> = Arc::default();
        let certificates = Certificates::new();
        let leadership = if elected_as.is_some() { Leadership::sought() } else { Leadership::alone() };
        let wishes = Arc::new(Wishes::new());
        let handle = Arc::new(OnceLock::new());
        let owners = Owners { client: client.clone(), seen: Arc::clone(&seen) };
        let surplus = Arc::new(Surplus::new(client.clone()));
        let deletions = Arc::new(Deletions {
            client: client.clone(),
            seen: Arc::clone(&seen),
            surplus: Arc::clone(&surplus),
            clock: clock.clone(),
            namespace: namespace.clone(),
        });
        let mut hooks: Vec<Arc<dyn Hook>> = vec![
            Arc::new(Source {
                deletions: Arc::clone(&deletions),
                grace_delete: features.grace_delete,
                seen: Arc::clone(&seen),
                wishes: Arc::clone(&wishes),
                clock: clock.clone(),
                namespace: namespace.clone(),
            }),
            Arc::new(Carry { owners: owners.clone() }),
            Arc::new(Check),
            Arc::new(Admit { own: Arc::new(Own::new(client.clone())), clock: clock.clone() }),
            Arc::new(lifecycle::Check { features, deletions: Arc::clone(&deletions) }),
        ];
        if features.grace_delete {
            hooks.push(Arc::new(Evict { deletions: Arc::clone(&deletions) }));
        }
        hooks.extend(more);
        let taken = |source| StartError::Listen { address, source };
        let server = Server::new(
            webhooks,
            hooks.clone(),
            certificates.clone(),
            Arc::clone(&facts),
            options.critical,
            vec![Watches::NAME, Keeper::NAME],
        );
        let mut builder = builder
            .module(Definitions { client: client.clone(), after: options.after.unwrap_or_default() })
            .module(Watches {
                client: client.clone(),
                seen: Arc::clone(&seen),
                after: vec![Definitions::NAME],
            })
            .module(Keeper {
                client: client.clone(),
                namespace: namespace.clone(),
                names,
                clock: clock.clone(),
                certificates: certificates.clone(),
                after: first.clone(),
            })
            .module(server.map_err(taken)?)
            .module(WishWriter {
                client: client.clone(),
                surplus,
                wishes,
                facts: Arc::clone(&facts),
                after: first.clone(),
            });
        if let Some(listener) = health {
            let sources = Sources {
                facts: Arc::clone(&facts),
                clock: clock.clone(),
                leadership: leadership.clone(),
                certificates: certificates.clone(),
                handle: Arc::clone(&handle),
            };
            builder = builder.module(HealthServer::new(listener, sources).map_err(taken)?);
        }
        // Replicas in a cluster are elected under the names of their pods.
        let pod = elected_as.clone().map(|name| (namespace.clone(), name));
        if let Some(name) = elected_as {
            builder = builder.module(Election {
                client: client.clone(),
                namespace: namespace.clone(),
                name,
                clock: clock.clone(),
                leadership: leadership.clone(),
                after: first,
            });
        }
        let led = Leader(leadership);
        let (pods, rules) = (Arc::new(Pods::new()), Arc::<Rules>::default());
        builder = builder
            .module(led.of(Gates { client: client.clone(), after: Definitions::NAME }))
            .module(led.of(Registration {
                client: client.clone(),
                endpoint,
                namespace,
                hooks,
                certificates,
                // Nobody is sent to a door that is not open yet.
                after: vec![Server::NAME],
            }))
            .module(led.of(Carrying {
                client: client.clone(),
                seen: Arc::clone(&seen),
                owners,
                facts: Arc::clone(&facts),
                after: vec![Watches::NAME],
            }))
            .module(led.of(Janitor {
                client: client.clone(),
                seen: Arc::clone(&seen),
                clock: clock.clone(),
                facts: Arc::clone(&facts),
                after: vec![Watches::NAME],
            }))
            .module(led.of(StaticPods {
                client: client.clone(),
                seen: Arc::clone(&seen),
                clock: clock.clone(),
                facts: Arc::clone(&facts),
                tasks,
                own: pod,
                after: vec![Watches::NAME],
            }))
            .module(led.of(RuleKeeper {
                client: client.clone(),
                rules: Arc::clone(&rules),
                pods: Arc::clone(&pods),
                clock: clock.clone(),
                after: vec![Definitions::NAME],
            }))
            .module(led.of(Controller {
                client: client.clone(),
                clock: clock.clone(),
                facts: Arc::clone(&facts),
                pods,
                deletions,
                rules,
                timeouts,
                after: vec![Watches::NAME],
            }))
            .module(led.of(Surfacing { client, seen, clock, facts, after: vec![Watches::NAME] }));
        Ok((builder, Registered(handle)))
    }
}

/// Makes modules that only the leader runs.
struct Leader(Leadership);

impl Leader {
    fn of<M: Module>(&self, module: M) -> Led<M> {
        Led { module, leadership: self.0.clone() }
    }
}

// === impl Registered ===

impl Registered {
    /// Tells the hub by whom it is supervised, for its answers about health.
    pub fn supervised_by(&self, handle: Handle) {
        // A second supervisor of one hub cannot be: the hub was moved into the first.
        let _ = self.0.set(handle);
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|source| StartError::Listen { address, source })
}

/// Where the API server finds the webhooks, and which names their certificate needs for that.
fn reach(options: &Options, bound: SocketAddr) -> Result<(Endpoint, Names), StartError> {
    match &options.address {
        Address::Service(name) => {
            let namespace = options.namespace.clone();
            let names = ["", ".svc", ".svc.cluster.local"].map(|end| format!("{name}.{namespace}{end}"));
            let names = names.into_iter().chain([name.clone()]).collect();
            Ok((Endpoint::Service { namespace, name: name.clone(), port: 443 }, names))
        }
        Address::Url(url) => {
            let bad = || StartError::Url { url: url.clone() };
            let parsed: Uri = url.parse().map_err(|_| bad())?;
            let is_https = parsed.scheme_str() == Some("https") && parsed.query().is_none();
            let host = parsed.host().filter(|host| is_https && !host.is_empty()).ok_or_else(bad)?;
            let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
            // In the form in which a certificate has it.
            let host = host.parse::<IpAddr>().map_or(host, |address| address.to_string());
            Ok((Endpoint::Url(url.clone()), BTreeSet::from([host])))
        }
        Address::Bound => {
            let mut address = bound;
            if address.ip().is_unspecified() {
                address.set_ip(IpAddr::from([127, 0, 0, 1]));
            }
            Ok((Endpoint::Url(format!("https://{address}")), BTreeSet::from([address.ip().to_string()])))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(address: Address) -> Result<(Endpoint, Vec<String>), StartError> {
        let service = |_: http::Request<kube::client::Body>| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
        };
        let client = Client::new(tower::service_fn(service), "default");
        let options = Options { address, ..Options::new(client) };
        let bound = SocketAddr::from(([0, 0, 0, 0], 8443));
        reach(&options, bound).map(|(endpoint, names)| (endpoint, names.into_iter().collect()))
    }

    #[tokio::test]
    async fn the_certificate_has_the_names_by_which_the_api_server_calls() {
        let (_, names) = reached(Address::Service("safepoint-hub".into())).unwrap();
        assert!(names.contains(&"safepoint-hub.safepoint-system.svc".into()), "{names:?}");
        for (url, name) in [
            ("https://Hub.example:8443", "hub.example"),
            ("https://192.0.2.7/safepoint", "192.0.2.7"),
            ("https://[2001:DB8::7]:8443", "2001:db8::7"),
        ] {
            assert_eq!(reached(Address::Url(url.into())).unwrap().1, [name], "{url}");
        }
        let (endpoint, names) = reached(Address::Bound).unwrap();
        assert_eq!(endpoint, Endpoint::Url("https://127.0.0.1:8443".into()));
        assert_eq!(names, ["127.0.0.1"]);
    }

    #[tokio::test]
    async fn what_is_no_url_of_a_webhook_is_refused_in_words() {
        for url in ["hub.example", "http://hub.example", "https://hub.example/?a=b", "https://", ""] {
            let error = reached(Address::Url(url.into())).unwrap_err().to_string();
            assert!(error.contains("begins with https://"), "{url}: {error}");
        }
    }
}
