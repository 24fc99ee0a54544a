//! The certificate of the webhooks and the authority behind it: what is kept, and when it is replaced. Pure, but for chance.
//!
//! Every generation has an authority of its own whose key is thrown away once the one certificate is signed: nobody can
//! make another one later. A generation is replaced in three steps, so that at every moment, whatever a replica or an API
//! server has not noticed yet, the certificate that is shown is one that is trusted:
//!
//! 1. *staged*: the next authority is trusted beside the present one;
//! 2. *promoted*, a while later: the next certificate is shown, the old authority is still trusted;
//! 3. *forgotten*, a while later: only the new one is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use x509_parser::extensions::GeneralName;

/// How long a generation lives. Replaced when two thirds of it are over.
pub(crate) const LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// How long everybody has to notice a step before the next one: a watch takes seconds.
pub(crate) const OVERLAP: SignedDuration = SignedDuration::from_mins(10);

/// 2026-01-01T00:00:00Z. A clock that shows less is wrong, and what it counts from would have ended already.
const EARLIEST: i64 = 1_767_225_600;

/// The names by which the API server calls the hub: DNS names and addresses, in the form that certificates have them.
pub(crate) type Names = BTreeSet<String>;

/// An authority and the certificate that it signed, as PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Generation {
    pub(crate) authority: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// What the Secret keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// The first part of the path of every webhook. An API server shows no certificate, so whoever knows this is taken for one:
    /// it stands here and in the configurations, which only administrators read. Everybody else could have ends of pods noted.
    pub(crate) token: String,
    /// What is shown.
    pub(crate) current: Generation,
    /// What will be shown.
    pub(crate) next: Option<Generation>,
    /// The authority of what was shown before.
    pub(crate) past: Option<String>,
}

/// What is to be done about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// There is nothing that could be shown: make it, and show it at once.
    Make,
    /// Make the next generation, and trust it.
    Stage,
    /// Show the next generation.
    Promote,
    /// Trust the past one no longer.
    Forget,
    /// Nothing before this time.
    Wait(Timestamp),
}

/// What a certificate says about itself.
struct Content {
    not_after: Timestamp,
    names: Names,
}

// === impl Kept ===

impl Kept {
    /// Reads the data of the Secret. Nothing if it cannot be shown.
    pub(crate) fn read(data: &BTreeMap<String, ByteString>) -> Option<Self> {
        let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
        let generation = |prefix: &str| {
            let part = |key: &str| text(&format!("{prefix}{key}"));
            Some(Generation {
                authority: part("ca.crt")?,
                certificate: part("tls.crt")?,
                key: part("tls.key")?,
            })
            .filter(|found| content(&found.certificate).is_some() && content(&found.authority).is_some())
        };
        let past = text("past-ca.crt").filter(|past| content(past).is_some());
        let token = text("token").filter(|token| is_token(token))?;
        Some(Self { token, current: generation("")?, next: generation("next-"), past })
    }

    /// The data of the Secret.
    pub(crate) fn write(&self) -> BTreeMap<String, ByteString> {
        let mut data = BTreeMap::new();
        let mut put = |key: String, text: &str| drop(data.insert(key, ByteString(text.as_bytes().to_vec())));
        let generations = [("", Some(&self.current)), ("next-", self.next.as_ref())];
        for (prefix, generation) in generations {
            let Some(Generation { authority, certificate, key }) = generation else { continue };
            put(format!("{prefix}ca.crt"), authority);
            put(format!("{prefix}tls.crt"), certificate);
            put(format!("{prefix}tls.key"), key);
        }
        if let Some(past) = &self.past {
            put("past-ca.crt".to_owned(), past);
        }
        put("token".to_owned(), &self.token);
        data
    }

    /// Everything that is trusted, as PEM.
    pub(crate) fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| next.authority.as_str());
        [Some(&*self.current.authority), next, self.past.as_deref()].into_iter().flatten().collect()
    }

    /// When what is shown ends.
    pub(crate) fn ends(&self) -> Timestamp {
        content(&self.current.certificate).map_or(Timestamp::MIN, |content| content.not_after)
    }

    /// What becomes of it by a step.
    pub(crate) fn step(
        found: Option<Self>,
        step: &Step,
        names: &Names,
        now: Timestamp,
    ) -> Result<Option<Self>, rcgen::Error> {
        let make = || Generation::make(names, now);
        Ok(match (step, found) {
            (Step::Wait(_), _) => None,
            (Step::Make, Some(found)) => {
                // Somebody may still show the old one.
                let past = Some(found.current.authority);
                Some(Self { current: make()?, next: None, past, ..found })
            }
            (Step::Make, None) => Some(Self { token: token()?, current: make()?, next: None, past: None }),
            (Step::Stage, Some(found)) => Some(Self { next: Some(make()?), ..found }),
            (Step::Promote, Some(Self { token, current, next: Some(next), .. })) => {
                Some(Self { token, current: next, next: None, past: Some(current.authority) })
            }
            (Step::Forget, Some(found)) => Some(Self { past: None, ..found }),
            (Step::Stage | Step::Promote | Step::Forget, _) => None,
        })
    }
}

/// What is to be done now about what is kept.
pub(crate) fn plan(kept: Option<&Kept>, names: &Names, now: Timestamp) -> Step {
    let Some(kept) = kept else { return Step::Make };
    let Some(current) = content(&kept.current.certificate) else { return Step::Make };
    if current.names != *names || current.not_after <= now {
        return Step::Make;
    }
    if let Some(next) = kept.next.as_ref().and_then(|next| content(&next.certificate)) {
        if next.names != *names {
            return Step::Stage;
        }
        let due = made(&next) + OVERLAP;
        return if due <= now { Step::Promote } else { Step::Wait(due) };
    }
    let due = current.not_after - LIFE / 3;
    if due <= now {
        return Step::Stage;
    }
    match &kept.past {
        None => Step::Wait(due),
        // It was promoted one overlap after it was made.
        Some(_) => match made(&current) + OVERLAP * 2 {
            over if over <= now => Step::Forget,
            over => Step::Wait(over.min(due)),
        },
    }
}

// === impl Generation ===

impl Generation {
    fn make(names: &Names, now: Timestamp) -> Result<Self, rcgen::Error> {
        let end = now.as_second().max(EARLIEST) + LIFE.as_secs();
        let params = |common_name: &str, names: Vec<String>| -> Result<CertificateParams, rcgen::Error> {
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, common_name);
            // An API server whose clock is behind ours shall accept it, too.
            params.not_before = date_time_ymd(1970, 1, 1);
            params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(end.unsigned_abs());
            params.use_authority_key_identifier_extension = true;
            Ok(params)
        };
        let mut authority = params(&format!("safepoint-webhook-ca-{end}"), Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let mut serving = params("safepoint-webhook", names.iter().cloned().collect())?;
        serving.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = serving.signed_by(&key, &authority)?.pem();
        Ok(Self { authority: authority.pem(), certificate, key: key.serialize_pem() })
    }
}

/// Thirty-two hexadecimal digits of chance. A key is the one thing of chance that is at hand here.
fn token() -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    // What is public of a key is as random as the key, but for the octet that says how it is written down.
    Ok(key.public_key_raw().iter().skip(1).take(16).map(|byte| format!("{byte:02x}")).collect())
}

fn is_token(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// When it was made: every generation lives as long.
fn made(content: &Content) -> Timestamp {
    content.not_after - LIFE
}

/// Nothing if it is no certificate.
fn content(pem: &str) -> Option<Content> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let not_after = Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?;
    // Far enough from the ends of time to be counted with.
    let not_after = not_after.clamp(Timestamp::UNIX_EPOCH, Timestamp::from_second(EARLIEST * 100).ok()?);
    let names = certificate.subject_alternative_name().ok()?;
    let names = names.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => address(octets).map(|address| address.to_string()),
        _ => None,
    });
    Some(Content { not_after, names: names.collect() })
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests;
