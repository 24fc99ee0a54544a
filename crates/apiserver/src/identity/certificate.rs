//! Reads back what this server has put into a certificate: until when it is valid, for which names, for which key.
//!
//! rustls says whether a certificate is good, rcgen makes one, and neither says when it ends or what names it has. That
//! is four fields at fixed places of the DER structure (RFC 5280, section 4.1), so they are read here. Whether the
//! certificate can be trusted is not decided here.

use std::net::IpAddr;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::names::{Name, Names};

/// What a certificate says about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content<'a> {
    pub(super) not_after: Timestamp,
    /// Subject alternative names. Kinds other than DNS names and addresses are passed over.
    pub(super) names: Names,
    /// The SubjectPublicKeyInfo, with its own tag and length.
    pub(super) public_key: &'a [u8],
}

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// 2.5.29.17
const SUBJECT_ALT_NAME: [u8; 3] = [0x55, 0x1d, 0x11];

/// Nothing if it is not a certificate.
pub(super) fn read(der: &[u8]) -> Option<Content<'_>> {
    let mut certificate = Reader(Reader(der).expect(SEQUENCE)?);
    let mut tbs = Reader(certificate.expect(SEQUENCE)?);
    tbs.skip(VERSION);
    tbs.expect(INTEGER)?; // serial number
    tbs.expect(SEQUENCE)?; // signature algorithm
    tbs.expect(SEQUENCE)?; // issuer
    let mut validity = Reader(tbs.expect(SEQUENCE)?);
    validity.next()?; // not before
    let (tag, not_after) = validity.next()?;
    tbs.expect(SEQUENCE)?; // subject
    let rest = tbs.0;
    tbs.expect(SEQUENCE)?;
    let public_key = &rest[..rest.len() - tbs.0.len()];
    Some(Content { not_after: time(tag, not_after)?, names: names(tbs)?, public_key })
}

fn names(mut tbs: Reader<'_>) -> Option<Names> {
    while let Some((tag, content)) = tbs.next() {
        // Before the extensions there may be unique identifiers of issuer and subject, which nobody uses.
        if tag != EXTENSIONS {
            continue;
        }
        let mut extensions = Reader(Reader(content).expect(SEQUENCE)?);
        while !extensions.0.is_empty() {
            let mut extension = Reader(extensions.expect(SEQUENCE)?);
            if extension.expect(OID)? != SUBJECT_ALT_NAME {
                continue;
            }
            // A flag may say that the extension is critical.
            let (mut tag, mut value) = extension.next()?;
            if tag != OCTETS {
                (tag, value) = extension.next()?;
            }
            let mut found = Reader((tag == OCTETS).then_some(value)?);
            return all_names(Reader(found.expect(SEQUENCE)?));
        }
    }
    Some(Names::from_iter([]))
}

fn all_names(mut names: Reader<'_>) -> Option<Names> {
    let mut all = Vec::new();
    while !names.0.is_empty() {
        match names.next()? {
            (DNS_NAME, name) => all.push(Name::Dns(str::from_utf8(name).ok()?.to_ascii_lowercase())),
            (IP_ADDRESS, octets) => all.push(Name::Ip(address(octets)?)),
            _ => {}
        }
    }
    Some(all.into_iter().collect())
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// Both forms are in UTC, end with `Z` and have seconds (RFC 5280, section 4.1.2.5).
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let digits = str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let full = match tag {
        // Two digits mean 1950 to 2049.
        UTC_TIME => format!("{}{digits}", if digits.get(..2)? < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", full).ok()?;
    Some(TimeZone::UTC.to_zoned(time).ok()?.timestamp())
}

/// The DER elements that are left.
struct Reader<'a>(&'a [u8]);

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Tag and content of the next element. Every length is checked against what is left.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // No element of a certificate needs more than four octets for its length.
            0x81..=0x84 => {
                let (octets, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, if it has this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// Passes over the next element, if it has this tag.
    fn skip(&mut self, tag: u8) {
        if self.0.first() == Some(&tag) {
            self.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PublicKeyData, date_time_ymd};

    use super::*;

    fn made(year: i32) -> (Vec<u8>, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let sans = ["localhost".to_owned(), "::1".to_owned(), "192.0.2.7".to_owned()];
        let mut params = CertificateParams::new(sans).unwrap();
        params.not_after = date_time_ymd(year, 2, 28);
        (params.self_signed(&key).unwrap().der().to_vec(), key)
    }

    #[test]
    fn what_was_put_into_a_certificate_is_read_back() {
        let (der, key) = made(2031);
        let content = read(&der).unwrap();
        assert_eq!(content.not_after, "2031-02-28T00:00:00Z".parse().unwrap());
        assert_eq!(content.public_key, key.subject_public_key_info());
        let mut names = Names::from_iter([Name::Dns("localhost".into())]);
        names.add("::1").unwrap();
        names.add("192.0.2.7").unwrap();
        assert_eq!(content.names, names);
    }

    #[test]
    fn a_date_is_read_from_both_of_its_forms() {
        for year in [1950, 1999, 2000, 2049, 2050, 9999] {
            let expected = format!("{year}-02-28T00:00:00Z").parse().unwrap();
            assert_eq!(read(&made(year).0).unwrap().not_after, expected);
        }
    }

    #[test]
    fn a_certificate_without_names_has_none() {
        let key = KeyPair::generate().unwrap();
        let der = CertificateParams::new([]).unwrap().self_signed(&key).unwrap().der().to_vec();
        assert_eq!(read(&der).unwrap().names, Names::from_iter([]));
    }

    #[test]
    fn no_damage_makes_the_reader_panic() {
        let (der, _) = made(2031);
        assert_eq!(read(&[]), None);
        for end in 0..der.len() {
            assert_eq!(read(&der[..end]), None, "cut at {end}");
        }
        for position in 0..der.len() {
            for value in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = der.clone();
                damaged[position] = value;
                let _ = read(&damaged);
            }
        }
    }
}
