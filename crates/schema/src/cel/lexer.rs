//! CEL source to tokens.
//!
//! Written here because the grammar is small and the source is not trusted: the parser that comes with the function
//! library recurses into the ground on nested brackets, and a definition must not be able to end the process.

use super::ast::Literal;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Ident(Box<str>),
    Literal(Literal),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// What could not be read, and where.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Longest first, so that `<=` is not read as `<`.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "=",
];

/// All tokens with their offsets, the end included.
pub(super) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let mut lexer = Lexer { source, at: 0 };
    let mut out = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        out.push((start, token));
        if end {
            return Ok(out);
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

// === impl Lexer ===

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip_blank(&mut self) {
        loop {
            let trimmed = self.rest().trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']);
            self.at = self.source.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn token(&mut self) -> Result<Token, Fault> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        if let Some(prefix) = string_prefix(rest) {
            return self.string(prefix);
        }
        let starts_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        if starts_number(rest) || (first == '.' && starts_number(&rest[1..])) {
            return self.number();
        }
        if first == '_' || first.is_ascii_alphabetic() {
            let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            self.at += end;
            return Ok(match &rest[..end] {
                "true" => Token::Literal(Literal::Bool(true)),
                "false" => Token::Literal(Literal::Bool(false)),
                "null" => Token::Literal(Literal::Null),
                "in" => Token::Sign("in"),
                word => Token::Ident(word.into()),
            });
        }
        match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => Err(Fault::new(self.at, format!("Syntax error: token recognition error at: '{first}'"))),
        }
    }

    fn number(&mut self) -> Result<Token, Fault> {
        let start = self.at;
        let rest = self.rest();
        let fault = |what: &str| Fault::new(start, format!("invalid {what} literal"));
        if let Some(hex) = rest.strip_prefix("0x") {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| fault("int"))?;
            self.at += 2 + end;
            if self.take(['u', 'U']) {
                return Ok(Token::Literal(Literal::Uint(value)));
            }
            return Ok(Token::Literal(Literal::Int(i64::try_from(value).map_err(|_| fault("int"))?)));
        }
        let digits = |from: usize| {
            rest[from..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| from + length)
        };
        let mut end = digits(0);
        let mut float = false;
        if rest[end..].starts_with('.') && digits(end + 1) > end + 1 {
            float = true;
            end = digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            if digits(end + 1 + sign) > end + 1 + sign {
                float = true;
                end = digits(end + 1 + sign);
            }
        }
        let text = &rest[..end];
        self.at += end;
        if float {
            return text
                .parse()
                .map(|value| Token::Literal(Literal::Double(value)))
                .map_err(|_| fault("double"));
        }
        if self.take(['u', 'U']) {
            return text.parse().map(|value| Token::Literal(Literal::Uint(value))).map_err(|_| fault("uint"));
        }
        // The magnitude of the smallest integer only fits together with its sign: the parser joins them.
        match text.parse::<u64>() {
            Ok(value) if value <= i64::MAX.unsigned_abs() => {
                Ok(Token::Literal(Literal::Int(value.cast_signed())))
            }
            Ok(value) if value == 1 << 63 => Ok(Token::Literal(Literal::Int(i64::MIN))),
            _ => Err(fault("int")),
        }
    }

    fn take(&mut self, letters: [char; 2]) -> bool {
        let found = self.rest().starts_with(letters);
        self.at += usize::from(found);
        found
    }

    fn string(&mut self, prefix: Prefix) -> Result<Token, Fault> {
        let start = self.at;
        self.at += prefix.length;
        let quote = &self.rest()[..1];
        let triple = quote.repeat(3);
        let delimiter = if self.rest().starts_with(&triple) { triple.as_str() } else { quote };
        self.at += delimiter.len();
        let mut out = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(delimiter) {
                self.at += delimiter.len();
                break;
            }
            let unterminated = || {
                let text = self.source[start..].lines().next().unwrap_or_default();
                Fault::new(start, format!("Syntax error: token recognition error at: '{text}'"))
            };
            let Some(c) = rest.chars().next() else { return Err(unterminated()) };
            if delimiter.len() == 1 && matches!(c, '\n' | '\r') {
                return Err(unterminated());
            }
            self.at += c.len_utf8();
            match c {
                '\\' if !prefix.raw => self.escape(&mut out, prefix.bytes)?,
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if prefix.bytes {
            return Ok(Token::Literal(Literal::Bytes(out.into())));
        }
        let text = String::from_utf8(out).map_err(|_| Fault::new(start, "invalid string literal"))?;
        Ok(Token::Literal(Literal::Text(text.into())))
    }

    /// An escape after its backslash.
    fn escape(&mut self, out: &mut Vec<u8>, bytes: bool) -> Result<(), Fault> {
        let fault = Fault::new(self.at - 1, "unable to unescape string");
        let Some(c) = self.rest().chars().next() else { return Err(fault) };
        self.at += c.len_utf8();
        let plain = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '?' | '"' | '\'' | '`' => u8::try_from(c).unwrap_or_default(),
            'x' | 'X' | 'u' | 'U' | '0'..='3' => {
                let (width, radix) = match c {
                    'x' | 'X' => (2, 16),
                    'u' => (4, 16),
                    'U' => (8, 16),
                    // The digit already read is the first of three.
                    _ => {
                        self.at -= 1;
                        (3, 8)
                    }
                };
                let value = self.rest().get(..width).and_then(|text| u32::from_str_radix(text, radix).ok());
                let Some(value) = value else { return Err(fault) };
                self.at += width;
                if bytes {
                    // Code points have no place among bytes.
                    out.push(u8::try_from(value).ok().filter(|_| !matches!(c, 'u' | 'U')).ok_or(fault)?);
                } else {
                    let c = char::from_u32(value).ok_or(fault)?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                return Ok(());
            }
            _ => return Err(fault),
        };
        out.push(plain);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Prefix {
    length: usize,
    raw: bool,
    bytes: bool,
}

/// Whether a string starts here, and with which letters before its quote.
fn string_prefix(text: &str) -> Option<Prefix> {
    let length = text.bytes().take(3).position(|byte| matches!(byte, b'"' | b'\''))?;
    let letters = text[..length].to_ascii_lowercase();
    let (raw, bytes) = match letters.as_str() {
        "" => (false, false),
        "r" => (true, false),
        "b" => (false, true),
        "rb" | "br" => (true, true),
        _ => return None,
    };
    Some(Prefix { length, raw, bytes })
}
