//! What this program was started as: `safepoint`, or `kubectl safepoint` where kubectl has found it as its plugin.

use std::path::Path;

/// The name of the file by which kubectl finds the plugin.
const PLUGIN: &str = "kubectl-safepoint";

/// What a person types to start it.
pub(crate) fn name() -> &'static str {
    let file = std::env::args_os().next();
    match file.as_deref().and_then(|file| Path::new(file).file_name()) {
        Some(file) if file == PLUGIN => "kubectl safepoint",
        _ => "safepoint",
    }
}
