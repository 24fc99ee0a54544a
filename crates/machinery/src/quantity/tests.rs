//! Tests of quantities; what is expected was printed by Kubernetes' own parser.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn printed(text: &str) -> String {
    match text.parse::<Quantity>() {
        Ok(quantity) => quantity.to_string(),
        Err(error) => error.to_string(),
    }
}

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap()
}

#[test]
fn a_quantity_is_printed_in_its_canonical_form() {
    let expected = [
        ("0", "0"),
        ("1", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("100k", "100k"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("12e-3", "12e-3"),
        ("0.0000000001", "1n"),
        ("-1.5", "-1500m"),
        ("-1Ki", "-1Ki"),
        ("8Ki", "8Ki"),
        ("9Ei", "9223372036854775807"),
        ("2E", "2E"),
    ];
    for (text, canonical) in expected {
        assert_eq!(printed(text), canonical, "{text}");
    }
}

#[test]
fn a_text_that_looks_canonical_is_kept() {
    for text in ["1.500", "05Gi", "+5", "5.Gi", "1025Ki"] {
        assert_eq!(printed(text), text);
    }
}

#[test]
fn what_is_no_quantity_is_told_in_kubernetes_words() {
    let format =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    for text in ["", " ", "a", "1 ", "1.2.3", "1e3.5", "--x", "1mm-x"] {
        assert_eq!(printed(text), format, "{text}");
    }
    for text in ["1ki", "1mm", "1e", "1Kii", "1e1e1", "1-3", "--1"] {
        let expected = "unable to parse quantity's suffix";
        assert!([expected, format].contains(&printed(text).as_str()), "{text}");
    }
    assert_eq!(printed(&"9".repeat(60)), "unable to parse numeric part of quantity");
}

#[test]
fn amounts_compare_whatever_their_suffix() {
    assert_eq!(quantity("1Ki"), quantity("1024"));
    assert_eq!(quantity("1000m"), quantity("1"));
    assert!(quantity("999m") < quantity("1"));
    assert!(quantity("1e300") > quantity("9E"));
    assert!(quantity("-1e300") < quantity("-1n"));
    assert!(quantity("-1") < quantity("0") && quantity("0") < quantity("1n"));
}

#[test]
fn a_value_is_rounded_away_from_zero() {
    assert_eq!(quantity("1.1").value(), Some(2));
    assert_eq!(quantity("-1.1").value(), Some(-2));
    assert_eq!(quantity("1.1").milli_value(), Some(1100));
    assert_eq!(quantity("1Gi").value(), Some(1 << 30));
    assert_eq!(quantity("1e300").value(), None);
}

#[test]
fn a_field_may_hold_a_number() {
    assert_eq!(Quantity::from_value(&json!(5)).unwrap().to_string(), "5");
    assert_eq!(Quantity::from_value(&json!(" 5Mi ")).unwrap().to_string(), "5Mi");
    assert!(Quantity::from_value(&json!([])).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_printed_reads_as_the_same_amount(text in "[+-]?[0-9]{0,9}(\\.[0-9]{0,6})?(n|u|m|k|M|G|T|Ki|Mi|Gi|Ti|e-?[0-9])?") {
        if let Ok(first) = text.parse::<Quantity>() {
            let again: Quantity = first.to_string().parse().unwrap();
            prop_assert_eq!(&again, &first);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = text.parse::<Quantity>();
    }
}
