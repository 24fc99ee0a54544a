//! Text in so many columns of a terminal. Pure.

use ratatui::text::Span;

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// As much of a text as fits, with a sign where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width(&cut) >= columns {
            cut.pop();
            break;
        }
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// A text in lines, broken between words; a word that is too long is cut.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        let begun = line.len() > indent.len();
        if !begun || width(line) + 1 + width(word) <= columns {
            if begun {
                line.push(' ');
            }
            line.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.into_iter().map(|line| cut(&line, columns)).collect()
}

/// `10,000`: what is easily misread by a digit.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How much of something is done, in so many columns.
pub(crate) fn bar(done: usize, all: usize, columns: usize) -> String {
    // Full only when all is done: nine hundred and ninety-nine of a thousand are not.
    let full = (columns * done.min(all)).checked_div(all).unwrap_or(0);
    "█".repeat(full) + &"░".repeat(columns - full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        assert_eq!([cut("rover", 5), cut("rover-7", 5), cut("漫遊車号", 5)], ["rover", "rove…", "漫遊…"]);
        assert_eq!(cut("rover", 0), "");
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("a lift in hall 3", 7), ["a lift", "in hall", "3"]);
        assert_eq!(wrapped("  safepoint release x", 12), ["  safepoint", "  release x"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn a_bar_is_full_when_everything_is_done() {
        assert_eq!([bar(999, 1000, 4), bar(1000, 1000, 4), bar(0, 0, 4)], ["███░", "████", "░░░░"]);
        assert_eq!(
            [grouped(0), grouped(999), grouped(10_000), grouped(1_234_567)],
            ["0", "999", "10,000", "1,234,567"]
        );
    }
}
