//! `safepoint agent install` and `uninstall` on a real kubelet with real containers, and what is deployed beside them on a
//! real API server. Only systemd is played: see `systemd.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and is supervised by nobody"
)]

mod install {
    mod chart;
    mod dry_run;
    mod kubelet;
    mod rights;
    mod systemd;
}
