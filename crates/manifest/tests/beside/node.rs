//! The node that tests share, each with a static pod of its own. Who takes the cluster away has it alone.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use safepoint_manifest::{
    Credentials, Cri, Door, FileName, Folder, Host, KubeletSource, Outcome, PodKey, Rules, RuntimeSource,
    Source, Trust, Upgrade,
};
use safepoint_testkit::{ContainerState, World, WorldOptions};

pub(super) struct Node {
    pub(super) world: Access,
    pub(super) host: Host,
    pub(super) name: &'static str,
}

/// The world, with others or alone.
pub(super) enum Access {
    Shared(RwLockReadGuard<'static, World>),
    Alone(RwLockWriteGuard<'static, World>),
}

impl Deref for Access {
    type Target = World;

    fn deref(&self) -> &World {
        match self {
            Self::Shared(world) => world,
            Self::Alone(world) => world,
        }
    }
}

impl Access {
    /// For who has it alone.
    pub(super) fn alone(&mut self) -> &mut World {
        match self {
            Self::Shared(_) => panic!("others use it"),
            Self::Alone(world) => world,
        }
    }
}

/// The one world, and its kubelet.
fn shared() -> &'static (RwLock<World>, u32) {
    static SHARED: OnceLock<(RwLock<World>, u32)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut world = World::start(&WorldOptions::default()).unwrap();
        if world.kubelet_pid().is_none() {
            let kubeconfig = world.direct_kubeconfig().to_owned();
            world.start_kubelet(&kubeconfig).unwrap();
        }
        let pid = world.kubelet_pid().unwrap();
        (RwLock::new(world), pid)
    })
}

/// Short, so that tests are; long enough to see a container that ends at once.
pub(super) fn rules() -> Rules {
    Rules {
        stretch: Duration::from_secs(3),
        within: Duration::from_secs(90),
        every: Duration::from_millis(200),
        restarts: 0,
    }
}

/// A manifest of the pod, with a line of its own for the container.
pub(super) fn manifest(name: &str, revision: &str, container: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata:
  name: {name}
  annotations: {{ openyurt.io/static-pod-hash: \"{revision}\" }}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {{ name: main, {container} }}
"
    )
}

/// A container that stays.
pub(super) fn app(tag: &str) -> String {
    format!("image: \"app:{tag}\", imagePullPolicy: Never")
}

impl Node {
    /// The node, for the tests of one static pod.
    pub(super) fn with(name: &'static str) -> Self {
        let (world, _) = shared();
        Self::of(Access::Shared(world.read().unwrap_or_else(PoisonError::into_inner)), name)
    }

    /// The node without the tests of others.
    pub(super) fn alone_with(name: &'static str) -> Self {
        let (world, _) = shared();
        Self::of(Access::Alone(world.write().unwrap_or_else(PoisonError::into_inner)), name)
    }

    fn of(world: Access, name: &'static str) -> Self {
        world.wait_node_ready().unwrap();
        let host = Host::below(format!("/proc/{}/root", shared().1));
        Self { world, host, name }
    }

    pub(super) fn key(&self) -> PodKey {
        PodKey::new("default", self.name).unwrap()
    }

    pub(super) fn file(&self) -> FileName {
        FileName::new(self.name).unwrap()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.world.folder().join("manifest-data")
    }

    /// Found as a task finds it: through the node's file system and the kubelet that runs there.
    pub(super) fn door(&self) -> Door {
        door(&self.host, &self.data())
    }

    pub(super) fn cri(&self) -> Cri {
        let kubelet = safepoint_manifest::kubelet::running(&self.host).unwrap();
        Cri::find(&self.host, kubelet.as_ref()).unwrap()
    }

    pub(super) fn runtime(&self) -> RuntimeSource {
        RuntimeSource(self.cri())
    }

    pub(super) fn kubelet(&self) -> KubeletSource {
        let pinned = Trust::Pinned(Trust::read(&self.world.folder().join("kubelet.crt")).unwrap());
        self.kubelet_with(pinned, self.administrator())
    }

    pub(super) fn kubelet_with(&self, trust: Trust, credentials: Credentials) -> KubeletSource {
        let port = self.world.forward(10250).unwrap();
        KubeletSource::new(SocketAddr::from(([127, 0, 0, 1], port)), trust, credentials).unwrap()
    }

    pub(super) fn administrator(&self) -> Credentials {
        let client = self.world.issue("somebody", Some("system:masters")).unwrap();
        let read = |path: &Path| std::fs::read(path).unwrap();
        Credentials::Certificate { chain: read(&client.certificate), key: read(&client.key) }
    }

    pub(super) fn ask(&self, revision: &str, container: &str) -> Upgrade {
        let text = manifest(self.name, revision, container);
        Upgrade { key: self.key(), file: self.file(), text, instead_of: None, anyway: false }
    }

    pub(super) fn install(&self, revision: &str, container: &str) {
        let text = manifest(self.name, revision, container);
        let outcome = run(self.door().install(&self.file(), &text, &mut self.runtime()));
        assert!(outcome.is_done(), "{outcome:?}");
    }

    pub(super) fn upgrade(&self, revision: &str, container: &str, source: &mut dyn Source) -> Outcome {
        run(self.door().upgrade(&self.ask(revision, container), source))
    }

    pub(super) fn live(&self) -> Option<String> {
        std::fs::read_to_string(self.world.static_pods().join(format!("{}.yaml", self.name))).ok()
    }

    /// The images of the pod's running containers.
    pub(super) fn images(&self) -> Vec<String> {
        let name = format!("{}-{}", self.name, self.world.node());
        let containers = self.world.containers().unwrap();
        let running = containers
            .into_iter()
            .filter(|it| it.pod_name == name && matches!(it.state, ContainerState::Running { .. }));
        running.map(|it| it.image).collect()
    }

    /// Nothing but manifests lies in the kubelet's folder, and no draft of ours beside it.
    pub(super) fn check_folder(&self) {
        for entry in std::fs::read_dir(self.world.static_pods()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".yaml") && !name.starts_with('.'), "{name}");
        }
        let drafts = std::fs::read_dir(self.world.folder().join(".safepoint-manifests"));
        for entry in drafts.into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            assert!(!name.contains(&format!("{}.yaml", self.name)), "{name}");
        }
    }
}

impl Drop for Node {
    /// The next one finds the node empty.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.world.static_pods().join(format!("{}.yaml", self.name)));
    }
}

pub(super) fn door(host: &Host, data: &Path) -> Door {
    let folder = Folder::find(host, None).unwrap();
    Door::new(folder, data).with_node("node").with_rules(rules())
}

pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
