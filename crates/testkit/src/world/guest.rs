//! A program of the tests' own that runs in a world: the Safepoint agent, mostly.

use std::path::Path;

use anyhow::Result;
use rustix::process::Signal;

use crate::program::Program;

/// A program that runs in a world, and ends with whoever holds this.
#[derive(Debug)]
pub struct Guest(pub(crate) Program);

impl Guest {
    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Everything that it prints.
    pub fn log_path(&self) -> &Path {
        self.0.log_path()
    }

    /// What it has printed so far.
    pub fn log(&self) -> String {
        self.0.log()
    }

    /// An error if it has ended, with the end of what it printed.
    ///
    /// # Errors
    /// When it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.0.check()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub fn stop(&mut self) -> Result<()> {
        self.0.stop()
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        self.0.kill();
    }

    /// Makes it stand still: its connections stay, and nobody answers.
    ///
    /// # Errors
    /// When it is not running.
    pub fn pause(&mut self) -> Result<()> {
        self.0.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it is not running.
    pub fn resume(&mut self) -> Result<()> {
        self.0.signal(Signal::CONT)
    }

    /// Starts it again as it was started before. What it prints is added to what it printed.
    ///
    /// # Errors
    /// When it is running.
    pub fn start_again(&mut self) -> Result<()> {
        self.0.start_again()
    }
}
