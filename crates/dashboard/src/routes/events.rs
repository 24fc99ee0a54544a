//! Events as a person may see them: the newest of all that the cluster lists, which it does by name and not by time.

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, ObjectList};

use crate::people::Person;
use crate::view::log::Told;

/// So many are read at once.
const LIMIT: u32 = 500;

/// What was read.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Heard {
    /// The newest first, and no more than are shown.
    pub(crate) newest: Vec<Told>,
    /// How many were read.
    pub(crate) read: usize,
    /// The cluster has more, which were not read and may be newer.
    pub(crate) is_cut: bool,
}

// === impl Heard ===

impl Heard {
    fn take(&mut self, more: impl IntoIterator<Item = Told>) {
        let before = self.newest.len();
        self.newest.extend(more);
        self.read += self.newest.len() - before;
        self.newest = Told::newest(std::mem::take(&mut self.newest));
    }

    /// Several as one.
    pub(crate) fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, next| {
            let read = sum.read + next.read;
            sum.take(next.newest);
            Self { read, is_cut: sum.is_cut || next.is_cut, ..sum }
        })
    }
}

/// Reads them, in so many pages at most; `keep` says which. None if the person may not.
pub(crate) async fn events(
    person: &Person,
    namespace: Option<&str>,
    fields: &str,
    pages: usize,
    keep: impl Fn(&Told) -> bool,
) -> Option<Heard> {
    let api = match namespace {
        Some(namespace) => Api::<Event>::namespaced(person.client.clone(), namespace),
        None => Api::<Event>::all(person.client.clone()),
    };
    let how = ListParams::default().fields(fields).limit(LIMIT);
    let list = move |token: Option<String>| {
        let (api, mut how) = (api.clone(), how.clone());
        how.continue_token = token;
        async move { api.list(&how).await.ok() }
    };
    gather(list, pages, keep).await
}

/// Follows the pages of a list. One that cannot be read ends it; if it is the first, there is nothing.
async fn gather<F: Future<Output = Option<ObjectList<Event>>>>(
    list: impl Fn(Option<String>) -> F,
    pages: usize,
    keep: impl Fn(&Told) -> bool,
) -> Option<Heard> {
    let mut heard = Heard::default();
    let mut token = None;
    for number in 0..pages {
        let Some(page) = list(token.take()).await else {
            heard.is_cut = true;
            return (number > 0).then_some(heard);
        };
        heard.take(page.items.into_iter().map(Told::of).filter(&keep));
        token = page.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Some(heard);
        }
    }
    heard.is_cut = true;
    Some(heard)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::log::MOST;

    /// A page of events, the newest at the end of the last page.
    fn page(number: usize, of: usize) -> ObjectList<Event> {
        let event = |second: usize| {
            let at = format!("2026-11-16T12:{:02}:{:02}Z", second / 60, second % 60);
            json!({"metadata": {"name": format!("e{second}")}, "involvedObject": {"name": format!("pod-{second}")},
                "lastTimestamp": at})
        };
        let items: Vec<_> = (number * 150..(number + 1) * 150).map(event).collect();
        let next = if number + 1 < of { (number + 1).to_string() } else { String::new() };
        serde_json::from_value(json!({"metadata": {"continue": next}, "items": items})).unwrap()
    }

    async fn read(of: usize, pages: usize, fails_at: Option<usize>) -> Option<Heard> {
        let list = |token: Option<String>| {
            let number = token.map_or(0, |token| token.parse().unwrap());
            std::future::ready((Some(number) != fails_at).then(|| page(number, of)))
        };
        gather(list, pages, |_| true).await
    }

    #[tokio::test]
    async fn the_newest_are_kept_wherever_in_the_list_they_are() {
        let heard = read(4, 4, None).await.unwrap();
        assert_eq!((heard.newest.len(), heard.read, heard.is_cut), (MOST, 600, false));
        assert_eq!(heard.newest[0].name, "pod-599");
    }

    #[tokio::test]
    async fn a_list_that_goes_on_is_said_to_go_on() {
        let heard = read(4, 2, None).await.unwrap();
        assert_eq!((heard.newest[0].name.as_str(), heard.read, heard.is_cut), ("pod-299", 300, true));
        let broken = read(4, 4, Some(1)).await.unwrap();
        assert_eq!((broken.read, broken.is_cut), (150, true), "what was read is shown");
        assert_eq!(read(4, 4, Some(0)).await, None);
    }

    #[tokio::test]
    async fn what_several_have_told_is_one_list() {
        let one = read(1, 1, None).await.unwrap();
        let other = read(4, 2, None).await.unwrap();
        let both = Heard::of_all([one, other]);
        assert_eq!((both.newest.len(), both.read, both.is_cut), (MOST, 450, true));
    }
}
