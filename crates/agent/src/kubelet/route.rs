//! What a request of the kubelet is about, told from its method, path and query alone. Pure.
//!
//! Everything that shows pods, ConfigMaps or Secrets is answered here and nowhere else: a form of asking that this does not
//! know is refused rather than passed on, because what is passed on is not judged.

use http::Method;
use percent_encoding::percent_decode_str;
use safepoint_core::{Key, Kind};

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// The pods of this node.
    Pods { of: Select, read: Read },
    /// One pod.
    Pod(Key),
    /// The kubelet says how a pod is.
    PodStatus(Key),
    /// The kubelet says that a pod has ended.
    PodEnd(Key),
    /// ConfigMaps or Secrets of a name.
    Configs { kind: Kind, of: Select, read: Read },
    /// One ConfigMap or Secret.
    Config(Key),
    /// This node, as a list of one.
    Nodes(Read),
    /// This node.
    Node,
    /// The services of the cluster.
    Services(Read),
    /// A token for a pod.
    Token,
    /// It would show what must be judged, in a way that cannot be.
    Refused(&'static str),
    /// It is between the kubelet and the cluster.
    Other,
}

/// Which objects of a collection.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Select {
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

/// How a collection is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Read {
    List,
    Watch(Watch),
}

/// How it is watched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Watch {
    /// The version after which it goes on; none: whatever there is comes first.
    pub(super) after: Option<String>,
    /// A bookmark says when everything there was has been said.
    pub(super) tells_when_complete: bool,
    pub(super) bookmarks: bool,
    /// In seconds.
    pub(super) timeout: Option<u64>,
}

// === impl Select ===

impl Select {
    /// The one object of a kind that is selected by namespace and name.
    pub(super) fn key(&self, kind: Kind) -> Key {
        let text = |part: &Option<String>| part.as_deref().unwrap_or_default().into();
        Key { kind, namespace: text(&self.namespace), name: text(&self.name) }
    }

    pub(super) fn takes(&self, namespace: &str, name: &str) -> bool {
        self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.name.as_deref().is_none_or(|wanted| wanted == name)
    }
}

// === impl Route ===

impl Route {
    pub(super) fn of(node: &str, method: &Method, path: &str, query: &str) -> Self {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        let Some(path) = decoded.strip_prefix("/api/v1/") else { return Self::Other };
        let words: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        if words[0] == "watch" {
            return Self::Refused("watch with the parameter watch=true instead");
        }
        let reads = *method == Method::GET;
        match (words.as_slice(), reads) {
            (["nodes"], true) => match Query::read(query) {
                query if query.field("metadata.name") == Some(node) => Self::Nodes(query.read),
                _ => Self::Other,
            },
            (["nodes", name], true) if *name == node => Self::Node,
            (["services"], true) => Self::Services(Query::read(query).read),
            ([kind @ ("pods" | "configmaps" | "secrets")], true) => Self::collection(node, kind, None, query),
            (["namespaces", namespace, kind @ ("pods" | "configmaps" | "secrets")], true) => {
                Self::collection(node, kind, Some(namespace), query)
            }
            (["namespaces", namespace, "pods", name], _) => match (reads, method) {
                (true, _) if query.contains("watch=") => Self::Refused("watch by a selector instead"),
                (true, _) => Self::Pod(Key::pod(namespace, name)),
                (_, &Method::DELETE) => Self::PodEnd(Key::pod(namespace, name)),
                _ => Self::Other,
            },
            (["namespaces", namespace, "pods", name, "status"], false) => match *method {
                Method::PATCH => Self::PodStatus(Key::pod(namespace, name)),
                Method::PUT => Self::Refused("write the status of a pod as a patch"),
                _ => Self::Other,
            },
            (["namespaces", namespace, "pods", name, "status"], true) => Self::Pod(Key::pod(namespace, name)),
            (["namespaces", namespace, kind @ ("configmaps" | "secrets"), name], true) => {
                match query.contains("watch=") {
                    true => Self::Refused("watch by a selector instead"),
                    false => Self::Config(Key {
                        kind: of_plural(kind),
                        namespace: (*namespace).into(),
                        name: (*name).into(),
                    }),
                }
            }
            (["namespaces", _, "serviceaccounts", _, "token"], false) if *method == Method::POST => {
                Self::Token
            }
            _ => Self::Other,
        }
    }

    fn collection(node: &str, plural: &str, namespace: Option<&str>, query: &str) -> Self {
        let query = Query::read(query);
        if query.has_labels {
            return Self::Refused("a label selector is not understood here");
        }
        let known = ["spec.nodeName", "metadata.name", "metadata.namespace"];
        if query.fields.iter().any(|(name, _)| !known.contains(&name.as_str())) || query.has_unequal {
            return Self::Refused("this field selector is not understood here");
        }
        let within = query.field("metadata.namespace").map(str::to_owned);
        let of = Select {
            namespace: namespace.map(str::to_owned).or(within),
            name: query.field("metadata.name").map(str::to_owned),
        };
        match plural {
            "pods" if query.field("spec.nodeName") == Some(node) => Self::Pods { of, read: query.read },
            "pods" => Self::Refused("a node reads its own pods only: select spec.nodeName"),
            _ if of.namespace.is_none() || of.name.is_none() => Self::Refused(
                "a node reads single ConfigMaps and Secrets only: select metadata.name in a namespace",
            ),
            kind => Self::Configs { kind: of_plural(kind), of, read: query.read },
        }
    }
}

fn of_plural(plural: &str) -> Kind {
    if plural == "secrets" { Kind::Secret } else { Kind::ConfigMap }
}

/// The parameters that matter here.
struct Query {
    read: Read,
    fields: Vec<(String, String)>,
    has_unequal: bool,
    has_labels: bool,
}

impl Query {
    fn read(query: &str) -> Self {
        let pairs: Vec<(String, String)> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect();
        let value =
            |name: &str| pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let is = |name: &str| matches!(value(name), Some("true" | "1"));
        let selector = value("fieldSelector").unwrap_or_default();
        let terms = selector.split(',').filter(|term| !term.is_empty());
        let fields = terms.clone().filter(|term| !term.contains("!=")).filter_map(|term| {
            let (name, value) = term.split_once("==").or_else(|| term.split_once('='))?;
            Some((name.to_owned(), value.to_owned()))
        });
        let watch = || Watch {
            after: value("resourceVersion")
                .filter(|version| !version.is_empty() && *version != "0")
                .map(str::to_owned),
            tells_when_complete: is("sendInitialEvents"),
            bookmarks: is("allowWatchBookmarks"),
            timeout: value("timeoutSeconds")
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds| *seconds > 0),
        };
        Self {
            read: if is("watch") { Read::Watch(watch()) } else { Read::List },
            fields: fields.collect(),
            has_unequal: terms.clone().any(|term| term.contains("!=")),
            has_labels: value("labelSelector").is_some_and(|selector| !selector.is_empty()),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
