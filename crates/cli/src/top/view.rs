//! The model as a frame. Pure: the same model gives the same frame.
//!
//! From top to bottom: what is true, the list or the text, a sentence about what is chosen, and the keys. Where there is little
//! room, the sentence goes first and then what is above the list gets shorter; the list always has most of it.

use anstyle::{AnsiColor, Color as Ansi, Effects};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::list::{self, GAP, Line, Section};
use super::model::Model;
use super::page::What;
use super::{detail, text};
use crate::show::style;

/// Below so many lines there is no room for a sentence about what is chosen.
const ROOMY: u16 = 18;
/// The sentence has so many lines, with an empty one above.
const SENTENCE: usize = 3;

const HELP: [(&str, &str); 9] = [
    ("↑ ↓", "one row up or down (also k, j)"),
    ("PgUp PgDn", "a page up or down"),
    ("Home End", "the first or the last row (also g, G)"),
    ("Enter", "why: everything about a row, and what to type"),
    ("Esc", "back; on the first page, without the filter"),
    ("/", "show only rows with these words; Enter keeps them"),
    ("s", "the next order of nodes"),
    ("?", "these keys"),
    ("q", "quit"),
];

/// How many lines the list has.
pub(crate) fn height(model: &Model) -> usize {
    let (_, lines) = model.size;
    let sentence = if lines >= ROOMY && has_list(model) { SENTENCE } else { 0 };
    usize::from(lines).saturating_sub(header(model).len() + 1 + sentence + 1)
}

fn has_list(model: &Model) -> bool {
    !matches!(model.page().what, What::Detail(_))
}

/// What is above the list, in lines that fit, a third of the screen at most.
fn header(model: &Model) -> Vec<(String, anstyle::Style)> {
    let (columns, lines) = (usize::from(model.size.0), usize::from(model.size.1));
    let all = model.header().into_iter().flat_map(|(line, style)| {
        let lines = text::wrapped(&crate::show::words::clean(&line), columns);
        lines.into_iter().map(move |line| (line, style))
    });
    all.take((lines / 3).max(1)).collect()
}

/// Draws the model.
pub(crate) fn view(frame: &mut Frame<'_>, model: &Model) {
    let size = frame.area();
    let mut paper = Paper { buffer: frame.buffer_mut(), columns: size.width, model };
    let header = header(model);
    let mut y = 0;
    for (line, style) in &header {
        // What may not be so any more is grey, but not the line that says so.
        let faded = model.is_lost() && *style != style::ALARM;
        paper.write(0, y, line, if faded { style::QUIET } else { *style });
        y += 1;
    }
    y += 1;
    let height = u16::try_from(height(model)).unwrap_or(u16::MAX);
    match (model.helping, has_list(model)) {
        (true, _) => paper.help(y, height),
        (false, true) => paper.list(y, height),
        (false, false) => paper.text(y, height),
    }
    if size.height >= ROOMY && has_list(model) && !model.helping {
        let sentence = detail::sentence(model).unwrap_or_default();
        let lines = text::wrapped(&sentence, usize::from(size.width));
        let below = y + height + 1;
        for (line, y) in lines.iter().take(SENTENCE - 1).zip(below..) {
            paper.write(0, y, line, style::QUIET);
        }
    }
    paper.keys(size.height.saturating_sub(1));
}

/// What is written on.
struct Paper<'a> {
    buffer: &'a mut Buffer,
    columns: u16,
    model: &'a Model,
}

// === impl Paper ===

impl Paper<'_> {
    fn style(&self, style: anstyle::Style) -> Style {
        let mut plain = Style::new();
        if let (true, Some(Ansi::Ansi(colour))) = (self.model.coloured, style.get_fg_color()) {
            plain = plain.fg(match colour {
                AnsiColor::Red => Color::Red,
                AnsiColor::Green => Color::Green,
                AnsiColor::Yellow => Color::Yellow,
                _ => Color::Reset,
            });
        }
        if style.get_effects().contains(Effects::BOLD) {
            plain = plain.add_modifier(Modifier::BOLD);
        }
        if style.get_effects().contains(Effects::DIMMED) {
            plain = plain.add_modifier(Modifier::DIM);
        }
        plain
    }

    fn write(&mut self, x: u16, y: u16, text: &str, style: anstyle::Style) {
        let room = self.columns.saturating_sub(x);
        if y < self.buffer.area().height && room > 0 {
            let style = self.style(style);
            self.buffer.set_stringn(x, y, text::cut(text, usize::from(room)), usize::from(room), style);
        }
    }

    /// Every line that is on the screen, and no other.
    fn list(&mut self, y: u16, height: u16) {
        let sections = self.model.sections();
        let cursor = &self.model.page().cursor;
        if list::rows(&sections) == 0 {
            self.write(0, y, self.model.nothing(), style::QUIET);
            return;
        }
        let layouts: Vec<_> =
            sections.iter().map(|section| section.layout(usize::from(self.columns))).collect();
        for (index, y) in (0..usize::from(height)).zip(y..) {
            let line = list::line(&sections, cursor.top + index);
            let line = match line {
                Some(Line::Row(section, ..)) if index == 0 => Some(Line::Heading(section)),
                line => line,
            };
            match line {
                None => break,
                Some(Line::Blank) => {}
                Some(Line::Heading(section)) => self.heading(y, &sections[section], &layouts[section]),
                Some(Line::Row(section, row, number)) => {
                    self.row(y, &sections[section], row, &layouts[section]);
                    if number == cursor.row {
                        let area = ratatui::layout::Rect::new(0, y, self.columns, 1);
                        self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
                    }
                }
            }
        }
    }

    fn heading(&mut self, y: u16, section: &Section<'_>, layout: &[(usize, usize)]) {
        let mut x = 0;
        for (column, width) in layout {
            let text = if *column == 0 { &section.title } else { section.columns[*column] };
            self.write(x, y, &text::cut(text, *width), style::HEADING);
            x += u16::try_from(width + GAP).unwrap_or(u16::MAX);
        }
    }

    fn row(&mut self, y: u16, section: &Section<'_>, row: usize, layout: &[(usize, usize)]) {
        let cells = section.rows.cells(row);
        let mut x = 0;
        for (column, width) in layout {
            if let Some(cell) = cells.get(*column) {
                let style = if self.model.is_lost() { style::QUIET } else { cell.style };
                self.write(x, y, &text::cut(&cell.shown(), *width), style);
            }
            x += u16::try_from(width + GAP).unwrap_or(u16::MAX);
        }
    }

    fn text(&mut self, y: u16, height: u16) {
        let lines = detail::lines(self.model);
        let shown = lines.iter().skip(self.model.page().scrolled).take(usize::from(height));
        for ((line, style), y) in shown.zip(y..) {
            self.write(0, y, line, *style);
        }
    }

    fn help(&mut self, y: u16, height: u16) {
        for ((key, what), y) in HELP.iter().take(usize::from(height)).zip(y..) {
            self.write(0, y, key, style::HEADING);
            self.write(11, y, what, style::PLAIN);
        }
        let note = "Nothing is ordered from here: Enter shows what to type.";
        if usize::from(height) > HELP.len() + 1 {
            self.write(0, y + u16::try_from(HELP.len()).unwrap_or(0) + 1, note, style::QUIET);
        }
    }

    /// The last line: what is typed, or what can be; and where one is.
    fn keys(&mut self, y: u16) {
        let page = self.model.page();
        let count = list::rows(&self.model.sections());
        let place = match has_list(self.model) && count > 0 {
            true => format!("{}/{}", text::grouped(page.cursor.row + 1), text::grouped(count)),
            false => String::new(),
        };
        let x = self.columns.saturating_sub(u16::try_from(place.len()).unwrap_or(0));
        let room = usize::from(x).saturating_sub(1);
        let (line, style) = match (self.model.typing, page.filter.is_empty()) {
            (true, _) => (format!("/{}▏ Enter keep · Esc clear", page.filter), style::PLAIN),
            (false, false) => {
                (format!("/{}  Esc all · Enter why · ? keys · q quit", page.filter), style::WAITS)
            }
            (false, true) => (can(self.model), style::QUIET),
        };
        self.write(0, y, &text::cut(&line, room), style);
        self.write(x, y, &place, style::QUIET);
    }
}

/// The keys that do something here.
fn can(model: &Model) -> String {
    let sort = if model.page().what == What::Fleet { "s sort" } else { "" };
    let back = if model.pages.len() > 1 { "Esc back" } else { "" };
    let here = if has_list(model) { ["Enter why", "/ filter", sort, back] } else { [back, "", "", ""] };
    let keys = here.into_iter().chain(["? keys", "q quit"]).filter(|key| !key.is_empty());
    keys.collect::<Vec<_>>().join(" · ")
}
