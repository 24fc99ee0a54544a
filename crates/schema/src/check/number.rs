//! Bounds and multiples of numbers.
//!
//! Bounds are floats. An integer is compared with a bound cut off after the point, unless the bound does not fit the
//! integer's type at all; then that is reported as well. Both are what an API server does.

use safepoint_machinery::FieldError;
use safepoint_machinery::go::{self, Num};
use serde_json::Number;

use super::scalar::{is_whole, number_format};
use super::{Checker, Complaint, Report};
use crate::format::Format;
use crate::node::{Node, Types};
use crate::path::Path;

/// A bound of one side.
#[derive(Clone, Copy)]
struct Bound {
    limit: f64,
    exclusive: bool,
    upper: bool,
}

impl Checker<'_> {
    pub(super) fn number(&self, node: &Node, number: &Number, path: &Path<'_>, report: &mut Report) {
        let value = Num::of(number);
        report.complaints.extend(self.out_of_range(node, value, "Checked", path));
        let Some(checks) = node.checks.as_deref() else { return };
        if let Some(factor) = checks.multiple_of {
            let odd = self.out_of_range(node, Num::Float(factor), "MultipleOf", path);
            report.complaints.extend(self.multiple(value, factor, odd.is_none(), path));
            report.complaints.extend(odd);
        }
        let bound =
            |limit: Option<f64>, exclusive, upper| limit.map(|limit| Bound { limit, exclusive, upper });
        let bounds = [
            bound(checks.minimum, checks.exclusive_minimum, false),
            bound(checks.maximum, checks.exclusive_maximum, true),
        ];
        for bound in bounds.into_iter().flatten() {
            let what = if bound.upper { "Maximum boundary" } else { "Minimum boundary" };
            let odd = self.out_of_range(node, Num::Float(bound.limit), what, path);
            report.complaints.extend(self.bounded(value, bound, odd.is_none(), path));
            report.complaints.extend(odd);
        }
    }

    /// The complaint about a number that its type cannot hold.
    fn out_of_range(&self, node: &Node, value: Num, what: &str, path: &Path<'_>) -> Option<Complaint> {
        let format = number_format(node);
        let (fits, kind) = match (node.types, format) {
            (Types::INTEGER, Some(Format::Int32)) => {
                (whole(value).is_some_and(|int| i32::try_from(int).is_ok()), "integer")
            }
            (Types::INTEGER, _) => (whole(value).is_some(), "integer"),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "overflow becomes infinite, which is the test"
            )]
            (Types::NUMBER, Some(Format::Float)) => ((value.as_f64() as f32).is_finite(), "number"),
            _ => return None,
        };
        let written = match format {
            Some(Format::Int32) => "with format int32",
            Some(Format::Int64) => "with format int64",
            Some(Format::Float) => "with format float",
            _ => "(default format)",
        };
        let sentence = format!("{what} value must be of type {kind} {written} in {}", path.dotted());
        (!fits).then(|| self.complain_at_large(sentence))
    }

    fn bounded(&self, value: Num, bound: Bound, fits: bool, path: &Path<'_>) -> Option<Complaint> {
        let Bound { limit, exclusive, upper } = bound;
        let (limit_text, beyond, equal) = match value {
            Num::Int(int) if fits => {
                let limit = cut(limit);
                (limit.to_string(), if upper { int > limit } else { int < limit }, int == limit)
            }
            value => {
                let float = value.as_f64();
                #[expect(clippy::float_cmp, reason = "a bound is exact")]
                let equal = float == limit;
                (go::float(limit), if upper { float > limit } else { float < limit }, equal)
            }
        };
        if !(beyond || exclusive && equal) {
            return None;
        }
        let relation = match (upper, exclusive) {
            (true, false) => "less than or equal to",
            (true, true) => "less than",
            (false, false) => "greater than or equal to",
            (false, true) => "greater than",
        };
        let sentence = format!("{} in body should be {relation} {limit_text}", path.dotted());
        Some(self.complain(path, sentence, |path, text| FieldError::invalid(path, shown(value, fits), text)))
    }

    fn multiple(&self, value: Num, factor: f64, fits: bool, path: &Path<'_>) -> Option<Complaint> {
        let (factor_num, is_multiple) = match value {
            Num::Int(int) if fits => {
                let factor = cut(factor);
                (Num::Int(factor), factor > 0 && int % factor == 0)
            }
            value => {
                let ratio =
                    if factor < 1.0 { 1.0 / factor * value.as_f64() } else { value.as_f64() / factor };
                (Num::Float(factor), factor > 0.0 && is_whole(ratio))
            }
        };
        if is_multiple {
            return None;
        }
        let name = path.dotted();
        let text = factor_num.text();
        if factor_num.as_f64() <= 0.0 {
            let sentence = format!("factor MultipleOf declared for {name} must be positive: {text}");
            return Some(self.complain(path, sentence, |path, text| {
                FieldError::invalid(path, shown(factor_num, true), text)
            }));
        }
        let sentence = format!("{name} in body should be a multiple of {text}");
        Some(self.complain(path, sentence, |path, text| FieldError::invalid(path, shown(value, fits), text)))
    }
}

/// A number in a problem; one that was compared as a float is shown as one.
fn shown(value: Num, fits: bool) -> serde_json::Value {
    match value {
        Num::Int(int) if fits => int.into(),
        value => value.as_f64().into(),
    }
}

/// Cut off after the point.
#[expect(
    clippy::cast_possible_truncation,
    reason = "casts saturate; a bound that large is reported as out of range"
)]
fn cut(float: f64) -> i64 {
    float as i64
}

/// The value as an integer, if it is written as one.
fn whole(value: Num) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Num::Int(int) => Some(int),
        Num::Float(float) if float == float.trunc() && float.abs() < LIMIT => Some(cut(float)),
        Num::Float(_) => None,
    }
}
