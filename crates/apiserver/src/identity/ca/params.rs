//! What is written into the two certificates.
//!
//! Both are valid from 1970 on, and their ends are not counted from a time before this program was written: a machine
//! without a battery wakes up in 1970, and it and its clients agree on that until the network tells them the time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};

use crate::identity::{
    IdentityError,
    names::{Name, Names},
};

const CA_VALID: SignedDuration = SignedDuration::from_hours(3650 * 24);
const SERVING_VALID: SignedDuration = SignedDuration::from_hours(365 * 24);

/// 2026-01-01T00:00:00Z. A clock that shows less is wrong.
const EARLIEST: i64 = 1_767_225_600;

/// 9999-12-31T23:59:59Z, the last moment that a certificate can name (RFC 5280, section 4.1.2.5).
const LATEST: i64 = 253_402_300_799;

pub(super) fn ca(now: Timestamp) -> Result<CertificateParams, IdentityError> {
    let mut params = common("safepoint-ca", CA_VALID, now)?;
    // It signs servers, and no other CA.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

pub(super) fn serving(names: &Names, now: Timestamp) -> Result<CertificateParams, IdentityError> {
    let mut params = common("safepoint-apiserver", SERVING_VALID, now)?;
    for name in names.iter() {
        params.subject_alt_names.push(match name {
            Name::Ip(address) => SanType::IpAddress(*address),
            Name::Dns(dns) => {
                let bad = |_| IdentityError::Name { name: dns.clone() };
                SanType::DnsName(dns.as_str().try_into().map_err(bad)?)
            }
        });
    }
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn common(
    common_name: &str,
    valid: SignedDuration,
    now: Timestamp,
) -> Result<CertificateParams, IdentityError> {
    let mut serial = [0; 16];
    aws_lc_rs::rand::fill(&mut serial).map_err(|_| IdentityError::Random)?;
    // By default the serial number would follow from the key, and two certificates for one key must not share it.
    // It is positive, and its first octet is not zero.
    serial[0] = serial[0] & 0x7f | 0x40;
    let end = (now.as_second().max(EARLIEST) + valid.as_secs()).min(LATEST);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(end.unsigned_abs());
    Ok(params)
}
