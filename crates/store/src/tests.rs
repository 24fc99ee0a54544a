//! The store as a whole, with doubles for the disk where the disk matters.

mod concurrent;
mod crash;
mod durable;
mod listing;
mod model;
mod opening;
mod support;
mod test_disk;
mod watching;
mod writing;
