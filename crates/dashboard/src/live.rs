//! Which pieces of a page are sent again.
//!
//! A page is made of pieces with ids. A piece may have parts, the rows of a table: as long as the same rows are there in the same
//! order, only those are sent that have changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use maud::{Markup, PreEscaped, Render};

/// A part of a page that may change while somebody looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// That of its outermost element.
    pub(crate) id: String,
    pub(crate) html: String,
    /// The parts that are in `html` too, by id and in order.
    pub(crate) parts: Vec<(String, String)>,
    /// What of the piece is not in its parts, where it has parts.
    rest: String,
}

/// What somebody has on the screen.
#[derive(Default)]
pub(crate) struct Shown {
    pieces: HashMap<String, u64>,
    parts: HashMap<String, u64>,
}

// === impl Piece ===

impl Piece {
    /// A piece without parts.
    pub(crate) fn new(id: impl Into<String>, html: Markup) -> Self {
        Self { id: id.into(), html: html.into_string(), parts: Vec::new(), rest: String::new() }
    }

    /// A piece with parts. `frame` puts them into the piece.
    pub(crate) fn of_parts(
        id: impl Into<String>,
        parts: Vec<(String, Markup)>,
        frame: impl Fn(Markup) -> Markup,
    ) -> Self {
        let parts: Vec<(String, String)> =
            parts.into_iter().map(|(id, html)| (id, html.into_string())).collect();
        let all: String = parts.iter().map(|(_, html)| html.as_str()).collect();
        let rest = frame(PreEscaped(String::new())).into_string();
        Self { id: id.into(), html: frame(PreEscaped(all)).into_string(), parts, rest }
    }
}

impl Render for Piece {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&self.html);
    }
}

// === impl Shown ===

impl Shown {
    /// What has to be sent so that these are shown.
    pub(crate) fn update<'a>(&mut self, pieces: &'a [Piece]) -> Vec<&'a str> {
        let mut send = Vec::new();
        for piece in pieces {
            let shape = match piece.parts.is_empty() {
                true => hash(&piece.html),
                false => hash(&(&piece.rest, piece.parts.iter().map(|(id, _)| id).collect::<Vec<_>>())),
            };
            let same = self.pieces.insert(piece.id.clone(), shape) == Some(shape);
            if !same {
                send.push(piece.html.as_str());
            }
            for (id, html) in &piece.parts {
                let changed = self.parts.insert(id.clone(), hash(html)) != Some(hash(html));
                if same && changed {
                    send.push(html);
                }
            }
        }
        send
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    fn table(rows: &[(&str, &str)]) -> Piece {
        let parts =
            rows.iter().map(|(id, text)| ((*id).to_owned(), html! { tr id=(id) { (text) } })).collect();
        Piece::of_parts("table", parts, |rows| html! { table id="table" { (rows) } })
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let mut shown = Shown::default();
        let news = Piece::new("news", html! { p id="news" { "calm" } });
        let first = [news.clone(), table(&[("a", "open"), ("b", "open")])];
        assert_eq!(shown.update(&first).len(), 2, "at first everything");
        assert!(shown.update(&first).is_empty());

        let second = [news.clone(), table(&[("a", "open"), ("b", "frozen")])];
        assert_eq!(shown.update(&second), [r#"<tr id="b">frozen</tr>"#]);

        let third = [news, table(&[("b", "frozen"), ("a", "open")])];
        let sent = shown.update(&third);
        assert!(
            sent.len() == 1 && sent[0].starts_with("<table"),
            "rows that move are sent as a whole: {sent:?}"
        );
        assert!(shown.update(&third).is_empty());
    }
}
