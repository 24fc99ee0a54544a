//! Where the walk is.
//!
//! A path lives on the stack of the walk as a chain of steps and becomes text only when a problem is found. Kubernetes
//! writes the same place in two ways: its schema validator joins everything with dots, its other checks put map keys in
//! brackets.

use crate::problem::NO_PATH;

/// One step from a value into it.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

/// The steps from the root of the walk to a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Option<Step<'a>>,
    depth: u16,
}

// === impl Path ===

impl<'a> Path<'a> {
    /// Where the walk starts.
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: None, depth: 0 };

    fn child(&'a self, step: Step<'a>) -> Self {
        Self { parent: Some(self), step: Some(step), depth: self.depth.saturating_add(1) }
    }

    /// Into a declared property.
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        self.child(Step::Field(name))
    }

    /// Into an entry of a map.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        self.child(Step::Key(key))
    }

    /// Into an item of a list.
    pub(crate) fn index(&'a self, index: usize) -> Self {
        self.child(Step::Index(index))
    }

    /// How many steps lead here.
    pub(crate) fn depth(&self) -> u16 {
        self.depth
    }

    /// The name used in the texts of the schema validator: `spec.labels.app`.
    ///
    /// A map key gets its dot even at the root of the walk.
    pub(crate) fn dotted(&self) -> String {
        self.write(|out, step| match step {
            Step::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Key(key) => {
                out.push('.');
                out.push_str(key);
            }
            Step::Index(index) => push_bracketed(out, &index.to_string()),
        })
    }

    /// The path used by every other check: `spec.labels[app]`.
    pub(crate) fn bracketed(&self) -> String {
        self.write(|out, step| match step {
            Step::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Key(key) => push_bracketed(out, key),
            Step::Index(index) => push_bracketed(out, &index.to_string()),
        })
    }

    fn write(&self, push: impl Fn(&mut String, Step<'_>)) -> String {
        let mut steps = Vec::with_capacity(usize::from(self.depth));
        let mut here = Some(self);
        while let Some(path) = here {
            steps.extend(path.step);
            here = path.parent;
        }
        let mut out = String::new();
        for step in steps.into_iter().rev() {
            push(&mut out, step);
        }
        out
    }
}

fn push_bracketed(out: &mut String, text: &str) {
    out.push('[');
    out.push_str(text);
    out.push(']');
}

/// Where the walked value itself sits: nothing for an object, a path for a default inside a schema.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base<'a>(pub(crate) Option<&'a str>);

// === impl Base ===

impl Base<'_> {
    /// The full path of something below the base, given its own path.
    pub(crate) fn join(self, relative: &str) -> String {
        match self.0 {
            Some(base) if relative.starts_with('[') => format!("{base}{relative}"),
            _ => self.join_name(relative),
        }
    }

    /// The same for a name of the schema validator, which is a child even if it is a subscript.
    pub(crate) fn join_name(self, relative: &str) -> String {
        let relative = relative.strip_prefix('.').unwrap_or(relative);
        match (self.0, relative) {
            (None, "") => NO_PATH.to_owned(),
            (None, relative) => relative.to_owned(),
            (Some(base), "") => base.to_owned(),
            (Some(base), relative) => format!("{base}.{relative}"),
        }
    }

    /// The path of the walked value itself.
    pub(crate) fn itself(self) -> String {
        self.join("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_is_written_in_two_ways() {
        let spec = Path::ROOT.field("spec");
        let labels = spec.field("labels");
        let app = labels.key("app");
        let first = app.index(0);
        assert_eq!(first.dotted(), "spec.labels.app[0]");
        assert_eq!(first.bracketed(), "spec.labels[app][0]");
        assert_eq!(Base(None).join(&first.dotted()), "spec.labels.app[0]");
        assert_eq!(Base(Some("x.default")).join(&first.dotted()), "x.default.spec.labels.app[0]");
    }

    #[test]
    fn the_root_has_no_path_of_its_own() {
        assert_eq!(Base(None).itself(), "<nil>");
        assert_eq!(Path::ROOT.key("a").dotted(), ".a");
        assert_eq!(Base(None).join(".a"), "a");
    }
}
