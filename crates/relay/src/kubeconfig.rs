//! A kubeconfig, as far as a machine needs one: a server, its certificate authority, and a token or a client certificate.
//!
//! Programs that fetch credentials (`exec`, `auth-provider`) are for people at a terminal. A node that would need one to
//! reach its cluster after a power cut is refused here, in words.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde::Deserialize;

use crate::source::{FileError, Source};

/// Where the cluster is, and who this node is.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    pub(crate) server: Uri,
    pub(crate) authority: Option<Source>,
    /// The name that the server's certificate must have, if not that of the address.
    pub(crate) server_name: Option<String>,
    pub(crate) identity: Identity,
}

/// Who this node is.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    Nobody,
    Token(Source),
    Certificate { chain: Source, key: Source },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(rename = "current-context", default)]
    current: String,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClusterEntry {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    tls_server_name: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
    #[serde(rename = "proxy-url")]
    proxy: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: UserEntry,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
struct UserEntry {
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    exec: Option<serde_json::Value>,
    auth_provider: Option<serde_json::Value>,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads the current context of a file. Paths in it count from its folder.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or says something that a node cannot use.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let read = |source| FileError::Read { path: path.into(), source };
        let text = fs::read_to_string(path).map_err(read)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&text, folder).map_err(|problem| FileError::Content { path: path.into(), problem })
    }

    /// The first API server: the one that the file names.
    #[must_use]
    pub const fn server(&self) -> &Uri {
        &self.server
    }

    /// The certificate authority of the cluster, by which its servers and its nodes are known.
    #[must_use]
    pub const fn authority(&self) -> Option<&Source> {
        self.authority.as_ref()
    }

    fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let file: File =
            serde_saphyr::from_str(text).map_err(|error| format!("it is no kubeconfig: {error}"))?;
        let context = file.contexts.into_iter().find(|entry| entry.name == file.current);
        let Some(NamedContext { context, .. }) = context else {
            return Err(format!(
                "there is no context {:?}; set current-context to one that there is",
                file.current
            ));
        };
        let cluster = file.clusters.into_iter().find(|entry| entry.name == context.cluster);
        let cluster = cluster.ok_or_else(|| format!("there is no cluster {:?}", context.cluster))?.cluster;
        let user = file.users.into_iter().find(|entry| entry.name == context.user);
        let user = user.ok_or_else(|| format!("there is no user {:?}", context.user))?.user;
        if cluster.insecure_skip_tls_verify {
            return Err(
                "insecure-skip-tls-verify is refused: whoever answers could tell this machine what to run"
                    .into(),
            );
        }
        if cluster.proxy.is_some() {
            return Err("proxy-url is not supported; name the server itself".into());
        }
        let server: Uri =
            cluster.server.parse().map_err(|error| format!("server {:?}: {error}", cluster.server))?;
        is_https(&server)?;
        let source = |data: Option<String>, path: Option<PathBuf>, field: &str| match (data, path) {
            (Some(data), _) => {
                let bytes = STANDARD.decode(data.trim()).map_err(|error| format!("{field}-data: {error}"))?;
                Ok(Some(Source::Bytes(bytes)))
            }
            (None, Some(path)) => Ok(Some(Source::File(folder.join(path)))),
            (None, None) => Ok::<_, String>(None),
        };
        let authority = source(
            cluster.certificate_authority_data,
            cluster.certificate_authority,
            "certificate-authority",
        )?;
        let chain = source(user.client_certificate_data, user.client_certificate, "client-certificate")?;
        let key = source(user.client_key_data, user.client_key, "client-key")?;
        let token = match (user.token, user.token_file) {
            // A file is there because it changes.
            (_, Some(path)) => Some(Source::File(folder.join(path))),
            (Some(token), None) => Some(Source::Bytes(token.into_bytes())),
            (None, None) => None,
        };
        let identity = match (chain, key, token) {
            (Some(chain), Some(key), _) => Identity::Certificate { chain, key },
            (Some(_), None, _) | (None, Some(_), _) => {
                return Err("a client certificate needs its key, and a key its certificate".into());
            }
            (None, None, Some(token)) => Identity::Token(token),
            (None, None, None) if user.exec.is_some() || user.auth_provider.is_some() => {
                return Err("exec and auth-provider are not supported: a node must reach its cluster without help; use a \
                            token, a tokenFile or a client certificate"
                    .into());
            }
            (None, None, None) => Identity::Nobody,
        };
        Ok(Self { server, authority, server_name: cluster.tls_server_name, identity })
    }
}

/// Whether a server has an address that can be verified.
pub(crate) fn is_https(server: &Uri) -> Result<(), String> {
    let has_user = server.authority().is_some_and(|authority| authority.as_str().contains('@'));
    match server.scheme_str() == Some("https") && server.host().is_some() && !has_user {
        true => Ok(()),
        false => Err(format!("server {:?} is not an https address", server.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
current-context: node
contexts: [{name: node, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:7443', certificate-authority-data: YWJj}}]
users: [{name: u, user: {token: secret}}]
";

    fn problem(from: &str, to: &str) -> String {
        Kubeconfig::parse(&GOOD.replace(from, to), Path::new("/etc/x")).unwrap_err()
    }

    #[test]
    fn a_token_and_an_authority_are_found() {
        let config = Kubeconfig::parse(GOOD, Path::new("/etc/x")).unwrap();
        assert_eq!(config.server.host(), Some("127.0.0.1"));
        assert!(matches!(config.identity, Identity::Token(Source::Bytes(token)) if token == b"secret"));
        assert!(matches!(config.authority, Some(Source::Bytes(bytes)) if bytes == b"abc"));
    }

    #[test]
    fn relative_files_count_from_the_folder_of_the_kubeconfig() {
        let text = GOOD.replace("token: secret", "tokenFile: t/token");
        let config = Kubeconfig::parse(&text, Path::new("/etc/x")).unwrap();
        assert!(
            matches!(config.identity, Identity::Token(Source::File(path)) if path == Path::new("/etc/x/t/token"))
        );
    }

    #[test]
    fn what_a_node_cannot_use_is_refused_in_words() {
        assert!(
            problem("current-context: node", "current-context: x").starts_with("there is no context \"x\"")
        );
        assert!(problem("https:", "http:").contains("is not an https address"));
        assert!(problem("https://", "https://me@").contains("is not an https address"));
        assert!(problem("token: secret", "exec: {command: x}").contains("use a token"));
        assert!(problem("token: secret", "client-key: k").contains("needs its key"));
        assert!(problem("YWJj", "'%%'").starts_with("certificate-authority-data"));
        assert!(problem("YWJj", "YWJj, insecure-skip-tls-verify: true").contains("is refused"));
    }

    #[test]
    fn a_key_is_never_printed() {
        assert!(!format!("{:?}", Kubeconfig::parse(GOOD, Path::new("/")).unwrap()).contains("secret"));
    }
}
