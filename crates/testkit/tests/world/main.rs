//! A node with real containers, tried: what a kubelet does is seen at the runtime, everything can be ended and comes
//! back, and nothing is left.
//!
//! Most tests take turns with one world. Each keeps to a namespace of its own, and leaves the world with every part
//! running.

mod away;
mod killed;
mod node;
mod support;
mod two;
