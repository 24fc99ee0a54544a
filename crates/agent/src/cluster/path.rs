//! Where things are in the API, and how one asks for some of them.

use std::fmt::Write;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What must not stand in a path segment or a query value as it is.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b'/')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// A collection, an object or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Resource {
    path: String,
}

/// Which objects.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Query {
    fields: Option<String>,
}

// === impl Resource ===

impl Resource {
    /// A collection of the core group, in all namespaces.
    pub(crate) fn core(plural: &str) -> Self {
        Self { path: format!("/api/v1/{plural}") }
    }

    /// A collection of the core group in one namespace.
    pub(crate) fn core_in(namespace: &str, plural: &str) -> Self {
        Self { path: format!("/api/v1/namespaces/{}/{plural}", escape(namespace)) }
    }

    /// A collection of another group that has no namespaces.
    pub(crate) fn of_group(group: &str, version: &str, plural: &str) -> Self {
        Self { path: format!("/apis/{group}/{version}/{plural}") }
    }

    /// A collection of another group in one namespace.
    pub(crate) fn of_group_in(group: &str, version: &str, namespace: &str, plural: &str) -> Self {
        Self { path: format!("/apis/{group}/{version}/namespaces/{}/{plural}", escape(namespace)) }
    }

    /// One of this collection.
    #[must_use]
    pub(crate) fn named(&self, name: &str) -> Self {
        Self { path: format!("{}/{}", self.path, escape(name)) }
    }

    /// A subresource of this object.
    #[must_use]
    pub(crate) fn part(&self, part: &str) -> Self {
        self.named(part)
    }

    pub(super) fn path(&self) -> String {
        self.path.clone()
    }
}

// === impl Query ===

impl Query {
    /// Only those with this value in a field.
    pub(crate) fn field(name: &str, value: &str) -> Self {
        Self { fields: Some(format!("{name}={value}")) }
    }

    /// Only those with another value in a field.
    pub(crate) fn unequal_field(name: &str, value: &str) -> Self {
        Self { fields: Some(format!("{name}!={value}")) }
    }

    pub(super) fn page(&self, limit: usize, next: Option<&str>) -> String {
        let mut text = format!("limit={limit}");
        self.select(&mut text);
        if let Some(next) = next {
            let _ = write!(text, "&continue={}", escape(next));
        }
        text
    }

    pub(super) fn watch(&self, after: &str) -> String {
        let mut text = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}");
        self.select(&mut text);
        let _ = write!(text, "&resourceVersion={}", escape(after));
        text
    }

    fn select(&self, text: &mut String) {
        if let Some(fields) = &self.fields {
            let _ = write!(text, "&fieldSelector={}", escape(fields));
        }
    }
}

/// The server ends a watch after this long, and it is begun anew from where it was.
pub(super) const WATCH_SECONDS: u64 = 300;

fn escape(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        let resource = Resource::core_in("a/b", "pods").named("../x?y").part("status");
        assert_eq!(resource.path(), "/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy/status");
    }

    #[test]
    fn a_page_and_a_watch_select_the_same() {
        let query = Query::field("spec.nodeName", "rover-7");
        assert_eq!(
            query.page(5, Some("a+b")),
            "limit=5&fieldSelector=spec.nodeName%3Drover-7&continue=a%2Bb"
        );
        assert!(query.watch("12").ends_with("&fieldSelector=spec.nodeName%3Drover-7&resourceVersion=12"));
    }
}
