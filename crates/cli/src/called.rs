//! What this program was started as: `safepoint`, or `kubectl safepoint` where kubectl has found it as its plugin.
//!
//! kubectl runs `kubectl-safepoint` as `kubectl safepoint`, and asks `kubectl_complete-safepoint` for completions. Both are
//! links to this program.

use std::borrow::Cow;
use std::path::Path;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::args::Args;

const PLUGIN: &str = "kubectl-safepoint";
const COMPLETION: &str = "kubectl_complete-safepoint";

/// What a person types to start it.
pub(crate) fn name() -> &'static str {
    if started_as(PLUGIN) || is_completion() { "kubectl safepoint" } else { "safepoint" }
}

/// Whether kubectl asks what can be typed.
pub(crate) fn is_completion() -> bool {
    started_as(COMPLETION)
}

fn started_as(file: &str) -> bool {
    std::env::args_os().next().is_some_and(|path| Path::new(&path).file_name() == Some(file.as_ref()))
}

/// The command line, in which every command is as a person has to type it.
pub(crate) fn command() -> Command {
    match name() {
        "safepoint" => Args::command(),
        name => renamed(Args::command()).bin_name(name),
    }
}

/// A text of ours, in which every command is as a person has to type it.
pub(crate) fn words(text: &str) -> Cow<'_, str> {
    match name() {
        "safepoint" => text.into(),
        name => with(text, name).into(),
    }
}

/// Commands stand in backquotes, or in lines of their own.
fn with(text: &str, name: &str) -> String {
    text.replace("`safepoint ", &format!("`{name} ")).replace("\n  safepoint ", &format!("\n  {name} "))
}

fn renamed(mut command: Command) -> Command {
    let said = |text: Option<&StyledStr>| text.map(|text| with(&text.to_string(), "kubectl safepoint"));
    if let Some(about) = said(command.get_about()) {
        command = command.about(about);
    }
    if let Some(about) = said(command.get_long_about()) {
        command = command.long_about(about);
    }
    if let Some(examples) = said(command.get_after_help()) {
        command = command.after_help(examples);
    }
    let command = command.mut_args(|mut arg| {
        if let Some(help) = said(arg.get_help()) {
            arg = arg.help(help);
        }
        if let Some(help) = said(arg.get_long_help()) {
            arg = arg.long_help(help);
        }
        arg
    });
    command.mut_subcommands(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_in_a_text_is_one_that_can_be_typed() {
        let text = "Examples:\n  # as `safepoint holds` shows it, in ./.safepoint\n  safepoint unhold lift";
        let typed = "Examples:\n  # as `kubectl safepoint holds` shows it, in ./.safepoint\n  kubectl safepoint unhold lift";
        assert_eq!(with(text, "kubectl safepoint"), typed);
    }

    #[test]
    fn no_help_text_of_the_plugin_names_a_command_that_is_not_there() {
        fn all(command: &mut Command, texts: &mut Vec<String>) {
            texts.push(command.render_long_help().to_string());
            for command in command.get_subcommands_mut() {
                all(command, texts);
            }
        }
        let mut command = renamed(Args::command()).bin_name("kubectl safepoint");
        command.build();
        let mut texts = Vec::new();
        all(&mut command, &mut texts);
        let wrong = |line: &&str| line.contains("`safepoint ") || line.starts_with("  safepoint ");
        let wrong: Vec<&str> = texts.iter().flat_map(|text| text.lines()).filter(wrong).collect();
        assert_eq!(wrong, Vec::<&str>::new());
        assert!(texts.iter().any(|text| text.contains("Usage: kubectl safepoint node freeze")));
    }
}
