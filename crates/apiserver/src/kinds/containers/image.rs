//! When an image is pulled: always if its tag is, or counts as, `latest`.

/// The policy of a container that does not name one.
pub(crate) fn pull_policy(image: &str) -> &'static str {
    if tag(image).is_some_and(|tag| tag == "latest") { "Always" } else { "IfNotPresent" }
}

/// The tag of an image, `latest` if it has neither tag nor digest; `None` if there is none or the name is not one.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[start..].rfind(':') {
        Some(colon) => (&name[..start + colon], Some(&name[start + colon + 1..])),
        None => (name, None),
    };
    let is_good = is_repository(repository) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest);
    match (tag, digest) {
        _ if !is_good => None,
        (None, None) => Some("latest"),
        (tag, _) => tag,
    }
}

fn is_repository(name: &str) -> bool {
    // An image can be named by its bare id, which is no name.
    if name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return false;
    }
    let path = match name.split_once('/') {
        Some((host, path)) if is_host(host) => path,
        _ => name,
    };
    path.split('/').all(is_component)
}

/// What comes before the first slash is a host if it cannot be a part of a path.
fn is_host(name: &str) -> bool {
    let looks_so =
        name.contains(['.', ':']) || name == "localhost" || name.chars().any(|c| c.is_ascii_uppercase());
    looks_so && !name.is_empty()
}

fn is_component(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut separator = String::new();
    for c in name.chars() {
        if edge(c) {
            if !is_separator(&separator) {
                return false;
            }
            separator.clear();
        } else {
            separator.push(c);
        }
    }
    name.starts_with(edge) && name.ends_with(edge)
}

fn is_separator(text: &str) -> bool {
    matches!(text, "" | "." | "_" | "__") || text.chars().all(|c| c == '-')
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= 128 && tag.starts_with(word) && tag.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(kind, hash)| {
        kind.starts_with(|c: char| c.is_ascii_alphabetic())
            && hash.len() >= 32
            && hash.chars().all(|c| c.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn an_image_without_a_version_is_always_pulled() {
        let id = "a".repeat(64);
        let digest = format!("x@sha256:{id}");
        let both = format!("x:latest@sha256:{id}");
        let cases = [
            ("x", "Always"),
            ("x:latest", "Always"),
            ("x:1", "IfNotPresent"),
            ("registry.example:5000/a/b", "Always"),
            ("registry.example:5000/a/b:2", "IfNotPresent"),
            ("localhost/x", "Always"),
            (digest.as_str(), "IfNotPresent"),
            (both.as_str(), "Always"),
            (id.as_str(), "IfNotPresent"),
            ("Upper", "IfNotPresent"),
            ("a..b", "IfNotPresent"),
            ("a__b-c", "Always"),
            ("", "IfNotPresent"),
            (" x", "IfNotPresent"),
        ];
        for (image, expected) in cases {
            assert_eq!(pull_policy(image), expected, "{image}");
        }
    }
}
