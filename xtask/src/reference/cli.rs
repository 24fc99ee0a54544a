//! The command line, from the parser's own tree.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::markdown::{block, code, paragraphs, prose, table};
use super::source::json;
use crate::tidy::Slugs;

const TREE: &str = "crates/cli/src/args/snapshots/safepoint__args__tests__command_line.snap";
const INTRO: &str = "# Every command

What each command is for, with every option. [The command line](../cli.md) is the same as a tour, with what is printed. `safepoint-agent`, the agent
without the rest, takes the options of `safepoint agent`.
";

/// The tree of commands.
pub(super) fn tree(root: &Path) -> Result<Value> {
    json(root, TREE)
}

pub(super) fn page(root: &Path) -> Result<String> {
    let tree = tree(root)?;
    let mut text = INTRO.to_owned();
    let mut all = Vec::new();
    walk(&tree, &mut all);
    let mut slugs = Slugs::default();
    let rows: Vec<[String; 2]> = all
        .iter()
        .skip(1)
        .map(|command| {
            let name = text_of(command, "name");
            [format!("[`{name}`](#{})", slugs.of(name)), prose(text_of(command, "summary"))]
        })
        .collect();
    text.push_str(&format!("\n## All of them\n\n{}", table(["command", "what it does"], &rows)));
    for command in all.iter().skip(1) {
        text.push_str(&described(command)?);
    }
    let after = text_of(&tree, "after");
    let codes = after.strip_prefix("Exit codes:\n").context("the program says its exit codes")?;
    text.push_str(&format!("\n## Exit codes\n\n{}", exit_codes(codes)));
    text.push_str(
        "\n`safepoint run` ends as its command does, or with 128 and the number of the signal that ended it; 125: the hold could not be taken; 126: the \
         command cannot be executed; 127: there is no such command. `safepoint unhold-upgrade` has the codes of `keadm`: 0, or 1.\n",
    );
    Ok(text)
}

/// The commands in the order in which help shows them, each before its own.
pub(super) fn walk<'a>(command: &'a Value, all: &mut Vec<&'a Value>) {
    all.push(command);
    for inner in command["commands"].as_array().into_iter().flatten() {
        walk(inner, all);
    }
}

pub(super) fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// An option as one types it.
pub(super) fn typed(argument: &Value) -> String {
    let values: Vec<&str> =
        argument["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let values = values.join(" ");
    let Some(long) = argument["long"].as_str() else { return values };
    let short = argument["short"].as_str().map(|short| format!("-{short}, ")).unwrap_or_default();
    format!("{short}--{long} {values}").trim_end().to_owned()
}

fn described(command: &Value) -> Result<String> {
    let name = command["name"].as_str().context("a command has a name")?;
    let mut text = format!("\n## `{name}`\n\n{}\n\n", prose(&paragraphs(text_of(command, "about"))));
    text.push_str(&block("text", text_of(command, "usage")));
    let aliases = command["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let aliases: Vec<String> = aliases.map(code).collect();
    if !aliases.is_empty() {
        text.push_str(&format!("\nAlso: {}.\n", aliases.join(", ")));
    }
    let rows: Vec<[String; 4]> =
        command["arguments"].as_array().into_iter().flatten().map(argument).collect();
    if !rows.is_empty() {
        text.push_str(&format!("\n{}", table(["option", "default", "variable", "what it is"], &rows)));
    }
    let (examples, rest) = parted(text_of(command, "after"));
    if !examples.is_empty() {
        text.push_str(&format!("\n{}", block("sh", &examples)));
    }
    if !rest.is_empty() {
        text.push_str(&format!("\n{}\n", prose(&rest)));
    }
    Ok(text)
}

fn argument(argument: &Value) -> [String; 4] {
    let default = argument["default"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let default: Vec<String> = default.map(code).collect();
    let mut help = prose(text_of(argument, "help"));
    if argument["required"] == true {
        help = format!("Required. {help}");
    }
    let choices = argument["choices"].as_array().into_iter().flatten().map(|choice| {
        let name = code(text_of(choice, "name"));
        match text_of(choice, "help") {
            "" => name,
            help => format!("{name}: {}", prose(help.trim_end_matches('.'))),
        }
    });
    let choices: Vec<String> = choices.collect();
    if !choices.is_empty() {
        help = format!("{}. One of {}.", help.trim_end_matches('.'), choices.join("; "));
    }
    let variable = argument["variable"].as_str().map(code).unwrap_or_default();
    [code(&typed(argument)), default.join(" "), variable, help]
}

/// What follows the options: examples, which help moves in by two spaces, and what is said after them.
fn parted(after: &str) -> (String, String) {
    let (mut examples, mut rest) = (Vec::new(), Vec::new());
    let mut is_example = false;
    for line in after.lines() {
        match line.strip_prefix("  ") {
            _ if line == "Examples:" => is_example = true,
            Some(line) if is_example => examples.push(line),
            None if is_example && line.is_empty() => examples.push(line),
            _ => {
                is_example = false;
                rest.push(line.trim());
            }
        }
    }
    (examples.join("\n").trim_end().to_owned(), rest.join(" "))
}

/// `  3  it was refused`, as a table.
fn exit_codes(text: &str) -> String {
    let rows: Vec<[String; 2]> = text
        .lines()
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(number, meaning)| [number.to_owned(), prose(meaning)])
        .collect();
    table(["code", "means"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_told_from_what_is_said_after_them() {
        let after = "Examples:\n  # one\n  safepoint up\n\n  # two\n  safepoint hub\n\nUnder systemd: yes.";
        let (examples, rest) = parted(after);
        assert_eq!(examples, "# one\nsafepoint up\n\n# two\nsafepoint hub");
        assert_eq!(rest, "Under systemd: yes.");
    }
}
