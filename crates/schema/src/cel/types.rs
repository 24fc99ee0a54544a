//! Types of expressions, as far as they can be known before an object is seen.

use std::fmt;
use std::sync::Arc;

use super::shape::Shape;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Anything; checked when it is used.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    /// The type of a type.
    Meta,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Optional(Arc<Type>),
    /// An object with declared fields.
    Object(Shape),
    /// A type of a function library, such as `url`.
    Named(&'static str),
    /// A parameter of a signature.
    Param(u8),
}

/// What the parameters of a signature stand for in one call.
pub(super) type Bindings = [Option<Type>; 2];

// === impl Type ===

impl Type {
    pub(super) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(super) fn optional(inner: Self) -> Self {
        Self::Optional(Arc::new(inner))
    }

    /// Whether null may stand for a value of this type.
    fn takes_null(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Duration
                | Self::Timestamp
                | Self::Optional(_)
                | Self::Object(_)
                | Self::Named(_)
        )
    }

    /// Whether a value of this type may be given where `self` is wanted; binds parameters of `self`.
    pub(super) fn takes(&self, given: &Self, bindings: &mut Bindings) -> bool {
        match (self, given) {
            (Self::Param(index), given) => {
                let Some(slot) = bindings.get_mut(usize::from(*index)) else { return true };
                match slot.clone() {
                    None => {
                        *slot = Some(given.clone());
                        true
                    }
                    Some(bound) => {
                        let fits = bound.takes(given, &mut Bindings::default());
                        // The more general of the two stays, so that a later argument is not refused.
                        if fits && (*given == Self::Dyn || bound == Self::Null) {
                            *slot = Some(given.clone());
                        }
                        fits
                    }
                }
            }
            (Self::Dyn, _) | (_, Self::Dyn | Self::Param(_)) => true,
            (Self::Null, other) | (other, Self::Null) => other.takes_null(),
            (Self::List(wanted), Self::List(given)) | (Self::Optional(wanted), Self::Optional(given)) => {
                wanted.takes(given, bindings)
            }
            (Self::Map(wanted_key, wanted), Self::Map(given_key, given)) => {
                wanted_key.takes(given_key, bindings) && wanted.takes(given, bindings)
            }
            (wanted, given) => wanted == given,
        }
    }

    /// The type with its parameters replaced; an unbound parameter can be anything.
    pub(super) fn bound(&self, bindings: &Bindings) -> Self {
        match self {
            Self::Param(index) => bindings.get(usize::from(*index)).cloned().flatten().unwrap_or(Self::Dyn),
            Self::List(item) => Self::list(item.bound(bindings)),
            Self::Optional(inner) => Self::optional(inner.bound(bindings)),
            Self::Map(key, value) => Self::map(key.bound(bindings), value.bound(bindings)),
            other => other.clone(),
        }
    }

    /// The type of a value that comes from either side; `None` if they do not go together.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        if !self.takes(other, &mut Bindings::default()) {
            return None;
        }
        Some(match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => Self::Dyn,
            (Self::Null, other) => other.clone(),
            (Self::List(a), Self::List(b)) => Self::list(a.join(b)?),
            (Self::Map(a, b), Self::Map(c, d)) => Self::map(a.join(c)?, b.join(d)?),
            (Self::Optional(a), Self::Optional(b)) => Self::optional(a.join(b)?),
            (this, _) => this.clone(),
        })
    }

    pub(super) fn is_numeric(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Param(_) => out.write_str("dyn"),
            Self::Null => out.write_str("null"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::Uint => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::Text => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Duration => out.write_str("duration"),
            Self::Timestamp => out.write_str("timestamp"),
            Self::Meta => out.write_str("type"),
            Self::List(item) => write!(out, "list({item})"),
            Self::Map(key, value) => write!(out, "map({key}, {value})"),
            Self::Optional(inner) => write!(out, "optional_type({inner})"),
            Self::Object(_) => out.write_str("object"),
            Self::Named(name) => match *name {
                "url" => out.write_str("kubernetes.URL"),
                "quantity" => out.write_str("kubernetes.Quantity"),
                "semver" => out.write_str("kubernetes.Semver"),
                "format" => out.write_str("kubernetes.NamedFormat"),
                "ip" => out.write_str("net.IP"),
                "cidr" => out.write_str("net.CIDR"),
                name => out.write_str(name),
            },
        }
    }
}
