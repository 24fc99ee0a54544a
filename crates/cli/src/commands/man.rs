//! `safepoint man DIR`: the manual pages, made from the same description as the help. For packagers.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::problem::{Done, Problem};

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder. Made if it is not there.
    folder: PathBuf,
}

pub(crate) fn man(ManArgs { folder }: &ManArgs) -> Done {
    let failed =
        |error: std::io::Error| Problem::failed(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(crate::args::Args::command(), folder).map_err(failed)
}
