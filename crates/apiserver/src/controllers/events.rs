//! Events are news: after an hour they are gone, as in Kubernetes.

use jiff::{SignedDuration, Timestamp};
use safepoint_store::WriteError;
use serde_json::Value;

use super::everything;
use crate::api::Api;
use crate::kinds::text;
use crate::registry::Registry;
use crate::verbs::{Deletion, delete_as_server};

/// How long an event is kept after it was last seen.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// Deletes old events.
pub(super) async fn forget_old(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let Some(events) = registry.find("", "v1", "events") else { return Ok(()) };
    let Ok(oldest) = api.0.clock.now().checked_sub(KEPT) else { return Ok(()) };
    for object in everything(api, &events.collection) {
        let event: Value = serde_json::from_slice(&object.json).unwrap_or_default();
        if last_seen(&event).is_some_and(|seen| seen < oldest) {
            delete_as_server(api, &events, &object.key, &Deletion::of(&object)).await?;
        }
    }
    Ok(())
}

/// When an event was seen last; `None` if it does not say, and then it is kept.
fn last_seen(event: &Value) -> Option<Timestamp> {
    ["/metadata/creationTimestamp", "/lastTimestamp", "/eventTime", "/series/lastObservedTime"]
        .into_iter()
        .filter_map(|path| text(event, path).parse().ok())
        .max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::last_seen;

    #[test]
    fn an_event_that_is_seen_again_is_young() {
        let event = json!({
            "metadata": { "creationTimestamp": "2026-01-01T00:00:00Z" },
            "series": { "lastObservedTime": "2026-01-01T05:00:00.000000Z" },
        });
        assert_eq!(last_seen(&event), "2026-01-01T05:00:00Z".parse().ok());
        assert_eq!(last_seen(&json!({})), None);
    }
}
