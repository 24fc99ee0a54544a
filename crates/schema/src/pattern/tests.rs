//! Where the two syntaxes differ.

use super::compile;

fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(text)
}

#[test]
fn classes_are_ascii() {
    assert!(matches(r"^\d+$", "12") && !matches(r"^\d+$", "٣"));
    assert!(matches(r"^[\w-]+$", "a-b_1") && !matches(r"^\w$", "é"));
    assert!(matches(r"^[^\D]+$", "12") && !matches(r"^[^\D]+$", "1a"));
    assert!(!matches(r"^\s$", "\u{a0}") && !matches(r"^\s$", "\u{b}"));
    assert!(matches(r"é\b", "éa"));
}

#[test]
fn stray_braces_and_brackets_are_literals() {
    assert!(matches(r"^\${[a-z]+}$", "${abc}"));
    assert!(matches(r"^a{,2}$", "a{,2}"));
    assert!(matches(r"^x{2,3}$", "xxx"));
    assert!(matches(r"^[[a]+$", "[a"));
    assert!(matches(r"^[]a]+$", "]a"));
    assert!(matches(r"^[a&&b~~]+$", "a&b~"));
    assert!(matches(r"^[[:alpha:]_]+$", "ab_"));
    assert!(matches(r"^[a\]\[]+$", "a]["));
}

#[test]
fn escapes_mean_what_they_mean_in_go() {
    assert!(matches(r"^\Qa.b\E.$", "a.bc") && !matches(r"^\Qa.b\E.$", "axbc"));
    assert!(matches(r"^\<\>\-\_\/\ $", "<>-_/ "));
    assert!(matches(r"^\101\x41$", "AA"));
    assert!(compile(r"(a)\1").is_err());
    assert!(compile(r"\y").is_err());
    assert!(compile(r"(?=a)").is_err());
}

#[test]
fn an_expression_that_would_take_the_memory_is_refused() {
    assert_eq!(compile("((a{1000}){1000}){1000}").unwrap_err(), "expression too large");
    assert!(compile(&"(".repeat(10_000)).is_err());
    assert!(compile(&format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
}
