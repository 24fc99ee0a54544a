//! Who calls, and under which name the gate knows them.
//!
//! A hold is renewed by whoever took it, and a program that was restarted must find its hold again. So a holder's name
//! is made of what stays the same, and of nothing that a caller can make up:
//!
//! | body says | user | [`Holder::name`] |
//! |---|---|---|
//! | `"holder": "flight-control"` | `rover`, uid 1000 | `flight-control (uid 1000)` |
//! | nothing | `rover`, uid 1000 | `rover (uid 1000)` |
//! | nothing | unknown, uid 1000 | `uid 1000` |
//!
//! The uid is the kernel's word: nobody renews another user's hold by calling themselves the same. The pid is not part of
//! the name, because it changes with every start; it travels beside it, for the log ([`Caller::audit`]).

use std::fmt;

use safepoint_core::{Holder, Origin, Text};

/// Who is at the other end of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Peer {
    /// The kernel knows them.
    Known(Credentials),
    /// Nobody can tell. They may read what everybody on the socket may read, and change nothing.
    Unknown,
}

/// What the kernel says about a caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// The user.
    pub uid: u32,
    /// The groups of the process, the primary one first. Empty where they are not known.
    pub groups: Vec<u32>,
    /// The process, where it is known.
    pub pid: Option<i32>,
    /// The user's name, where there is one.
    pub user: Option<Text>,
}

/// Who asks for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// As whom the gate knows them.
    pub holder: Holder,
    /// The process that asked, where it is known. Not part of who they are.
    pub pid: Option<i32>,
}

// === impl Credentials ===

impl Credentials {
    /// The caller, under the name that they gave themselves, if any.
    #[must_use]
    pub fn caller(&self, name: Option<&str>) -> Caller {
        let name = match (name, self.user.as_deref()) {
            (Some(name), _) | (None, Some(name)) => format!("{name} (uid {})", self.uid),
            (None, None) => format!("uid {}", self.uid),
        };
        Caller { holder: Holder { name: name.into(), origin: Origin::Local }, pid: self.pid }
    }

    /// The user in a form that can be part of an id: `rover`, or `uid1000`.
    #[must_use]
    pub fn word(&self) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let user = self.user.as_deref().filter(|user| !user.is_empty() && user.chars().all(allowed));
        user.map_or_else(|| format!("uid{}", self.uid), |user| user.chars().take(32).collect())
    }
}

// === impl Caller ===

impl Caller {
    /// How the log names them: `flight-control (uid 1000, pid 4242)`.
    #[must_use]
    pub fn audit(&self) -> String {
        let name = &self.holder.name;
        match (self.pid, name.strip_suffix(')')) {
            (Some(pid), Some(open)) => format!("{open}, pid {pid})"),
            (Some(pid), None) => format!("{name} (pid {pid})"),
            (None, _) => name.to_string(),
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.audit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rover() -> Credentials {
        Credentials { uid: 1000, groups: vec![1000], pid: Some(4242), user: Some("rover".into()) }
    }

    #[test]
    fn a_name_holds_the_uid_and_never_the_pid() {
        assert_eq!(&*rover().caller(Some("flight-control")).holder.name, "flight-control (uid 1000)");
        assert_eq!(&*rover().caller(None).holder.name, "rover (uid 1000)");
        assert_eq!(&*Credentials { user: None, ..rover() }.caller(None).holder.name, "uid 1000");
    }

    #[test]
    fn the_log_says_which_process_it_was() {
        let nameless = Credentials { user: None, ..rover() };
        assert_eq!(rover().caller(Some("nav")).audit(), "nav (uid 1000, pid 4242)");
        assert_eq!(nameless.caller(None).audit(), "uid 1000 (pid 4242)");
        assert_eq!(Credentials { pid: None, ..rover() }.caller(None).audit(), "rover (uid 1000)");
    }

    #[test]
    fn a_strange_user_name_never_gets_into_an_id() {
        assert_eq!(rover().word(), "rover");
        assert_eq!(Credentials { user: Some("DOM\\rover".into()), ..rover() }.word(), "uid1000");
    }
}
