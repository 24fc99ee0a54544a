//! What a person sees: whole frames, as they are drawn, and what keys and news do to them.

mod fleet;
mod node;

use crossterm::event::{KeyCode, KeyEvent};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};

use super::model::{Model, News, Next};
use super::view::view;

/// 2026-11-15T08:00:00Z.
const MORNING: i64 = 1_794_729_600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(MORNING + second).unwrap()
}

fn time(second: i64) -> Value {
    json!(Time(at(second)))
}

/// A screen of this size.
fn frame(model: &mut Model, columns: u16, lines: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    model.look(model.now, (columns, lines));
    model.settle();
    terminal.draw(|frame| view(frame, model)).unwrap();
    terminal
}

/// What stands on it.
fn screen(model: &mut Model, columns: u16, lines: u16) -> String {
    let terminal = frame(model, columns, lines);
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

fn press(model: &mut Model, keys: &[KeyCode]) -> Next {
    let mut next = Next::On;
    for key in keys {
        model.settle();
        next = model.press(KeyEvent::from(*key));
    }
    next
}

fn types(model: &mut Model, text: &str) {
    press(model, &text.chars().map(KeyCode::Char).collect::<Vec<_>>());
}

/// The row that is chosen, by what is shown in reverse.
fn chosen(model: &mut Model) -> String {
    let terminal = frame(model, 100, 30);
    let buffer = terminal.backend().buffer();
    let reversed = |y: &u16| buffer[(0, *y)].modifier.contains(ratatui::style::Modifier::REVERSED);
    let y = (0..30).find(reversed).expect("something is chosen");
    (0..100).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
}

fn is_coloured(model: &mut Model) -> bool {
    let terminal = frame(model, 80, 24);
    terminal
        .backend()
        .buffer()
        .content()
        .iter()
        .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
}

fn hear(model: &mut Model, news: News) {
    let now = model.now;
    model.hear(news, now);
}
