//! The kubelet's kubeconfig, read and written: who the node is to the cluster, and where the cluster is.
//!
//! Files stay files: a kubelet renews its certificate by pointing a link at a new file, and whoever copied the contents
//! would be shut out once the old one has expired.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use x509_parser::pem::Pem;

use super::root::Root;
use crate::problem::Problem;

/// What a kubelet's kubeconfig says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NodeAccess {
    pub(super) server: String,
    pub(super) server_name: Option<String>,
    pub(super) authority: Option<Material>,
    pub(super) certificate: Material,
    pub(super) key: Material,
}

/// A certificate or a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Material {
    File(PathBuf),
    /// In base64, as it stands in a kubeconfig.
    Data(String),
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "current-context", default)]
    current: String,
    #[serde(default)]
    contexts: Vec<Value>,
    #[serde(default)]
    clusters: Vec<Value>,
    #[serde(default)]
    users: Vec<Value>,
}

// === impl NodeAccess ===

impl NodeAccess {
    /// Reads the current context of a file. Where it has a copy of the certificate and the kubelet keeps a newer one in
    /// `rotating`, that counts: the kubelet does the same.
    pub(super) fn read(path: &Path, root: &Root, rotating: &Path) -> Result<Self, Problem> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            Problem::failed(format!("cannot read the kubelet's kubeconfig {shown}: {error}"))
        })?;
        let bad = |what: String| {
            Problem::failed(format!("the kubelet's kubeconfig {shown} cannot be used: {what}"))
                .hint("the agent speaks to the cluster as the node: it needs a server with https and a client certificate")
        };
        let file: File = serde_saphyr::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let named = |list: &[Value], name: &str, what: &str| {
            let entry = list.iter().find(|entry| entry["name"] == name);
            entry.map(|entry| entry[what].clone()).ok_or_else(|| bad(format!("there is no {what} {name:?}")))
        };
        let context = named(&file.contexts, &file.current, "context")?;
        let cluster = named(&file.clusters, context["cluster"].as_str().unwrap_or_default(), "cluster")?;
        let user = named(&file.users, context["user"].as_str().unwrap_or_default(), "user")?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let material = |of: &Value, field: &str| match of[format!("{field}-data")].as_str() {
            Some(data) => Some(Material::Data(data.to_owned())),
            None => of[field].as_str().map(|file| Material::File(root.found(&folder.join(file)))),
        };
        let text = |of: &Value, field: &str| of[field].as_str().map(str::to_owned);
        let server = text(&cluster, "server").ok_or_else(|| bad("it names no server".into()))?;
        if !server.starts_with("https://") {
            return Err(bad(format!("its server {server} is not an https address")));
        }
        if cluster["insecure-skip-tls-verify"] == true {
            return Err(bad("it says insecure-skip-tls-verify".into()));
        }
        if !cluster["proxy-url"].is_null() {
            return Err(bad("it says proxy-url, which the agent does not use".into()));
        }
        let mut pair = material(&user, "client-certificate").zip(material(&user, "client-key"));
        if matches!(pair, Some((Material::Data(_), _))) && rotating.exists() {
            pair = Some((Material::File(rotating.to_owned()), Material::File(rotating.to_owned())));
        }
        let Some((certificate, key)) = pair else {
            let how =
                ["exec", "auth-provider", "token", "tokenFile"].into_iter().find(|way| !user[*way].is_null());
            return Err(bad(match how {
                Some(how) => format!("the node proves who it is with {how}, not with a client certificate"),
                None => "it has no client certificate".into(),
            }));
        };
        let authority = material(&cluster, "certificate-authority");
        Ok(Self { server, server_name: text(&cluster, "tls-server-name"), authority, certificate, key })
    }

    /// The name of the node: whom the certificate is for.
    pub(super) fn node(&self) -> Option<String> {
        let Material::File(path) = &self.certificate else { return None };
        let text = fs::read(path).ok()?;
        let pem =
            Pem::iter_from_buffer(&text).filter_map(Result::ok).find(|pem| pem.label == "CERTIFICATE")?;
        let certificate = pem.parse_x509().ok()?;
        let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
        name.strip_prefix("system:node:").map(str::to_owned)
    }

    /// The agent's: the cluster itself, as the node.
    pub(super) fn upstream(&self) -> String {
        let mut cluster = json!({"server": self.server});
        if let Some(name) = &self.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        if let Some(authority) = &self.authority {
            authority.put(&mut cluster, "certificate-authority");
        }
        self.write("Where the cluster is, for the Safepoint agent.", &cluster)
    }

    /// The kubelet's: the door, as the node.
    pub(super) fn door(&self, server: &str, authority: &Path) -> String {
        let cluster = json!({"server": server, "certificate-authority": authority});
        self.write("The Safepoint agent as the kubelet's API server.", &cluster)
    }

    fn write(&self, what: &str, cluster: &Value) -> String {
        let mut user = json!({});
        self.certificate.put(&mut user, "client-certificate");
        self.key.put(&mut user, "client-key");
        let entry = |name: &str, value: &Value| {
            let fields = value.as_object().into_iter().flatten();
            fields
                .map(|(key, value)| format!("      {key}: {value}\n"))
                .fold(format!("  - name: safepoint\n    {name}:\n"), |text, line| text + &line)
        };
        format!(
            "# {what} Written by `safepoint agent install`.\napiVersion: v1\nkind: Config\ncurrent-context: safepoint\n\
             clusters:\n{}users:\n{}contexts:\n{}",
            entry("cluster", cluster),
            entry("user", &user),
            entry("context", &json!({"cluster": "safepoint", "user": "safepoint"})),
        )
    }
}

// === impl Material ===

impl Material {
    fn put(&self, into: &mut Value, field: &str) {
        match self {
            Self::File(path) => into[field] = path.display().to_string().into(),
            Self::Data(data) => into[format!("{field}-data")] = data.as_str().into(),
        }
    }
}
