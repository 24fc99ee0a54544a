//! A page of numbers in the text form of OpenMetrics, with a part of its own for modules.

use std::fmt::Write;

use crate::health::Health;

/// A page that is being written.
#[derive(Debug, Default)]
pub struct Page(String);

// === impl Page ===

impl Page {
    /// Begins a family. The samples of a counter end in `_total`.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        // To write into a text cannot fail.
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    /// One sample, with its labels as they stand between the braces, or none.
    pub fn line(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    /// A family of one number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    /// A family of one number that only goes up.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.line(&format!("{name}_total"), "", value as f64);
    }

    /// How modules do, as far as anybody knows.
    pub fn modules(&mut self, health: Option<&Health>) {
        let modules = || health.into_iter().flat_map(|health| &health.modules);
        self.head("safepoint_module_restarts", "counter", "How often a module was started again.");
        for (name, module) in modules() {
            let label = format!("module=\"{name}\"");
            self.line("safepoint_module_restarts_total", &label, module.restarts as f64);
        }
        self.head("safepoint_module_serving", "gauge", "Whether a module does its work.");
        for (name, module) in modules() {
            let serving = f64::from(u8::from(module.state.is_serving()));
            self.line("safepoint_module_serving", &format!("module=\"{name}\""), serving);
        }
    }

    /// The whole page.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}
