//! What is printed: tables for people, and JSON, YAML and names for scripts.
//!
//! Standard output has what was asked for and nothing else. It is colourful on a terminal only.

pub(crate) mod age;
pub(crate) mod progress;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod words;

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::problem::{Done, Problem};

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For people with wide screens.
    Wide,
    /// The agent's answer as it is.
    Json,
    /// The same as YAML.
    Yaml,
    /// Names alone, one a line.
    Name,
}

// === impl Format ===

impl Format {
    pub(crate) const fn is_for_people(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }

    /// Prints what was asked for.
    pub(crate) fn show<T: Serialize>(
        self,
        value: &T,
        names: impl FnOnce(&T) -> Vec<String>,
        table: impl FnOnce(&T, bool) -> String,
    ) -> Done {
        match self {
            Self::Table => out(&table(value, false)),
            Self::Wide => out(&table(value, true)),
            Self::Name => out(&names(value).into_iter().map(|name| name + "\n").collect::<String>()),
            Self::Json => out(&json(value, true)?),
            Self::Yaml => {
                let yaml =
                    serde_saphyr::to_string(value).map_err(|error| Problem::failed(error.to_string()))?;
                out(&format!("{}\n", yaml.trim_end()))
            }
        }
    }

    /// Prints one item of a list that has no end: JSON in one line, YAML as a document of its own.
    pub(crate) fn show_one<T: Serialize>(
        self,
        value: &T,
        name: impl FnOnce(&T) -> String,
        line: impl FnOnce(&T) -> String,
    ) -> Done {
        match self {
            Self::Json => out(&json(value, false)?),
            Self::Yaml => {
                out("---\n")?;
                self.show(value, |_| Vec::new(), |_, _| String::new())
            }
            Self::Name => out(&(name(value) + "\n")),
            Self::Table | Self::Wide => out(&(line(value) + "\n")),
        }
    }
}

fn json(value: &impl Serialize, pretty: bool) -> Result<String, Problem> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    text.map(|text| text + "\n").map_err(|error| Problem::failed(error.to_string()))
}

/// Writes to standard output. A reader that closes the pipe early has seen enough, and nothing is left to do.
pub(crate) fn out(text: &str) -> Done {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Problem::failed(format!("cannot write to standard output: {error}"))),
    }
}
