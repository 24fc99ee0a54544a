//! What can be configured: the variables of the environment, and the options of everything that stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::cli::{text_of, tree, typed, walk};
use super::markdown::{code, prose, table};
use super::source::{constants, literals};

/// Programs that stay: what is configured is configured on them.
const PROGRAMS: [&str; 4] =
    ["safepoint up", "safepoint agent", "safepoint hub", "safepoint static-pod-upgrade"];
const SAFEPOINT: &str = "crates/api/src/names/safepoint.rs";
const KUSIONSTACK: &str = "crates/api/src/names/kusionstack.rs";
/// Read by test builds only, or between processes of one program.
const INTERNAL: [&str; 3] = ["SAFEPOINT_DIE_AT", "SAFEPOINT_MISBEHAVE", "SAFEPOINT_SHIM_STAGE"];
const INTRO: &str = "# Configuration

There is no file of settings. What a program does is said by its options, most of which are also read from the environment; under systemd that is
`/etc/safepoint/agent.env`. An option on the command line wins. What workloads ask for stands on them: [labels and annotations](words.md).
What is asked of nodes stands in [custom resources](crds.md).
";

pub(super) fn page(root: &Path) -> Result<String> {
    let tree = tree(root)?;
    let mut commands = Vec::new();
    walk(&tree, &mut commands);
    let mut text = format!("{INTRO}\n## Variables\n\n{}", variables(root, &commands)?);
    for name in PROGRAMS {
        let command = commands.iter().find(|command| text_of(command, "name") == name);
        let command = command.with_context(|| format!("there is no {name}"))?;
        text.push_str(&format!("\n## Options of `{name}`\n\n"));
        let arguments = command["arguments"].as_array().into_iter().flatten();
        let rows: Vec<[String; 3]> = arguments
            .map(|argument| {
                let default = argument["default"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let default = default.map(code).collect::<Vec<_>>().join(" ");
                [code(&typed(argument)), default, argument["variable"].as_str().map(code).unwrap_or_default()]
            })
            .collect();
        text.push_str(&table(["option", "default", "variable"], &rows));
        text.push_str(&format!("\nWhat they mean: [`{name}`](cli.md#{}).\n", name.replace(' ', "-")));
    }
    let found = literals(root, "SAFEPOINT_", |letter| letter.is_ascii_uppercase() || letter == '_')?;
    if let Some((name, file)) = found.iter().find(|(name, _)| !is_told(name, &text)) {
        bail!("{file} names {name}, of which nothing is said: give it to `environment` in {SAFEPOINT}");
    }
    Ok(text)
}

fn is_told(name: &str, page: &str) -> bool {
    INTERNAL.contains(&name) || page.contains(&code(name))
}

/// Those that stand for options, and the others.
fn variables(root: &Path, commands: &[&Value]) -> Result<String> {
    let mut found: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for command in commands {
        for argument in command["arguments"].as_array().into_iter().flatten() {
            let Some(variable) = argument["variable"].as_str() else { continue };
            let entry = found.entry(variable.to_owned()).or_default();
            let option = code(&format!("--{}", text_of(argument, "long")));
            if !entry.0.contains(&option) {
                entry.0.push(option);
            }
            if entry.1.is_empty() {
                entry.1 = prose(text_of(argument, "help"));
            }
        }
    }
    let mut rows: Vec<[String; 3]> =
        found.into_iter().map(|(name, (options, help))| [code(&name), options.join(", "), help]).collect();
    for (file, pick) in [(SAFEPOINT, "environment"), (KUSIONSTACK, "")] {
        let source = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let groups = constants(&source)?;
        let group = groups.iter().find(|group| group.module == pick).context("the words are there")?;
        for word in &group.constants {
            // Of another system's words only those that are variables.
            if !pick.is_empty() || word.about.starts_with("Variable ") {
                rows.push([code(&word.value), String::new(), prose(&word.about)]);
            }
        }
    }
    Ok(table(["variable", "option", "what it is"], &rows))
}
