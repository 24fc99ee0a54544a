//! The little of protobuf that has to be read: whose end a kubelet reports, and for whom it asks for a token.
//!
//! Everything else in protobuf passes by as it is.

use safepoint_core::Uid;
use serde_json::Value;

/// What an object in protobuf begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Where the object is in the envelope.
const RAW: u64 = 2;
const PRECONDITIONS: u64 = 2;
const UID: u64 = 1;
const TOKEN_SPEC: u64 = 2;
const BOUND: u64 = 3;
const BOUND_UID: u64 = 4;

/// The uid that a `DeleteOptions` names, in whichever encoding it came.
pub(super) fn uid_to_delete(body: &[u8]) -> Option<Uid> {
    let uid = match body.strip_prefix(MAGIC) {
        Some(envelope) => {
            let options = field(envelope, RAW)?;
            let uid = field(field(options, PRECONDITIONS)?, UID)?;
            std::str::from_utf8(uid).ok()?.to_owned()
        }
        None => {
            let options: Value = serde_json::from_slice(body).ok()?;
            options["preconditions"]["uid"].as_str()?.to_owned()
        }
    };
    (!uid.is_empty()).then(|| Uid::from(uid))
}

/// The uid of the pod that a `TokenRequest` is for.
pub(super) fn pod_of_token(body: &[u8]) -> Option<Uid> {
    let uid = match body.strip_prefix(MAGIC) {
        Some(envelope) => {
            let spec = field(field(envelope, RAW)?, TOKEN_SPEC)?;
            std::str::from_utf8(field(field(spec, BOUND)?, BOUND_UID)?).ok()?.to_owned()
        }
        None => {
            let request: Value = serde_json::from_slice(body).ok()?;
            request["spec"]["boundObjectRef"]["uid"].as_str()?.to_owned()
        }
    };
    (!uid.is_empty()).then(|| Uid::from(uid))
}

/// The last field of this number that is made of bytes. None also where the message cannot be read.
fn field(mut message: &[u8], wanted: u64) -> Option<&[u8]> {
    let mut found = None;
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            0 => drop(varint(&mut message)?),
            1 => message = message.get(8..)?,
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(length)?;
                message = rest;
                if tag >> 3 == wanted {
                    found = Some(bytes);
                }
            }
            5 => message = message.get(4..)?,
            _ => return None,
        }
    }
    found
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a kubelet sends it: grace 0 and a uid, in the envelope.
    fn sent(uid: &str) -> Vec<u8> {
        let preconditions = [&[0x0a, u8::try_from(uid.len()).unwrap()], uid.as_bytes()].concat();
        let options =
            [&[0x08, 0x00, 0x12, u8::try_from(preconditions.len()).unwrap()], &*preconditions].concat();
        let kind = [0x0a, 0x02, b'v', b'1'];
        [
            MAGIC,
            &[0x0a, 4],
            &kind,
            &[0x12, u8::try_from(options.len()).unwrap()],
            &options,
            &[0x1a, 0, 0x22, 0],
        ]
        .concat()
    }

    #[test]
    fn the_uid_is_read_from_both_encodings() {
        assert_eq!(uid_to_delete(&sent("c0ffee")), Some(Uid::from("c0ffee")));
        let json = br#"{"kind":"DeleteOptions","gracePeriodSeconds":0,"preconditions":{"uid":"c0ffee"}}"#;
        assert_eq!(uid_to_delete(json), Some(Uid::from("c0ffee")));
    }

    #[test]
    fn the_pod_of_a_token_is_read_from_both_encodings() {
        let bound = [0x0a, 3, b'P', b'o', b'd', 0x22, 2, b'u', b'1'];
        let spec = [&[0x1a, 9][..], &bound, &[0x20, 1]].concat();
        let request = [&[0x12, u8::try_from(spec.len()).unwrap()], &*spec].concat();
        let sent = [MAGIC, &[0x12, u8::try_from(request.len()).unwrap()], &request].concat();
        assert_eq!(pod_of_token(&sent), Some(Uid::from("u1")));
        let json = br#"{"spec":{"boundObjectRef":{"kind":"Pod","uid":"u1"}}}"#;
        assert_eq!(pod_of_token(json), Some(Uid::from("u1")));
        assert_eq!(pod_of_token(b"{}"), None);
    }

    #[test]
    fn what_names_no_uid_or_cannot_be_read_has_none() {
        assert_eq!(uid_to_delete(b""), None);
        assert_eq!(uid_to_delete(b"{}"), None);
        let whole = sent("c0ffee");
        for length in 0..whole.len() - 4 {
            assert_eq!(uid_to_delete(&whole[..length]), None, "{length}");
        }
        assert_eq!(uid_to_delete(b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
    }
}
