//! The certificates as clients see them: in handshakes in memory, over years, after crashes and with broken files.

use std::{fs, os::unix::fs::PermissionsExt};

use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ServerConnection, client::Resumption,
    time_provider::TimeProvider,
};
use tempfile::TempDir;

use super::*;

const START: &str = "2026-11-15T12:00:00Z";

struct Machine {
    folder: TempDir,
    names: Names,
    now: Timestamp,
}

impl Machine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), names: Names::local(), now: START.parse().unwrap() }
    }

    fn open(&self) -> Authority {
        self.try_open().unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_open(&self) -> Result<Authority, IdentityError> {
        Authority::open(&self.path("pki"), self.names.clone(), self.now)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn days_pass(&mut self, days: i64) {
        self.now += SignedDuration::from_hours(24 * days);
    }

    fn refusal(&self) -> String {
        self.try_open().map(|_| ()).unwrap_err().to_string()
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.as_second()).unwrap();
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// A handshake in memory, of a client that knows only the CA. Returns the protocol that both agreed on.
fn handshake(authority: &Authority, ca: &str, name: &str, now: Timestamp) -> Result<Vec<u8>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let provider = Arc::clone(&authority.maker.provider);
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(At(now)))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = Resumption::disabled();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(authority.server_config())).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut &wire[..]).unwrap();
        server.process_new_packets()?;
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut wire = &wire[..];
        while !wire.is_empty() {
            client.read_tls(&mut wire).unwrap();
            client.process_new_packets()?;
        }
    }
    assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full));
    Ok(client.alpn_protocol().unwrap().to_vec())
}

#[test]
fn a_client_with_the_ca_accepts_the_server_by_each_of_its_names() {
    let mut machine = Machine::new();
    machine.names.add("rover-7.example").unwrap();
    machine.names.add("192.0.2.7").unwrap();
    let authority = machine.open();
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default.svc",
        "rover-7.example",
        "192.0.2.7",
    ] {
        let alpn = handshake(&authority, authority.ca_pem(), name, machine.now);
        assert_eq!(alpn, Ok(b"h2".to_vec()), "{name}");
    }
    assert!(handshake(&authority, authority.ca_pem(), "elsewhere", machine.now).is_err());
}

#[test]
fn a_client_with_another_ca_does_not() {
    let (machine, other) = (Machine::new(), Machine::new());
    let (authority, other) = (machine.open(), other.open());
    assert!(handshake(&authority, other.ca_pem(), "localhost", machine.now).is_err());
}

#[test]
fn keys_and_their_folder_are_closed_to_others() {
    let machine = Machine::new();
    machine.open();
    let mode = |name: &str| fs::metadata(machine.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("pki"), 0o700);
    assert_eq!(mode("pki/ca.key"), 0o600);
    assert_eq!(mode("pki/server.key"), 0o600);

    fs::set_permissions(machine.path("pki"), fs::Permissions::from_mode(0o755)).unwrap();
    machine.open();
    assert_eq!(mode("pki"), 0o700);
    let mut left: Vec<_> =
        fs::read_dir(machine.path("pki")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["ca.crt", "ca.key", "server.crt", "server.key"]);
}

#[test]
fn nothing_is_made_anew_without_need() {
    let mut machine = Machine::new();
    machine.open();
    let files = ["pki/ca.crt", "pki/ca.key", "pki/server.crt", "pki/server.key"];
    let before = files.map(|file| machine.read(file));
    machine.days_pass(274);
    machine.open();
    assert_eq!(files.map(|file| machine.read(file)), before);
}

#[test]
fn the_serving_certificate_is_renewed_90_days_before_its_end() {
    let mut machine = Machine::new();
    let before = machine.open();
    machine.days_pass(276);
    let after = machine.open();
    assert_eq!(after.ca_pem(), before.ca_pem());
    machine.days_pass(300);
    assert!(handshake(&before, before.ca_pem(), "localhost", machine.now).is_err());
    assert!(handshake(&after, before.ca_pem(), "localhost", machine.now).is_ok());
}

#[test]
fn it_is_renewed_while_the_server_runs() {
    let mut machine = Machine::new();
    let authority = machine.open();
    assert_eq!(authority.renew(machine.now).unwrap(), None);
    machine.days_pass(400);
    assert!(handshake(&authority, authority.ca_pem(), "localhost", machine.now).is_err());
    assert_eq!(authority.renew(machine.now).unwrap(), Some(Due::Age));
    assert!(handshake(&authority, authority.ca_pem(), "localhost", machine.now).is_ok());
    assert_eq!(authority.renew(machine.now).unwrap(), None);

    let written = machine.read("pki/server.crt");
    machine.open();
    assert_eq!(machine.read("pki/server.crt"), written, "what is shown is what was written");
}

#[test]
fn it_is_renewed_when_the_names_change() {
    let mut machine = Machine::new();
    machine.open();
    let first = machine.read("pki/server.crt");
    machine.names.add("rover-7").unwrap();
    let authority = machine.open();
    assert!(handshake(&authority, authority.ca_pem(), "rover-7", machine.now).is_ok());
    let second = machine.read("pki/server.crt");
    assert_ne!(first, second);

    machine.names = Names::local();
    machine.open();
    assert_ne!(machine.read("pki/server.crt"), second, "a name that is gone is taken out");
}

#[test]
fn the_ca_is_renewed_in_its_last_year_and_old_copies_of_it_stay_good() {
    let mut machine = Machine::new();
    let old = machine.open();
    machine.days_pass(3650 - 365);
    let new = machine.open();
    assert_ne!(new.ca_pem(), old.ca_pem());
    assert!(handshake(&new, old.ca_pem(), "localhost", machine.now).is_ok());
    machine.days_pass(364);
    assert!(handshake(&new, new.ca_pem(), "localhost", machine.now).is_ok());
}

#[test]
fn a_machine_that_wakes_up_in_1970_is_reached_then_and_later() {
    let mut machine = Machine::new();
    machine.now = Timestamp::UNIX_EPOCH;
    let authority = machine.open();
    assert!(handshake(&authority, authority.ca_pem(), "localhost", machine.now).is_ok());
    let woken = machine.read("pki/ca.crt");

    // The network has told the time.
    machine.now = START.parse().unwrap();
    authority.renew(machine.now).unwrap();
    assert!(handshake(&authority, authority.ca_pem(), "localhost", machine.now).is_ok());
    machine.open();
    assert_eq!(machine.read("pki/ca.crt"), woken);

    // And it wakes up once more.
    machine.now = Timestamp::UNIX_EPOCH;
    assert_eq!(machine.open().renew(machine.now).unwrap(), None);
}

#[test]
fn a_clock_at_the_end_of_time_does_no_harm() {
    let mut machine = Machine::new();
    machine.now = Timestamp::MAX;
    machine.open();
}

#[test]
fn a_crash_between_two_files_is_mended_by_the_next_start() {
    for missing in [
        &["server.crt"][..],
        &["server.key", "server.crt"],
        &["server.key"],
        &["ca.crt"],
        &["ca.crt", "server.crt"],
    ] {
        let machine = Machine::new();
        let old = machine.open();
        for file in missing {
            fs::remove_file(machine.path("pki").join(file)).unwrap();
        }
        let new = machine.open();
        // The key of the CA is the same, so whoever knew the server still does.
        assert!(handshake(&new, old.ca_pem(), "localhost", machine.now).is_ok(), "{missing:?}");
        assert!(handshake(&new, new.ca_pem(), "localhost", machine.now).is_ok(), "{missing:?}");
    }
}

#[test]
fn a_certificate_of_another_ca_is_not_shown() {
    let (machine, other) = (Machine::new(), Machine::new());
    machine.open();
    other.open();
    for file in ["pki/ca.crt", "pki/ca.key"] {
        fs::copy(other.path(file), machine.path(file)).unwrap();
    }
    let authority = machine.open();
    assert!(handshake(&authority, authority.ca_pem(), "localhost", machine.now).is_ok());
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_left_alone() {
    for (file, advice) in [
        ("ca.crt", "made for the same key"),
        ("ca.key", "together with ca.crt"),
        ("server.crt", "a new one is made"),
        ("server.key", "a new one is made"),
    ] {
        for broken in ["", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let machine = Machine::new();
            machine.open();
            let path = machine.path("pki").join(file);
            fs::write(&path, broken).unwrap();
            let error = machine.refusal();
            assert!(error.starts_with(&format!("{} is not a ", path.display())), "{error}");
            assert!(error.contains(advice), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        }
    }
}

#[test]
fn a_file_that_is_a_folder_is_named() {
    let machine = Machine::new();
    machine.open();
    fs::remove_file(machine.path("pki/server.crt")).unwrap();
    fs::create_dir(machine.path("pki/server.crt")).unwrap();
    assert!(
        machine.refusal().starts_with(&format!("cannot read {}", machine.path("pki/server.crt").display()))
    );
}

#[test]
fn the_ca_without_its_key_is_not_replaced() {
    let machine = Machine::new();
    machine.open();
    fs::remove_file(machine.path("pki/ca.key")).unwrap();
    assert!(machine.refusal().contains("restore the key from a backup"));
    assert!(!machine.path("pki/ca.key").exists());
}

#[test]
fn the_certificate_and_the_key_of_different_cas_are_not_mixed() {
    let (machine, other) = (Machine::new(), Machine::new());
    machine.open();
    other.open();
    fs::copy(other.path("pki/ca.key"), machine.path("pki/ca.key")).unwrap();
    assert!(machine.refusal().contains("was not made for"));
}
