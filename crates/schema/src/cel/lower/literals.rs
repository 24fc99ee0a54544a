//! Arguments that are written out are checked when a rule is, not when it runs.

use super::{Lowering, Mistake, mistake};
use crate::cel::ast::{Ast, AstKind, Literal};
use crate::cel::library;
use crate::format::time;
use crate::pattern;

impl Lowering<'_> {
    /// Looks at the arguments of a call, the receiver left out.
    pub(super) fn literals(&mut self, name: &str, args: &[Ast]) -> Result<(), Mistake> {
        let Some(argument) = args.last() else { return Ok(()) };
        let AstKind::Literal(Literal::Text(text)) = &argument.kind else { return Ok(()) };
        let fits = match name {
            "matches" => match pattern::compile(text) {
                Ok(compiled) => {
                    self.patterns.insert(text.clone(), compiled);
                    true
                }
                Err(_) => false,
            },
            "find" | "findAll" => {
                // A mistake here is found when it runs, as it is in an API server.
                self.patterns.extend(pattern::compile(text).ok().map(|compiled| (text.clone(), compiled)));
                true
            }
            "duration" => time::go_duration(text).is_some(),
            "timestamp" => library::timestamp(text).is_some(),
            _ => true,
        };
        match fits {
            true => Ok(()),
            false => Err(mistake(argument.at, format!("invalid {name} argument"))),
        }
    }
}
