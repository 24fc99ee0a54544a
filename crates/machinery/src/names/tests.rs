//! Tests of the names; the expected texts are those of a Kubernetes 1.36 server.

use super::*;

#[test]
fn good_names_have_no_messages() {
    for name in ["a", "web-0", "0a", &"x".repeat(63)] {
        assert_eq!(dns1123_label(name), Vec::<String>::new(), "{name}");
    }
    for name in ["a", "a.b-c.0", &"x".repeat(253)] {
        assert_eq!(dns1123_subdomain(name), Vec::<String>::new(), "{name}");
    }
    for name in ["Name", "example.com/My_Name.x", "a"] {
        assert_eq!(qualified_name(name), Vec::<String>::new(), "{name}");
    }
    for value in ["", "A", "a_b-c.d", "1"] {
        assert_eq!(label_value(value), Vec::<String>::new(), "{value}");
    }
}

#[test]
fn a_bad_subdomain_is_told_with_its_pattern() {
    assert_eq!(
        dns1123_subdomain("Web"),
        [
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ]
    );
}

#[test]
fn a_long_and_bad_subdomain_gets_both_messages() {
    let messages = dns1123_subdomain(&"-".repeat(254));
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0], "must be no more than 253 characters");
}

#[test]
fn a_label_with_dots_is_told_so() {
    assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    assert_eq!(
        dns1123_label("a_b"),
        [
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
}

#[test]
fn a_service_name_may_not_start_with_a_digit() {
    assert_eq!(dns1035_label("a0"), Vec::<String>::new());
    assert_eq!(
        dns1035_label("0a"),
        [
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
}

#[test]
fn each_part_of_a_qualified_name_has_its_own_message() {
    assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
    let empty = qualified_name("");
    assert_eq!(empty[0], "name part must be non-empty");
    assert!(
        empty[1].starts_with("name part must consist of alphanumeric characters, '-', '_' or '.', and must")
    );
    assert_eq!(qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    assert!(qualified_name("A/b")[0].starts_with("prefix part a lowercase RFC 1123 subdomain"));
    assert_eq!(
        qualified_name("a/b/c"),
        [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
             an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
             'example.com/MyName')"
        ]
    );
}

#[test]
fn an_annotation_key_may_have_capitals_in_its_prefix() {
    assert_eq!(annotation_key("Example.COM/Note"), Vec::<String>::new());
    assert_ne!(qualified_name("Example.COM/Note"), Vec::<String>::new());
}

#[test]
fn a_bad_label_value_is_told_with_its_pattern() {
    assert_eq!(
        label_value("a b"),
        [
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ]
    );
}

#[test]
fn a_path_segment_may_not_leave_its_place() {
    assert_eq!(path_segment(".."), ["may not be '..'"]);
    assert_eq!(path_segment("a/b%"), ["may not contain '/'", "may not contain '%'"]);
    assert_eq!(path_segment_prefix("."), Vec::<String>::new());
}

#[test]
fn a_config_key_may_not_climb() {
    assert_eq!(config_key("..a"), ["must not start with '..'"]);
    assert_eq!(config_key(".."), ["must not be '..'"]);
    assert_eq!(config_key("a.B_c"), Vec::<String>::new());
    assert!(config_key("")[0].starts_with("a valid config key must consist of alphanumeric characters"));
}

#[test]
fn a_port_name_has_a_letter_and_no_loose_hyphens() {
    assert_eq!(port_name("http"), Vec::<String>::new());
    assert_eq!(
        port_name("-8--0"),
        [
            "must contain at least one letter (a-z)",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen"
        ]
    );
}

#[test]
fn a_generated_name_may_end_in_a_dash() {
    assert_eq!(dns1123_subdomain(&as_prefix("web-")), Vec::<String>::new());
    assert_ne!(dns1123_subdomain(&as_prefix("-")), Vec::<String>::new());
    assert_eq!(as_prefix("a-"), "a");
    assert_eq!(as_prefix("web"), "web");
}
