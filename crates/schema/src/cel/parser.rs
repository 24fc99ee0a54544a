//! Tokens to an expression.
//!
//! Nesting is limited twice: how deep the parser may recurse ([`MAX_NESTING`]) and how deep the tree it returns may be
//! ([`MAX_DEPTH`]), because everything that later walks the tree recurses as well. Both are far above what people write
//! and far below what a thread's stack holds.

#[cfg(test)]
mod tests;

use super::ast::{Ast, AstKind, Literal, Offset, Operator};
use super::lexer::{Fault, Token, tokens};

/// Brackets inside brackets.
const MAX_NESTING: usize = 60;
/// Operators on top of operators.
const MAX_DEPTH: usize = 250;
/// Bytes of one expression. The API server allows a hundred thousand characters.
const MAX_SOURCE: usize = 100_000;

/// How a message says that an expression was expected.
const EXPRESSION_STARTS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, \
                                 NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Words that the language keeps for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
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
    "while",
];

/// Reads an expression; the error is the text an API server gives.
pub(super) fn parse(source: &str) -> Result<Ast, String> {
    let read = || {
        if source.len() > MAX_SOURCE {
            return Err(Fault::new(0, "expression code point size exceeds limit"));
        }
        let tokens = tokens(source)?;
        let mut parser = Parser { tokens, next: 0, nesting: 0 };
        let (ast, _) = parser.expression()?;
        match parser.peek() {
            Token::End => Ok(ast),
            _ => Err(parser.fault(|text| format!("extraneous input '{text}' expecting <EOF>"))),
        }
    };
    read().map_err(|fault| describe(source, fault.at, &fault.message))
}

/// A message with its place, drawn under the line it is about.
pub(super) fn describe(source: &str, at: usize, message: &str) -> String {
    let at = at.min(source.len());
    let before = &source[..at];
    let line_number = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = source[line_start..].lines().next().unwrap_or_default();
    let column = source[line_start..at].chars().count();
    format!("ERROR: <input>:{line_number}:{}: {message}\n | {line}\n | {}^", column + 1, ".".repeat(column))
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    nesting: usize,
}

/// An expression and the depth of its tree.
type Built = (Ast, usize);

// === impl Parser ===

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].1.clone();
        // The last token is the end, and it stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        match self.accept(sign) {
            true => Ok(()),
            false => Err(self.fault(|text| format!("missing '{sign}' at '{text}'"))),
        }
    }

    /// A fault about the next token.
    fn fault(&self, describe: impl FnOnce(&str) -> String) -> Fault {
        let text = match self.peek() {
            Token::End => "<EOF>",
            Token::Sign(sign) => sign,
            Token::Ident(name) => name,
            Token::Literal(_) => "literal",
        };
        Fault::new(self.at(), format!("Syntax error: {}", describe(text)))
    }

    fn unexpected(&self) -> Fault {
        self.fault(|text| format!("mismatched input '{text}' expecting {EXPRESSION_STARTS}"))
    }

    /// Puts a node on top of its children.
    fn build(&self, at: usize, depth: usize, kind: AstKind) -> Result<Built, Fault> {
        if depth >= MAX_DEPTH {
            return Err(Fault::new(at, format!("expression recursion limit exceeded: {MAX_DEPTH}")));
        }
        let at = Offset::try_from(at).map_err(|_| Fault::new(0, "expression too long"))?;
        Ok((Ast { at, kind }, depth + 1))
    }

    fn expression(&mut self) -> Result<Built, Fault> {
        if self.nesting >= MAX_NESTING {
            return Err(Fault::new(self.at(), format!("expression recursion limit exceeded: {MAX_NESTING}")));
        }
        self.nesting += 1;
        let built = self.conditional();
        self.nesting -= 1;
        built
    }

    fn conditional(&mut self) -> Result<Built, Fault> {
        let (condition, depth) = self.any()?;
        let at = self.at();
        if !self.accept("?") {
            return Ok((condition, depth));
        }
        let (then, then_depth) = self.any()?;
        self.expect(":")?;
        let (otherwise, else_depth) = self.expression()?;
        let depth = depth.max(then_depth).max(else_depth);
        self.build(at, depth, AstKind::If(Box::new([condition, then, otherwise])))
    }

    fn any(&mut self) -> Result<Built, Fault> {
        self.chain("||", Self::all, AstKind::Or)
    }

    fn all(&mut self) -> Result<Built, Fault> {
        self.chain("&&", |parser| parser.binary(0), AstKind::And)
    }

    fn chain(
        &mut self,
        sign: &str,
        term: impl Fn(&mut Self) -> Result<Built, Fault>,
        join: impl Fn(Vec<Ast>) -> AstKind,
    ) -> Result<Built, Fault> {
        let (first, mut depth) = term(self)?;
        let at = self.at();
        let mut terms = vec![first];
        while self.accept(sign) {
            let (next, next_depth) = term(self)?;
            terms.push(next);
            depth = depth.max(next_depth);
        }
        match terms.len() {
            1 => Ok((terms.remove(0), depth)),
            _ => self.build(at, depth, join(terms)),
        }
    }

    fn operator(&self) -> Option<(usize, Operator)> {
        let Token::Sign(sign) = self.peek() else { return None };
        Some(match *sign {
            "==" => (0, Operator::Equal),
            "!=" => (0, Operator::NotEqual),
            "<" => (0, Operator::Less),
            "<=" => (0, Operator::LessEqual),
            ">" => (0, Operator::Greater),
            ">=" => (0, Operator::GreaterEqual),
            "in" => (0, Operator::In),
            "+" => (1, Operator::Add),
            "-" => (1, Operator::Subtract),
            "*" => (2, Operator::Multiply),
            "/" => (2, Operator::Divide),
            "%" => (2, Operator::Remainder),
            _ => return None,
        })
    }

    /// Operators of at least this precedence, all of them left associative.
    fn binary(&mut self, precedence: usize) -> Result<Built, Fault> {
        if precedence > 2 {
            return self.unary();
        }
        let (mut left, mut depth) = self.binary(precedence + 1)?;
        while let Some((_, operator)) = self.operator().filter(|(found, _)| *found == precedence) {
            let at = self.at();
            self.advance();
            let (right, right_depth) = self.binary(precedence + 1)?;
            let kind = AstKind::Binary(operator, Box::new([left, right]));
            (left, depth) = self.build(at, depth.max(right_depth), kind)?;
        }
        Ok((left, depth))
    }

    fn unary(&mut self) -> Result<Built, Fault> {
        let at = self.at();
        for (sign, wrap) in [("!", AstKind::Not as fn(Box<Ast>) -> AstKind), ("-", AstKind::Negate)] {
            let mut count = 0;
            while self.is(sign) {
                // The last minus before a number belongs to the number.
                if sign == "-" && is_number(&self.tokens[self.next + 1].1) {
                    break;
                }
                self.advance();
                count += 1;
            }
            if count > 0 {
                let (inner, depth) = self.member()?;
                // Signs in pairs cancel out.
                return if count % 2 == 0 {
                    Ok((inner, depth))
                } else {
                    self.build(at, depth, wrap(Box::new(inner)))
                };
            }
        }
        self.member()
    }

    fn member(&mut self) -> Result<Built, Fault> {
        let (mut of, mut depth) = self.primary()?;
        loop {
            let at = self.at();
            if self.accept(".") {
                let optional = self.accept("?");
                let Token::Ident(field) = self.advance_ident()? else { return Err(self.unexpected()) };
                if !optional && self.is("(") {
                    let call_at = self.at();
                    let (args, args_depth) = self.arguments()?;
                    let kind = AstKind::Call { target: Some(Box::new(of)), name: field, args };
                    (of, depth) = self.build(call_at, depth.max(args_depth), kind)?;
                } else {
                    (of, depth) =
                        self.build(at, depth, AstKind::Select { of: Box::new(of), field, optional })?;
                }
            } else if self.accept("[") {
                let optional = self.accept("?");
                let (by, by_depth) = self.expression()?;
                self.expect("]")?;
                let kind = AstKind::Index { of: Box::new(of), by: Box::new(by), optional };
                (of, depth) = self.build(at, depth.max(by_depth), kind)?;
            } else {
                return Ok((of, depth));
            }
        }
    }

    fn advance_ident(&mut self) -> Result<Token, Fault> {
        match self.peek() {
            Token::Ident(_) => Ok(self.advance()),
            _ => Err(self.fault(|_| "no viable alternative at input '.'".to_owned())),
        }
    }

    fn primary(&mut self) -> Result<Built, Fault> {
        let at = self.at();
        match self.peek() {
            Token::Sign("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign("[") => self.list(at),
            Token::Sign("{") => self.map(at),
            Token::Sign("-") => {
                self.advance();
                match self.advance() {
                    Token::Literal(Literal::Int(value)) => {
                        self.build(at, 0, AstKind::Literal(Literal::Int(value.wrapping_neg())))
                    }
                    Token::Literal(Literal::Double(value)) => {
                        self.build(at, 0, AstKind::Literal(Literal::Double(-value)))
                    }
                    _ => Err(self.unexpected()),
                }
            }
            // Only a minus makes this number fit.
            Token::Literal(Literal::Int(i64::MIN)) => Err(Fault::new(at, "invalid int literal")),
            Token::Literal(literal) => {
                let kind = AstKind::Literal(literal.clone());
                self.advance();
                self.build(at, 0, kind)
            }
            Token::Ident(name) => {
                let name = name.clone();
                self.advance();
                if RESERVED.contains(&&*name) {
                    return Err(Fault::new(at, format!("reserved identifier: {name}")));
                }
                if self.is("(") {
                    let call_at = self.at();
                    let (args, depth) = self.arguments()?;
                    return self.build(call_at, depth, AstKind::Call { target: None, name, args });
                }
                self.build(at, 0, AstKind::Ident(name))
            }
            Token::Sign(_) | Token::End => Err(self.unexpected()),
        }
    }

    fn arguments(&mut self) -> Result<(Vec<Ast>, usize), Fault> {
        self.expect("(")?;
        let mut args = Vec::new();
        let mut depth = 0;
        while !self.accept(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            let (arg, arg_depth) = self.expression()?;
            depth = depth.max(arg_depth);
            args.push(arg);
        }
        Ok((args, depth))
    }

    fn list(&mut self, at: usize) -> Result<Built, Fault> {
        self.expect("[")?;
        let mut items = Vec::new();
        let mut depth = 0;
        while !self.accept("]") {
            let optional = self.accept("?");
            let (item, item_depth) = self.expression()?;
            depth = depth.max(item_depth);
            items.push((item, optional));
            if !self.accept(",") && !self.is("]") {
                return Err(self.unexpected());
            }
        }
        self.build(at, depth, AstKind::List(items))
    }

    fn map(&mut self, at: usize) -> Result<Built, Fault> {
        self.expect("{")?;
        let mut entries = Vec::new();
        let mut depth = 0;
        while !self.accept("}") {
            let optional = self.accept("?");
            let (key, key_depth) = self.expression()?;
            self.expect(":")?;
            let (value, value_depth) = self.expression()?;
            depth = depth.max(key_depth).max(value_depth);
            entries.push((key, value, optional));
            if !self.accept(",") && !self.is("}") {
                return Err(self.unexpected());
            }
        }
        self.build(at, depth, AstKind::Map(entries))
    }
}

fn is_number(token: &Token) -> bool {
    matches!(token, Token::Literal(Literal::Int(_) | Literal::Double(_)))
}
