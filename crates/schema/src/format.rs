//! The string formats that Kubernetes checks, and the number formats.
//!
//! A format that is not in this list is ignored, as the API server ignores it. The checks accept what the Go parsers
//! behind them accept, also where that is more than the format's own standard allows: an object that a cluster stores
//! must not be refused here.

mod code;
mod net;
pub(crate) mod time;
mod uri;

#[cfg(test)]
mod tests;

use crate::node::Types;

/// A known format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

// === impl Format ===

impl Format {
    /// The format that `name` means for a schema of these types; `None` if the API server ignores it.
    ///
    /// Dashes do not matter in names of string formats: `date-time` is `datetime`.
    pub(crate) fn find(name: &str, types: Types) -> Option<Self> {
        match types {
            Types::INTEGER => match name {
                "int32" => Some(Self::Int32),
                "int64" => Some(Self::Int64),
                _ => None,
            },
            Types::NUMBER => match name {
                "float" => Some(Self::Float),
                "double" => Some(Self::Double),
                _ => None,
            },
            Types::NONE | Types::STRING | Types::INT_OR_STRING => Self::find_text(&name.replace('-', "")),
            _ => None,
        }
    }

    fn find_text(name: &str) -> Option<Self> {
        Some(match name {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::LongName,
            "k8sshortname" => Self::ShortName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// Whether the format is about numbers and says nothing about strings.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Float | Self::Double)
    }

    /// Whether `text` is written in this format.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
            Self::BsonObjectId => text.len() == 24 && code::is_hex(text),
            Self::Byte => code::is_base64(text),
            Self::Cidr => net::is_cidr(text),
            Self::CreditCard => code::is_credit_card(text),
            Self::Date => time::is_date(text),
            Self::DateTime => time::is_date_time(text),
            Self::Duration => time::duration(text).is_some(),
            Self::Email => net::is_email(text),
            Self::HexColor => code::is_hex_color(text),
            Self::Hostname => net::is_hostname(text),
            Self::Ipv4 => net::is_ipv4(text),
            Self::Ipv6 => net::is_ipv6(text),
            Self::Isbn => code::is_isbn10(text) || code::is_isbn13(text),
            Self::Isbn10 => code::is_isbn10(text),
            Self::Isbn13 => code::is_isbn13(text),
            Self::LongName => code::is_long_name(text),
            Self::ShortName => code::is_short_name(text),
            Self::Mac => net::is_mac(text),
            Self::RgbColor => code::is_rgb_color(text),
            Self::Ssn => code::is_ssn(text),
            Self::Uri => uri::is_request_uri(text),
            Self::Uuid => code::is_uuid(text, None),
            Self::Uuid3 => code::is_uuid(text, Some('3')),
            Self::Uuid4 => code::is_uuid(text, Some('4')),
            Self::Uuid5 => code::is_uuid(text, Some('5')),
        }
    }
}
