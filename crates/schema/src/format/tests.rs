//! What each format accepts, checked against the Go parsers.

use super::{Format, time};
use crate::node::Types;

fn accepts(format: &str, text: &str) -> bool {
    Format::find(format, Types::STRING).unwrap_or_else(|| panic!("{format} is known")).accepts(text)
}

#[test]
fn every_format_takes_what_its_parser_takes() {
    for (format, good, bad) in [
        (
            "date",
            vec!["2020-02-29", "0000-01-01"],
            vec!["2019-02-29", "2020-1-1", "2020-01-01T00:00:00Z", ""],
        ),
        (
            "date-time",
            vec!["2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00", "2020-01-01T00:00:00Ztail"],
            vec![
                "2020-01-01T24:00:00Z",
                "2020-01-01 00:00:00Z",
                "2020-01-01T00:00:00",
                "2020-13-01T00:00:00Z",
            ],
        ),
        ("byte", vec!["YWJj", "YQ==", "YWI="], vec!["", "YQ=", "Y===", "ab-_"]),
        (
            "duration",
            vec!["1h", "1h30m0.5s", "0", "2 days", "3 Hours", "5µs"],
            vec!["", "h", "1", "1.5", "soon"],
        ),
        ("ipv4", vec!["1.2.3.4", "010.2.3.4", "::ffff:1.2.3.4"], vec!["256.1.1.1", "1.2.3", "::1"]),
        ("ipv6", vec!["::1", "::ffff:1.2.3.4"], vec!["1.2.3.4", "fe80::1%eth0", "1::2::3"]),
        (
            "cidr",
            vec!["10.0.0.0/8", "::/0", "1.2.3.4/08"],
            vec!["10.0.0.0/33", "1.2.3.4", "1.2.3.4/", "::/129"],
        ),
        (
            "mac",
            vec!["01:23:45:67:89:ab", "0123.4567.89ab", "0123456789ab"],
            vec!["01:23:45:67:89", "01:23-45:67:89:ab"],
        ),
        (
            "uuid",
            vec!["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
            vec!["123e4567"],
        ),
        ("uuid4", vec!["123e4567-e89b-42d3-8456-426614174000"], vec!["123e4567-e89b-42d3-c456-426614174000"]),
        ("isbn10", vec!["0321751043", "080442957X"], vec!["0321751044"]),
        ("isbn", vec!["978-0321751041"], vec!["978-0321751042"]),
        ("creditcard", vec!["4111 1111 1111 1111"], vec!["4111 1111 1111 1112", "1234"]),
        ("ssn", vec!["123-45-6789", "123 45 6789"], vec!["123456789"]),
        ("hexcolor", vec!["#fff", "FFFFFF"], vec!["#ff", "#gggggg"]),
        ("rgbcolor", vec!["rgb( 255,0 ,10)"], vec!["rgb(256,0,0)", "rgb(01,0,0)", "rgb(1,2)"]),
        ("hostname", vec!["a", "a-b.com", "é.com", "☃.net"], vec!["-a.com", "a_b.com", "a.c", "1.2.3.4", ""]),
        (
            "uri",
            vec!["http://a.b/c", "/a", "mailto:x", "http://[::1]:80/"],
            vec!["a/b", "http://a b/", "http://a/%zz", ""],
        ),
        ("email", vec!["a@b", "A B <a@b.c>", "\"a b\"@c", "a@b (c)"], vec!["a@", "a b@c", "a..b@c", "a"]),
        ("bsonobjectid", vec!["507f1f77bcf86cd799439011"], vec!["507f1f77bcf86cd79943901"]),
        ("k8s-short-name", vec!["a-b"], vec!["a.b", "-a", "A"]),
        ("k8s-long-name", vec!["a.b-c"], vec!["a..b", "a.-b"]),
        ("password", vec!["", "x"], vec![]),
    ] {
        for text in good {
            assert!(accepts(format, text), "{format} refuses {text:?}");
        }
        for text in bad {
            assert!(!accepts(format, text), "{format} accepts {text:?}");
        }
    }
}

#[test]
fn a_format_only_means_something_for_its_type() {
    assert_eq!(Format::find("int32", Types::STRING), None);
    assert_eq!(Format::find("int32", Types::INTEGER), Some(Format::Int32));
    assert_eq!(Format::find("date", Types::BOOLEAN), None);
    assert_eq!(Format::find("datetime", Types::STRING), Format::find("date-time", Types::NONE));
    assert_eq!(Format::find("phone", Types::STRING), None);
}

#[test]
fn durations_are_nanoseconds() {
    assert_eq!(time::duration("1h30m"), Some(5_400_000_000_000));
    assert_eq!(time::duration("-1.5s"), Some(-1_500_000_000));
    assert_eq!(time::duration("2 weeks and 1 day"), Some(15 * 86_400_000_000_000));
    assert_eq!(time::duration("0.000000001s"), Some(1));
    assert_eq!(time::go_duration("9223372036854775807ns"), Some(i64::MAX));
    assert_eq!(time::go_duration("9223372036854775808ns"), None);
    assert_eq!(time::go_duration("-9223372036854775808ns"), Some(i64::MIN));
    assert_eq!(time::go_duration("1.99999999999999999999999h"), Some(7_199_999_999_999));
}
