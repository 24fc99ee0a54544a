//! Samples of both, as a table of medians and their ratios.

use std::fmt;
use std::time::Duration;

use super::blocks::Pair;

/// What a figure counts, and which of two is the better one.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    PerSecond,
    Mebibytes,
}

/// All rows, in the order in which they were begun.
#[derive(Default)]
pub(crate) struct Report(Vec<Row>);

struct Row {
    name: &'static str,
    unit: Unit,
    samples: Pair<Vec<f64>>,
}

// === impl Report ===

impl Report {
    /// Adds a sample of each.
    pub(crate) fn add(&mut self, name: &'static str, unit: Unit, samples: &Pair<f64>) {
        let row = match self.0.iter().position(|row| row.name == name) {
            Some(row) => &mut self.0[row],
            None => {
                self.0.push(Row { name, unit, samples: Pair::of(Vec::new(), Vec::new()) });
                self.0.last_mut().expect("one was just pushed")
            }
        };
        row.samples.safepoint.push(samples.safepoint);
        row.samples.kubernetes.push(samples.kubernetes);
        eprintln!("{name}: {:.3} | {:.3}", samples.safepoint, samples.kubernetes);
    }

    /// Adds the medians of two blocks of durations.
    pub(crate) fn add_times(&mut self, name: &'static str, times: &Pair<Vec<Duration>>) {
        let middle =
            |times: &[Duration]| median(&times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>());
        let medians = Pair::of(1e3 * middle(&times.safepoint), 1e3 * middle(&times.kubernetes));
        self.add(name, Unit::Milliseconds, &medians);
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | Safepoint | kube-apiserver and etcd | ratio |")?;
        writeln!(f, "|---|---:|---:|---:|")?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ours, theirs) = (median(&self.samples.safepoint), median(&self.samples.kubernetes));
        // More than one is in favour of Safepoint.
        let (unit, ratio) = match self.unit {
            Unit::Milliseconds => ("ms", theirs / ours),
            Unit::PerSecond => ("/s", ours / theirs),
            Unit::Mebibytes => ("MiB", theirs / ours),
        };
        write!(f, "| {} | {} {unit} | {} {unit} | ×{ratio:.1} |", self.name, short(ours), short(theirs))
    }
}

/// Three digits that mean something.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
