//! Formats of time: dates, times of day and durations.

/// `2006-01-02`, a day that exists.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| {
        text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<u32>().ok()
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date, a `T` and a time of day with its offset. Text after a second `T` is not looked at.
pub(crate) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let two = |at: usize, max: u32| {
        text.get(at..at + 2)
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|part| part.parse::<u32>().ok())
            .is_some_and(|value| value <= max)
    };
    let colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    if !(two(0, 23) && colon(2) && two(3, 59) && colon(5) && two(6, 59)) {
        return false;
    }
    let rest = &text[8..];
    // Any character may introduce the fraction, but it needs at least one digit.
    let mut chars = rest.chars();
    let skipped = match (chars.next(), chars.as_str()) {
        (Some(_), tail) if tail.starts_with(|c: char| c.is_ascii_digit()) => {
            let tail = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            Some(tail).filter(|tail| is_offset(tail))
        }
        _ => None,
    };
    skipped.is_some() || is_offset(rest)
}

fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || (bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].into_iter().all(|at| bytes[at].is_ascii_digit()))
}

/// A duration in nanoseconds, written as in Go (`1h30m`) or in words (`3 days`).
pub(crate) fn duration(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| worded_duration(text))
}

/// What Go's `time.ParseDuration` reads.
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, tail) = rest.split_at(whole_end);
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => tail.split_at(tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len())),
            None => ("", tail),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let unit = match &tail[..unit_end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let nanos = whole.checked_mul(unit)?.checked_add(fraction_of(fraction, unit))?;
        total = total.checked_add(nanos).filter(|total| *total <= 1 << 63)?;
        rest = &tail[unit_end..];
    }
    match negative {
        true => 0_i64.checked_sub_unsigned(total),
        false => i64::try_from(total).ok(),
    }
}

/// The part of `unit` that the digits after the point stand for, rounded down.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    // Nineteen digits are more than a nanosecond of an hour can show.
    let digits = &digits[..digits.len().min(19)];
    let value: u128 = digits.parse().unwrap_or_default();
    let scale = digits.bytes().fold(1_u128, |scale, _| scale * 10);
    u64::try_from(value * u128::from(unit) / scale).unwrap_or(u64::MAX)
}

/// Every `number unit` pair in the text counts, whatever stands between them; at least one must.
fn worded_duration(text: &str) -> Option<i64> {
    const UNITS: [(i64, &[&str]); 8] = [
        (1, &["ns", "nano"]),
        (1_000, &["us", "µs", "micro"]),
        (1_000_000, &["ms", "milli"]),
        (1_000_000_000, &["s", "sec"]),
        (60_000_000_000, &["m", "min"]),
        (3_600_000_000_000, &["h", "hr", "hour"]),
        (86_400_000_000_000, &["d", "day"]),
        (604_800_000_000_000, &["w", "wk", "week"]),
    ];
    let mut total = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let tail = &rest[start..];
        let number_end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(number_end);
        let word = tail.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let word_end = word.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(word.len());
        let (unit, tail) = word.split_at(word_end);
        rest = if unit.is_empty() { &rest[start + number_end..] } else { tail };
        if unit.is_empty() {
            continue;
        }
        let number: i64 = number.parse().ok()?;
        let unit = unit.to_lowercase();
        for (nanos, names) in UNITS {
            for (index, name) in names.iter().enumerate() {
                // The last name is a stem: `hours` counts as `hour`.
                if unit == *name || (index + 1 == names.len() && unit.starts_with(name)) {
                    total = Some(total.unwrap_or(0_i64).wrapping_add(number.wrapping_mul(nanos)));
                }
            }
        }
    }
    total
}
