//! Every word that another program may look for, with what `safepoint-api` says of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use safepoint_api::names::kusionstack::operation::{OperationLabel, permission_key};

use super::markdown::{code, paragraphs, prose, table};
use super::source::{Group, constants, literals};

const FOLDER: &str = "crates/api/src/names";
/// The files, each with its heading. A test below knows whether one is missing.
const FILES: [(&str, &str); 7] = [
    ("safepoint", "Safepoint"),
    ("kubeedge", "KubeEdge"),
    ("openyurt", "OpenYurt"),
    ("horizon", "Open Horizon"),
    ("kusionstack", "KusionStack"),
    ("kusionstack/webhook", "KusionStack: webhooks"),
    ("kubernetes", "Kubernetes"),
];
/// Its words are made, not listed.
const MADE: &str = "kusionstack/operation";
/// Not words on objects: the version of our kinds, and who reports Events.
const OTHERS: [&str; 3] = ["safepoint.dev/v", "safepoint.dev/agent", "safepoint.dev/dashboard"];
const INTRO: &str = "# Labels, annotations and other words

Every word that another program may look for. They stand with whoever defined what they mean, even where Safepoint is the one that writes
them. A word here is never changed: programs that nobody knows of look for it.
";

pub(super) fn page(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    for (file, title) in FILES {
        files.push((title, file, read(root, file)?));
    }
    let all = known(&files);
    let mut text = INTRO.to_owned();
    for (title, file, groups) in &files {
        text.push_str(&format!("\n## {title}\n"));
        for group in groups {
            if !group.module.is_empty() {
                text.push_str(&format!("\n### {title}: {}\n", group.module.replace('_', " ")));
            }
            let said = |about: &str| prose(&resolved(about, file, &group.module, &all));
            text.push_str(&format!("\n{}\n", paragraphs(&said(&group.about))));
            let rows: Vec<[String; 2]> =
                group.constants.iter().map(|word| [code(word.value.trim()), said(&word.about)]).collect();
            if !rows.is_empty() {
                text.push_str(&format!("\n{}", table(["word", "what it is"], &rows)));
            }
        }
        if *file == "kusionstack" {
            text.push_str(&operations(root)?);
        }
    }
    for start in ["safepoint.dev/", "cooperation.safepoint.dev/"] {
        let found = literals(root, start, |letter| letter.is_ascii_lowercase() || letter == '-')?;
        let is_told = |name: &str| OTHERS.contains(&name) || text.contains(&code(name));
        if let Some((name, file)) = found.iter().find(|(name, _)| !is_told(name)) {
            bail!("{file} spells {name}, of which nothing is said: give it to {FOLDER}/safepoint.rs");
        }
    }
    Ok(text)
}

fn read(root: &Path, file: &str) -> Result<Vec<Group>> {
    let path = root.join(FOLDER).join(format!("{file}.rs"));
    let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    constants(&source).with_context(|| path.display().to_string())
}

/// The labels of an operation, each with what is said of it in the source.
fn operations(root: &Path) -> Result<String> {
    let path = root.join(FOLDER).join(format!("{MADE}.rs"));
    let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let inside = source.split_once("pub enum OperationLabel {").and_then(|(_, rest)| rest.split_once("\n}"));
    let mut said = BTreeMap::new();
    let mut about = Vec::new();
    for line in inside.context("the labels of operations are listed")?.0.lines().map(str::trim) {
        match line.strip_prefix("///") {
            Some(comment) => about.push(comment.trim()),
            None => {
                said.insert(line.trim_end_matches(',').to_owned(), std::mem::take(&mut about).join(" "));
            }
        }
    }
    let mut rows = Vec::new();
    for label in OperationLabel::ALL {
        let about =
            said.get(&format!("{label:?}")).with_context(|| format!("nothing is said of {label:?}"))?;
        rows.push([code(&label.key("ID")?), prose(about)]);
    }
    rows.push([
        code(&permission_key("TYPE")?),
        "Written by the lifecycle: it permits all operations of this type.".into(),
    ]);
    Ok(format!(
        "\n### KusionStack: labels of an operation\n\nWith the id that the operation controller has chosen. A value is a time unless said \
         otherwise. \"Webhook\" is the mutating one, which is the state machine.\n\n{}",
        table(["word", "what it is"], &rows)
    ))
}

/// Values by `file::module::NAME` and by every end of that.
fn known(files: &[(&str, &str, Vec<Group>)]) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for (_, file, groups) in files {
        for group in groups {
            for word in &group.constants {
                known.insert(format!("{file}::{}::{}", group.module, word.name), word.value.clone());
            }
        }
    }
    known
}

/// A text in which constants are what they stand for. What is no constant keeps its name.
fn resolved(text: &str, file: &str, module: &str, known: &BTreeMap<String, String>) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("[`") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("`]") else { break };
        let (path, after) = match after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            Some((path, after)) => (path, after),
            None => (name, after),
        };
        let parts: Vec<&str> =
            path.split("::").filter(|part| !matches!(*part, "super" | "crate" | "self")).collect();
        let found = match parts.as_slice() {
            [name] => {
                let places = [format!("{file}::{module}::{name}"), format!("{file}::::{name}")];
                places.iter().find_map(|place| known.get(place))
            }
            [.., above, name] => {
                let places =
                    [format!("{above}::::{name}"), format!("{file}::{above}::{name}"), parts.join("::")];
                places.iter().find_map(|place| known.get(place))
            }
            [] => None,
        };
        out.push_str(&code(found.map_or(name, String::as_str)));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::root;

    #[test]
    fn every_file_of_names_is_on_the_page() {
        let mut found = Vec::new();
        let folder = root().join(FOLDER);
        for place in ["", "kusionstack/"] {
            for entry in fs::read_dir(folder.join(place)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                found.extend(name.strip_suffix(".rs").map(|name| format!("{place}{name}")));
            }
        }
        found.retain(|name| name != MADE);
        let mut known: Vec<String> = FILES.iter().map(|(file, _)| (*file).to_owned()).collect();
        found.sort();
        known.sort();
        assert_eq!(found, known);
    }

    #[test]
    fn names_of_constants_become_what_they_stand_for() {
        let known = BTreeMap::from([
            ("a::::X".to_owned(), "ex".to_owned()),
            ("a::m::Y".to_owned(), "why".to_owned()),
        ]);
        let of = |text: &str| resolved(text, "a", "m", &known);
        assert_eq!(of("see [`X`] and [`Y`]."), "see `ex` and `why`.");
        assert_eq!(of("[`X`](super::a::X) of [`Pod`](crate::Pod)"), "`ex` of `Pod`");
    }
}
