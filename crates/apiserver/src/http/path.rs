//! Where a request points.

use percent_encoding::percent_decode_str;

/// The parts of a resource's address: `/api/v1/namespaces/NS/PLURAL/NAME/SUB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) sub: Option<String>,
}

impl Target {
    /// Reads a path below `/api/` or `/apis/`. Anything that is not the address of a resource is `None`.
    pub(crate) fn parse(path: &str) -> Option<Target> {
        let parts = path
            .strip_prefix('/')?
            .split('/')
            .map(|part| percent_decode_str(part).decode_utf8().ok().map(std::borrow::Cow::into_owned))
            .collect::<Option<Vec<String>>>()?;
        // A trailing slash is forgiven, an empty part in the middle is not.
        let parts = match parts.split_last() {
            Some((last, rest)) if last.is_empty() => rest.to_vec(),
            _ => parts,
        };
        if parts.iter().any(String::is_empty) {
            return None;
        }
        let (group, version, rest) = match parts.first()?.as_str() {
            "api" => ("", parts.get(1)?, parts.get(2..)?),
            "apis" => (parts.get(1)?.as_str(), parts.get(2)?, parts.get(3..)?),
            _ => return None,
        };
        let target = |namespace: Option<&String>, plural: &str, rest: &[String]| {
            (rest.len() <= 2).then(|| Target {
                group: group.to_owned(),
                version: version.clone(),
                namespace: namespace.cloned(),
                plural: plural.to_owned(),
                name: rest.first().cloned(),
                sub: rest.get(1).cloned(),
            })
        };
        match rest {
            [] => None,
            // `/namespaces/NS/status` is a part of the namespace; any other word there is a resource in it.
            [word, _] | [word] if word == "namespaces" => target(None, word, &rest[1..]),
            [word, _, sub] if word == "namespaces" && matches!(sub.as_str(), "status" | "finalize") => {
                target(None, word, &rest[1..])
            }
            [word, namespace, plural, rest @ ..] if word == "namespaces" => {
                target(Some(namespace), plural, rest)
            }
            [plural, rest @ ..] => target(None, plural, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    /// Group/version, namespace, plural, name, subresource.
    type Parts = (String, Option<String>, String, Option<String>, Option<String>);

    fn parse(path: &str) -> Option<Parts> {
        let target = Target::parse(path)?;
        let at = format!("{}/{}", target.group, target.version);
        Some((at, target.namespace, target.plural, target.name, target.sub))
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn objects_in_a_namespace_are_found() {
        assert_eq!(
            parse("/api/v1/namespaces/default/pods/rover/status"),
            Some(("/v1".into(), some("default"), "pods".into(), some("rover"), some("status")))
        );
        assert_eq!(
            parse("/apis/coordination.k8s.io/v1/namespaces/n/leases"),
            Some(("coordination.k8s.io/v1".into(), some("n"), "leases".into(), None, None))
        );
    }

    #[test]
    fn a_namespace_is_itself_an_object() {
        assert_eq!(
            parse("/api/v1/namespaces/default"),
            Some(("/v1".into(), None, "namespaces".into(), some("default"), None))
        );
        assert_eq!(
            parse("/api/v1/namespaces/default/finalize"),
            Some(("/v1".into(), None, "namespaces".into(), some("default"), some("finalize")))
        );
        assert_eq!(parse("/api/v1/namespaces"), Some(("/v1".into(), None, "namespaces".into(), None, None)));
    }

    #[test]
    fn what_is_no_address_of_a_resource_is_none() {
        for path in
            ["/", "/api/v1", "/apis/apps", "/api/v1//pods", "/api/v1/pods/a/b/c", "/metrics", "/api/v1/%ff"]
        {
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
