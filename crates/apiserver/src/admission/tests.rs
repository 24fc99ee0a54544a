//! Hooks as a user of the API meets them, asked within the process and over TLS.

use super::{Hooks, Services, Warnings};

mod asking;
mod fixture;
mod mutating;
mod network;
mod trouble;
mod validating;

/// A handler of a server is moved between threads.
#[test]
fn asking_can_be_moved_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (hooks, services, mut warnings) = (Hooks::default(), Services::new(), Warnings::default());
    let mut attributes = fixture::creation();
    is_send(&hooks.validate(&attributes, &services, &mut warnings));
    is_send(&hooks.mutate(&mut attributes, &services, &mut warnings, |_| Ok(())));
}
