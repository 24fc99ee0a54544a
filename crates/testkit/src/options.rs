//! What a control plane consists of, and the flags that follow from it.

use std::path::Path;

/// The addresses of services.
pub(crate) const SERVICES: &str = "10.0.0.0/24";

/// What a control plane consists of. The default is the least that answers requests: etcd and kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Etcd waits for the disk, as it does in production. Needed wherever durability or speed is what is measured;
    /// without it tests are faster, and lose nothing unless the machine itself fails.
    pub durable: bool,
    /// Runs kube-controller-manager. Without it nobody removes what a deleted owner or namespace leaves, and nobody makes
    /// service accounts: the admission plugin that asks for one is therefore off, so that pods can be created.
    pub controllers: bool,
    /// Runs kube-scheduler.
    pub scheduler: bool,
    /// Feature gates, for every program of Kubernetes.
    pub features: Vec<(String, bool)>,
    /// Further flags of kube-apiserver, such as `--runtime-config=api/all=true`.
    pub apiserver_flags: Vec<String>,
    /// Further flags of kube-controller-manager.
    pub controller_flags: Vec<String>,
}

/// A program of the control plane that can be ended and started again while the others run. Etcd is not among them: it
/// keeps what the others would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    Controllers,
    /// kube-scheduler.
    Scheduler,
}

impl Part {
    /// The name of its program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::Controllers => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }
}

impl Options {
    /// Etcd's flags. It takes ports that the system picks, and says in its log which.
    pub(crate) fn etcd(&self, folder: &Path) -> Vec<String> {
        let mut flags = flags(&[
            ("data-dir", &folder.join("etcd").to_string_lossy()),
            ("listen-client-urls", "http://127.0.0.1:0"),
            ("advertise-client-urls", "http://127.0.0.1:0"),
            ("listen-peer-urls", "http://127.0.0.1:0"),
            // The gateway calls the advertised address, which is not the real one, and nobody calls the gateway.
            ("enable-grpc-gateway", "false"),
        ]);
        if !self.durable {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        flags
    }

    pub(crate) fn apiserver(&self, folder: &Path, port: u16, etcd: &str) -> Vec<String> {
        let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut flags = flags(&[
            ("etcd-servers", &format!("http://{etcd}")),
            ("bind-address", "127.0.0.1"),
            ("advertise-address", "127.0.0.1"),
            ("secure-port", &port.to_string()),
            ("tls-cert-file", &file("server.crt")),
            ("tls-private-key-file", &file("server.key")),
            ("client-ca-file", &file("ca.crt")),
            ("token-auth-file", &file("tokens.csv")),
            ("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
            ("service-account-key-file", &file("service-account.key")),
            ("service-account-signing-key-file", &file("service-account.key")),
            ("service-cluster-ip-range", SERVICES),
            ("authorization-mode", "Node,RBAC"),
            ("enable-admission-plugins", "NodeRestriction"),
            // The service `kubernetes` may not point to a loopback address, and trying fills the log.
            ("endpoint-reconciler-type", "none"),
            ("allow-privileged", "true"),
        ]);
        if !self.controllers {
            flags.push("--disable-admission-plugins=ServiceAccount".to_owned());
        }
        flags.extend(self.feature_gates());
        flags.extend(self.apiserver_flags.iter().cloned());
        flags
    }

    pub(crate) fn controller_manager(&self, folder: &Path, port: u16) -> Vec<String> {
        let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut all = self.client(folder, port);
        all.extend(flags(&[
            ("root-ca-file", &file("ca.crt")),
            ("service-account-private-key-file", &file("service-account.key")),
            ("cluster-signing-cert-file", &file("ca.crt")),
            ("cluster-signing-key-file", &file("ca.key")),
            // Each controller under its own name, as clusters have it: who wishes a pod's end is known by it.
            ("use-service-account-credentials", "true"),
        ]));
        all.extend(self.controller_flags.iter().cloned());
        all
    }

    pub(crate) fn scheduler(&self, folder: &Path, port: u16) -> Vec<String> {
        self.client(folder, port)
    }

    /// Flags that the two clients of kube-apiserver have in common.
    fn client(&self, folder: &Path, port: u16) -> Vec<String> {
        let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let kubeconfig = file("kubeconfig");
        let mut flags = flags(&[
            ("kubeconfig", &kubeconfig),
            ("authentication-kubeconfig", &kubeconfig),
            ("authorization-kubeconfig", &kubeconfig),
            ("bind-address", "127.0.0.1"),
            ("secure-port", &port.to_string()),
            // The server's own certificate, so that whoever trusts the server can ask these two after their health.
            ("tls-cert-file", &file("server.crt")),
            ("tls-private-key-file", &file("server.key")),
            // There is one of each.
            ("leader-elect", "false"),
        ]);
        flags.extend(self.feature_gates());
        flags
    }

    fn feature_gates(&self) -> Option<String> {
        let gates: Vec<_> = self.features.iter().map(|(name, on)| format!("{name}={on}")).collect();
        (!gates.is_empty()).then(|| format!("--feature-gates={}", gates.join(",")))
    }
}

fn flags(pairs: &[(&str, &str)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Options;

    #[test]
    fn only_a_durable_etcd_waits_for_the_disk() {
        let unsafe_no_fsync =
            |options: Options| options.etcd(Path::new("/folder")).contains(&"--unsafe-no-fsync".to_owned());
        assert!(unsafe_no_fsync(Options::default()));
        assert!(!unsafe_no_fsync(Options { durable: true, ..Options::default() }));
    }

    #[test]
    fn every_program_of_kubernetes_gets_the_feature_gates() {
        let features = vec![("Wanted".to_owned(), true), ("Unwanted".to_owned(), false)];
        let options = Options { features, ..Options::default() };
        let folder = Path::new("/folder");
        let gates = "--feature-gates=Wanted=true,Unwanted=false".to_owned();
        assert!(options.apiserver(folder, 1, "127.0.0.1:2").contains(&gates));
        assert!(options.controller_manager(folder, 1).contains(&gates));
        assert!(options.scheduler(folder, 1).contains(&gates));
    }
}
