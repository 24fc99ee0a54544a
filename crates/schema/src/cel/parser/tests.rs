//! Reading expressions, and refusing what is not one.

use super::parse;
use crate::cel::ast::{Ast, AstKind, Literal, Operator};

/// The tree in prefix form.
fn tree(source: &str) -> String {
    fn list<'a>(items: impl Iterator<Item = &'a Ast>) -> String {
        items.map(show).collect::<Vec<_>>().join(" ")
    }
    fn show(ast: &Ast) -> String {
        match &ast.kind {
            AstKind::Literal(Literal::Int(int)) => int.to_string(),
            AstKind::Literal(Literal::Text(text)) => format!("{text:?}"),
            AstKind::Literal(other) => format!("{other:?}"),
            AstKind::Ident(name) => name.to_string(),
            AstKind::Select { of, field, optional } => {
                format!("(.{}{field} {})", if *optional { "?" } else { "" }, show(of))
            }
            AstKind::Index { of, by, optional } => {
                format!("([]{} {} {})", if *optional { "?" } else { "" }, show(of), show(by))
            }
            AstKind::Call { target, name, args } => {
                let parts: Vec<String> =
                    target.iter().map(|target| show(target)).chain(args.iter().map(show)).collect();
                format!("({name} {})", parts.join(" "))
            }
            AstKind::List(items) => format!("[{}]", list(items.iter().map(|(item, _)| item))),
            AstKind::Map(entries) => {
                format!("{{{}}}", list(entries.iter().flat_map(|(key, value, _)| [key, value])))
            }
            AstKind::And(terms) => format!("(&& {})", list(terms.iter())),
            AstKind::Or(terms) => format!("(|| {})", list(terms.iter())),
            AstKind::Not(inner) => format!("(! {})", show(inner)),
            AstKind::Negate(inner) => format!("(- {})", show(inner)),
            AstKind::If(parts) => format!("(? {})", list(parts.iter())),
            AstKind::Binary(operator, operands) => format!("({} {})", sign(*operator), list(operands.iter())),
        }
    }
    fn sign(operator: Operator) -> &'static str {
        operator.name().trim_matches('_')
    }
    show(&parse(source).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn operators_bind_as_in_the_specification() {
    assert_eq!(tree("1 + 2 * 3 - 4"), "(- (+ 1 (* 2 3)) 4)");
    assert_eq!(tree("a && b || c && d"), "(|| (&& a b) (&& c d))");
    assert_eq!(tree("a || b || c"), "(|| a b c)");
    assert_eq!(tree("a < b == c in d"), "(@in (== (< a b) c) d)");
    assert_eq!(tree("a ? b : c ? d : e"), "(? a b (? c d e))");
    assert_eq!(tree("!a.b && -c.d > -1"), "(&& (! (.b a)) (> (- (.d c)) -1))");
    assert_eq!(tree("!!a && --b > - -1"), "(&& a (> b (- -1)))");
    assert_eq!(tree("1 -1"), "(- 1 1)");
}

#[test]
fn members_and_calls_chain() {
    assert_eq!(tree("a.b(1).c[0].?d[?'x']"), r#"([]? (.?d ([] (.c (b a 1)) 0)) "x")"#);
    assert_eq!(tree("f(1, [2, 3,], {'a': 4,})"), r#"(f 1 [2 3] {"a" 4})"#);
}

#[test]
fn literals_are_those_of_the_language() {
    assert_eq!(tree(r#"'a\n\x41\u00e9\101' + r'\d' + """x"y""""#), r#"(+ (+ "a\nAéA" "\\d") "x\"y")"#);
    assert_eq!(tree("0x10 + -9223372036854775808"), "(+ 16 -9223372036854775808)");
    assert_eq!(tree("1.5e3"), "Double(1500.0)");
    assert_eq!(tree("b'\\xff'"), "Bytes([255])");
    assert_eq!(tree("7u // the rest is silence\n"), "Uint(7)");
}

#[test]
fn a_mistake_is_pointed_at() {
    assert_eq!(
        parse("self.a ==\n  )").unwrap_err(),
        "ERROR: <input>:2:3: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', \
         'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n |   )\n | ..^"
    );
    for (source, start) in [
        ("a b", "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>"),
        ("(1", "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'"),
        ("'a", "ERROR: <input>:1:1: Syntax error: token recognition error at: ''a'"),
        ("self.", "ERROR: <input>:1:6: Syntax error: no viable alternative at input '.'"),
        ("9223372036854775808", "ERROR: <input>:1:1: invalid int literal"),
        ("'\\q'", "ERROR: <input>:1:2: unable to unescape string"),
        ("let + 1", "ERROR: <input>:1:1: reserved identifier: let"),
        ("a # b", "ERROR: <input>:1:3: Syntax error: token recognition error at: '#'"),
    ] {
        let error = parse(source).unwrap_err();
        assert_eq!(error.lines().next(), Some(start), "{source}");
    }
}

#[test]
fn nesting_is_bounded_and_length_is_not_nesting() {
    for open in ["(", "[", "!(", "-(", "f(", "a[", "{'a':", "a ? b : ", "a.all(x, "] {
        assert!(parse(&open.repeat(5_000)).is_err(), "{open}");
    }
    assert!(parse(&format!("{}1{}", "(".repeat(50), ")".repeat(50))).is_ok());
    assert!(parse(&vec!["a == 'b'"; 5_000].join(" || ")).is_ok());
    assert!(parse(&vec!["1"; 5_000].join(" + ")).unwrap_err().contains("recursion limit"));
    assert!(parse(&"!".repeat(50_000)).is_err());
    assert!(parse(&" ".repeat(200_000)).is_err());
}
