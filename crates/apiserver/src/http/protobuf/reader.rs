//! The wire format of protobuf: numbered fields, each a number or some bytes.

use serde_json::Value;

use super::ProtobufError;

/// The value of a field, as far as the wire says.
#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads fields one after the other.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// The next field and its number; `None` at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Wire<'a>)>, ProtobufError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Damaged)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Bytes(self.take(4)?),
            _ => return Err(ProtobufError::Damaged),
        };
        Ok(Some((tag >> 3, wire)))
    }

    /// All the rest, as numbers without tags.
    pub(super) fn integers(mut self) -> Result<Vec<Value>, ProtobufError> {
        let mut numbers = Vec::new();
        while !self.0.is_empty() {
            numbers.push(self.varint()?.cast_signed().into());
        }
        Ok(numbers)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ProtobufError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(ProtobufError::Damaged)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ProtobufError::Damaged)
    }
}

impl<'a> Wire<'a> {
    pub(super) fn integer(self) -> Result<i64, ProtobufError> {
        match self {
            Wire::Number(number) => Ok(number.cast_signed()),
            Wire::Bytes(_) => Err(ProtobufError::Damaged),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], ProtobufError> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            Wire::Number(_) => Err(ProtobufError::Damaged),
        }
    }

    pub(super) fn text(self) -> Result<String, ProtobufError> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| ProtobufError::Damaged)
    }
}
