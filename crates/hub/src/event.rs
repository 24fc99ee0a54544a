//! The Events that the hub tells, each of them once.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, PostParams};

/// Who tells them.
const COMPONENT: &str = "safepoint-hub";
/// The longest message that an API server takes is a little longer.
const LONGEST: usize = 1_000;
/// So much of the object's name is in the Event's.
const SHOWN: usize = 200;

/// Something to be told about an object.
pub(crate) struct Told {
    pub(crate) about: ObjectReference,
    /// The same for the same story, so that a hub that is started again does not tell it again.
    pub(crate) story: String,
    pub(crate) reason: &'static str,
    pub(crate) warning: bool,
    pub(crate) text: String,
}

/// An object as Events speak of it.
pub(crate) fn about(
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    uid: &str,
) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

// === impl Told ===

impl Told {
    /// Tells it, unless it was told before. An error is a pity and nothing more: what is told is written elsewhere too.
    pub(crate) async fn tell(self, client: &Client, now: Timestamp) -> Result<(), kube::Error> {
        let namespace = self.about.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
        match api.create(&PostParams::default(), &self.event(now)).await {
            // It has been told before. A namespace that ends takes no more events.
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 409) => Ok(()),
            written => written.map(drop),
        }
    }

    fn event(self, now: Timestamp) -> Event {
        let Self { about, story, reason, warning, text } = self;
        let shown: String = about.name.iter().flat_map(|name| name.chars()).take(SHOWN).collect();
        let now = Time(now);
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{}.{story}", shown.trim_end_matches(['.', '-']))),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            involved_object: about,
            reason: Some(reason.to_owned()),
            type_: Some(if warning { "Warning" } else { "Normal" }.to_owned()),
            message: Some(text.chars().take(LONGEST).collect()),
            source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
            first_timestamp: Some(now.clone()),
            last_timestamp: Some(now),
            count: Some(1),
            ..Event::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_is_one_however_long_the_name_of_its_object_is() {
        let long = format!("{}.{}", "a".repeat(199), "b".repeat(50));
        let told = Told {
            about: about("v1", "Pod", "shop", &long, "u1"),
            story: "0123456789abcdef".to_owned(),
            reason: "Overdue",
            warning: true,
            text: "x".repeat(2 * LONGEST),
        };
        let event = told.event(Timestamp::UNIX_EPOCH);
        assert_eq!(event.metadata.name, Some(format!("{}.0123456789abcdef", "a".repeat(199))));
        assert_eq!((event.type_.as_deref(), event.message.unwrap().len()), (Some("Warning"), LONGEST));
    }
}
