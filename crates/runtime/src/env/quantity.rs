//! Quantities of Kubernetes (`500m`, `64Mi`), as far as a container can be told of them: rounded up to a unit.

use crate::spec::Quantity;

/// An amount, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amount(i128);

impl Amount {
    pub(super) fn whole(n: u64) -> Self {
        Self(i128::from(n) * 1000)
    }

    /// How many units it is, rounded up. No unit is the unit 1.
    pub(super) fn in_units_of(self, unit: Self) -> i128 {
        let unit = if unit.0 <= 0 { 1000 } else { unit.0 };
        self.0.div_euclid(unit) + i128::from(self.0.rem_euclid(unit) != 0)
    }
}

/// `None` if it is no quantity, or one that no machine has.
pub(super) fn parse(quantity: &Quantity) -> Option<Amount> {
    let text = match quantity {
        Quantity::Text(text) => text.trim().to_owned(),
        Quantity::Number(number) => number.to_string(),
    };
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    // As a fraction: how many thousandths one of the suffix is, over what.
    let (times, over): (i128, i128) = match suffix {
        "n" => (1, 1_000_000),
        "u" => (1, 1000),
        "m" => (1, 1),
        "" => (1000, 1),
        "k" => (1_000_000, 1),
        "M" => (1_000_000_000, 1),
        "G" => (1_000_000_000_000, 1),
        "T" => (10_i128.pow(15), 1),
        "P" => (10_i128.pow(18), 1),
        "E" => (10_i128.pow(21), 1),
        "Ki" => (1000 << 10, 1),
        "Mi" => (1000 << 20, 1),
        "Gi" => (1000 << 30, 1),
        "Ti" => (1000 << 40, 1),
        "Pi" => (1000 << 50, 1),
        "Ei" => (1000 << 60, 1),
        exponent => {
            let power: u32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            (10_i128.checked_pow(power)?.checked_mul(1000)?, 1)
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let negative = whole.starts_with('-');
    let digits = format!("{}{fraction}", whole.strip_prefix(['-', '+']).unwrap_or(whole));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(over)?;
    let scaled = value.checked_mul(times)?;
    let amount = scaled.div_euclid(scale) + i128::from(scaled.rem_euclid(scale) != 0);
    Some(Amount(if negative { -amount } else { amount }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, unit: &str) -> i128 {
        let of = |text: &str| parse(&Quantity::Text(text.into())).unwrap();
        of(text).in_units_of(of(unit))
    }

    #[test]
    fn amounts_are_rounded_up_to_the_unit() {
        assert_eq!(units("500m", "1"), 1);
        assert_eq!(units("1500m", "1m"), 1500);
        assert_eq!(units("64Mi", "1"), 64 << 20);
        assert_eq!(units("64Mi", "1Mi"), 64);
        assert_eq!(units("65M", "1Mi"), 62);
        assert_eq!(units("1.5Gi", "1Mi"), 1536);
        assert_eq!(units("1e3", "1"), 1000);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "Mi", "one", "1.2.3", "1e999", "9e36", "--1"] {
            assert_eq!(parse(&Quantity::Text(text.into())), None, "{text}");
        }
    }
}
