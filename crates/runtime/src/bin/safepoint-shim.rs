//! The shim on its own, for the tests of this crate; the product calls it as `safepoint shim FOLDER`.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(folder) => safepoint_runtime::shim(Path::new(&folder)),
        None => {
            eprintln!("usage: safepoint-shim FOLDER");
            ExitCode::from(2)
        }
    }
}
