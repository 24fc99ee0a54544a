//! The names under which the server is reached, and for which its certificate is made.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use rustls_pki_types::DnsName;

use super::IdentityError;

/// What a client that runs in a pod, or beside the server, may call it.
const LOCAL: [&str; 4] = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// One subject alternative name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// In lower case, without a dot at its end.
    Dns(String),
    Ip(IpAddr),
}

/// The subject alternative names of the serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names(BTreeSet<Name>);

// === impl Names ===

impl Names {
    /// The loopback addresses and the names that every Kubernetes API answers to.
    pub(crate) fn local() -> Self {
        let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].map(Name::Ip);
        Self(LOCAL.map(|name| Name::Dns(name.into())).into_iter().chain(loopback).collect())
    }

    /// Adds the machine's name or the address that is listened on.
    ///
    /// An unspecified address (`0.0.0.0`, `::`) stands for all of the machine's and is none that a client connects to.
    /// It adds nothing.
    pub(crate) fn add(&mut self, name: &str) -> Result<(), IdentityError> {
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        if let Ok(address) = bare.parse::<IpAddr>() {
            if !address.is_unspecified() {
                self.0.insert(Name::Ip(address));
            }
            return Ok(());
        }
        let dns = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if DnsName::try_from(dns.as_str()).is_err() {
            return Err(IdentityError::Name { name: name.into() });
        }
        self.0.insert(Name::Dns(dns));
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.0.iter()
    }
}

impl FromIterator<Name> for Names {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(name: &str) -> Vec<Name> {
        let (local, mut names) = (Names::local(), Names::local());
        names.add(name).unwrap();
        names.iter().filter(|name| !local.0.contains(name)).cloned().collect()
    }

    #[test]
    fn addresses_are_told_from_names() {
        assert_eq!(added("192.0.2.7"), [Name::Ip([192, 0, 2, 7].into())]);
        assert_eq!(added("[2001:db8::1]"), [Name::Ip("2001:db8::1".parse().unwrap())]);
        assert_eq!(added("rover-7.example"), [Name::Dns("rover-7.example".into())]);
    }

    #[test]
    fn a_name_counts_once_however_it_is_spelled() {
        assert_eq!(added("Rover-7.Example."), added("rover-7.example"));
        assert_eq!(added("LOCALHOST"), []);
        assert_eq!(added("127.0.0.1"), []);
    }

    #[test]
    fn an_unspecified_address_is_no_name() {
        assert_eq!(added("0.0.0.0"), []);
        assert_eq!(added("[::]"), []);
    }

    #[test]
    fn what_cannot_be_in_a_certificate_is_refused_by_name() {
        for name in ["", "two words", "*.example", "a..b", "-", "127.0.0.1:6443"] {
            let error = Names::local().add(name).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name:?} is neither")), "{error}");
        }
    }
}
