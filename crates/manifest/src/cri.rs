//! The container runtime, through version 1 of its interface (CRI): what runs, and which images are there.
//!
//! Only what a swap needs. Each call has a connection of its own: they are few, the socket is local, and a runtime that was
//! restarted in between is none the wiser.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::Host;
use crate::kubelet::Kubelet;

pub use self::auth::{Auths, AuthsError};
pub use self::seen::{Container, ContainerDetail, ContainerState, Image, Sandbox, Version};

mod auth;
mod call;
mod messages;
mod seen;

/// Where runtimes listen, the most common first.
const USUAL: [&str; 7] = [
    "/run/containerd/containerd.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
    "/run/k0s/containerd.sock",
    "/var/snap/microk8s/common/run/containerd.sock",
    "/run/containerd-cri/containerd.sock",
];

/// How long anything but a pull may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How often somebody who waits for a pull hears that it goes on.
const NEWS: Duration = Duration::from_secs(10);

/// A container runtime.
#[derive(Clone, Debug)]
pub struct Cri {
    socket: PathBuf,
}

/// Why the runtime did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum CriError {
    /// There is no socket.
    #[error("no container runtime listens on this node: tried {}", tried.join(", "))]
    NotFound {
        /// Where one could have been.
        tried: Vec<String>,
    },
    /// Nobody answers.
    #[error("the container runtime at {} cannot be reached: {why}", socket.display())]
    Unreachable {
        /// Where.
        socket: PathBuf,
        /// What happened.
        why: String,
    },
    /// It answers, but not to this.
    #[error("the container runtime at {} does not speak CRI v1: {why}", socket.display())]
    NotSpoken {
        /// Where.
        socket: PathBuf,
        /// What it says.
        why: String,
    },
    /// It refuses.
    #[error("the container runtime says: {message}")]
    Refused {
        /// The code of gRPC.
        code: u32,
        /// What it says.
        message: String,
    },
}

// === impl CriError ===

impl CriError {
    /// Whether what was asked for does not exist.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 5, .. })
    }
}

// === impl Cri ===

impl Cri {
    /// The runtime that listens on a socket.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// The runtime of a node: the one that its kubelet uses, else one where runtimes usually are.
    ///
    /// # Errors
    /// When there is no socket.
    pub fn find(host: &Host, kubelet: Option<&Kubelet>) -> Result<Self, CriError> {
        let told = kubelet.and_then(|it| it.runtime.as_deref());
        let told = told.map(|it| it.strip_prefix("unix://").unwrap_or(it));
        let mut tried = Vec::new();
        // Where the kubelet was told which runtime to use, another one would not know its pods.
        let places = told.map_or_else(|| USUAL.to_vec(), |it| vec![it]);
        for place in places {
            let found = host.resolve(Path::new(place)).ok();
            let is_socket = |path: &PathBuf| path.metadata().is_ok_and(|it| it.file_type().is_socket());
            match found.filter(is_socket) {
                Some(socket) => return Ok(Self { socket }),
                None => tried.push(place.to_owned()),
            }
        }
        Err(CriError::NotFound { tried })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Who it is.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn version(&self) -> Result<Version, CriError> {
        let request = messages::VersionRequest { version: "v1".into() };
        let answer: messages::VersionResponse = self.quickly("RuntimeService/Version", &request).await?;
        Ok(answer.into())
    }

    /// The sandboxes of a namespace's pods, also those that have ended.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn sandboxes(&self, namespace: &str) -> Result<Vec<Sandbox>, CriError> {
        let labels = [(seen::NAMESPACE.to_owned(), namespace.to_owned())];
        let filter = messages::PodSandboxFilter { label_selector: labels.into(), ..Default::default() };
        let request = messages::ListPodSandboxRequest { filter: Some(filter) };
        let answer: messages::ListPodSandboxResponse =
            self.quickly("RuntimeService/ListPodSandbox", &request).await?;
        Ok(answer.items.into_iter().map(Into::into).collect())
    }

    /// One sandbox; nothing if it is gone.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn sandbox(&self, id: &str) -> Result<Option<Sandbox>, CriError> {
        let request = messages::PodSandboxStatusRequest { pod_sandbox_id: id.into(), verbose: false };
        let answer = self.quickly("RuntimeService/PodSandboxStatus", &request).await;
        let answer: Option<messages::PodSandboxStatusResponse> = or_gone(answer)?;
        Ok(answer.and_then(|it| it.status).map(Into::into))
    }

    /// The containers of a sandbox, also those that have ended.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn containers(&self, sandbox: &str) -> Result<Vec<Container>, CriError> {
        let filter = messages::ContainerFilter { pod_sandbox_id: sandbox.into(), ..Default::default() };
        let request = messages::ListContainersRequest { filter: Some(filter) };
        let answer: messages::ListContainersResponse =
            self.quickly("RuntimeService/ListContainers", &request).await?;
        Ok(answer.containers.into_iter().map(Into::into).collect())
    }

    /// How a container is, or how it ended; nothing if it is gone.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn container(&self, id: &str) -> Result<Option<ContainerDetail>, CriError> {
        let request = messages::ContainerStatusRequest { container_id: id.into(), verbose: false };
        let answer = self.quickly("RuntimeService/ContainerStatus", &request).await;
        let answer: Option<messages::ContainerStatusResponse> = or_gone(answer)?;
        Ok(answer.and_then(|it| it.status).map(Into::into))
    }

    /// An image; nothing if it is not on the node.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn image(&self, image: &str) -> Result<Option<Image>, CriError> {
        let request = messages::ImageStatusRequest { image: Some(spec(image)), verbose: false };
        let answer: messages::ImageStatusResponse =
            self.quickly("ImageService/ImageStatus", &request).await?;
        Ok(answer.image.filter(|it| !it.id.is_empty()).map(Into::into))
    }

    /// Pulls an image, with each of the credentials that fit and then with none, and returns what the runtime calls it. How
    /// long that takes nobody knows: `news` hears that it goes on.
    ///
    /// # Errors
    /// When it cannot be had: what the runtime says to the last try.
    pub async fn pull(
        &self,
        image: &str,
        auths: &Auths,
        news: &mut (dyn FnMut(String) + Send),
    ) -> Result<String, CriError> {
        let mut tries: Vec<_> = auths.of(image).into_iter().map(Some).collect();
        tries.push(None);
        let mut failed = None;
        for auth in tries {
            let request = messages::PullImageRequest { image: Some(spec(image)), auth };
            let pull = self.ask::<_, messages::PullImageResponse>("ImageService/PullImage", &request);
            tokio::pin!(pull);
            let mut passed = Duration::ZERO;
            let answer = loop {
                match tokio::time::timeout(NEWS, &mut pull).await {
                    Ok(answer) => break answer,
                    Err(_) => {
                        passed += NEWS;
                        news(format!("pulling {image} for {} s", passed.as_secs()));
                    }
                }
            };
            match answer {
                Ok(answer) => return Ok(answer.image_ref),
                Err(error @ CriError::Refused { .. }) => failed = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failed.unwrap_or(CriError::Refused { code: 2, message: "nothing was tried".into() }))
    }

    async fn quickly<Q, A>(&self, method: &str, request: &Q) -> Result<A, CriError>
    where
        Q: prost::Message,
        A: prost::Message + Default,
    {
        let late = || CriError::Unreachable {
            socket: self.socket.clone(),
            why: format!("it did not answer within {ANSWER:?}"),
        };
        tokio::time::timeout(ANSWER, self.ask(method, request)).await.map_err(|_| late())?
    }
}

fn spec(image: &str) -> messages::ImageSpec {
    messages::ImageSpec { image: image.to_owned(), ..Default::default() }
}

fn or_gone<T>(answer: Result<T, CriError>) -> Result<Option<T>, CriError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
