//! Fuzz targets. `cargo test` runs each a bounded number of times on random input; a fuzzer runs them for longer.

use safepoint_machinery::{
    FieldErrors, FieldPath, FieldSelector, LabelSelector, MAX_DEPTH, Quantity, Status, depth, names, patch,
    status::Grouped,
    watch::{Decoder, WatchError, WatchEvent},
};
use serde_json::{Map, Value};

/// Enough to find what is easily found, little enough for every test run.
const ITERATIONS: usize = 1_500;

/// Reads bytes as instructions to build documents, so that most inputs are meaningful.
struct Builder<'a>(&'a [u8]);

impl Builder<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[usize::from(self.byte()) % texts.len()]
    }

    fn value(&mut self, keys: &[&str], level: usize) -> Value {
        match self.byte() % if level < 6 { 9 } else { 5 } {
            0 => Value::Null,
            1 => (i64::from(self.byte()) % 4).into(),
            2 => (f64::from(self.byte()) / 2.0).into(),
            3 => (self.byte() < 128).into(),
            4 => self.pick(&["a", "b", "delete", "replace", "merge", ""]).into(),
            5 | 6 => {
                let n = self.byte() % 4;
                (0..n).map(|_| self.value(keys, level + 1)).collect()
            }
            _ => self.object(keys, level),
        }
    }

    fn object(&mut self, keys: &[&str], level: usize) -> Value {
        let n = self.byte() % 5;
        let entries = (0..n).map(|_| (self.pick(keys).to_owned(), self.value(keys, level + 1)));
        Value::Object(entries.collect::<Map<_, _>>())
    }
}

const PLAIN_KEYS: &[&str] = &["a", "b", "0", "", "~/"];

const POD_KEYS: &[&str] = &[
    "metadata",
    "finalizers",
    "spec",
    "containers",
    "name",
    "ports",
    "containerPort",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder",
];

#[test]
fn json_patches_never_panic_and_keep_the_depth() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut builder = Builder(bytes);
        let object = builder.object(PLAIN_KEYS, 0);
        let operations: Vec<Value> = (0..builder.byte() % 8)
            .map(|_| {
                let mut path = || {
                    let n = builder.byte() % 4;
                    (0..n).fold(String::new(), |path, _| path + builder.pick(&["/a", "/b", "/0", "/-", "/-1", "/", "x"]))
                };
                let (from, path) = (path(), path());
                let op = builder.pick(&["add", "remove", "replace", "move", "copy", "test"]);
                serde_json::json!({"op": op, "path": path, "from": from, "value": builder.value(PLAIN_KEYS, 0)})
            })
            .collect();
        if let Ok(patched) = patch::json(&object, &operations.into()) {
            assert!(depth(&patched) <= MAX_DEPTH);
        }
        let _ = patch::json(&object, &builder.value(PLAIN_KEYS, 0));
    });
}

#[test]
fn merge_patches_never_panic_and_leave_no_null_member() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut builder = Builder(bytes);
        let (object, change) = (builder.object(PLAIN_KEYS, 0), builder.object(PLAIN_KEYS, 0));
        let merged = patch::merge(&object, &change).expect("an object is a patch");
        for (key, value) in change.as_object().expect("an object was built") {
            assert_eq!(value.is_null(), merged.get(key).is_none());
        }
        let _ = patch::merge(&object, &builder.value(PLAIN_KEYS, 0));
    });
}

#[test]
fn strategic_patches_never_panic_and_are_deterministic() {
    let schema = patch::merge_keys::of("v1", "Pod").expect("pods are known");
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut builder = Builder(bytes);
        let (object, change) = (builder.object(POD_KEYS, 0), builder.value(POD_KEYS, 0));
        let merged = patch::strategic(&object, &change, schema);
        assert_eq!(patch::strategic(&object, &change, schema), merged);
        match merged {
            Ok(merged) => assert!(merged.is_object() && depth(&merged) <= depth(&object).max(depth(&change))),
            Err(error) => assert!([400, 422, 500].contains(&error.status().code)),
        }
    });
}

#[test]
fn selectors_are_read_as_they_are_printed() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let mut builder = Builder(bytes);
        let n = builder.byte() % 12;
        let pieces = ["a", "b", "in", "notin", "(", ")", ",", "=", "!", "<", "1", " ", "\\", "."];
        let built: String = (0..n).map(|_| builder.pick(&pieces)).collect();
        for text in [&*text, &built] {
            if let Ok(selector) = LabelSelector::parse(text) {
                let printed = selector.to_string();
                let again = LabelSelector::parse(&printed).expect("what is printed can be read");
                assert_eq!(again.to_string(), printed);
            }
            if let Ok(selector) = FieldSelector::parse(text) {
                let again = FieldSelector::parse(&selector.to_string()).expect("what is printed can be read");
                for requirement in selector.requirements() {
                    assert!(again.requirements().contains(requirement));
                }
            }
        }
    });
}

/// All frames, and how the stream ended.
fn decode(chunks: &[&[u8]]) -> (Vec<WatchEvent>, Result<(), WatchError>) {
    let mut decoder = Decoder::new(512);
    let mut events = vec![];
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(event) = decoder.next_event() {
            match event {
                Ok(event) => events.push(event),
                Err(error) => return (events, Err(error)),
            }
        }
    }
    (events, decoder.finish())
}

#[test]
fn watch_frames_do_not_depend_on_chunking() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut builder = Builder(bytes);
        let mut stream = vec![];
        for _ in 0..builder.byte() % 4 {
            let object = builder.object(PLAIN_KEYS, 2);
            safepoint_machinery::watch::encode_into(
                &mut stream,
                safepoint_machinery::EventType::Added,
                &object,
            );
        }
        // What is left of the input is a stream of anything.
        stream.extend_from_slice(builder.0);
        let whole = decode(&[&stream]);
        let size = usize::from(bytes.first().copied().unwrap_or_default()) % 7 + 1;
        let chunks: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(decode(&chunks), whole);
    });
}

#[test]
fn statuses_name_any_object_and_read_back() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let name = String::from_utf8_lossy(bytes);
        let mut errors = FieldErrors::new();
        let path = FieldPath::new("metadata").child("name");
        errors.invalid_each(&path, &name, names::dns1123_subdomain(&name));
        for status in [
            Status::not_found(Grouped::core("pods"), &name),
            Status::invalid(Grouped::new("apps", "Deployment"), &name, &errors),
            Status::internal(&name),
        ] {
            let value = status.to_value();
            let text = serde_json::to_string(&value).expect("a value is JSON");
            assert_eq!(
                Status::from_value(&serde_json::from_str(&text).expect("it was just printed")),
                Some(status)
            );
        }
    });
}

#[test]
fn quantities_are_read_as_they_are_printed() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut builder = Builder(bytes);
        let n = builder.byte() % 10;
        let pieces = ["0", "1", "5", "9", "24", ".", "-", "+", "e", "E", "K", "i", "m", "n", "M"];
        let built: String = (0..n).map(|_| builder.pick(&pieces)).collect();
        for text in [&*String::from_utf8_lossy(bytes), &built] {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let again: Result<Quantity, _> = quantity.to_string().parse();
                // A decimal amount beyond the largest suffix loses it, as it does in Kubernetes.
                if quantity.value().is_some_and(|value| value.unsigned_abs() < 1_000_000_000_000_000_000_000)
                {
                    assert_eq!(again, Ok(quantity));
                }
            }
        }
    });
}
