//! Everything that the screen is made from, and what keys and news do to it. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;

use super::fleet::{self, Fleet};
use super::list::{Item, Step};
use super::page::{Page, What};
use super::{Here, detail, node, view};

/// Who tells.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// The agent of this machine, over its socket.
    Here(Box<Here>),
    /// The cluster.
    Fleet(Box<Fleet>),
}

/// Something that was told.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Here(node::Told),
    Fleet(fleet::Told),
}

/// The model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) subject: Subject,
    /// The first is never closed.
    pub(crate) pages: Vec<Page>,
    pub(crate) now: Timestamp,
    /// Columns and lines of the screen.
    pub(crate) size: (u16, u16),
    pub(crate) coloured: bool,
    /// What a person types to start this program.
    pub(crate) program: &'static str,
    /// Whether the keys are explained.
    pub(crate) helping: bool,
    /// Whether what is typed goes into the filter.
    pub(crate) typing: bool,
    /// Whether the order of the fleet has to be made anew.
    stale: bool,
}

/// Whether it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    On,
    Quit,
}

// === impl Model ===

impl Model {
    pub(crate) fn new(subject: Subject, first: What, program: &'static str, now: Timestamp) -> Self {
        let pages = vec![Page::new(first)];
        let (size, coloured) = ((80, 24), true);
        Self { subject, pages, now, size, coloured, program, helping: false, typing: false, stale: true }
    }

    /// Takes what was told.
    pub(crate) fn hear(&mut self, news: News, now: Timestamp) {
        self.now = now;
        match (&mut self.subject, news) {
            (Subject::Here(here), News::Here(told)) => here.take(told, now),
            (Subject::Fleet(fleet), News::Fleet(told)) => fleet.take(told, now),
            (Subject::Here(_), News::Fleet(_)) | (Subject::Fleet(_), News::Here(_)) => {
                unreachable!("there is one who tells")
            }
        }
        self.stale = true;
    }

    /// Time has passed, or the screen has another size.
    pub(crate) fn look(&mut self, now: Timestamp, size: (u16, u16)) {
        (self.now, self.size) = (now, size);
    }

    /// Before it is drawn: puts everything in order that has changed since. It is done once for much news.
    pub(crate) fn settle(&mut self) {
        if self.stale {
            let filter = match &self.pages[0] {
                page if page.what == What::Fleet => page.filter.clone(),
                _ => String::new(),
            };
            if let Subject::Fleet(fleet) = &mut self.subject {
                fleet.arrange(&filter);
            }
            self.stale = false;
        }
        let height = view::height(self);
        let mut cursor = self.page().cursor.clone();
        cursor.settle(&self.sections(), height);
        let most = detail::lines(self).len().saturating_sub(height);
        let page = self.top();
        page.cursor = cursor;
        page.scrolled = page.scrolled.min(most);
    }

    /// Takes a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Next {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Next::Quit } else { Next::On };
        }
        if self.typing {
            self.typed(key.code);
            return Next::On;
        }
        match key.code {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Char('?') => self.helping = !self.helping,
            _ if self.helping => self.helping = false,
            KeyCode::Up | KeyCode::Char('k') => self.go(Step::Up),
            KeyCode::Down | KeyCode::Char('j') => self.go(Step::Down),
            KeyCode::PageUp => self.go(Step::PageUp),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(Step::PageDown),
            KeyCode::Home | KeyCode::Char('g') => self.go(Step::First),
            KeyCode::End | KeyCode::Char('G') => self.go(Step::Last),
            KeyCode::Enter | KeyCode::Right => self.open(),
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.back(),
            KeyCode::Char('/') if !matches!(self.page().what, What::Detail(_)) => self.typing = true,
            KeyCode::Char('s') => self.sort(),
            _ => {}
        }
        Next::On
    }

    fn typed(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.top().filter.clear();
            }
            KeyCode::Backspace => {
                self.top().filter.pop();
            }
            KeyCode::Char(c) => self.top().filter.push(c),
            KeyCode::Up => self.go(Step::Up),
            KeyCode::Down => self.go(Step::Down),
            _ => {}
        }
        self.stale = true;
    }

    fn go(&mut self, step: Step) {
        let height = view::height(self);
        if let What::Detail(_) = self.page().what {
            let last = detail::lines(self).len().saturating_sub(height);
            let at = self.page().scrolled;
            self.top().scrolled = match step {
                Step::Up => at.saturating_sub(1),
                Step::Down => at + 1,
                Step::PageUp => at.saturating_sub(height),
                Step::PageDown => at + height,
                Step::First => 0,
                Step::Last => last,
            }
            .min(last);
            return;
        }
        let mut cursor = self.page().cursor.clone();
        cursor.go(step, &self.sections(), height);
        self.top().cursor = cursor;
    }

    /// Shows more of what is chosen.
    fn open(&mut self) {
        let Some(item) = self.page().cursor.item().cloned() else { return };
        let what = match item {
            Item::Machine(name) => What::Machine(name),
            Item::RollOut(name) => What::RollOut(name),
            // It says all that there is to say.
            Item::Command(_) => return,
            item => What::Detail(item),
        };
        self.pages.push(Page::new(what));
    }

    /// One page back; on the first, everything is shown again.
    fn back(&mut self) {
        if !self.top().filter.is_empty() {
            self.top().filter.clear();
            self.stale = true;
        } else if self.pages.len() > 1 {
            self.pages.pop();
        }
    }

    fn sort(&mut self) {
        if let (What::Fleet, Subject::Fleet(fleet)) =
            (&self.pages[self.pages.len() - 1].what, &mut self.subject)
        {
            fleet.sort = fleet.sort.next();
            self.stale = true;
        }
    }

    fn top(&mut self) -> &mut Page {
        self.pages.last_mut().expect("the first page is never closed")
    }
}
