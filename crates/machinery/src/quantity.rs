//! Resource quantities: `500m`, `1.5Gi`, `2e3`.
//!
//! A quantity is a decimal number with at most nine places and a preferred way of writing it. Kubernetes keeps
//! numbers of any length; we keep 38 digits, which is more than any resource has, and refuse longer ones. What is
//! printed is what Kubernetes prints, its oddities included: a text that looks canonical to its parser is kept as
//! it was written, and a decimal number that is too large for a suffix loses it.

#[cfg(test)]
mod tests;

use std::{cmp::Ordering, fmt, str::FromStr};

use serde_json::Value;

/// Why a text is no quantity, in Kubernetes' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text has characters that no quantity has.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number cannot be read.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is not known.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// How a quantity prefers to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

/// A resource quantity. Two of them are equal if they are the same amount, however they are written.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The amount is `mantissa * 10^exponent`; the mantissa has no trailing zeros, and zero has the exponent 0.
    mantissa: i128,
    exponent: i32,
    format: Format,
    /// The text as it was given, if Kubernetes would print it again.
    written: Option<Box<str>>,
}

/// The pieces of a text: sign, digits before and after the point, suffix.
struct Pieces<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Whether there is no digit at all. Kubernetes minds only where it takes the slow way.
    empty: bool,
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The finest step; what is finer is rounded away from zero, so that who asks for something gets something.
const NANO: i32 = -9;

// === impl Quantity ===

impl Quantity {
    /// Reads a quantity from a field of an object: a text, or a plain number.
    ///
    /// # Errors
    /// If it is neither, or not well formed.
    pub fn from_value(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::String(text) => text.trim().parse(),
            Value::Number(number) => number.to_string().parse(),
            _ => Err(QuantityError::Format),
        }
    }

    /// Whether it is nothing at all.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is less than nothing.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.mantissa < 0
    }

    /// The amount in whole units, rounded away from zero; `None` if it does not fit.
    #[must_use]
    pub fn value(&self) -> Option<i128> {
        scaled(self.mantissa, self.exponent)
    }

    /// The amount in thousandths, rounded away from zero; `None` if it does not fit.
    #[must_use]
    pub fn milli_value(&self) -> Option<i128> {
        scaled(self.mantissa, self.exponent.checked_add(3)?)
    }

    fn new(mantissa: i128, exponent: i32, format: Format, written: Option<&str>) -> Self {
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        while mantissa != 0 && mantissa % 10 == 0 && exponent < i32::MAX {
            mantissa /= 10;
            exponent += 1;
        }
        let exponent = if mantissa == 0 { 0 } else { exponent };
        Self { mantissa, exponent, format, written: written.map(Box::from) }
    }

    fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        if self.format == Format::BinarySi && self.exponent >= 0 {
            // Small amounts, and those with a fraction, are written in decimal.
            if let Some(mut units) = self.value().filter(|units| units.unsigned_abs() >= 1024) {
                let mut power = 0;
                while units % 1024 == 0 && power < BINARY.len() {
                    units /= 1024;
                    power += 1;
                }
                let suffix = power.checked_sub(1).map_or("", |power| BINARY[power].0);
                return format!("{units}{suffix}");
            }
        }
        // The exponent has to be a multiple of three, so up to two zeros go back into the number.
        let zeros = self.exponent.rem_euclid(3);
        let exponent = self.exponent - zeros;
        let zeros = &"00"[..usize::try_from(zeros).unwrap_or_default()];
        let suffix = match self.format {
            Format::DecimalExponent if exponent == 0 => String::new(),
            Format::DecimalExponent => format!("e{exponent}"),
            Format::BinarySi | Format::DecimalSi => DECIMAL
                .iter()
                .find(|(_, power)| *power == exponent)
                .map_or("", |(suffix, _)| suffix)
                .to_owned(),
        };
        format!("{}{zeros}{suffix}", self.mantissa)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let pieces = split(text)?;
        if let Some((_, power)) = BINARY.iter().find(|(suffix, _)| *suffix == pieces.suffix) {
            return binary(text, &pieces, *power);
        }
        match DECIMAL.iter().find(|(suffix, _)| *suffix == pieces.suffix) {
            Some((_, exponent)) => decimal(text, &pieces, *exponent, Format::DecimalSi),
            None => {
                let exponent = pieces.suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
                let exponent: i64 = exponent.parse().map_err(|_| QuantityError::Suffix)?;
                let exponent = i32::try_from(exponent).map_err(|_| QuantityError::Suffix)?;
                decimal(text, &pieces, exponent, Format::DecimalExponent)
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.mantissa.signum().cmp(&other.mantissa.signum());
        if sign != Ordering::Equal || self.exponent == other.exponent {
            return sign.then(self.mantissa.cmp(&other.mantissa));
        }
        // Both have the same sign and no trailing zeros. The one with the larger exponent is scaled down to the other;
        // if that does not fit, it has more digits than the other can have.
        if self.exponent < other.exponent {
            return other.cmp(self).reverse();
        }
        match scaled(self.mantissa, self.exponent.saturating_sub(other.exponent)) {
            Some(mantissa) => mantissa.cmp(&other.mantissa),
            None => self.mantissa.signum().cmp(&0),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

// === reading ===

fn split(text: &str) -> Result<Pieces<'_>, QuantityError> {
    let negative = text.starts_with('-');
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    let rest = number.trim_start_matches('0');
    let zeros = number.len() - rest.len();
    let (whole, rest) = rest.split_at(digits(rest));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let number = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if digits(number) != number.len() {
        return Err(QuantityError::Format);
    }
    let empty = zeros == 0 && whole.is_empty() && fraction.is_empty();
    Ok(Pieces { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix, empty })
}

fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

fn decimal(
    text: &str,
    pieces: &Pieces<'_>,
    exponent: i32,
    format: Format,
) -> Result<Quantity, QuantityError> {
    let shifted = format!("{}{}", pieces.whole, pieces.fraction);
    let places = i32::try_from(pieces.fraction.len()).map_err(|_| QuantityError::Numeric)?;
    let scale = exponent.checked_sub(places).ok_or(QuantityError::Numeric)?;
    if pieces.empty && scale < NANO {
        return Err(QuantityError::Numeric);
    }
    let (mantissa, scale) = rounded(signed(&shifted, pieces.negative)?, scale);
    // This is how Kubernetes guesses that a text is canonical; it is not always right.
    let kept = shifted.len() <= 18
        && scale == exponent - places
        && scale % 3 == 0
        && !shifted.ends_with("000")
        && !shifted.starts_with('0');
    Ok(Quantity::new(mantissa, scale, format, kept.then_some(text)))
}

fn binary(text: &str, pieces: &Pieces<'_>, power: u32) -> Result<Quantity, QuantityError> {
    let limit = i128::from(i64::MAX);
    let capped = || Quantity::new(if pieces.negative { -limit } else { limit }, 0, Format::BinarySi, None);
    if pieces.whole.len() > 19 || signed(pieces.whole, false)? << power > limit {
        return Ok(capped());
    }
    let shifted = format!("{}{}", pieces.whole, pieces.fraction);
    let mantissa = signed(&shifted, pieces.negative)?;
    if pieces.fraction.is_empty() {
        // Kubernetes calculates such a number fast if it surely fits, and then keeps its text if it is not a multiple
        // of eight. The precision is its estimate of the digits that are left.
        #[expect(clippy::cast_precision_loss, reason = "a power is at most 60")]
        let taken = (power as f32 * 3.0 / 10.0) as usize + 1;
        if shifted.len() + taken <= 15 {
            let kept = mantissa & 7 != 0;
            return Ok(Quantity::new(mantissa << power, 0, Format::BinarySi, kept.then_some(text)));
        }
    }
    if pieces.empty {
        return Err(QuantityError::Numeric);
    }
    let places = i32::try_from(pieces.fraction.len()).map_err(|_| QuantityError::Numeric)?;
    let large = mantissa.checked_mul(1 << power).ok_or(QuantityError::Numeric)?;
    let (mantissa, scale) = rounded(large, -places);
    let amount = Quantity::new(mantissa, scale, Format::BinarySi, None);
    Ok(match amount.value() {
        Some(units) if units.abs() <= limit => {
            let fraction = !amount.is_zero() && units.abs() == 1 && amount.exponent < 0;
            let format = if fraction { Format::DecimalSi } else { Format::BinarySi };
            Quantity { format, ..amount }
        }
        _ => capped(),
    })
}

fn signed(digits: &str, negative: bool) -> Result<i128, QuantityError> {
    let number: i128 = digits.parse().map_err(|_| QuantityError::Numeric)?;
    Ok(if negative { -number } else { number })
}

/// The same amount with at most nine places.
fn rounded(mantissa: i128, exponent: i32) -> (i128, i32) {
    if exponent >= NANO { (mantissa, exponent) } else { (divided(mantissa, exponent.abs_diff(NANO)), NANO) }
}

/// `mantissa * 10^exponent` as a whole number, rounded away from zero.
fn scaled(mantissa: i128, exponent: i32) -> Option<i128> {
    if mantissa == 0 {
        Some(0)
    } else if exponent < 0 {
        Some(divided(mantissa, exponent.unsigned_abs()))
    } else {
        10_i128.checked_pow(exponent.unsigned_abs())?.checked_mul(mantissa)
    }
}

fn divided(mantissa: i128, zeros: u32) -> i128 {
    match 10_i128.checked_pow(zeros) {
        Some(divisor) if mantissa % divisor == 0 => mantissa / divisor,
        Some(divisor) => mantissa / divisor + mantissa.signum(),
        None => mantissa.signum(),
    }
}
