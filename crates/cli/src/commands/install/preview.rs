//! What a dry run prints: every file as it would be, against what is there, and every command.

use std::fs;
use std::io::Write;

use super::carry_out::tell;
use super::plan::{Step, Text};

/// Prints all steps. Changes nothing.
pub(super) fn preview(steps: &[Step], out: &mut dyn Write) {
    for (index, step) in steps.iter().enumerate() {
        tell(out, &format!("[{}/{}] {}", index + 1, steps.len(), step.announcement()));
        if let Step::Write(Text { path, text, mode, .. }) = step {
            let before = fs::read_to_string(path).ok();
            let of = if before.is_some() { "changed" } else { "new" };
            tell(out, &format!("      {of}, mode {mode:04o}"));
            for line in diff(&hidden(&before.unwrap_or_default()), &hidden(text)) {
                tell(out, &format!("      {line}"));
            }
        }
    }
}

/// Without the contents of keys.
fn hidden(text: &str) -> String {
    let line = |line: &str| match line.split_once("client-key-data:") {
        Some((before, _)) => format!("{before}client-key-data: (not shown)\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The lines of two texts, each with a sign: in both, only before, only after.
fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // How many lines are common to what is left of each. These files are short.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut lines, mut i, mut j) = (Vec::new(), 0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(format!("  {}", old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(format!("- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_has_a_sign() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\nd\n"), ["  a", "- b", "+ x", "  c", "+ d"]);
        assert_eq!(diff("", "a\n"), ["+ a"]);
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(hidden("  client-key-data: abc\n  x: y\n"), "  client-key-data: (not shown)\n  x: y\n");
    }
}
