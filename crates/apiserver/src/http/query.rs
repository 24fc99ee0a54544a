//! What a request asks for beyond its address.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

/// The parameters of a request. Where one is given twice, the first counts, as in Kubernetes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(HashMap<String, Vec<String>>);

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            all.entry(decode(name)).or_default().push(decode(value));
        }
        Query(all)
    }

    /// A parameter that is there and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.first().map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a switch is on. Kubernetes takes any value but `0` and `false` for on, a bare `?watch` too.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.0
            .get(name)
            .and_then(|values| values.first())
            .is_some_and(|value| !matches!(value.as_str(), "0" | "false"))
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+(d)&limit=5&limit=6&watch&x=");
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(query.get("limit"), Some("5"));
        assert_eq!(query.get("x"), None);
        assert!(query.is_on("watch"));
        assert!(!query.is_on("pretty"));
        assert!(!Query::parse("watch=false").is_on("watch"));
    }
}
