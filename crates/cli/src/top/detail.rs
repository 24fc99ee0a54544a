//! One thing in full: why it is so, and what a person can type about it. Pure.

use anstyle::Style;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::WorkloadRef;
use safepoint_api::node_gate::{HeldChange, Hold, ModuleStatus, NodeGateStatus, Origin, ScopeKind};

use super::list::Item;
use super::model::{Model, Subject};
use super::node::{of_blocker, of_change};
use super::page::What;
use super::text;
use crate::show::{age, style, words};

/// What is said about something.
#[derive(Default)]
struct Said {
    lines: Vec<(String, Style)>,
    commands: Vec<String>,
}

/// The text of the page, in lines that fit. Nothing if the page is a list.
pub(crate) fn lines(model: &Model) -> Vec<(String, Style)> {
    let What::Detail(item) = &model.page().what else { return Vec::new() };
    let mut said = about(model, item).unwrap_or_else(|| {
        let over = "This is over: it does not wait, hold or run any more.";
        Said { lines: vec![(over.to_owned(), style::WAITS)], commands: Vec::new() }
    });
    if !said.commands.is_empty() {
        said.lines.push((String::new(), style::PLAIN));
        said.lines.push(("What can be typed".to_owned(), style::HEADING));
        let typed = said.commands.iter().map(|it| (format!("  {} {it}", model.program), style::PLAIN));
        said.lines.extend(typed.collect::<Vec<_>>());
    }
    let columns = usize::from(model.size.0);
    let clean = |(line, style): (String, Style)| {
        let wrapped = text::wrapped(&words::clean(&line), columns);
        wrapped.into_iter().map(move |line| (line, style))
    };
    said.lines.into_iter().flat_map(clean).collect()
}

/// One sentence about what is chosen in a list.
pub(crate) fn sentence(model: &Model) -> Option<String> {
    let item = model.page().cursor.item()?;
    let said = match item {
        Item::Machine(name) => match &model.subject {
            Subject::Fleet(fleet) => fleet.gate(name).and_then(|gate| Some(gate.held.first()?.why.clone())),
            Subject::Here(_) => None,
        },
        Item::RollOut(name) => match &model.subject {
            Subject::Fleet(fleet) => {
                let status = fleet.roll_outs.all.get(name)?.status.as_ref()?;
                Some(status.conditions.iter().find(|it| it.status == "True")?.message.clone())
            }
            Subject::Here(_) => None,
        },
        item => about(model, item).and_then(|said| said.lines.into_iter().next()).map(|(line, _)| line),
    };
    said.filter(|said| !said.is_empty()).map(|said| words::clean(&said))
}

fn about(model: &Model, item: &Item) -> Option<Said> {
    if let Subject::Here(here) = &model.subject {
        match item {
            Item::Notice(number) => {
                let (_, notice) = here.notices.iter().find(|(it, _)| it == number)?;
                let mut said = Said::of(&notice.message);
                said.fact("About", &notice.subject);
                said.fact("At", &notice.at.0.to_string());
                said.commands = vec!["events".to_owned()];
                return Some(said);
            }
            Item::Line(number) => {
                let line = here.log.iter().find(|line| line.number == *number)?;
                let mut said = Said::of(&line.to_string());
                said.fact("Line", &line.number.to_string());
                said.fact("At", &line.at.0.to_string());
                said.fact("Hash", &line.hash);
                said.commands = vec!["log --verify".to_owned()];
                return Some(said);
            }
            _ => {}
        }
    }
    let (gate, node) = model.gate()?;
    match item {
        Item::Change { .. } => {
            Some(change(model, gate, node, gate.held.iter().find(|held| of_change(held) == *item)?))
        }
        Item::Hold(id) => Some(hold(model, node, gate.holds.iter().find(|hold| hold.id == *id)?)),
        Item::Blocker(key) => {
            let blocker = gate.blockers.iter().find(|it| of_blocker(it) == *key)?;
            let mut said = Said::of(&blocker.message);
            said.fact("Reason", &blocker.reason);
            said.since(model, "Since", blocker.since.as_ref());
            Some(said)
        }
        Item::Grant(workload) => {
            let grant = gate.grants.iter().find(|it| words::workload(&it.workload) == *workload)?;
            let mut said = Said::of(&format!("{workload} was released and has not settled yet"));
            said.fact("By", &grant.by);
            said.fact("Revision", grant.revision.as_deref().unwrap_or("the first that is seen"));
            said.since(model, "Since", Some(&grant.since));
            Some(said)
        }
        Item::Module(name) => Some(module(model, node, gate.modules.iter().find(|it| it.name == *name)?)),
        Item::Notice(_) | Item::Line(_) | Item::Machine(_) | Item::RollOut(_) | Item::Command(_) => None,
    }
}

// === impl Said ===

impl Said {
    fn of(sentence: &str) -> Self {
        Self { lines: vec![(sentence.to_owned(), style::PLAIN)], commands: Vec::new() }
    }

    fn fact(&mut self, name: &str, value: &str) {
        if self.lines.len() == 1 {
            self.lines.push((String::new(), style::PLAIN));
        }
        self.lines.push((format!("{name}: {value}"), style::PLAIN));
    }

    fn since(&mut self, model: &Model, name: &str, since: Option<&Time>) {
        if let Some(since) = since {
            self.fact(name, &format!("{} ({} ago)", since.0, age::at(since, model.now)));
        }
    }
}

fn change(model: &Model, gate: &NodeGateStatus, node: Option<&str>, held: &HeldChange) -> Said {
    let mut said = Said::of(&held.why);
    said.fact(
        "Change",
        &format!(
            "{} of {} {}/{}",
            words::change(held.change),
            held.kind.to_lowercase(),
            held.namespace,
            held.name
        ),
    );
    if let Some(workload) = &held.workload {
        said.fact("Workload", &words::workload(workload));
    }
    said.fact("Revision", &words::revisions(held, true));
    said.since(model, "Waits since", Some(&held.since));
    let via = via(node);
    if let Some(workload) = &held.workload {
        said.commands.push(format!("release {}{via}", typed(workload)));
    }
    if held.kind == "Pod" {
        said.commands.push(format!("why {}/{}{via}", held.namespace, held.name));
    }
    for by in &held.held_by {
        match gate.holds.iter().find(|hold| hold.id == *by) {
            Some(hold) => {
                said.fact(
                    "Held by",
                    &format!("{} ({by}): {}, {}", hold.holder, hold.reason, words::ends(hold, model.now)),
                );
                said.commands.push(unhold(hold, node));
            }
            None => said.fact("Held by", by),
        }
    }
    said
}

fn hold(model: &Model, node: Option<&str>, hold: &Hold) -> Said {
    let mut said = Said::of(&hold.reason);
    said.fact("Holder", &hold.holder);
    said.fact("Covers", &words::scope(&hold.scope));
    said.fact(
        "Taken",
        match hold.origin {
            Origin::Local => "on the machine",
            Origin::Remote => "by the cluster",
        },
    );
    said.since(model, "Since", Some(&hold.since));
    said.fact("Ends", &words::ends(hold, model.now));
    if hold.orphaned {
        said.lines.push((
            "ORPHANED: nobody renews it, and it still holds; somebody must look".to_owned(),
            style::ALARM,
        ));
    }
    said.commands.push(unhold(hold, node));
    said
}

fn module(model: &Model, node: Option<&str>, module: &ModuleStatus) -> Said {
    let state = format!("{:?}", module.state);
    let what = module.message.as_ref().map_or_else(String::new, |what| format!(": {what}"));
    let mut said = Said::of(&format!("{} is {}{what}", module.name, state.to_lowercase()));
    said.fact("Restarts", &module.restarts.to_string());
    if let Some(failure) = &module.last_failure {
        said.fact("Last failure", &format!("{} ago: {}", age::at(&failure.at, model.now), failure.message));
    }
    if let Some(retry) = &module.next_retry {
        said.fact(
            "Started again",
            &age::left(retry, model.now).map_or_else(|| "now".to_owned(), |left| format!("in {left}")),
        );
    }
    if node.is_none() {
        said.commands.push(format!("modules restart {}", module.name));
    }
    said
}

/// How a hold is ended from where the person is: the other side's is set aside for a while.
fn unhold(hold: &Hold, node: Option<&str>) -> String {
    let theirs = match node {
        None => hold.origin == Origin::Remote,
        Some(_) => hold.origin == Origin::Local,
    };
    let setting_aside = if theirs { " --override REASON" } else { "" };
    match (&hold.scope.kind, node) {
        (ScopeKind::Node, Some(node)) => format!("node unfreeze {node}{setting_aside}"),
        _ => format!("unhold {}{setting_aside}{}", hold.id, via(node)),
    }
}

fn via(node: Option<&str>) -> String {
    node.map_or_else(String::new, |node| format!(" --node {node}"))
}

/// A workload as it is typed.
fn typed(of: &WorkloadRef) -> String {
    let ordinal = of.ordinal.map_or_else(String::new, |ordinal| format!("#{ordinal}"));
    format!("{}/{}{ordinal} -n {}", of.kind.to_lowercase(), of.name, of.namespace)
}
