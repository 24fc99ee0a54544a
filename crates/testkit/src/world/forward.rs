//! A way into a world's network from outside: a port on this machine's loopback that leads to one in there.
//!
//! A socket belongs to the network in which it was made, and not to the thread that uses it. So only the call into the
//! world is made in there.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, Result};

use crate::place::Place;

/// Opens the way, and returns the port outside. It is open until the process ends; what has nobody at its other end is
/// closed.
pub(crate) fn open(place: Place, port: u16) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    let outside = listener.local_addr().context("cannot find a free port")?.port();
    spawn(move || {
        for outer in listener.incoming().map_while(Result::ok) {
            let inner = place.within(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
            if let Ok(Ok(inner)) = inner {
                join(outer, inner);
            }
        }
    });
    Ok(outside)
}

/// Copies both ways. The end of one way is passed on, and leaves the other as it is.
fn join(outer: TcpStream, inner: TcpStream) {
    let (Ok(outer_too), Ok(inner_too)) = (outer.try_clone(), inner.try_clone()) else { return };
    spawn(move || copy(&outer, &inner));
    spawn(move || copy(&inner_too, &outer_too));
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // A connection that breaks is for its two ends to notice.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[expect(clippy::disallowed_methods, reason = "a thread that only copies needs nobody to look after it")]
fn spawn(work: impl FnOnce() + Send + 'static) {
    thread::spawn(work);
}
