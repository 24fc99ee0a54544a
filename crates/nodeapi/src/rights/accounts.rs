//! The machine's own list of users and groups.
//!
//! Read from the files, and not through the C library: the binary is static, and what a network directory adds is not there
//! when a robot starts offline. A user that only such a directory knows is shown by uid and is a member of what its
//! process says.

use std::path::Path;

/// The list of users.
pub(crate) const USERS: &str = "/etc/passwd";
/// The list of groups.
pub(crate) const GROUPS: &str = "/etc/group";

/// A user: name, and primary group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) gid: u32,
}

/// The user with this uid.
pub(crate) fn user_of(users: &Path, uid: u32) -> Option<User> {
    let text = std::fs::read_to_string(users).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let found = id.parse() == Ok(uid) && !name.is_empty();
        found.then(|| gid.parse().ok()).flatten().map(|gid| User { name: name.to_owned(), gid })
    })
}

/// The id of the group with this name.
pub(crate) fn gid_of(groups: &Path, name: &str) -> Option<u32> {
    let text = std::fs::read_to_string(groups).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (group, _, gid) = (fields.next()?, fields.next()?, fields.next()?);
        (group == name).then(|| gid.parse().ok()).flatten()
    })
}

/// The groups that list a user as a member, after the primary one.
pub(crate) fn groups_of(groups: &Path, user: &User) -> Vec<u32> {
    let text = std::fs::read_to_string(groups).unwrap_or_default();
    let listed = text.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let (gid, members) = (fields.next()?, fields.next()?);
        members.split(',').any(|member| member == user.name).then(|| gid.parse().ok()).flatten()
    });
    std::iter::once(user.gid).chain(listed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_are_found_in_the_files_and_broken_lines_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (users, groups) = (folder.path().join("passwd"), folder.path().join("group"));
        std::fs::write(
            &users,
            "root:x:0:0::/:/bin/sh\nbroken\n:x:1000:1::/:\nrover:x:1000:1000::/:/bin/sh\n",
        )
        .unwrap();
        std::fs::write(&groups, "root:x:0:\nhalf:x\nsafepoint:x:44:nobody,rover\nvideo:x:45:roverx\n")
            .unwrap();
        let rover = user_of(&users, 1000).unwrap();
        assert_eq!(rover, User { name: "rover".to_owned(), gid: 1000 });
        assert_eq!(groups_of(&groups, &rover), [1000, 44]);
        assert_eq!(gid_of(&groups, "safepoint"), Some(44));
        assert_eq!((gid_of(&groups, "nobody"), user_of(&users, 7)), (None, None));
    }
}
