//! The grammar of a label selector.
//!
//! `in` and `notin` are words like any other wherever a key or a value may stand, and operators only behind a key.

use std::collections::BTreeSet;

use super::{
    SelectorError,
    label::{LabelRequirement, Operator},
    lexer::{Kind, Token, tokens},
};
use crate::{
    names,
    status::{FieldError, FieldPath},
};

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
}

pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, SelectorError> {
    let mut parser = Parser { tokens: tokens(text), position: 0 };
    let mut requirements = vec![];
    loop {
        let token = parser.peek();
        match token.kind {
            Kind::End => return Ok(requirements),
            Kind::Word | Kind::Not => {}
            _ => return Err(expected(token, "!, identifier, or 'end of string'")),
        }
        let requirement = parser
            .requirement()
            .map_err(|error| SelectorError(format!("unable to parse requirement: {error}")))?;
        requirements.push(requirement);
        let token = parser.take();
        match token.kind {
            Kind::End => return Ok(requirements),
            Kind::Comma => {
                let next = parser.peek();
                if !matches!(next.kind, Kind::Word | Kind::Not) {
                    return Err(expected(next, "identifier after ','"));
                }
            }
            _ => return Err(expected(token, "',' or 'end of string'")),
        }
    }
}

fn expected(found: Token<'_>, what: &str) -> SelectorError {
    SelectorError(format!("found '{}', expected: {what}", found.text))
}

// === impl Parser ===

impl<'a> Parser<'a> {
    /// The next token, where an operator may stand.
    fn raw(&self) -> Token<'a> {
        let last = self.tokens.len() - 1;
        self.tokens[self.position.min(last)]
    }

    /// The next token, where a key or a value may stand.
    fn peek(&self) -> Token<'a> {
        let token = self.raw();
        let kind = if matches!(token.kind, Kind::In | Kind::NotIn) { Kind::Word } else { token.kind };
        Token { kind, ..token }
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        let mut token = self.take();
        let negated = token.kind == Kind::Not;
        if negated {
            token = self.take();
        }
        if token.kind != Kind::Word {
            return Err(expected(token, "identifier"));
        }
        let key = token.text;
        let messages = names::qualified_name(key);
        if !messages.is_empty() {
            let error = FieldError::invalid(FieldPath::default(), key, messages.join("; "));
            return Err(SelectorError(error.to_string()));
        }
        if negated {
            return LabelRequirement::new(key, Operator::DoesNotExist, vec![]);
        }
        if matches!(self.peek().kind, Kind::End | Kind::Comma) {
            return LabelRequirement::new(key, Operator::Exists, vec![]);
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        LabelRequirement::new(key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        let token = self.raw();
        self.position += 1;
        Ok(match token.kind {
            Kind::In => Operator::In,
            Kind::NotIn => Operator::NotIn,
            Kind::Equals => Operator::Equals,
            Kind::DoubleEquals => Operator::DoubleEquals,
            Kind::NotEquals => Operator::NotEquals,
            Kind::Greater => Operator::GreaterThan,
            Kind::Less => Operator::LessThan,
            _ => return Err(expected(token, "in, notin, =, ==, !=, gt, lt")),
        })
    }

    /// The one value of a comparison. It may be missing, and is then empty.
    fn value(&mut self) -> Result<String, SelectorError> {
        if matches!(self.peek().kind, Kind::End | Kind::Comma) {
            return Ok(String::new());
        }
        let token = self.take();
        match token.kind {
            Kind::Word => Ok(token.text.to_owned()),
            _ => Err(expected(token, "identifier")),
        }
    }

    /// The values in parentheses, ordered, none twice. Between two commas there is an empty one.
    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        let token = self.take();
        if token.kind != Kind::Open {
            return Err(SelectorError(format!("found '{}' expected: '('", token.text)));
        }
        let first = self.peek();
        match first.kind {
            Kind::Close => {
                self.take();
                return Ok(vec![String::new()]);
            }
            Kind::Word | Kind::Comma => {}
            _ => return Err(expected(first, "',', ')' or identifier")),
        }
        let mut values = BTreeSet::new();
        loop {
            let token = self.take();
            let next = self.peek();
            match (token.kind, next.kind) {
                (Kind::Word, Kind::Comma | Kind::Close) => {
                    values.insert(token.text.to_owned());
                }
                (Kind::Word, _) => return Err(expected(next, "',' or ')'")),
                (Kind::Comma, _) => {
                    if values.is_empty() || matches!(next.kind, Kind::Comma | Kind::Close) {
                        values.insert(String::new());
                    }
                }
                _ => return Err(expected(token, "',', or identifier")),
            }
            if next.kind == Kind::Close {
                self.take();
                return Ok(values.into_iter().collect());
            }
        }
    }
}
