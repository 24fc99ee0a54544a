//! `safepoint log`: who did what, when and why; and whether nothing was changed or taken out since.

use std::time::Duration;

use clap::Args;
use safepoint_api::local::{LogLine, LogPage};
use safepoint_sdk::Client;

use super::via::Here;
use crate::problem::{Done, Problem};
use crate::show::tables;

pub(super) const EXAMPLES: &str = "Examples:
  # the last hundred lines
  safepoint log

  # everything, and check that nothing was changed or taken out
  safepoint log --all --verify

  # go on with what comes
  safepoint log -f --tail 10";

/// How often a log that is followed is looked at.
const PACE: Duration = Duration::from_millis(500);
/// The longest page.
const PAGE: usize = 1000;

#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// Go on with what comes, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Check that every line follows from the one before, from the first to the last. Exit code 1 if not.
    #[arg(long, conflicts_with = "follow")]
    verify: bool,
    /// How many of the last lines to show.
    #[arg(long, value_name = "LINES", default_value_t = 100, conflicts_with = "all")]
    tail: u64,
    /// Show every line.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    here: Here,
}

pub(crate) async fn log(args: LogArgs) -> Done {
    let (client, here) = (args.here.client(), &args.here);
    if args.verify {
        return verify(&client, here, &args).await;
    }
    let mut after = first(&client, &args).await?;
    loop {
        let page = client.log(after, PAGE).await?;
        after = page.items.last().map_or(after, |line| line.number);
        let whole = page.items.len() < PAGE;
        show(here, &page.items)?;
        match (whole, args.follow) {
            (false, _) => {}
            (true, true) => tokio::time::sleep(PACE).await,
            (true, false) => return Ok(()),
        }
    }
}

/// The line before the first that is shown.
async fn first(client: &Client, args: &LogArgs) -> Result<u64, Problem> {
    if args.all {
        return Ok(0);
    }
    Ok(client.log(0, 1).await?.last.saturating_sub(args.tail))
}

async fn verify(client: &Client, here: &Here, args: &LogArgs) -> Done {
    let begin = first(client, args).await?;
    let (mut after, mut intact) = (0, true);
    loop {
        let LogPage { items, last, intact: agent_says } = client.log(after, PAGE).await?;
        // The agent checks the hashes; that no number is missing can be seen from here as well.
        intact &= agent_says && items.iter().zip(after + 1..).all(|(line, number)| line.number == number);
        after = items.last().map_or(last, |line| line.number);
        let shown: Vec<LogLine> = items.into_iter().filter(|line| line.number > begin).collect();
        show(here, &shown)?;
        if after >= last {
            break;
        }
    }
    match intact {
        true => {
            here.tell(&format!("intact: each of the {after} lines follows from the one before"));
            Ok(())
        }
        false => Err(Problem::failed("the log is not intact: a line was changed or taken out")
            .hint("keep a copy of the agent's data folder before anything else is done")),
    }
}

fn show(here: &Here, lines: &[LogLine]) -> Done {
    let wide = here.output == crate::show::Format::Wide;
    for line in lines {
        here.output.show_one(line, |line| line.number.to_string(), |line| tables::log_line(line, wide))?;
    }
    Ok(())
}
