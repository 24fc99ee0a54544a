//! Which headers are meant for the other end, and which for the next hop only (RFC 9110, section 7.6.1).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// For the next hop, whether `Connection` says so or not.
const HOP: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers without those for one hop, in the same order. That trailers are welcome stays: they are passed on.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<&str> = tokens(headers, header::CONNECTION).collect();
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_hop =
            HOP.contains(name) || named.iter().any(|named| named.eq_ignore_ascii_case(name.as_str()));
        if !is_hop {
            kept.append(name, value.clone());
        }
    }
    let coding = |token: &str| token.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if tokens(headers, header::TE).any(|token| coding(token) == "trailers") {
        kept.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    kept
}

/// The elements of a list that may be spread over several lines.
fn tokens(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(given: &[(&'static str, &'static str)]) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
        };
        end_to_end(&headers).iter().map(text).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_meant_for_the_other_end_stays_in_its_order() {
        let all = [
            ("accept", "application/vnd.kubernetes.protobuf,application/json"),
            ("accept-encoding", "gzip"),
            ("warning", "299 - \"one\""),
            ("warning", "299 - \"two\""),
            ("trailer", "x-after"),
            ("user-agent", "kubelet/v1.36.4"),
        ];
        assert_eq!(kept(&all), pairs(&all));
    }

    #[test]
    fn what_is_meant_for_one_hop_goes() {
        let given = [
            ("connection", "keep-alive, X-Private"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "SPDY/3.1"),
            ("x-private", "1"),
            ("x-public", "2"),
            ("connection", "x-other"),
            ("x-other", "3"),
        ];
        assert_eq!(kept(&given), pairs(&[("x-public", "2")]));
    }

    #[test]
    fn that_trailers_are_welcome_is_said_again() {
        assert_eq!(kept(&[("te", "gzip;q=0.5, Trailers")]), pairs(&[("te", "trailers")]));
        assert_eq!(kept(&[("te", "gzip")]), pairs(&[]));
        assert_eq!(kept(&[("connection", "te"), ("te", "trailers")]), pairs(&[("te", "trailers")]));
    }
}
