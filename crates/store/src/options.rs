//! How much the store may keep, and what it reads out of objects.

use crate::object::{Tags, TagsFn};

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Memory for pages of the file. Objects are in memory anyway; this only serves writes and the opening.
    pub cache_bytes: usize,
    /// How many past events are kept for watches that resume and listings of the past.
    pub ring_events: usize,
    /// How many bytes of object text those events may hold.
    pub ring_bytes: usize,
    /// How many events may wait in one watch before it counts as lagging.
    pub queue_events: usize,
    /// How many bytes of object text may wait in one watch before it counts as lagging.
    pub queue_bytes: usize,
    /// Reads the tags of an object.
    pub tags: TagsFn,
    /// `(collection, field)` pairs by which listings are looked up instead of searched.
    pub indexed: &'static [(&'static str, &'static str)],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 16 << 20,
            ring_events: 10_000,
            ring_bytes: 32 << 20,
            queue_events: 4_096,
            queue_bytes: 8 << 20,
            tags: Tags::of_metadata,
            indexed: &[],
        }
    }
}
