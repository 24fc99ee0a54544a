//! Kubeconfigs: written for one server and one user, and read back to see whether they still fit.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::Value;

/// The name of the cluster and of the context. A kubeconfig that is merged into another is known by it.
const NAME: &str = "safepoint";

/// What a kubeconfig says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kubeconfig<'a> {
    /// For example `https://127.0.0.1:6443`.
    pub(super) server: &'a str,
    pub(super) ca_pem: &'a str,
    pub(super) user: &'a str,
    pub(super) token: &'a str,
}

/// The parts of a kubeconfig file that matter here. Whatever else somebody has added is theirs.
#[derive(Deserialize)]
pub(super) struct Found {
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
struct Cluster {
    server: Option<String>,
    #[serde(rename = "certificate-authority-data")]
    ca: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: Credentials,
}

#[derive(Deserialize)]
struct Credentials {
    token: Option<String>,
}

// === impl Kubeconfig ===

impl Kubeconfig<'_> {
    /// The text of the file. Every value is quoted, so that none can be more than a value.
    pub(super) fn render(&self) -> String {
        let [name, server, user, token] = [NAME, self.server, self.user, self.token].map(quoted);
        let ca = quoted(&self.ca_data());
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: {name}\n  \
               cluster:\n    \
                 server: {server}\n    \
                 certificate-authority-data: {ca}\n\
             users:\n\
             - name: {user}\n  \
               user:\n    \
                 token: {token}\n\
             contexts:\n\
             - name: {name}\n  \
               context:\n    \
                 cluster: {name}\n    \
                 user: {user}\n\
             current-context: {name}\n"
        )
    }

    fn ca_data(&self) -> String {
        BASE64_STANDARD.encode(self.ca_pem)
    }
}

/// JSON strings are YAML strings.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

// === impl Found ===

impl Found {
    /// Nothing if it is not a kubeconfig. Why not does not matter: it will be written anew.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_saphyr::from_str(text).ok()
    }

    /// The token of this user.
    pub(super) fn token(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|found| found.name == user)?.user.token.as_deref()
    }

    /// Whether whoever uses the file reaches the server, knows it and is known to it.
    pub(super) fn fits(&self, wanted: &Kubeconfig<'_>) -> bool {
        let cluster = self.clusters.iter().find(|found| found.name == NAME).map(|found| &found.cluster);
        self.token(wanted.user) == Some(wanted.token)
            && cluster.is_some_and(|cluster| {
                cluster.server.as_deref() == Some(wanted.server) && cluster.ca == Some(wanted.ca_data())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Kubeconfig<'_> = Kubeconfig {
        server: "https://127.0.0.1:6443",
        ca_pem: "-----BEGIN CERTIFICATE-----\n",
        user: "system:node:rover-7",
        token: "secret",
    };

    #[test]
    fn what_is_written_is_what_kubectl_reads() {
        let text = WANTED.render();
        assert_eq!(
            text,
            r#"apiVersion: v1
kind: Config
clusters:
- name: "safepoint"
  cluster:
    server: "https://127.0.0.1:6443"
    certificate-authority-data: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
users:
- name: "system:node:rover-7"
  user:
    token: "secret"
contexts:
- name: "safepoint"
  context:
    cluster: "safepoint"
    user: "system:node:rover-7"
current-context: "safepoint"
"#
        );
        let read = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("safepoint"));
    }

    #[test]
    fn a_kubeconfig_fits_what_it_was_written_for_and_nothing_else() {
        let found = Found::parse(&WANTED.render()).unwrap();
        assert!(found.fits(&WANTED));
        assert!(!found.fits(&Kubeconfig { server: "https://127.0.0.1:7443", ..WANTED }));
        assert!(!found.fits(&Kubeconfig { ca_pem: "another", ..WANTED }));
        assert!(!found.fits(&Kubeconfig { user: "another", ..WANTED }));
        assert!(!found.fits(&Kubeconfig { token: "another", ..WANTED }));
    }

    #[test]
    fn values_cannot_break_out_of_their_quotes() {
        let server = "https://x\"\ncurrent-context: \"evil: # \\";
        let hostile = Kubeconfig { server, ..WANTED };
        assert!(Found::parse(&hostile.render()).unwrap().fits(&hostile));
    }

    #[test]
    fn what_somebody_has_added_is_passed_over() {
        let text = WANTED.render().replace("users:\n", "users:\n- name: me\n  user: {client-key: x}\n");
        assert!(Found::parse(&text).unwrap().fits(&WANTED));
    }

    #[test]
    fn what_is_no_kubeconfig_has_no_token() {
        for text in ["", "]", "users: 7", "users:\n- name: a\n", "\u{fffd}"] {
            assert_eq!(Found::parse(text).as_ref().and_then(|found| found.token("a")), None, "{text}");
        }
    }
}
