//! The dashboard in a real browser, served by the program as it is shipped, with a real agent behind it.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and is supervised by nobody"
)]

mod browser {
    mod access;
    mod acts;
    mod driver;
    mod fleet;
    mod node;
    mod wire;
    mod world;
}
