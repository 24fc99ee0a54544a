//! What can be typed next, as kubectl asks its plugins. Pure.
//!
//! kubectl gives the words so far, the last of them as far as it is typed, and reads a candidate from each line, with what it
//! means after a tab. The last line is `:` and a number: whether names of files are candidates too.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Nothing but what is listed.
const ONLY_THESE: &str = ":4\n";
/// Files, if nothing is listed.
const FILES_TOO: &str = ":0\n";

/// The candidates, in kubectl's form.
pub(crate) fn complete(mut command: Command, words: &[String]) -> String {
    command.build();
    let (typed, before) =
        words.split_last().map_or(("", &[][..]), |(typed, before)| (typed.as_str(), before));
    let mut at = &command;
    let mut option: Option<&Arg> = None;
    for word in before {
        if word == "--" {
            // What follows is another program's.
            return FILES_TOO.to_owned();
        }
        if option.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            option = named(at, word).filter(|arg| arg.get_action().takes_values());
        } else if let Some(inner) = at.find_subcommand(word) {
            at = inner;
        }
    }
    let found: Vec<(String, String)> = match (option, typed.starts_with('-')) {
        (Some(option), _) => values(option),
        (None, true) => {
            let args = at.get_arguments().filter(|arg| !arg.is_hide_set());
            args.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first(arg.get_help())))).collect()
        }
        (None, false) => {
            let inner = at.get_subcommands().filter(|inner| !inner.is_hide_set());
            let inner = inner.map(|inner| (inner.get_name().to_owned(), first(inner.get_about())));
            inner.chain(at.get_positionals().flat_map(values)).collect()
        }
    };
    let is_known = !found.is_empty();
    let lines = found.into_iter().filter(|(word, _)| word.starts_with(typed));
    let mut lines: String = lines.map(|(word, what)| format!("{word}\t{what}\n")).collect();
    lines.push_str(if is_known { ONLY_THESE } else { FILES_TOO });
    lines
}

/// The option of this name. One that has its value with it waits for none.
fn named<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let mut args = command.get_arguments();
    match word.strip_prefix("--") {
        Some(long) => args.find(|arg| arg.get_long() == Some(long)),
        None => args.find(|arg| arg.get_short().is_some_and(|short| word == format!("-{short}"))),
    }
}

fn values(arg: &Arg) -> Vec<(String, String)> {
    let values = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    values.map(|value| (value.get_name().to_owned(), first(value.get_help()))).collect()
}

/// The first line of a text.
fn first(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn completed(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let text = complete(crate::args::Args::command(), &words);
        text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn commands_options_and_their_values_are_completed() {
        for (words, candidates) in [
            (&["stat"][..], &["static-pod-upgrade", "status", "static-pod", ":4"][..]),
            (&["node", ""], &["freeze", "unfreeze", "help", ":4"]),
            (&["status", "--so"], &["--socket", ":4"]),
            (&["status", "-o", ""], &["table", "wide", "json", "yaml", "name", ":4"]),
            (&["status", "--output=json", "--no"], &["--node", ":4"]),
            (&["completion", "z"], &["zsh", ":4"]),
            (&["status", "--kubeconfig", ""], &[":0"]),
            (&["run", "--", "./mis"], &[":0"]),
        ] {
            assert_eq!(completed(words), candidates, "{words:?}");
        }
        assert!(completed(&[]).contains(&"top".to_owned()));
        // What is not shown in the help is not offered either.
        assert!(!completed(&["ma"]).contains(&"man".to_owned()));
    }
}
