//! The command line as data, for the pages that `cargo xtask reference` makes of it; and whether it is what the pages say that were
//! written by hand.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory};
use serde_json::{Map, Value};

use super::Args;

#[test]
fn every_command_in_the_documentation_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    find(&root.join("docs"), &mut pages);
    let mut typed = 0;
    for page in pages {
        for command in commands(&fs::read_to_string(&page).unwrap()) {
            typed += 1;
            let ended = Args::command().try_get_matches_from(&command);
            let refused = ended.err().filter(|error| error.exit_code() != 0);
            assert!(refused.is_none(), "{}: {command:?}: {}", page.display(), refused.unwrap());
        }
    }
    assert!(typed > 100, "only {typed} commands were found");
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => find(&path, pages),
            false if path.extension().is_some_and(|kind| kind == "md") => pages.push(path),
            false => {}
        }
    }
}

/// The lines in blocks that begin with `safepoint`, as words.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in page.replace("\\\n", " ").lines() {
        is_inside ^= line.starts_with("```");
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        // A usage has placeholders, and is nothing to type.
        let is_usage = line.contains(" <") || line.contains(" [");
        if is_inside && line.starts_with("safepoint ") && !is_usage {
            found.push(words(line));
        }
    }
    found
}

/// Words as a shell sees them, to the end of the command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match (letter, quote) {
            // What another command says is one word.
            ('(', None) => quote = Some(')'),
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('#' | '|' | '>' | ';' | '&', None) => break,
            (' ', None) => words.push(String::new()),
            (letter, _) => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_command_line_is_what_was_reviewed() {
    let mut command = Args::command();
    command.build();
    insta::assert_json_snapshot!("command_line", described(&mut command));
}

fn described(command: &mut Command) -> Value {
    let usage = command.render_usage().to_string();
    let about = command.get_long_about().or_else(|| command.get_about());
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_usual(arg));
    let mut fields = present([
        ("name", Some(command.get_bin_name().unwrap_or_else(|| command.get_name()).into())),
        ("summary", command.get_about().map(|about| about.to_string().into())),
        ("about", about.map(|about| about.to_string().into())),
        ("usage", Some(usage.trim_start_matches("Usage: ").into())),
        ("aliases", some(command.get_visible_aliases().map(Value::from).collect())),
        ("arguments", some(arguments.map(argument).collect())),
        ("after", command.get_after_help().map(|after| after.to_string().into())),
    ]);
    let shown = |command: &&mut Command| !command.is_hide_set() && command.get_name() != "help";
    let commands: Vec<Value> = command.get_subcommands_mut().filter(shown).map(described).collect();
    fields.extend(some(commands).map(|commands| ("commands".to_owned(), commands)));
    Value::Object(fields)
}

fn argument(arg: &Arg) -> Value {
    let values = arg.get_value_names().unwrap_or_default().iter().map(|name| Value::from(name.as_str()));
    let takes = arg.get_action().takes_values();
    let texts = |found: &[clap::builder::OsStr]| {
        some(found.iter().map(|text| text.to_string_lossy().into()).collect())
    };
    let choices = arg.get_possible_values().into_iter().filter(|choice| takes && !choice.is_hide_set());
    let choices = choices.map(|choice| {
        let help = choice.get_help().map(|help| help.to_string().into());
        Value::Object(present([("name", Some(choice.get_name().into())), ("help", help)]))
    });
    let help = arg.get_long_help().or_else(|| arg.get_help());
    Value::Object(present([
        ("long", arg.get_long().map(Value::from)),
        ("short", arg.get_short().map(|short| short.to_string().into())),
        ("values", some(values.filter(|_| takes).collect())),
        ("required", arg.is_required_set().then_some(Value::Bool(true))),
        ("several", matches!(arg.get_action(), clap::ArgAction::Append).then_some(Value::Bool(true))),
        ("default", texts(arg.get_default_values()).filter(|_| takes && !arg.is_hide_default_value_set())),
        ("variable", arg.get_env().map(|name| name.to_string_lossy().into())),
        ("choices", some(choices.collect())),
        ("help", help.map(|help| help.to_string().into())),
    ]))
}

fn is_usual(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "version")
}

fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn some(items: Vec<Value>) -> Option<Value> {
    (!items.is_empty()).then_some(Value::Array(items))
}
