//! `safepoint events`: what happens, as it happens.

use std::time::Duration;

use clap::Args;
use safepoint_api::local::Notice;
use safepoint_sdk::News;

use super::via::Here;
use crate::problem::Done;
use crate::show::tables;

pub(super) const EXAMPLES: &str = "Examples:
  # until Ctrl-C
  safepoint events

  # one JSON document a line, for a program
  safepoint events -o json";

/// How long an agent that has ended is waited for before it is asked again.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    here: Here,
}

pub(crate) async fn events(EventsArgs { here }: EventsArgs) -> Done {
    let client = here.client();
    // An agent that is not there at the beginning is a mistake; one that goes away comes back.
    let mut events = client.events().await?;
    here.tell("Watching; Ctrl-C ends it.");
    loop {
        match events.next().await {
            Ok(Some(News::Notice(notice))) => {
                here.output.show_one(&*notice, |notice: &Notice| notice.subject.clone(), tables::notice)?;
            }
            Ok(Some(News::Missed(Some(missed)))) => {
                here.tell(&format!("warning: {missed} events were missed"));
            }
            Ok(Some(_)) => here.tell("warning: some events were missed"),
            Ok(None) | Err(_) => {
                here.tell("The agent has ended the stream; waiting for it to come back.");
                events = loop {
                    tokio::time::sleep(AGAIN).await;
                    if let Ok(events) = client.events().await {
                        here.tell("It is back; what happened meanwhile is in `safepoint log`.");
                        break events;
                    }
                };
            }
        }
    }
}
