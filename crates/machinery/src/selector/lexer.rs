//! The tokens of a label selector.

/// What a piece of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    In,
    NotIn,
    Word,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
}

/// All tokens of `text`; the last is always [`Kind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = vec![];
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_space);
        let (length, kind) = next(rest);
        found.push(Token { kind, text: &rest[..length] });
        if kind == Kind::End {
            return found;
        }
        // Kubernetes takes a NUL for the end of a token and reads on behind it.
        rest = &rest[length..];
        rest = rest.strip_prefix('\0').unwrap_or(rest);
    }
}

fn next(rest: &str) -> (usize, Kind) {
    let two = match rest.get(..2) {
        Some("==") => Some(Kind::DoubleEquals),
        Some("!=") => Some(Kind::NotEquals),
        _ => None,
    };
    if let Some(kind) = two {
        return (2, kind);
    }
    match rest.chars().next() {
        None | Some('\0') => (0, Kind::End),
        Some('(') => (1, Kind::Open),
        Some(')') => (1, Kind::Close),
        Some(',') => (1, Kind::Comma),
        Some('!') => (1, Kind::Not),
        Some('=') => (1, Kind::Equals),
        Some('>') => (1, Kind::Greater),
        Some('<') => (1, Kind::Less),
        Some(_) => {
            let end = |c: char| is_space(c) || "=!(),><\0".contains(c);
            let length = rest.find(end).unwrap_or(rest.len());
            let kind = match &rest[..length] {
                "in" => Kind::In,
                "notin" => Kind::NotIn,
                _ => Kind::Word,
            };
            (length, kind)
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
