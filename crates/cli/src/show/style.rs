//! The few colours. `anstream` takes them out where they are not wanted: in a file, in a pipe, with `NO_COLOR`.

use anstyle::{AnsiColor, Style};

/// Headings of tables.
pub(crate) const HEADING: Style = Style::new().bold();
/// All is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something waits, on purpose.
pub(crate) const WAITS: Style = AnsiColor::Yellow.on_default();
/// Somebody has to look.
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();
/// The word `error:`.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What can be passed over.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// Nothing special.
pub(crate) const PLAIN: Style = Style::new();
