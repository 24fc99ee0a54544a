//! What is expanded, and what stays.

use super::expand;

fn expanded(text: &str) -> String {
    expand(text, |name| match name {
        "A" => Some("alpha"),
        "EMPTY" => Some(""),
        _ => None,
    })
}

#[test]
fn a_known_name_is_replaced_and_an_unknown_one_stays() {
    assert_eq!(expanded("x $(A) $(B) $(EMPTY)y"), "x alpha $(B) y");
}

#[test]
fn two_dollars_are_one_and_keep_a_name_from_being_replaced() {
    assert_eq!(expanded("$$(A) $$$(A) $$"), "$(A) $alpha $");
}

#[test]
fn what_is_no_reference_stays_as_it_is() {
    assert_eq!(expanded("$A $( $(A 5$ $()"), "$A $( $(A 5$ $()");
}
