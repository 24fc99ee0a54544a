//! What a page asks its reader to do.
//!
//! | block | |
//! |---|---|
//! | `console` | commands after `$ `, each with what it says |
//! | `console background` | a command that stays, in a terminal of its own |
//! | `console until` | commands that are asked again until they say this |
//! | `console fails` | commands that are refused |
//! | anything with `file=NAME` | is saved under that name |
//! | `text` | is only looked at |

use std::fs;
use std::path::Path;

/// How the commands of a block are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// To their end, which is a good one.
    Once,
    /// In a terminal of their own.
    Background,
    /// Again and again, until they say what is written.
    Until,
    /// To their end, which is a bad one.
    Fails,
}

/// A command, and what it says.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) says: String,
}

#[derive(Debug)]
pub(super) enum Block {
    Console { steps: Vec<Step>, how: How, line: usize },
    File { name: String, text: String },
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
}

// === impl Page ===

impl Page {
    pub(super) fn read(path: &Path) -> Self {
        let text = text(path);
        let fenced = fenced(&text).into_iter();
        let blocks: Vec<Block> =
            fenced.filter_map(|(info, inside, line)| block(info, &inside, line)).collect();
        assert!(!blocks.is_empty(), "{} asks nobody to do anything", path.display());
        Self { blocks }
    }
}

/// Whether a page looks as if its commands were run.
pub(super) fn promises(path: &Path) -> bool {
    let is_typed = |line: &&str| line.starts_with("$ ");
    fenced(&text(path)).iter().any(|(info, inside, _)| {
        info.starts_with("console") || (*info != "text" && inside.iter().any(is_typed))
    })
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a page: what each says of itself, its lines, and where it begins.
fn fenced(text: &str) -> Vec<(&str, Vec<&str>, usize)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        blocks.push((info, inside, number + 1));
    }
    blocks
}

fn block(info: &str, inside: &[&str], line: usize) -> Option<Block> {
    if let Some(name) = info.split(' ').find_map(|word| word.strip_prefix("file=")) {
        return Some(Block::File { name: name.to_owned(), text: inside.join("\n") + "\n" });
    }
    let how = match info {
        "console" => How::Once,
        "console background" => How::Background,
        "console until" => How::Until,
        "console fails" => How::Fails,
        "text" => return None,
        other => panic!("line {line}: nobody knows what to do with a block of {other:?}"),
    };
    let mut steps: Vec<Step> = Vec::new();
    for line in inside {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), says: String::new() }),
            (None, Some(step)) if step.command.ends_with('\\') => {
                step.command.push('\n');
                step.command.push_str(line);
            }
            (None, Some(step)) => {
                step.says.push_str(line);
                step.says.push('\n');
            }
            (None, None) => panic!("a block of commands begins with one, and this with {line:?}"),
        }
    }
    Some(Block::Console { steps, how, line })
}

#[test]
fn a_page_is_read_as_its_reader_reads_it() {
    let block = |info: &str, inside: &[&str]| block(info, inside, 1);
    let Some(Block::Console { steps, how, .. }) =
        block("console until", &["$ one \\", "    two", "said", "", "more", "$ three"])
    else {
        panic!("it is one of commands")
    };
    assert_eq!(how, How::Until);
    assert_eq!((&*steps[0].command, &*steps[0].says), ("one \\\n    two", "said\n\nmore\n"));
    assert_eq!((&*steps[1].command, &*steps[1].says), ("three", ""));
    let Some(Block::File { name, text }) = block("sh file=a.sh", &["x", "y"]) else { panic!("it is a file") };
    assert_eq!((&*name, &*text), ("a.sh", "x\ny\n"));
    assert!(block("text", &["a picture"]).is_none());
}
