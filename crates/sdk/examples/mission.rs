//! A mission during which nothing on the machine may change.
//!
//! Try it beside `safepoint up`: `cargo run --package safepoint-sdk --example mission`. While it runs, `safepoint status`
//! shows its hold. Kill it with `kill -9`: the hold stays, and half a minute later it is marked orphaned.

use std::process::ExitCode;
use std::time::Duration;

use safepoint_sdk::{Error, Hold};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match mission().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn mission() -> Result<(), Error> {
    // Does not start before nothing is half done. The id lets a restarted mission find its own hold again.
    let hold = Hold::node("survey of field 7")
        .holder("mission")
        .id("mission")
        .lease(Duration::from_secs(30))
        .settled_within(Duration::from_secs(60))
        .take()
        .await?;
    println!("holding as {}", hold.id());
    tokio::select! {
        () = fly() => println!("landed"),
        lost = hold.lost() => println!("no longer protected, landing at once: {lost}"),
    }
    hold.release().await
}

async fn fly() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}
