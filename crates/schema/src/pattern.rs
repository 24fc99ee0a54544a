//! Regular expressions in Go's syntax.
//!
//! Schemas and rules are written for Go's `regexp`. The engine here shares its guarantees (time linear in the text, no
//! look-around) but not every letter of its syntax: classes like `\d` are ASCII in Go, a stray `{` or `[` is a literal,
//! `\Q..\E` quotes. [`compile`] rewrites those places and leaves the rest alone. An expression whose program would need
//! more than [`SIZE_LIMIT`] is refused, so that a definition cannot take the server's memory.

#[cfg(test)]
mod tests;

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Bytes a compiled expression may take. Go refuses repetitions beyond a thousand, which stays below this.
const SIZE_LIMIT: usize = 4 << 20;

/// Compiles an expression written for Go.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = Translator::new(pattern).translate()?;
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
        // The last line names the fault; the lines above it draw the rewritten expression.
        error => {
            error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    })
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

// === impl Translator ===

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Self {
        Self { rest: pattern.chars().peekable(), out: String::with_capacity(pattern.len()) }
    }

    fn translate(mut self) -> Result<String, String> {
        // Whether a repetition stands directly before; Go does not let one follow another.
        let mut repeated = false;
        while let Some(c) = self.rest.next() {
            let repeats = match c {
                '\\' => {
                    self.escape(false)?;
                    false
                }
                '[' => {
                    self.class()?;
                    false
                }
                '(' => {
                    self.group()?;
                    false
                }
                '{' => self.brace()?,
                '*' | '+' | '?' => {
                    self.out.push(c);
                    true
                }
                c => {
                    self.out.push(c);
                    false
                }
            };
            if repeats && repeated {
                return Err("invalid nested repetition operator".to_owned());
            }
            if repeats && self.rest.next_if_eq(&'?').is_some() {
                self.out.push('?');
            }
            repeated = repeats;
        }
        Ok(self.out)
    }

    /// A group after its bracket. Flags that only exist here are refused: they would change the meaning.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        let flags = |c: &char| c.is_ascii_alphabetic() || *c == '-';
        while self.rest.peek().is_some_and(flags) {
            let Some(c) = self.rest.next() else { break };
            self.out.push(c);
            match c {
                // A name follows.
                'P' => return Ok(()),
                'i' | 'm' | 's' | 'U' | '-' => {}
                c => return Err(format!("invalid or unsupported Perl syntax: `(?{c}`")),
            }
        }
        Ok(())
    }

    /// The next few characters. No construct that needs looking ahead is longer.
    fn ahead(&self) -> String {
        self.rest.clone().take(16).collect()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.rest.next();
        }
    }

    /// `{2,3}` repeats, and is copied; any other brace stands for itself.
    fn brace(&mut self) -> Result<bool, String> {
        let ahead = self.ahead();
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
        let counts =
            ahead.split_once('}').map(|(inner, _)| inner).filter(|inner| match inner.split_once(',') {
                Some((low, high)) => number(low) && (high.is_empty() || number(high)),
                None => number(inner),
            });
        let Some(counts) = counts else {
            self.out.push_str("\\{");
            return Ok(false);
        };
        if counts
            .split(',')
            .any(|count| !count.is_empty() && count.parse::<u32>().map_or(true, |count| count > 1000))
        {
            return Err(format!("invalid repeat count: `{{{counts}}}`"));
        }
        self.out.push_str(&format!("{{{counts}}}"));
        self.skip(counts.len() + 1);
        Ok(true)
    }

    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let Some(c) = self.rest.next() else {
            return Err("trailing backslash at end of expression".to_owned());
        };
        match c {
            'd' => self.out.push_str(if in_class { "0-9" } else { "[0-9]" }),
            'w' => self.out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
            's' => self.out.push_str(if in_class { r"\t\n\x0c\r " } else { r"[\t\n\x0c\r ]" }),
            'D' => self.out.push_str("[^0-9]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            'S' => self.out.push_str(r"[^\t\n\x0c\r ]"),
            'b' if !in_class => self.out.push_str(r"(?-u:\b)"),
            'B' if !in_class => self.out.push_str(r"(?-u:\B)"),
            'Q' if !in_class => self.quoted(),
            'A' | 'z' if !in_class => self.keep(c),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => self.keep(c),
            'x' | 'p' | 'P' => {
                self.keep(c);
                // What follows in braces belongs to the escape.
                if self.rest.peek() == Some(&'{') {
                    for c in self.rest.by_ref() {
                        self.out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                }
            }
            '0'..='7' => self.octal(c)?,
            c if c.is_ascii_alphanumeric() => return Err(format!("invalid escape sequence: `\\{c}`")),
            // Any other character stands for itself; some of them mean something here when escaped.
            c => self.literal(c),
        }
        Ok(())
    }

    fn keep(&mut self, c: char) {
        self.out.push('\\');
        self.out.push(c);
    }

    fn literal(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.out.push_str(&regex::escape(c.encode_utf8(&mut buffer)));
    }

    /// `\Q...\E`, or to the end.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.peek() == Some(&'E') {
                self.rest.next();
                return;
            }
            self.literal(c);
        }
    }

    /// `\012`: up to three digits; a lone digit from one on would be a back reference.
    fn octal(&mut self, first: char) -> Result<(), String> {
        let is_octal = |c: &char| ('0'..='7').contains(c);
        if first != '0' && !self.rest.peek().is_some_and(is_octal) {
            return Err(format!("invalid escape sequence: `\\{first}`"));
        }
        let mut value = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let Some(digit) = self.rest.next_if(is_octal) else { break };
            value = value * 8 + digit.to_digit(8).unwrap_or_default();
        }
        self.out.push_str(&format!("\\x{{{value:x}}}"));
        Ok(())
    }

    /// A character class. Brackets, ampersands and tildes inside it are literals in Go and operators here.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        while let Some(c) = self.rest.next() {
            match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' => match self.posix()? {
                    Some(name) => self.out.push_str(&name),
                    None => self.out.push_str("\\["),
                },
                '\\' => self.escape(true)?,
                ']' | '&' | '~' => self.keep(c),
                // Two dashes in a row would subtract one class from another.
                '-' if self.rest.peek() == Some(&'-') || self.out.ends_with('-') => self.out.push_str("\\-"),
                c => self.out.push(c),
            }
            first = false;
        }
        Err("missing closing ]".to_owned())
    }

    /// `[:alpha:]` after its first bracket.
    fn posix(&mut self) -> Result<Option<String>, String> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let ahead = self.ahead();
        let Some((name, _)) = ahead.strip_prefix(':').and_then(|rest| rest.split_once(":]")) else {
            return Ok(None);
        };
        if !NAMES.contains(&name.trim_start_matches('^')) {
            return Err(format!("invalid character class range: `[:{name}:]`"));
        }
        self.skip(name.len() + 3);
        Ok(Some(format!("[:{name}:]")))
    }
}
