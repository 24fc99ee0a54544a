//! Which quantities the function library can count with.
//!
//! Kubernetes caps a quantity at 2^63 and rounds it up to a billionth. The library does neither: it multiplies until a number
//! overflows, and writes as many zeros as an exponent says. So it is given only what it can count with, and of that enough may
//! be added up.

/// No quantity is as large as this: the cap of Kubernetes is a little less.
const TOO_LARGE: f64 = 1e19;
/// The smallest power of ten that is counted.
const FINEST: i32 = -15;

/// Whether the library can count with what a text says, or will refuse the text itself.
pub(super) fn is_countable(text: &str) -> bool {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    // What is no number is refused over there.
    let Ok(value) = number.parse::<f64>() else { return true };
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals).trim_end_matches('0').len();
    let Some((factor, power)) = unit(suffix) else { return false };
    let finest = i32::try_from(decimals).map_or(i32::MIN, |decimals| power.saturating_sub(decimals));
    value.abs() * factor < TOO_LARGE && finest >= FINEST
}

/// What a suffix multiplies by, and which power of ten that moves the digits by; none if that is beyond all bounds. A suffix that
/// does not exist is refused by the library.
fn unit(suffix: &str) -> Option<(f64, i32)> {
    let decimal = |power: i32| (10f64.powi(power), power);
    let binary = |power: i32| (2f64.powi(power), 0);
    Some(match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        other => match other.strip_prefix(['e', 'E']) {
            Some(exponent) if exponent.ends_with(|c: char| c.is_ascii_digit()) => {
                // One that cannot be read is too long, or is none; both are not counted with.
                decimal(exponent.parse().ok().filter(|power| (-100..=100).contains(power))?)
            }
            _ => decimal(0),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::is_countable;

    #[test]
    fn what_people_write_is_counted_with() {
        for text in [
            "0",
            "1",
            "-1",
            "+1.5Gi",
            "100m",
            "250n",
            "0.5",
            "1e3",
            "12E6",
            "1E",
            "7Ei",
            "1.000000000000000000",
            "9e18",
        ] {
            assert!(is_countable(text), "{text}");
        }
    }

    #[test]
    fn what_would_overflow_or_fill_the_memory_is_not() {
        for text in [
            "1e40",
            "1e2147483647",
            "10e2147483647",
            "1.5e-2147483648",
            "1e-40",
            "1e99999999999999999999",
            "100E",
            "9Ei",
            "0.0000000000000001",
            "170141183460469231731687303715884105727",
            "0e2147483647",
        ] {
            assert!(!is_countable(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_left_to_the_library() {
        for text in ["", "x", "1x", "Gi", "1.2.3", "--1", "1ee"] {
            assert!(is_countable(text), "{text}");
        }
    }
}
