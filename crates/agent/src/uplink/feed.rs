//! One collection, followed: listed, then watched, then listed again when the server has forgotten where we were.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use safepoint_machinery::EventType;
use serde_json::Value;

use crate::cluster::{CallError, Cluster, Query, Resource, Watch};

const FIRST_WAIT: Duration = Duration::from_millis(500);
/// A watch that ends before this has not worked.
const SHORT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What a feed has to tell.
#[derive(Debug)]
pub(crate) enum News {
    /// Everything there is. What is not in it is gone.
    Listed(Vec<Value>),
    /// It is there, and is now this.
    Changed(Value),
    /// It is gone; this is what it was.
    Gone(Value),
    /// The watch is open: from here on nothing is missed.
    Live,
    /// The server does not answer, or says no. It is tried again.
    Lost(CallError),
}

/// A collection and where we are in it.
pub(crate) struct Feed {
    cluster: Cluster,
    resource: Resource,
    query: Query,
    place: Place,
    failures: u32,
}

enum Place {
    Nowhere,
    /// Everything up to this version has been told.
    After(String),
    Watching(Box<Watch>, String),
}

// === impl Feed ===

impl Feed {
    pub(crate) fn new(cluster: Cluster, resource: Resource, query: Query) -> Self {
        Self { cluster, resource, query, place: Place::Nowhere, failures: 0 }
    }

    /// The next news. Never ends; after a failure it waits before it tries again. Not cancel safe: what it was about to
    /// tell is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> News {
        loop {
            if let Some(news) = self.advance().await {
                match news {
                    News::Lost(_) => self.failures = self.failures.saturating_add(1),
                    News::Changed(_) | News::Gone(_) => self.failures = 0,
                    // That it begins well is no proof: a server that ends every watch at once must not be asked in a loop.
                    News::Listed(_) | News::Live => {}
                }
                return news;
            }
        }
    }

    async fn advance(&mut self) -> Option<News> {
        match std::mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => {
                wait(self.failures).await;
                match self.cluster.list(&self.resource, &self.query).await {
                    Ok(list) => {
                        self.place = Place::After(list.version);
                        Some(News::Listed(list.items))
                    }
                    Err(error) => Some(News::Lost(error)),
                }
            }
            Place::After(version) => {
                wait(self.failures).await;
                match self.cluster.watch(&self.resource, &self.query, &version).await {
                    Ok(watch) => {
                        self.place = Place::Watching(Box::new(watch), version);
                        Some(News::Live)
                    }
                    // Too long ago: list again.
                    Err(error) if error.code() == Some(410) => {
                        self.failures = self.failures.saturating_add(1);
                        None
                    }
                    Err(error) => {
                        self.place = Place::After(version);
                        Some(News::Lost(error))
                    }
                }
            }
            Place::Watching(mut watch, version) => match watch.next().await {
                Ok(Some(event)) => {
                    let at = event.object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
                    let stay = |place: &mut Place| *place = Place::Watching(watch, at.unwrap_or(version));
                    match event.kind {
                        EventType::Added | EventType::Modified => {
                            stay(&mut self.place);
                            Some(News::Changed(event.object))
                        }
                        EventType::Deleted => {
                            stay(&mut self.place);
                            Some(News::Gone(event.object))
                        }
                        EventType::Bookmark => {
                            stay(&mut self.place);
                            self.failures = 0;
                            None
                        }
                        // Whatever it is, a list tells the truth. A server that goes on like this is not asked in a loop.
                        EventType::Error => {
                            let code = event.object["code"].as_u64();
                            self.failures = self.failures.saturating_add(u32::from(code == Some(410)));
                            (code != Some(410)).then(|| {
                                let message = event.object["message"].as_str().unwrap_or("the watch failed");
                                News::Lost(CallError::Garbled(message.to_owned()))
                            })
                        }
                    }
                }
                // The server ends a watch from time to time; that is no failure.
                Ok(None) => {
                    let short = watch.age() < SHORT;
                    self.failures = if short { self.failures.saturating_add(1) } else { 0 };
                    self.place = Place::After(version);
                    None
                }
                Err(error @ CallError::Garbled(_)) => Some(News::Lost(error)),
                Err(error) => {
                    self.place = Place::After(version);
                    Some(News::Lost(error))
                }
            },
        }
    }
}

async fn wait(failures: u32) {
    if failures > 0 {
        tokio::time::sleep(pause(failures)).await;
    }
}

/// How long to wait after so many failures: twice as long each time, and never the same for two nodes, which would
/// otherwise all come back in the same moment.
pub(crate) fn pause(failures: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_WAIT);
    let chance = RandomState::new().build_hasher().finish() % 1000;
    doubled.mul_f64(0.5 + chance as f64 / 2000.0)
}
