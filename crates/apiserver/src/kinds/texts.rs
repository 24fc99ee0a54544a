//! Texts that stand for something else: bytes in base64, and moments to the microsecond.
//!
//! A typed reader refuses a text that stands for nothing before any rule is asked. The sentences are those of Go's
//! readers, since that is what a client of Kubernetes gets to see.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::check::{part, set, word};

/// Says what is wrong with bytes in base64.
pub(super) fn unreadable_bytes(text: &str) -> Option<String> {
    let at = match STANDARD.decode(text) {
        Ok(_) => return None,
        Err(base64::DecodeError::InvalidByte(at, _)) => at,
        // Four characters are three bytes: the last group is not whole.
        Err(_) => text.len() / 4 * 4,
    };
    Some(format!("illegal base64 data at input byte {at}"))
}

/// Says what is wrong with the moments at some places of an object.
pub(super) fn unreadable_moments(object: &Value, fields: &[&str]) -> Option<String> {
    fields.iter().find_map(|field| unreadable_moment(part(object, field).as_str()?))
}

fn unreadable_moment(text: &str) -> Option<String> {
    const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";
    const SECONDS: usize = "2006-01-02T15:04:05".len();
    let complain = |rest: &str, wanted: &str| {
        Some(format!("parsing time \"{text}\" as \"{LAYOUT}\": cannot parse \"{rest}\" as \"{wanted}\""))
    };
    let Some((seconds, rest)) = text.split_at_checked(SECONDS) else { return complain(text, "2006") };
    if format!("{seconds}Z").parse::<Timestamp>().is_err() {
        return complain(text, "2006");
    }
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if digits < 6 {
        return complain(rest, ".000000");
    }
    let zone = &rest[7..];
    if format!("{seconds}{zone}").parse::<Timestamp>().is_err() {
        return complain(zone, "Z07:00");
    }
    None
}

/// Writes moments as Kubernetes writes them: to the microsecond, in UTC.
pub(super) fn write_moments(object: &mut Value, fields: &[&str]) {
    for field in fields {
        if let Ok(moment) = word(object, field).parse::<Timestamp>() {
            set(object, field, moment.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_whole_groups_of_known_letters() {
        assert_eq!(unreadable_bytes("eA=="), None);
        assert_eq!(unreadable_bytes(""), None);
        assert_eq!(unreadable_bytes("b").as_deref(), Some("illegal base64 data at input byte 0"));
        assert_eq!(unreadable_bytes("eHh4!").as_deref(), Some("illegal base64 data at input byte 4"));
    }

    #[test]
    fn a_moment_has_six_places() {
        let complaint = |text: &str| unreadable_moments(&json!({"at": text}), &["at"]);
        assert_eq!(complaint("2026-01-01T00:00:00.000001Z"), None);
        assert_eq!(complaint("2026-01-01T00:00:00.000001+01:00"), None);
        assert_eq!(
            complaint("2026-01-01T00:00:00Z").as_deref(),
            Some(
                "parsing time \"2026-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
                 cannot parse \"Z\" as \".000000\""
            )
        );
        assert!(
            complaint("yesterday")
                .is_some_and(|text| text.ends_with("cannot parse \"yesterday\" as \"2006\""))
        );
        assert!(
            complaint("2026-01-01T00:00:00.000001").is_some_and(|text| text.ends_with("\"\" as \"Z07:00\""))
        );
        assert!(
            complaint("2026-01-01T00:00:00.0000012Z")
                .is_some_and(|text| text.ends_with("\"2Z\" as \"Z07:00\""))
        );
        assert_eq!(unreadable_moments(&json!({"at": null}), &["at"]), None);
    }

    #[test]
    fn a_moment_is_written_in_utc() {
        let mut object = json!({"at": "2026-01-01T00:00:00.000001+01:00", "none": null});
        write_moments(&mut object, &["at", "none", "missing"]);
        assert_eq!(object, json!({"at": "2025-12-31T23:00:00.000001Z", "none": null}));
    }
}
