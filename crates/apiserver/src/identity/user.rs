//! Who asks.
//!
//! There are three kinds of users: the admin, nodes and service accounts. Everybody else is nobody and gets 401.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::service_account::Claims;

/// May do everything.
pub(super) const MASTERS: &str = "system:masters";
/// Everybody who has shown a token that is good.
pub(super) const AUTHENTICATED: &str = "system:authenticated";
/// Whoever an admin acts as may also be nobody.
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(super) const ANONYMOUS: &str = "system:anonymous";
const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Who asks, in the words of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// For example `kubernetes-admin`, `system:node:rover-7` or `system:serviceaccount:default:builder`.
    pub name: String,
    /// Tells two users of the same name apart. Service accounts have one.
    pub uid: Option<String>,
    /// What the user may do follows from these.
    pub groups: Vec<String>,
    /// What else is known, for webhooks and reviews. Tokens of service accounts say for which pod they were made.
    pub extra: BTreeMap<String, Vec<String>>,
}

// === impl User ===

impl User {
    /// The one who may do everything.
    pub fn admin() -> Self {
        Self::named("kubernetes-admin", [MASTERS, AUTHENTICATED])
    }

    /// The kubelet or the agent of a node.
    pub fn of_node(node: &str) -> Self {
        Self::named(&format!("{NODE_PREFIX}{node}"), [NODES, AUTHENTICATED])
    }

    /// The holder of a service account's token that has been verified.
    pub(super) fn of_service_account(claims: &Claims) -> Self {
        let bound = &claims.kubernetes;
        let mut user = Self::named(&claims.sub, []);
        user.uid = Some(bound.serviceaccount.uid.clone());
        user.groups = service_account_groups(&bound.namespace).into();
        user.groups.push(AUTHENTICATED.into());
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.into()]);
            }
        };
        add("credential-id", &format!("JTI={}", claims.jti));
        if let Some(pod) = &bound.pod {
            add("pod-name", &pod.name);
            add("pod-uid", &pod.uid);
        }
        if let Some(node) = &bound.node {
            add("node-name", &node.name);
            add("node-uid", &node.uid);
        }
        user
    }

    fn named<const N: usize>(name: &str, groups: [&str; N]) -> Self {
        Self { name: name.into(), groups: groups.map(String::from).into(), ..Self::default() }
    }

    /// Whether the user belongs to this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Which node the user is, if it is one. The name alone does not make a node.
    pub(crate) fn node(&self) -> Option<&str> {
        let node = self.name.strip_prefix(NODE_PREFIX).filter(|node| !node.is_empty());
        node.filter(|_| self.is_in(NODES))
    }

    /// The user as `UserInfo`, as reviews and webhooks see it.
    pub fn to_user_info(&self) -> Value {
        let mut info = json!({ "username": self.name });
        if let Some(uid) = &self.uid {
            info["uid"] = json!(uid);
        }
        if !self.groups.is_empty() {
            info["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The name of a service account as a user.
pub(super) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups that follow from the namespace of a service account.
pub(super) fn service_account_groups(namespace: &str) -> [String; 2] {
    [SERVICE_ACCOUNTS.into(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
}

/// The namespace and the name of a service account, if the user's name is that of one.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_needs_the_name_and_the_group() {
        assert_eq!(User::of_node("rover-7").node(), Some("rover-7"));
        assert_eq!(User::named("system:node:rover-7", [AUTHENTICATED]).node(), None);
        assert_eq!(User::named("rover-7", [NODES]).node(), None);
        assert_eq!(User::of_node("").node(), None);
        assert_eq!(User::admin().node(), None);
    }

    #[test]
    fn user_info_leaves_out_what_is_not_known() {
        let groups = json!(["system:masters", "system:authenticated"]);
        assert_eq!(User::admin().to_user_info(), json!({ "username": "kubernetes-admin", "groups": groups }));

        let mut user = User::named("x", []);
        user.uid = Some("7".into());
        user.extra.insert("k".into(), vec!["v".into()]);
        assert_eq!(user.to_user_info(), json!({ "username": "x", "uid": "7", "extra": { "k": ["v"] } }));
    }

    #[test]
    fn the_name_of_a_service_account_is_read_back() {
        assert_eq!(service_account(&service_account_name("ns", "sa")), Some(("ns", "sa")));
        for other in
            ["system:serviceaccount:ns", "system:serviceaccount::sa", "system:serviceaccount:a:b:c", "ns:sa"]
        {
            assert_eq!(service_account(other), None, "{other}");
        }
    }
}
