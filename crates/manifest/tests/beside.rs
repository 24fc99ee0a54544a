//! Static pods of a real kubelet on a real containerd: upgraded, rolled back, killed in between, and without a cluster.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod beside {
    mod kills;
    mod node;
    mod offline;
    mod sources;
    mod swaps;
}
