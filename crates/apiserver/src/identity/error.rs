//! What can go wrong with the files that say who is who, and what an operator does about it.
//!
//! None of these files is replaced because it cannot be read: a broken key that is silently made anew locks out
//! everybody who trusted the old one, and hides that the disk is failing.

use std::{io, path::PathBuf};

/// Why certificates, tokens or kubeconfigs could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// The file is there, and the system does not hand it out.
    #[error("cannot read {path}: see that it is a file which this user may read")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Nothing of the new content is visible.
    #[error("cannot write {path}: see to the owner of its folder and to the free space")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file can be read, and is not what it ought to be.
    #[error("{path} is not {expected}: restore it from a backup, or {remedy}")]
    Unreadable { path: PathBuf, expected: &'static str, remedy: &'static str },
    /// The certificate of the CA without its key is of no use: nothing can be signed.
    #[error(
        "{certificate} is there but {key} is not: restore the key from a backup, or remove the certificate as well, \
         and a new CA is made and all kubeconfigs of this machine are written anew"
    )]
    KeyMissing { certificate: PathBuf, key: PathBuf },
    /// The two files of the CA are from different authorities.
    #[error(
        "{certificate} was not made for {key}: restore the pair from one backup, or remove the certificate, \
         and a new one is made for that key"
    )]
    Mismatch { certificate: PathBuf, key: PathBuf },
    /// A name for which no certificate can be made.
    #[error("{name:?} is neither a DNS name nor an IP address: clients could not connect to it by that name")]
    Name { name: String },
    /// A node name that is no DNS subdomain could not be the name of a Node, and must not become part of a path.
    #[error("{name:?} cannot be the name of a node: use lower case letters, digits, '-' and '.'")]
    NodeName { name: String },
    /// Signing failed, which is a matter of the library and not of the files.
    #[error("cannot sign a certificate")]
    Sign {
        #[source]
        source: rcgen::Error,
    },
    /// rustls does not take the certificate or the key.
    #[error("cannot use {path} for TLS: remove it and start again, and a new one is made")]
    Tls {
        path: PathBuf,
        #[source]
        source: rustls::Error,
    },
    /// Without random numbers there are no secrets.
    #[error("the system's random number generator failed")]
    Random,
}
