//! Who may change anything.
//!
//! Reading is for whoever can open the socket; its mode and group decide that. Changing is for root, for the user that the
//! agent runs as, and for members of one group that the operator names. A manifest for a static pod is different: its pod can
//! be made root on this machine, so the group, which may only decide when, does not bring one. The kernel says who calls: on the unix socket by
//! the peer's credentials, on the loopback ports of [`compat`](crate::compat) by the owner of the connection's other end.
//! Whoever the kernel does not name changes nothing.

pub(crate) mod accounts;
pub(crate) mod peer;

use std::path::Path;

use crate::caller::{Credentials, Peer};

/// Who may change anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rights {
    agent: u32,
    group: Option<Group>,
}

/// A group of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) gid: u32,
}

/// The configured group is not in the machine's list of groups.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "there is no group {0} on this machine: create it with `groupadd --system {0}`, or configure another"
)]
pub struct UnknownGroup(pub String);

/// Somebody may not change anything.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{who} may not {what} here: call as root, as the agent's user (uid {agent}){group}")]
pub struct Denied {
    who: String,
    what: &'static str,
    agent: u32,
    group: String,
}

// === impl Rights ===

impl Rights {
    /// Root, the user of this process, and members of this group, if one is named.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn new(group: Option<&str>) -> Result<Self, UnknownGroup> {
        let group = match group {
            None => None,
            Some(name) => {
                let gid = accounts::gid_of(Path::new(accounts::GROUPS), name);
                let gid = gid.ok_or_else(|| UnknownGroup(name.to_owned()))?;
                Some(Group { name: name.to_owned(), gid })
            }
        };
        Ok(Self { agent: rustix::process::geteuid().as_raw(), group })
    }

    /// Who calls, if they may change something.
    ///
    /// # Errors
    /// If they may not.
    pub fn allow<'a>(&self, peer: &'a Peer) -> Result<&'a Credentials, Denied> {
        let member =
            |known: &Credentials| self.group.as_ref().is_some_and(|group| known.groups.contains(&group.gid));
        match peer {
            Peer::Known(known) if known.uid == 0 || known.uid == self.agent || member(known) => Ok(known),
            Peer::Known(known) => Err(self.denied(known.caller(None).holder.name.to_string())),
            Peer::Unknown => Err(self.denied("a caller that the kernel does not name".to_owned())),
        }
    }

    /// Who calls, if they may bring a manifest.
    ///
    /// # Errors
    /// If they may not.
    pub fn allow_manifests<'a>(&self, peer: &'a Peer) -> Result<&'a Credentials, Denied> {
        let known = self.allow(peer)?;
        if known.uid == 0 || known.uid == self.agent {
            return Ok(known);
        }
        let denied = self.denied(known.caller(None).holder.name.to_string());
        let what = "bring a manifest, which can do anything to this machine,";
        Err(Denied { what, group: String::new(), ..denied })
    }

    pub(crate) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    fn denied(&self, who: String) -> Denied {
        let group = self.group.as_ref();
        let group =
            group.map_or_else(String::new, |group| format!(", or as a member of group {}", group.name));
        tracing::info!(%who, "refusing to change anything");
        Denied { who, what: "change anything", agent: self.agent, group }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights() -> Rights {
        Rights { agent: 990, group: Some(Group { name: "safepoint".to_owned(), gid: 44 }) }
    }

    fn somebody(uid: u32, groups: &[u32]) -> Peer {
        Peer::Known(Credentials { uid, groups: groups.to_vec(), pid: Some(1), user: None })
    }

    #[test]
    fn root_the_agents_own_user_and_members_of_the_group_may_change_things() {
        for peer in
            [somebody(0, &[0]), somebody(990, &[990]), somebody(1000, &[1000, 44]), somebody(1000, &[44])]
        {
            assert!(rights().allow(&peer).is_ok(), "{peer:?}");
        }
    }

    #[test]
    fn everybody_else_is_told_what_it_takes() {
        assert_eq!(
            rights().allow(&somebody(1000, &[1000])).unwrap_err().to_string(),
            "uid 1000 may not change anything here: call as root, as the agent's user (uid 990), or as a member of group \
             safepoint"
        );
        assert_eq!(
            Rights { group: None, ..rights() }.allow(&Peer::Unknown).unwrap_err().to_string(),
            "a caller that the kernel does not name may not change anything here: call as root, as the agent's user (uid \
             990)"
        );
    }

    /// A member of the group could otherwise run anything as root.
    #[test]
    fn a_manifest_is_brought_by_root_or_the_agents_own_user_alone() {
        for peer in [somebody(0, &[0]), somebody(990, &[990])] {
            assert!(rights().allow_manifests(&peer).is_ok(), "{peer:?}");
        }
        assert_eq!(
            rights().allow_manifests(&somebody(1000, &[44])).unwrap_err().to_string(),
            "uid 1000 may not bring a manifest, which can do anything to this machine, here: call as root, as the agent's \
             user (uid 990)"
        );
        assert!(rights().allow_manifests(&somebody(1000, &[1000])).is_err());
    }

    #[test]
    fn a_group_that_does_not_exist_is_an_error_and_not_nobody() {
        let unknown = Rights::new(Some("no-such-group-here")).unwrap_err();
        assert_eq!(unknown, UnknownGroup("no-such-group-here".to_owned()));
    }
}
