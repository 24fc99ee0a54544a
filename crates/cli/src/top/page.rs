//! The pages: what stands above the list of each, and which sections the list has. Pure.

use std::sync::Arc;

use anstyle::Style;
use safepoint_api::node_gate::NodeGateStatus;

use super::fleet::{Fleet, Presence};
use super::list::{Cursor, Item, Section};
use super::model::{Model, Subject};
use super::{node, roll_out};
use crate::show::{age, style, words};

/// What a page is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The node of this machine.
    Here,
    Fleet,
    /// A node, through the cluster.
    Machine(Arc<str>),
    RollOut(Arc<str>),
    /// One thing of the page below.
    Detail(Item),
}

/// A page, and where somebody is on it.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) what: What,
    pub(crate) cursor: Cursor,
    pub(crate) filter: String,
    /// The first line of a text that is shown.
    pub(crate) scrolled: usize,
}

// === impl Page ===

impl Page {
    pub(crate) fn new(what: What) -> Self {
        Self { what, cursor: Cursor::default(), filter: String::new(), scrolled: 0 }
    }
}

// === impl Model ===

impl Model {
    /// The page that is shown.
    pub(crate) fn page(&self) -> &Page {
        self.pages.last().expect("the first page is never closed")
    }

    /// The last page that is a list: what a detail is about, or what is shown.
    pub(crate) fn list_page(&self) -> &Page {
        let lists = self.pages.iter().rev().find(|page| !matches!(page.what, What::Detail(_)));
        lists.expect("the first page is a list")
    }

    /// The list of the page that is shown. A detail has none.
    pub(crate) fn sections(&self) -> Vec<Section<'_>> {
        let (page, now, filter) = (self.page(), self.now, self.page().filter.as_str());
        let typed = Section::typed(self.program, &self.commands(), filter);
        let mut sections = match (&page.what, &self.subject) {
            (What::Here, Subject::Here(here)) => {
                let [events, log] = here.history(filter);
                node::sections(&here.status.gate, [typed, events, log], now, filter)
            }
            (What::Fleet, Subject::Fleet(fleet)) => fleet.sections(now, filter),
            (What::Machine(name), Subject::Fleet(fleet)) => match fleet.gate(name) {
                Some(gate) => node::sections(gate, [typed], now, filter),
                None => Vec::new(),
            },
            (What::RollOut(name), Subject::Fleet(fleet)) => match fleet.roll_outs.all.get(name) {
                Some(object) => vec![roll_out::nodes(object, now, filter), typed],
                None => Vec::new(),
            },
            (What::Detail(_), _) => Vec::new(),
            (What::Here, Subject::Fleet(_))
            | (What::Fleet | What::Machine(_) | What::RollOut(_), Subject::Here(_)) => {
                unreachable!("pages are opened from what is there")
            }
        };
        sections.retain(|section| section.rows.count() > 0);
        sections
    }

    /// What can be typed about the whole page.
    fn commands(&self) -> Vec<String> {
        match &self.page().what {
            What::Here => vec!["node freeze --reason REASON".to_owned(), "node unfreeze".to_owned()],
            What::Machine(name) => {
                vec![format!("node freeze {name} --reason REASON"), format!("node unfreeze {name}")]
            }
            What::RollOut(name) => {
                let paused = match &self.subject {
                    Subject::Fleet(fleet) => fleet.roll_outs.all.get(name).is_some_and(|it| it.spec.paused),
                    Subject::Here(_) => false,
                };
                let go = if paused { "resume" } else { "pause" };
                vec![format!("static-pod {go} {name}"), format!("static-pod rollback {name}")]
            }
            What::Fleet | What::Detail(_) => Vec::new(),
        }
    }

    /// What stands above the list, the connection first if there is something to say about it.
    pub(crate) fn header(&self) -> Vec<(String, Style)> {
        let now = self.now;
        let (mut lines, warning) = match &self.subject {
            Subject::Here(here) => {
                let pods = usize::try_from(here.status.pods).unwrap_or(0);
                let about = vec![node::uplink(&here.status, now), words::count(pods, "pod")];
                let lines = node::header(&here.status.node, &here.status.gate, about, now);
                (lines, here.link.warning("the agent", now))
            }
            Subject::Fleet(fleet) => {
                let lines = match &self.list_page().what {
                    What::Machine(name) => machine(fleet, name, self),
                    What::RollOut(name) => match fleet.roll_outs.all.get(name) {
                        Some(object) => roll_out::header(name, object),
                        None => vec![(format!("{name} is not in the cluster any more"), style::WAITS)],
                    },
                    What::Fleet | What::Here | What::Detail(_) => fleet.header(),
                };
                (lines, fleet.link().warning("the cluster", now))
            }
        };
        if let Some(warning) = warning {
            let colour = if self.is_lost() { style::ALARM } else { style::QUIET };
            lines.insert(0, (warning, colour));
        }
        lines
    }

    /// Whether what is shown may not be so any more.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.subject {
            Subject::Here(here) => here.link.is_lost(),
            Subject::Fleet(fleet) => fleet.link().is_lost(),
        }
    }

    /// The gate that the page is about, and through the cluster the name of its node.
    pub(crate) fn gate(&self) -> Option<(&NodeGateStatus, Option<&str>)> {
        match (&self.subject, &self.list_page().what) {
            (Subject::Here(here), _) => Some((&here.status.gate, None)),
            (Subject::Fleet(fleet), What::Machine(name)) => Some((fleet.gate(name)?, Some(&**name))),
            (Subject::Fleet(_), What::Here | What::Fleet | What::RollOut(_) | What::Detail(_)) => None,
        }
    }

    /// What is said where the list is empty.
    pub(crate) fn nothing(&self) -> &'static str {
        match &self.page().what {
            _ if !self.page().filter.trim().is_empty() => "Nothing has these words in it.",
            What::Here | What::Machine(_) => "Nothing waits and nobody holds.",
            What::Fleet => "No node has reported yet.",
            What::RollOut(_) => "No node is known to run it.",
            What::Detail(_) => "",
        }
    }
}

/// A node through the cluster.
fn machine(fleet: &Fleet, name: &str, model: &Model) -> Vec<(String, Style)> {
    let presence = match fleet.nodes.all.get(name) {
        None => "not a node of the cluster".to_owned(),
        Some(Presence::Ready) => "online".to_owned(),
        Some(Presence::Away { since }) => {
            let since =
                since.as_ref().map_or_else(String::new, |at| format!(" for {}", age::at(at, model.now)));
            format!("OFFLINE{since}: this is what it said last")
        }
    };
    match fleet.gate(name) {
        Some(gate) => node::header(name, gate, vec![presence], model.now),
        None => {
            let why = "no agent has reported from it: nothing is held there";
            vec![(name.to_owned(), style::PLAIN), (format!("{presence} · {why}"), style::QUIET)]
        }
    }
}
