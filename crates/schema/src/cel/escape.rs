//! Property names as CEL identifiers.
//!
//! A rule reaches `x-prop` as `self.x__dash__prop` and `namespace` as `self.__namespace__`. A name that cannot be an
//! identifier even so is out of reach for rules.

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const SEQUENCES: [(&str, &str); 4] =
    [("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];

/// The identifier for a property name, if it has one.
pub(super) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some((sequence, plain)) = SEQUENCES.into_iter().find(|(_, plain)| rest.starts_with(plain)) {
            out.push_str(sequence);
            rest = &rest[plain.len()..];
        } else if c == '_' || c.is_ascii_alphanumeric() {
            out.push(c);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(out)
}

/// The property name behind an identifier; `None` if the identifier contains a sequence that means nothing.
pub(super) fn unescape(ident: &str) -> Option<String> {
    let mut out = String::with_capacity(ident.len());
    let mut rest = ident;
    while let Some(c) = rest.chars().next() {
        let word = rest.strip_prefix("__").and_then(|tail| {
            let (word, _) = tail.split_once("__")?;
            (!word.is_empty() && !word.contains('_')).then_some(word)
        });
        match word {
            Some(word) => {
                let sequence = &rest[..word.len() + 4];
                match SEQUENCES.into_iter().find(|(known, _)| *known == sequence) {
                    Some((_, plain)) => out.push_str(plain),
                    None if RESERVED.contains(&word) => out.push_str(word),
                    None => return None,
                }
                rest = &rest[sequence.len()..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_and_back() {
        for (name, ident) in [
            ("plain", "plain"),
            ("x-prop", "x__dash__prop"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("redact__d", "redact__underscores__d"),
            ("namespace", "__namespace__"),
            ("_a_b", "_a_b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(ident));
            assert_eq!(unescape(ident).as_deref(), Some(name));
        }
    }

    #[test]
    fn some_names_have_no_identifier() {
        for name in ["", "1a", "a b", "é", "$ref"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("a__nothing__b"), None);
    }
}
