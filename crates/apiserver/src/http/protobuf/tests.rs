//! Bodies that are put together by hand: what a real client sends is seen by the kubectl tests.

use serde_json::json;

use super::{MAGIC, ProtobufError, decode};

fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let tag = u16::from(number) << 3 | 2;
    let mut field = match u8::try_from(tag) {
        Ok(short) if short < 0x80 => vec![short],
        _ => vec![(tag & 0x7f) as u8 | 0x80, (tag >> 7) as u8],
    };
    field.push(u8::try_from(content.len()).unwrap());
    field.extend_from_slice(content);
    field
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &meta), bytes(2, object)].concat()
}

#[test]
fn a_config_map_is_read() {
    let metadata = [bytes(1, b"a"), bytes(2, b""), bytes(8, b"")].concat();
    let data = [bytes(1, b"key"), bytes(2, b"value")].concat();
    let object = [bytes(1, &metadata), bytes(2, &data)].concat();
    assert_eq!(
        decode(&body("v1", "ConfigMap", &object)),
        Ok(
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "key": "value" } })
        )
    );
}

#[test]
fn types_with_a_form_of_their_own_are_read() {
    let port = [bytes(4, &[number(1, 1), number(2, 0), bytes(3, b"http")].concat()), number(3, 80)].concat();
    let spec = bytes(1, &port);
    let object = bytes(2, &spec);
    let service = decode(&body("v1", "Service", &object)).unwrap();
    assert_eq!(service["spec"]["ports"], json!([{ "port": 80, "targetPort": "http" }]));

    let limits = [bytes(1, b"cpu"), bytes(2, &bytes(1, b"100m"))].concat();
    let container = [bytes(1, b"c"), bytes(8, &bytes(1, &limits))].concat();
    let pod = decode(&body("v1", "Pod", &bytes(2, &bytes(2, &container)))).unwrap();
    assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"], json!({ "cpu": "100m" }));

    let lease = bytes(2, &bytes(3, &[number(1, 100), number(2, 0)].concat()));
    let lease = decode(&body("coordination.k8s.io/v1", "Lease", &lease)).unwrap();
    assert_eq!(lease["spec"]["acquireTime"], json!("1970-01-01T00:01:40.000000Z"));
}

#[test]
fn an_embedded_type_lends_its_fields() {
    let source = bytes(1, b"settings");
    let volume = [bytes(1, b"v"), bytes(2, &bytes(19, &bytes(1, &source)))].concat();
    let pod = decode(&body("v1", "Pod", &bytes(2, &bytes(1, &volume)))).unwrap();
    assert_eq!(pod["spec"]["volumes"], json!([{ "name": "v", "configMap": { "name": "settings" } }]));
}

#[test]
fn what_is_no_body_of_ours_is_refused() {
    assert_eq!(decode(b"{}"), Err(ProtobufError::Magic));
    assert_eq!(
        decode(&body("apps/v1", "Deployment", b"")),
        Err(ProtobufError::UnknownKind("apps/v1 Deployment".into()))
    );
    let mut cut = body("v1", "ConfigMap", &bytes(1, &bytes(1, b"a")));
    cut.pop();
    assert_eq!(decode(&cut), Err(ProtobufError::Damaged));
    assert_eq!(decode(&body("v1", "ConfigMap", &[0xff; 20])), Err(ProtobufError::Damaged));
}
