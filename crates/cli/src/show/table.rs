//! A table as kubectl prints one: columns, three spaces, no lines.

use std::fmt::Write;

use anstyle::Style;

use super::{style, words};

/// The space between two columns.
const GAP: &str = "   ";

/// A table.
pub(crate) struct Table {
    pub(crate) heading: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A text with a colour.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cell {
    text: String,
    pub(crate) style: Style,
}

// === impl Cell ===

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), style: style::PLAIN }
    }
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    /// What stands in the cell: one line, and something to see where there is nothing.
    pub(crate) fn shown(&self) -> String {
        match self.text.is_empty() {
            true => "-".to_owned(),
            false => words::clean(&self.text),
        }
    }
}

// === impl Table ===

impl Table {
    pub(crate) fn new(heading: impl IntoIterator<Item = &'static str>) -> Self {
        Self { heading: heading.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. What is beyond the heading is left out, so that a wide row fits a narrow table.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().take(self.heading.len()).collect());
    }

    /// The table as text, a line for each row.
    pub(crate) fn text(&self) -> String {
        let heading: Vec<Cell> =
            self.heading.iter().map(|&text| Cell::styled(text, style::HEADING)).collect();
        let all = || std::iter::once(&heading).chain(&self.rows);
        let width = |column: usize| {
            all()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.shown().chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        let mut text = String::new();
        for row in all() {
            for (column, cell) in row.iter().enumerate() {
                let (shown, style) = (cell.shown(), cell.style);
                let last = column + 1 == row.len();
                let pad = if last { 0 } else { widths[column] - shown.chars().count() };
                let gap = if last { "" } else { GAP };
                // Colours take no room on the screen, so they are put around the text and not into the padding.
                let _ = write!(text, "{style}{shown}{style:#}{:pad$}{gap}", "");
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_colours_take_no_room() {
        let mut table = Table::new(["NAME", "STATE"]);
        table.row([Cell::styled("gate", style::ALARM), "Ready".into()]);
        table.row(["gate-status".into(), "".into(), "beyond the heading".into()]);
        assert_eq!(plain(&table.text()), "NAME          STATE\ngate          Ready\ngate-status   -\n");
    }

    #[test]
    fn what_others_wrote_cannot_leave_its_cell() {
        let mut table = Table::new(["REASON"]);
        table.row(["two\nlines\u{1b}[2J".into()]);
        assert_eq!(plain(&table.text()).lines().count(), 2);
        assert!(!table.text().contains("\u{1b}[2J"));
    }
}
