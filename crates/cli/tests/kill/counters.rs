//! Objects that every writer counts up: read, add one, write with the revision that was read.
//!
//! Of those who read the same revision one may write. So no number is written twice, and after a kill the counter shows
//! at least the highest number that was acknowledged.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::content::Kind;

/// How many there are: few, so that writers meet.
pub(crate) const COUNTERS: usize = 3;

/// What is known of all counters.
#[derive(Default)]
pub(crate) struct Counters(Mutex<[Known; COUNTERS]>);

#[derive(Default)]
struct Known {
    /// The numbers that were acknowledged or found after a kill.
    certain: BTreeSet<u64>,
    /// How many writes have no answer.
    in_flight: u64,
}

impl Counters {
    pub(crate) fn name(counter: usize) -> String {
        format!("counter-{counter}")
    }

    /// A counter that has counted nothing.
    pub(crate) fn zero(counter: usize) -> Value {
        json!({ "metadata": { "name": Counters::name(counter) }, "data": { "count": "0" } })
    }

    pub(crate) fn path(counter: usize) -> String {
        Kind::ConfigMap.path(&Counters::name(counter))
    }

    /// The counter, one further.
    pub(crate) fn next(mut object: Value) -> Result<(Value, u64)> {
        let next = count(&object)? + 1;
        object["data"]["count"] = next.to_string().into();
        Ok((object, next))
    }

    /// A write is on its way.
    pub(crate) fn begin(&self, counter: usize) {
        self.lock()[counter].in_flight += 1;
    }

    /// A write was refused, because another came first.
    pub(crate) fn refused(&self, counter: usize) {
        self.lock()[counter].in_flight -= 1;
    }

    /// A write was done.
    pub(crate) fn done(&self, counter: usize, number: u64) -> Result<()> {
        let mut known = self.lock();
        known[counter].in_flight -= 1;
        ensure!(
            known[counter].certain.insert(number),
            "counter {counter}: two writers were both told {number}"
        );
        Ok(())
    }

    /// Checks what a counter shows after a kill, and goes on from there.
    pub(crate) fn settle(&self, counter: usize, object: Option<&Value>) -> Result<()> {
        let found = count(object.with_context(|| format!("counter {counter} is gone"))?)?;
        let known = &mut self.lock()[counter];
        let certain = known.certain.last().copied().unwrap_or(0);
        ensure!(
            (certain..=certain + known.in_flight).contains(&found),
            "counter {counter} shows {found}; {certain} was certain and {} writes had no answer",
            known.in_flight
        );
        known.certain.insert(found);
        known.in_flight = 0;
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, [Known; COUNTERS]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(object: &Value) -> Result<u64> {
    let count = object.pointer("/data/count").and_then(Value::as_str);
    Ok(count.with_context(|| format!("no count in {object}"))?.parse()?)
}
