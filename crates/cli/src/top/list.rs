//! A list in sections, each a table with its own heading, of which a part is on the screen. Pure.
//!
//! Rows are made for what is on the screen and for nothing else: a fleet has ten thousand. The heading of the section in which
//! the screen begins is always its first line.

use std::sync::Arc;

use safepoint_api::node_gate::Change;

use super::text;
use crate::show::table::{Cell, Table};

/// What a row is about, by what names it: it is the same thing after everything around it has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// A held change. The stop of a pod and the start of its successor may share a name.
    Change {
        kind: String,
        namespace: String,
        name: String,
        change: Change,
    },
    Hold(String),
    Blocker(String),
    Grant(String),
    Module(String),
    Notice(u64),
    Line(u64),
    Machine(Arc<str>),
    RollOut(Arc<str>),
    /// Something to type.
    Command(String),
}

/// One line of a table.
pub(crate) struct Row {
    pub(crate) item: Item,
    pub(crate) cells: Vec<Cell>,
}

/// The rows of a section.
pub(crate) enum Rows<'a> {
    Made(Vec<Row>),
    /// Made when they are looked at.
    Asked {
        count: usize,
        item: Box<dyn Fn(usize) -> Item + 'a>,
        row: Box<dyn Fn(usize) -> Row + 'a>,
    },
}

/// A table within the list.
pub(crate) struct Section<'a> {
    /// What these are. It stands in the place of the first column's heading, which everybody knows.
    pub(crate) title: String,
    pub(crate) columns: Vec<&'static str>,
    /// The columns that are missed most come first: where there is no room, the last of these are left out.
    pub(crate) needed: &'static [&'static str],
    /// How wide each column would be.
    pub(crate) widest: Vec<usize>,
    pub(crate) rows: Rows<'a>,
}

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    Heading(usize),
    /// A row of a section, and its number among all rows.
    Row(usize, usize, usize),
    Blank,
}

/// Which row is chosen, and where the screen begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) row: usize,
    pub(crate) top: usize,
    item: Option<Item>,
}

/// Where to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

// === impl Rows ===

impl Rows<'_> {
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Made(rows) => rows.len(),
            Self::Asked { count, .. } => *count,
        }
    }

    fn item(&self, index: usize) -> Option<Item> {
        match self {
            Self::Made(rows) => rows.get(index).map(|row| row.item.clone()),
            Self::Asked { count, item, .. } => (index < *count).then(|| item(index)),
        }
    }

    pub(crate) fn cells(&self, index: usize) -> Vec<Cell> {
        match self {
            Self::Made(rows) => rows.get(index).map(|row| row.cells.clone()).unwrap_or_default(),
            Self::Asked { row, .. } => row(index).cells,
        }
    }
}

// === impl Section ===

impl<'a> Section<'a> {
    /// A table, with what its rows are about, as far as they have these words in them.
    pub(crate) fn of(
        title: &str,
        needed: &'static [&'static str],
        table: Table,
        items: impl IntoIterator<Item = Item>,
        filter: &str,
    ) -> Self {
        let rows = table.rows.into_iter().zip(items).map(|(cells, item)| Row { item, cells });
        let rows: Vec<Row> = rows.filter(|row| has(row.cells.iter().map(Cell::shown), filter)).collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row: &Row| Some(text::width(&row.cells.get(column)?.shown()))).max()
        };
        let widest = (0..table.heading.len()).map(|column| width(column).unwrap_or(0)).collect();
        let title = title.to_uppercase();
        let title = if rows.len() > 1 { format!("{title} {}", text::grouped(rows.len())) } else { title };
        Self { title, columns: table.heading, needed, widest, rows: Rows::Made(rows) }
    }

    /// What can be typed about a whole page.
    pub(crate) fn typed(program: &str, commands: &[String], filter: &str) -> Self {
        let mut table = Table::new(["COMMAND"]);
        for command in commands {
            table.row([format!("{program} {command}").into()]);
        }
        let items = commands.iter().map(|command| Item::Command(command.clone()));
        Self::of("to type", &["COMMAND"], table, items, filter)
    }

    /// Which columns are shown in so much room, each with its width.
    pub(crate) fn layout(&self, room: usize) -> Vec<(usize, usize)> {
        /// No column takes more than this from the others.
        const CAP: usize = 34;
        /// Less than this says nothing.
        const LEAST: usize = 6;
        let wanted = |column: usize| {
            let heading = if column == 0 { text::width(&self.title) } else { self.columns[column].len() };
            self.widest[column].max(heading)
        };
        let mut left = room;
        let mut shown: Vec<(usize, usize)> = Vec::new();
        for name in self.needed {
            let Some(column) = self.columns.iter().position(|it| it == name) else { continue };
            let gap = if shown.is_empty() { 0 } else { GAP };
            let width = wanted(column).min(CAP).min(left.saturating_sub(gap));
            if width < wanted(column).min(LEAST) || width == 0 {
                break;
            }
            left -= width + gap;
            shown.push((column, width));
        }
        shown.sort_unstable();
        // What is left goes to those who were cut, the first one first.
        for (column, width) in &mut shown {
            let more = wanted(*column).saturating_sub(*width).min(left);
            *width += more;
            left -= more;
        }
        shown
    }
}

/// The space between two columns.
pub(crate) const GAP: usize = 2;

/// Whether every one of the words is somewhere in these.
pub(crate) fn has(cells: impl Iterator<Item = String>, filter: &str) -> bool {
    if filter.trim().is_empty() {
        return true;
    }
    let text = cells.collect::<Vec<_>>().join(" ").to_lowercase();
    filter.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// How many lines there are.
pub(crate) fn lines(sections: &[Section<'_>]) -> usize {
    sections.iter().map(|section| section.rows.count() + 2).sum::<usize>().saturating_sub(1)
}

/// How many rows there are.
pub(crate) fn rows(sections: &[Section<'_>]) -> usize {
    sections.iter().map(|section| section.rows.count()).sum()
}

/// What stands in a line.
pub(crate) fn line(sections: &[Section<'_>], mut line: usize) -> Option<Line> {
    let mut before = 0;
    for (number, section) in sections.iter().enumerate() {
        let count = section.rows.count();
        match line {
            0 => return Some(Line::Heading(number)),
            _ if line <= count => return Some(Line::Row(number, line - 1, before + line - 1)),
            _ if line == count + 1 => return Some(Line::Blank),
            _ => {}
        }
        line -= count + 2;
        before += count;
    }
    None
}

/// The line of a row.
fn line_of(sections: &[Section<'_>], mut row: usize) -> usize {
    let mut line = 0;
    for section in sections {
        let count = section.rows.count();
        if row < count {
            return line + 1 + row;
        }
        row -= count;
        line += count + 2;
    }
    line
}

fn item(sections: &[Section<'_>], mut row: usize) -> Option<Item> {
    for section in sections {
        let count = section.rows.count();
        if row < count {
            return section.rows.item(row);
        }
        row -= count;
    }
    None
}

// === impl Cursor ===

impl Cursor {
    /// What is chosen.
    pub(crate) const fn item(&self) -> Option<&Item> {
        self.item.as_ref()
    }

    pub(crate) fn go(&mut self, step: Step, sections: &[Section<'_>], height: usize) {
        let last = rows(sections).saturating_sub(1);
        // A line stays, so that the eye finds where it was, and the heading is always there.
        let page = height.saturating_sub(2).max(1);
        self.row = match step {
            Step::Up => self.row.saturating_sub(1),
            Step::Down => self.row + 1,
            Step::PageUp => self.row.saturating_sub(page),
            Step::PageDown => self.row + page,
            Step::First => 0,
            Step::Last => last,
        }
        .min(last);
        self.item = item(sections, self.row);
        self.scroll(sections, height);
    }

    /// After something has changed: what was chosen stays chosen, wherever it is now.
    pub(crate) fn settle(&mut self, sections: &[Section<'_>], height: usize) {
        let count = rows(sections);
        if self.item.is_some() && item(sections, self.row) != self.item {
            let found = (0..count).find(|row| item(sections, *row) == self.item);
            self.row = found.unwrap_or(self.row);
        }
        self.row = self.row.min(count.saturating_sub(1));
        self.item = item(sections, self.row);
        self.scroll(sections, height);
    }

    fn scroll(&mut self, sections: &[Section<'_>], height: usize) {
        let line = line_of(sections, self.row);
        let end = lines(sections).saturating_sub(height);
        // The line above is kept for the heading.
        self.top = self.top.min(line.saturating_sub(1)).max((line + 1).saturating_sub(height)).min(end);
    }
}
