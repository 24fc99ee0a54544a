//! Who is at the other end of a connection, as the kernel tells it.
//!
//! Both are looked up when the connection is accepted, once. Of a unix socket the kernel keeps uid, gid and pid of the
//! moment of `connect`; the supplementary groups are read from `/proc` and count only if that process still belongs to the
//! same user, because a pid may have been given to somebody else since. Of a connection over loopback the owner of the
//! other end stands in the kernel's table of connections; a row counts only while it is established and belongs to an
//! open socket, because the kernel shows uid 0 for what nobody owns any more.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use tokio::net::UnixStream;

use super::accounts::{self, GROUPS, USERS};
use crate::caller::{Credentials, Peer};

/// The state of a connection that both ends have open.
const ESTABLISHED: &str = "01";

/// Who connected to the unix socket.
pub(crate) fn of_unix(stream: &UnixStream) -> Peer {
    let Ok(credentials) = stream.peer_cred() else { return Peer::Unknown };
    let (uid, gid, pid) = (credentials.uid(), credentials.gid(), credentials.pid());
    let status = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/status")).ok());
    let supplementary = status.map(|status| groups_in(&status, uid)).unwrap_or_default();
    let user = accounts::user_of(Path::new(USERS), uid).map(|user| user.name.into());
    let groups = std::iter::once(gid).chain(supplementary).collect();
    Peer::Known(Credentials { uid, groups, pid, user })
}

/// Who connected to a loopback port of ours.
pub(crate) fn of_tcp(ours: SocketAddr, theirs: SocketAddr) -> Peer {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let Some(uid) = tables.iter().find_map(|table| owner_in(table, theirs, ours)) else {
        return Peer::Unknown;
    };
    let user = accounts::user_of(Path::new(USERS), uid);
    let groups = user.as_ref().map(|user| accounts::groups_of(Path::new(GROUPS), user)).unwrap_or_default();
    Peer::Known(Credentials { uid, groups, pid: None, user: user.map(|user| user.name.into()) })
}

/// The supplementary groups in `/proc/PID/status`, if the process is still of this user.
fn groups_in(status: &str, uid: u32) -> Vec<u32> {
    let numbers = |field: &str| -> Vec<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap_or_default().split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    // Real, effective, saved, file system: `connect` recorded the effective one.
    match numbers("Uid:").get(1) {
        Some(effective) if *effective == uid => numbers("Groups:"),
        _ => Vec::new(),
    }
}

/// The uid of the socket at `local` that is connected to `remote`.
fn owner_in(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (at, to, state) = (fields.next()?, fields.next()?, fields.next()?);
        if state != ESTABLISHED || address(at)? != local || address(to)? != remote {
            return None;
        }
        // Queues, timer and retransmits come between.
        let mut fields = fields.skip(3);
        let (uid, _timeout, inode) = (fields.next()?, fields.next()?, fields.next()?);
        (inode != "0").then(|| uid.parse().ok()).flatten()
    })
}

/// Reads `0100007F:2936`. The kernel prints each four bytes of an address as one number of the machine's own byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words: Option<Vec<u8>> = (0..ip.len() / 8)
        .map(|word| u32::from_str_radix(ip.get(word * 8..word * 8 + 8)?, 16).ok())
        .map(|word| word.map(u32::to_ne_bytes))
        .collect::<Option<Vec<_>>>()
        .map(|words| words.concat());
    let words = words?;
    let ip = match (<[u8; 4]>::try_from(&*words), <[u8; 16]>::try_from(&*words)) {
        (Ok(four), _) => IpAddr::V4(Ipv4Addr::from(four)),
        // A client may reach an IPv4 port through a socket of IPv6.
        (_, Ok(sixteen)) => IpAddr::from(sixteen).to_canonical(),
        (Err(_), Err(_)) => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2936 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20741 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:2936 01 00000000:00000000 00:00000000 00000000  1000        0 24680 1 0 20 4 30 10 -1
   2: 0100007F:C351 0100007F:2936 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
   3: 0100007F:C352 0100007F:2936 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
";

    fn loopback(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_owner_of_a_connection_is_found_by_its_two_ends() {
        assert_eq!(owner_in(TABLE, loopback(50000), loopback(10550)), Some(1000));
        assert_eq!(owner_in(TABLE, loopback(50009), loopback(10550)), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn what_nobody_owns_any_more_does_not_count_as_root() {
        assert_eq!(owner_in(TABLE, loopback(50001), loopback(10550)), None, "waits for its end");
        assert_eq!(owner_in(TABLE, loopback(50002), loopback(10550)), None, "has no socket");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn an_ipv4_address_in_the_table_of_ipv6_is_the_same_address() {
        assert_eq!(address("0000000000000000FFFF00000100007F:2936"), Some(loopback(10550)));
        assert_eq!(address("00000000000000000000000001000000:0050"), Some("[::1]:80".parse().unwrap()));
        assert_eq!(address("nonsense"), None);
        assert_eq!(address("0100007F"), None);
        assert_eq!(address("öööö:1"), None);
    }

    #[test]
    fn groups_count_only_while_the_process_is_of_the_same_user() {
        let status =
            "Name:\tsh\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t44 1000 \n";
        assert_eq!(groups_in(status, 1000), [44, 1000]);
        assert!(groups_in(status, 1001).is_empty());
        assert!(groups_in("", 0).is_empty());
    }
}
